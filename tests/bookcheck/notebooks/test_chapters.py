"""Every chapter of the book keeps the rules of a stored notebook."""

import pytest

from bookcheck.notebooks.files import chapter_notebooks, page_name
from bookcheck.notebooks.rules import problems


@pytest.mark.parametrize("path", chapter_notebooks(), ids=page_name)
def test_the_chapter_keeps_the_rules(path):
    found = problems(path)
    assert not found, "\n".join(str(problem) for problem in found)

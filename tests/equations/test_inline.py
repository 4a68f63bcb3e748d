"""Relations inside sentences: each is executed, or declared a definition."""

import pytest

from bookcheck.equations.inline import load_inline, page_problems
from bookcheck.equations.scan import inline_relations

RELATIONS = inline_relations()
FILES = load_inline()


@pytest.mark.parametrize("page", FILES)
def test_the_relations_of_a_page_hold(page):
    problems = page_problems(RELATIONS[page], FILES[page])
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("page", RELATIONS)
def test_every_page_with_relations_has_its_file(page):
    name = page.replace("/", "_").replace("-", "_")
    advice = f"write tests/equations/inline_{name}.py; the model is inline_01_attention.py"
    lines = "\n".join(f"{one.place}: ${one.text}$" for one in RELATIONS[page])
    assert page in FILES or not RELATIONS[page], f"{advice}\n{lines}"

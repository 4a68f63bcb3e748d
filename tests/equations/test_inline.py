"""Relations inside sentences: each is executed, or declared a definition."""

import pytest

from bookcheck.equations.inline import load_inline, page_problems
from bookcheck.equations.scan import inline_relations

# Pages whose sentences are not executed yet, with the relations they may have at most: no count
# may grow, and a page with a file leaves the list.
NOT_YET: dict[str, int] = {
    "00-short-road": 2,
    "errata": 20,
    "glossary": 8,
    "notation": 8,
    "sources": 6,
}
RELATIONS = inline_relations()
FILES = load_inline()


@pytest.mark.parametrize("page", FILES)
def test_the_relations_of_a_page_hold(page):
    problems = page_problems(RELATIONS[page], FILES[page])
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("page", RELATIONS)
def test_every_page_with_relations_has_its_file(page):
    if page in FILES:
        assert page not in NOT_YET, f"take {page} out of NOT_YET"
        return
    found = RELATIONS[page]
    name = page.replace("/", "_").replace("-", "_")
    advice = f"write tests/equations/inline_{name}.py; the model is inline_01_attention.py"
    lines = "\n".join(f"{one.place}: ${one.text}$" for one in found)
    assert len(found) <= NOT_YET.get(page, 0), f"{advice}\n{lines}"


def test_the_list_names_pages_of_the_book():
    assert set(NOT_YET) <= set(RELATIONS)

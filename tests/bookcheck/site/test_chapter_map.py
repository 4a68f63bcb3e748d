"""The map of chapters says what the chapters themselves say they need."""

import re

import pytest

from bookcheck.notebooks.files import main_line
from bookcheck.prose.answers import needs_line
from bookcheck.site.chapter_map import Chapter, Needs, map_html, needs_of, without_indirect

NOTHING: frozenset[int] = frozenset()


@pytest.mark.parametrize(
    ("line", "needed", "helpful"),
    [
        ("Python, matrices, and a first idea of PyTorch", [], []),
        ("[chapter 1](01-attention.ipynb)", [1], []),
        ("chapters [1](01-attention.ipynb) to [5](05-x.ipynb)", [1, 2, 3, 4, 5], []),
        ("chapters 1, 7 and 8", [1, 7, 8], []),
        ("chapters 9 and 12, and chapter 13 for stretched RoPE", [9, 12, 13], []),
        ("[chapter 1](01-attention.ipynb); [chapter 6](06-x.ipynb) helps", [1], [6]),
        ("chapter 1; the waves of [chapter 8](08-sinusoids.ipynb) help", [1], [8]),
    ],
)
def test_a_line_of_needs_is_read(line, needed, helpful):
    assert needs_of(line) == Needs(frozenset(needed), frozenset(helpful))


def test_what_another_need_brings_along_is_not_drawn():
    needed = {1: NOTHING, 2: frozenset({1}), 3: frozenset({1, 2}), 4: frozenset({1, 3})}
    assert without_indirect(needed)[4] == {3}
    assert without_indirect(needed)[3] == {2}


def test_the_map_draws_one_arc_for_each_need():
    chapters = {
        1: Chapter("a", "A & B", 10, Needs(NOTHING, NOTHING)),
        2: Chapter("b", "C", 11, Needs(frozenset({1}), NOTHING)),
        3: Chapter("c", "D", 12, Needs(frozenset({1, 2}), NOTHING)),
        4: Chapter("d", "E", 13, Needs(frozenset({1, 3}), frozenset({2, 9}))),
    }
    html = map_html(chapters, {name: f"{name}.html" for name in "abcd"})
    assert html.count("<path") == 4
    assert html.count("dasharray") == 1
    assert '<a href="a.html">1 A &amp; B</a><span>10 minutes</span>' in html
    assert "13 minutes · needs 3 · 2 and 9 help" in html


@pytest.mark.parametrize("path", main_line(), ids=lambda path: path.stem)
def test_every_chapter_that_a_line_names_is_on_the_map(path):
    """A new way to write the line would leave the map without an arc."""
    line = needs_line(path)
    number = int(path.stem[:2])
    said = {int(digits) for digits in re.findall(r"\d+", re.sub(r"\]\([^)]*\)", "]", line))}
    found = needs_of(line)
    assert said <= found.needed | found.helpful
    assert all(one < number for one in found.needed), "a chapter needs earlier ones only"

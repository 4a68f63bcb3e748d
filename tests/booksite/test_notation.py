"""The notation page names every chapter that uses a letter it lists, and no others."""

import pytest

from bookformat.paths import CHAPTERS
from booksite.notation import formulas_by_place, meanings_on, notation_problems

TABLE = "| $d_k$ | length | `d_k` | {} |\n| $m,\\ \\theta_i$ | {{term}}`a` | | 1, 2 |\n"
FORMULAS = {"0": ["x"], "1": [r"m \theta_j", r"\sqrt{d_k}"], "2": [r"m\theta"]}
ASK = " Name the chapter beside its meaning in notation.md, or choose another letter"
OTHERS = "| $m$ | {{term}}`mean` of $x$ (sum by count) (3, 4); a *mask* (5) |\n"


def problems(page, formulas):
    return list(notation_problems(page, formulas))


def test_the_page_names_every_chapter_that_uses_a_listed_letter():
    page = (CHAPTERS / "notation.md").read_text(encoding="utf-8")
    found = problems(page, formulas_by_place())
    assert not found, "\n".join(found)


def test_a_chapter_that_does_not_use_it_is_named():
    assert problems(TABLE.format("1"), FORMULAS) == []
    assert problems(TABLE.format("all"), FORMULAS) == []
    assert problems(TABLE.format("1–2"), FORMULAS) == [
        "d_k: chapter 2 does not use it; remove 2 from its row"
    ]


def test_a_symbol_that_no_chapter_uses_is_named():
    assert problems("| $z$ | nothing | | all |\n", FORMULAS) == [
        "z: no chapter uses it; remove its row from notation.md"
    ]


@pytest.mark.parametrize("formula", ["m = 7", "2m", "sm", r"\frac{1}{m}", "x_m"])
def test_a_second_meaning_in_a_chapter_that_is_not_named_is_found(formula):
    planted = FORMULAS | {"3": [formula]}
    assert problems(TABLE.format("1"), planted) == ["m: what is it in chapter 3?" + ASK]
    page = TABLE.format("1") + "| $m$ | a mean (3) |\n"
    assert problems(page, planted) == []
    assert problems(page, FORMULAS) == ["m: chapter 3 does not use it; remove 3 from its row"]


def test_words_in_formulas_and_longer_symbols_are_no_letters():
    planted = FORMULAS | {
        "3": [r"\operatorname{norm}", r"\text{for some } y", r"\sqrt{d_k} \min W^{DM}"]
    }
    assert problems(TABLE.format("1, 3"), planted) == []


def test_the_second_table_has_several_meanings_in_a_row():
    assert [meaning.places for meaning in meanings_on(OTHERS.format())] == [{"3", "4"}, {"5"}]


def test_two_meanings_in_one_chapter_are_found():
    page = TABLE.format("1") + "| $m$ | a mean (2) |\n"
    assert problems(page, FORMULAS) == [
        "m: chapter 2 has two meanings of it; give one of them another letter"
    ]


def test_depth_pages_keep_the_meaning_of_their_chapter_or_have_their_own():
    planted = FORMULAS | {"1*": ["m"], "2*": ["m"], "3": ["m"], "3*": ["m"]}
    assert problems(TABLE.format("1") + "| $m$ | a mean (3); a mask (3*) |\n", planted) == []
    planted = FORMULAS | {"4*": ["m"]}
    assert problems(TABLE.format("1"), planted) == ["m: what is it in chapter 4*?" + ASK]

"""The notation page names the chapters that use a symbol, and no others."""

from bookcheck.paths import CHAPTERS
from bookcheck.site.notation import formulas_by_chapter, notation_problems

TABLE = "| $d_k$ | length | `d_k` | {} |\n| $m,\\ \\theta_i$ | {{term}}`a` | | 1, 2 |\n"
FORMULAS = {0: ["x"], 1: [r"m \theta_j", r"\sqrt{d_k}"], 2: [r"m\theta"]}


def test_every_chapter_of_a_row_uses_its_symbol():
    table = (CHAPTERS / "notation.md").read_text(encoding="utf-8")
    found = list(notation_problems(table, formulas_by_chapter()))
    assert not found, "\n".join(found)


def test_a_chapter_that_does_not_use_it_is_named():
    assert list(notation_problems(TABLE.format("1"), FORMULAS)) == []
    assert list(notation_problems(TABLE.format("all"), FORMULAS)) == []
    assert list(notation_problems(TABLE.format("1–2"), FORMULAS)) == [
        "d_k: chapter 2 does not use it"
    ]


def test_a_symbol_that_no_chapter_uses_is_named():
    table = "| $z$ | nothing | | all |\n"
    assert list(notation_problems(table, FORMULAS)) == ["z: no chapter uses it"]

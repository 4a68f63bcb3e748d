"""Formulas without a relation: found, and computed."""

from bookcheck.equations.expressions import problems
from bookcheck.equations.inline import load_inline
from bookcheck.equations.scan import inline_expressions

FILE = r"""
from bookcheck.equations.expressions import RESULT

PAGE = "01-x"

def bindings(rng):
    return {}

EXPRESSIONS = {"4 N^2": lambda rng: {"N": 3, RESULT: 36}}
"""
TEXT = r"It takes $4 N^2$ steps, or $N - 1$ of $N$; $a = b + 1$ and $x_m$ are others."


def found(tmp_path, text=TEXT, file=FILE):
    (tmp_path / "01-x.md").write_text(text, encoding="utf-8")
    (tmp_path / "inline_01_x.py").write_text(file, encoding="utf-8")
    return list(problems(inline_expressions(tmp_path), load_inline(tmp_path)))


def test_what_computes_is_found(tmp_path):
    (tmp_path / "01-x.md").write_text(TEXT, encoding="utf-8")
    assert inline_expressions(tmp_path) == {"01-x": ["4 N^2", "N - 1"]}


def test_a_computed_formula_must_be_worth_what_it_should(tmp_path):
    assert found(tmp_path) == []
    assert "is not what it should be" in found(tmp_path, file=FILE.replace("36", "35"))[0]
    assert "cannot be executed" in found(tmp_path, file=FILE.replace('"N": 3', '"M": 3'))[0]


def test_a_computed_formula_must_stand_in_a_sentence(tmp_path):
    changed = TEXT.replace("$4 N^2$", "$2 N^2$")
    assert "$4 N^2$ stands in no sentence" in found(tmp_path, changed)[0]

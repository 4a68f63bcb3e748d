"""Formulas without a relation: found, computed, or known by their text."""

import json

import pytest

from bookcheck.equations import expressions
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


def found(tmp_path, text=TEXT, read=("N - 1",), file=FILE):
    (tmp_path / "01-x.md").write_text(text, encoding="utf-8")
    (tmp_path / "inline_01_x.py").write_text(file, encoding="utf-8")
    return list(problems(inline_expressions(tmp_path), load_inline(tmp_path), {"01-x": read}))


def test_what_computes_is_found(tmp_path):
    (tmp_path / "01-x.md").write_text(TEXT, encoding="utf-8")
    assert inline_expressions(tmp_path) == {"01-x": ["4 N^2", "N - 1"]}


def test_a_page_whose_formulas_are_known_has_no_problem(tmp_path):
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("$N - 1$", "$N + 1$", "$N + 1$ is new"),
        ("$N - 1$", "$N$", "$N - 1$ stands in no sentence"),
        ("$4 N^2$", "$2 N^2$", "$2 N^2$ is new"),
        ("$4 N^2$", "$N$", "$4 N^2$ stands in no sentence"),
    ],
)
def test_a_changed_formula_is_named(tmp_path, right, wrong, message):
    assert any(message in one for one in found(tmp_path, TEXT.replace(right, wrong)))


def test_a_computed_formula_must_be_worth_what_it_should(tmp_path):
    assert "is not what it should be" in found(tmp_path, file=FILE.replace("36", "35"))[0]
    assert "cannot be executed" in found(tmp_path, file=FILE.replace('"N": 3', '"M": 3'))[0]
    assert "is computed: take it out" in found(tmp_path, read=("N - 1", "4 N^2"))[0]


def test_what_was_read_is_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(expressions, "inline_expressions", lambda: {"01-x": ["N - 1"]})
    monkeypatch.setattr(expressions, "load_inline", dict)
    path = tmp_path / "expressions.json"
    path.write_text("{}", encoding="utf-8")
    assert expressions.main([], path) == 1
    assert "$N - 1$ is new" in capsys.readouterr().out
    assert expressions.main(["--read"], path) == 0
    assert json.loads(path.read_text(encoding="utf-8")) == {"01-x": ["N - 1"]}

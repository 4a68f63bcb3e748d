"""Formulas inside sentences: which are claims, and what is wrong with one."""

import pytest

from bookcheck.equations.inline import load_inline, page_problems
from bookcheck.equations.scan import InlineFormula, formulas_in, inline_relations, is_relation
from bookcheck.myst import inline_of

FILE = r"""
import numpy as np
PAGE = "01-x"
OPTIONS = {"first_index": 0}
CHECKS = {r"a = b + 1": lambda rng: {"b": 4}}
DEFINITIONS = [r"d = 64"]

def bindings(rng):
    return {"a": 5, "x": np.array([0, *rng.normal(size=2)]), "n": range(3)}
"""
TEXT = r"Here $a = 5$, and $a = b + 1$ with $d = 64$; $x_n^2 \ge 0$, $2d = 128$."


def problems(tmp_path, text=TEXT, file=FILE):
    (tmp_path / "inline_01_x.py").write_text(file, encoding="utf-8")
    formulas = [
        InlineFormula(one, "01-x", "text below cell [3]", before)
        for one, before in inline_of(text)
        if is_relation(one)
    ]
    return page_problems(formulas, load_inline(tmp_path)["01-x"])


def test_true_sentences_have_no_problem(tmp_path):
    assert problems(tmp_path) == []


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("$a = 5$", "$a = 6$", "chapters/01-x, text below cell [3]: $a = 6$ does not hold"),
        ("$a = 5$", "$y = 5$", "$y = 5$ cannot be executed"),
        (r"$x_n^2 \ge 0$", r"$x_n \ge 0$", r"$x_n \ge 0$ does not hold"),
        ("$d = 64$", "no", "no sentence has $d = 64$"),
        ("$a = b + 1$", "$a = 5$", "no sentence has $a = b + 1$"),
        # The symbol of a definition is bound by it.
        ("$2d = 128$", "$2d = 129$", "$2d = 129$ does not hold"),
        # An inequality that is true and could be sharper.
        ("$a = 5$", r"$a \le 5.5$", "never comes nearer to equality than 9%"),
        ("$a = 5$", r"$a \le 5.01$", "is never an equality, so that < would hold as well"),
        # A statement does not pass as a definition.
        ("with $d = 64$", "gives $d = 64$", "$d = 64$ states something"),
    ],
)
def test_a_fault_is_named(tmp_path, right, wrong, message):
    assert right in TEXT
    assert any(message in one for one in problems(tmp_path, TEXT.replace(right, wrong)))


def test_a_loose_inequality_says_why(tmp_path):
    file = FILE + 'LOOSE = {"a < 7": "an example"}\n'
    assert problems(tmp_path, f"{TEXT} $a < 7$", file) == []
    assert "no sentence has $a < 7$" in problems(tmp_path, TEXT, file)[0]
    sharp = file.replace("a < 7", r"a \\le 5")
    assert "take it out of LOOSE" in problems(tmp_path, TEXT + r" $a \le 5$", sharp)[0]


def test_a_check_may_add_several_cases(tmp_path):
    file = FILE.replace('{"b": 4}', '[{"b": 4}, {"a": 3, "b": 3}]')
    assert "$a = b + 1$ does not hold" in problems(tmp_path, TEXT, file)[0]


def test_what_holds_anyway_is_no_definition(tmp_path):
    file = FILE.replace('[r"d = 64"]', '[r"d = 64", r"a = 5"]')
    text = TEXT.replace("Here", "With")
    assert any("holds for the page's values" in one for one in problems(tmp_path, text, file))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$x$ and $x_{m=1}$ and $\\sum_{n=0}^{N-1} x_n$", []),
        ("$a = b$ `$c = d$`\n\n$$\ne = f\n$$ (eq-e)", ["a = b"]),
        ("```{prf:proof}\n$a = b$\n```\n\n```python\n'$c = d$'\n```", ["a = b"]),
        ("{term}`x` has $a\n= b$; {eq}`eq-a`, $c \\in d$", ["a = b", r"c \in d"]),
        ("```{quiz}\nIs $a = b$?\n\n- [ ] $a = c$\n- [x] $a = d$\n  > $e < f$\n```",
         ["a = b", "a = d", "e < f"]),
    ],
)  # fmt: skip
def test_relations_are_found(text, found):
    assert list(filter(is_relation, formulas_in(text))) == found


def test_pages_are_read_once_for_each_text(tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "01-x.md").write_text("$a = b$, again $a = b$, $c$", encoding="utf-8")
    found = inline_relations(tmp_path)
    assert [one.text for one in found["deeper/01-x"]] == ["a = b"]

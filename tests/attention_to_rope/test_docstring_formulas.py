"""Formulas of docstrings are executed by the book's evaluator against their functions."""

import ast
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from attention_to_rope import reference
from bookcheck.equations.docstrings import described, docstring_formulas
from bookcheck.equations.files import load
from bookcheck.equations.scan import is_relation
from bookcheck.paths import SOURCES
from texcheck import check

SIGNS = re.compile(r" = |[Σ√∏²³ᵀ≤≥⌊⊙∂]")
FOLDER = Path(__file__).with_name("docstring_formulas")
RESULT = load(FOLDER / "formulas.py").RESULT
TABLES = {path.stem: load(path) for path in sorted(FOLDER.glob("*.py")) if path.stem != "formulas"}
BOUND = {
    f"{stem}.{name}": bindings
    for stem, table in TABLES.items()
    for name, bindings in table.BINDINGS.items()
}


@pytest.fixture(scope="module")
def printed():
    """The formulas of all docstrings, read where a test asks: every worker collects this file."""
    return docstring_formulas(SOURCES / "attention_to_rope")


@pytest.fixture(autouse=True)
def in_double():
    """Layers start their weights in the default type."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def failures(name, text, bindings, options):
    """The relations of a formula that do not hold for the values of its function."""
    statement = text if is_relation(text) else f"{RESULT} = {text}"
    for draw in range(3):
        drawn = bindings(np.random.default_rng([zlib.crc32(name.encode()), draw]))
        for values in drawn if isinstance(drawn, Iterator) else [drawn]:
            for entry in check(statement, values, first_index=0, vectors="row", **options):
                if not entry.holds:
                    yield f"{name}: ${text}$: {entry}"


@pytest.mark.parametrize("noise", [None, 1000], ids=["plain", "noise"])
@pytest.mark.parametrize("name", BOUND)
def test_the_formulas_of_a_docstring_hold(name, noise, printed):
    options = {**getattr(TABLES[name.partition(".")[0]], "OPTIONS", {}), "noise": noise}
    bound = BOUND[name]
    if isinstance(bound, dict):
        assert set(bound) == set(printed[name])
    for text in printed[name]:
        bindings = bound[text] if isinstance(bound, dict) else bound
        wrong = list(failures(name, text, bindings, options))
        assert not wrong, "\n".join(wrong)


def test_every_formula_of_a_docstring_has_its_values(printed):
    missing = {name: texts for name, texts in printed.items() if name not in BOUND}
    assert not missing, f"bind the symbols of these docstrings in {FOLDER.name}/: {missing}"
    assert set(BOUND) <= set(printed)


def formulas_in_words(text):
    """Signs of formulas in a docstring, outside of formulas and code."""
    return SIGNS.findall(re.sub(r"\$[^$]+\$|`[^`]+`", "", text))


def test_the_reference_prints_no_formula_that_is_not_executed():
    tree = ast.parse(Path(reference.__file__).read_text(encoding="utf-8"))
    found = {name: signs for name, text in described(tree) if (signs := formulas_in_words(text))}
    assert not found
    assert formulas_in_words("J_ij = p_i (δ_ij − p_j), √d") == [" = ", "√"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("reference.gelu_tanh", r"\frac{x}{2} (1 + \tanh(\sqrt{2 / \pi} (x + 0.047415 x^3)))"),
        ("reference.deberta_score", r"(q k^\top + q \kappa^\top + \rho q^\top) / \sqrt{3 d}"),
        ("rope.rotary_frequencies", r"\theta_i = b^{2i/d}"),
        ("score_shaping.soft_cap", r"c \tanh(s c)"),
        ("merge.merge", r"u = e^{c_1-c} u_1 - e^{c_2-c} u_2"),
    ],
)
def test_a_wrong_formula_is_refuted(name, text):
    assert list(failures(name, text, BOUND[name], {}))


def test_formulas_are_found_in_functions_classes_and_methods(tmp_path):
    (tmp_path / "part.py").write_text(
        'def f():\n    """$a = b$, the name $W^Q_h$ and the expression $a c$."""\n\n\n'
        'class C:\n    """No formula."""\n\n'
        '    def g(self):\n        """$x \\\\le y$ `$z = 1$`"""\n',
        encoding="utf-8",
    )
    assert docstring_formulas(tmp_path) == {"part.f": ["a = b", "a c"], "part.C.g": [r"x \le y"]}

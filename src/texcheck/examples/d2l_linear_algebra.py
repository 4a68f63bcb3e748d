"""Dive into Deep Learning, the chapter on linear algebra: its norms.

github.com/d2l-ai/d2l-en at 23d7a5aecceee57d1292c56e90cce307f183bb0a::

    texcheck check d2l-en/chapter_preliminaries/linear-algebra.md d2l_linear_algebra.py
"""

import os
from pathlib import Path

from texcheck import Formulas
from texcheck.sources import formulas_in

ENTRIES = {"x": "the entries of the vector or matrix"}
BOOK = Formulas(formulas_in(Path(os.environ["TEXTS"], "linear-algebra.md")))


def vector(rng):
    """A vector and its entries, which the page prints in two fonts."""
    x = rng.normal(size=rng.integers(2, 6))
    return {r"\mathbf{x}": x, "x": x, "n": len(x)}


@BOOK.test("line 947")
def test_scaled(rng):
    return {r"\mathbf{x}": rng.normal(size=3), r"\alpha": rng.normal()}


@BOOK.test("line 950", draws=6)
def test_triangle(rng):
    x = rng.normal(size=3)
    y = rng.normal(size=3)
    return [{r"\mathbf{x}": x, r"\mathbf{y}": y}, {r"\mathbf{x}": x, r"\mathbf{y}": 2 * x}]


@BOOK.test("line 961", fixed=ENTRIES)
def test_euclidean(rng):
    return vector(rng)


@BOOK.test("line 994", fixed=ENTRIES)
def test_sum_of_absolute_values(rng):
    return vector(rng)


@BOOK.test("line 1024", fixed=ENTRIES)
def test_general(rng):
    return {**vector(rng), "p": rng.uniform(1, 4)}


@BOOK.test("line 1038", fixed=ENTRIES)
def test_frobenius(rng):
    m = int(rng.integers(2, 5))
    n = m + int(rng.integers(1, 4))
    x = rng.normal(size=(m, n))
    return {r"\mathbf{X}": x, "x": x, "m": m, "n": n}

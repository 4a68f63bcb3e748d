"""Dive into Deep Learning, appendix on random variables.

github.com/d2l-ai/d2l-en at 23d7a5aecceee57d1292c56e90cce307f183bb0a::

    cd d2l-en/chapter_appendix-mathematics-for-deep-learning
    texcheck check random-variables.md d2l_random_variables.py

Two checks fail, and the text is wrong there.
"""

import math
import os
from pathlib import Path

import numpy as np

from texcheck import Formulas, Random, depends
from texcheck.sources import formulas_in

BOOK = Formulas(formulas_in(Path(os.environ["TEXTS"], "random-variables.md")))


def three_values(rng):
    """The page's example: a − 2, a and a + 2, with probabilities p, 1 − 2p and p."""
    a = rng.uniform(1, 2)
    p = rng.uniform(0.1, 0.4)
    return a, p, Random([a - 2, a, a + 2], [p, 1 - 2 * p, p])


def two_variables(rng):
    """X and Y that depend on each other, as functions of one random pair."""
    pairs = [(1, -1), (1, 3), (3, -1), (3, 3)]
    weights = rng.dirichlet(np.ones(4))
    return {
        "S": Random(pairs, [*weights]),
        "X": depends("S", lambda pair: pair[0]),
        "Y": depends("S", lambda pair: pair[1]),
    }


@BOOK.test("eq_pdf_int_one")
def test_area_of_a_density(rng):
    """The density of line 472, of which the page says that its area is one. It is π: this fails."""
    return {"p": lambda x: 1 / (1 + x**2)}


@BOOK.test("eq_var_def")
def test_variance(rng):
    a, p, outcomes = three_values(rng)
    return {"X": outcomes, r"\mu_X": a, r"\sigma_X": math.sqrt(8 * p)}


@BOOK.test("line 267")
def test_second_moment(rng):
    a, p, outcomes = three_values(rng)
    return {"X": outcomes, "a": a, "p": p}


@BOOK.test("line 273", fixed={"a": "is the mean of the example"})
def test_variance_of_the_example(rng):
    a, p, outcomes = three_values(rng)
    return {"X": outcomes, "a": a, "p": p, r"\mu_X": a, r"\sigma_X": math.sqrt(8 * p)}


@BOOK.test("line 291")
def test_standard_deviation(rng):
    _, p, outcomes = three_values(rng)
    return {"X": outcomes, r"\sigma_X": math.sqrt(8 * p)}


@BOOK.test("line 472")
def test_density_as_printed(rng):
    return {"p": lambda x: 1 / (1 + x**2), "x": rng.normal()}


@BOOK.test("line 639")
def test_joint_probabilities(rng):
    p = rng.uniform(0.2, 0.4)
    values = two_variables(rng)
    pairs = [(1, -1), (1, 3), (3, -1), (3, 3)]
    values["S"] = Random(pairs, [p / 2, (1 - p) / 2, (1 - p) / 2, p / 2])
    return {**values, "p": p}


@BOOK.test("line 735")
def test_variance_of_a_sum(rng):
    return two_variables(rng)


@BOOK.test("line 729")
def test_variance_of_a_sum_of_independent_variables(rng):
    p, q = rng.uniform(0.1, 0.9, size=2)
    return {"X": Random([0, 2], [p, 1 - p]), "Y": Random([-1, 3], [q, 1 - q])}


@BOOK.test("line 763")
def test_covariance_with_a_linear_function(rng):
    a, b = rng.normal(size=2)
    _, _, outcomes = three_values(rng)
    return {"X": outcomes, "Y": depends("X", lambda x: a * x + b), "a": a, "b": b}


@BOOK.test("line 761")
def test_deviation_of_a_linear_function(rng):
    a, sigma = rng.normal(), rng.uniform(1, 2)
    scaled = abs(a) * sigma
    return {r"\sigma_X": sigma, r"\sigma_Y": scaled, r"\sigma_{aX+b}": scaled, "a": a}


@BOOK.test("line 837")
def test_correlation(rng):
    """The numerator prints y_i where y_j is meant: this fails."""
    p = rng.dirichlet(np.ones(9)).reshape(3, 3)
    x, y = rng.normal(size=(2, 3))
    x -= p.sum(axis=1) @ x
    y -= p.sum(axis=0) @ y
    spread = (p.sum(axis=1) @ x**2) * (p.sum(axis=0) @ y**2)
    found = (x @ p @ y) / math.sqrt(spread)
    names = {"X": rng.normal(), "Y": rng.normal(), r"\rho": lambda *_: found}
    return {"x": x, "y": y, "p": p, **names}


@BOOK.test("line 843", fixed={"v": "the vector v and its entries", "w": "the same of w"})
def test_cosine(rng):
    v, w = rng.normal(size=(2, 4))
    angle = math.acos(v @ w / np.linalg.norm(v) / np.linalg.norm(w))
    return {r"\mathbf{v}": v, r"\mathbf{w}": w, "v": v, "w": w, r"\theta": angle}

"""Rounding never decides a verdict, and a real error of any size beyond it does."""

import functools
import math
import warnings

import numpy as np
import pytest

import texcheck
from texcheck import LatexError

check = functools.partial(texcheck.check, vectors="row")
evaluate = functools.partial(texcheck.evaluate, vectors="row")

RNG = np.random.default_rng(7)
MATRIX = RNG.normal(size=(4, 4))
VECTOR = RNG.normal(size=4)
VALUES = {
    "A": MATRIX,
    "I": np.eye(4),
    "x": VECTOR,
    "a": 0.3,
    "b": 1e5 / 3,
    "d": 4,
    "w": np.array([0.7, 0.7j]),
    r"\lambda": 2.5,
}
SEEDS = [None, *range(100, 108)]


def holds(text, values=VALUES, noise=None, **options):
    given = {"vectors": "row", "fixed": dict.fromkeys([*values, "="], "read so"), **options}
    return all(one.holds for one in check(text, values, noise=noise, **given))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "text",
    [
        r"\sin \pi = 0",
        r"e^{\mathrm{i}\pi} + 1 = 0",
        r"A A^{-1} - I = 0",
        r"A A^{-1} = I",
        r"w w^\top = \lambda^2 w w^\top",
        r"(a + b) - a - b = 0",
        r"\lVert x \rVert^2 - x x^\top = 0",
        r"\cos^2 b + \sin^2 b = 1",
        r"\sum_{i=1}^{d} (x_i - x_i a / a) = 0",
        r"\frac{\mathrm{d}}{\mathrm{d}a} (\sin^2 a + \cos^2 a) = 0",
        r"\frac{\mathrm{d}^2}{\mathrm{d}a^2} \sin a = -\sin a",
        r"\int_{-1}^{1} t^3 e^{t^2}\,\mathrm{d}t = 0",
    ],
)
def test_terms_that_cancel_have_room(text, seed):
    assert holds(text, noise=seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "text",
    [
        r"\sin \pi = 10^{-13}",
        r"A A^{-1} - I = 10^{-11} I",
        r"\cos^2 b + \sin^2 b = 1 + 10^{-8}",
        r"a (1 + 10^{-12}) = a",
        r"\frac{\mathrm{d}}{\mathrm{d}a} \sin a = (1 + 10^{-6}) \cos a",
        r"w w^\top = 10^{-12}",
    ],
)
def test_a_real_error_has_none(text, seed):
    assert not holds(text, noise=seed)


def test_whole_numbers_are_exact():
    assert holds("a = b", {"a": 10**15, "b": 10**15})
    assert not holds("a = b", {"a": 10**15, "b": 10**15 + 1})
    assert not holds(r"10^{20} + 1 = 10^{20}", {})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_check_that_rounding_decides_is_refused(seed):
    with pytest.raises(LatexError, match="badly conditioned"):
        check(r"(a + 10^{12}) - 10^{12} = a", {"a": 0.3}, vectors="row", noise=seed)
    with pytest.raises(LatexError, match="badly conditioned"):
        check(r"1 - \cos a = 2 \sin^2 \frac{a}{2}", {"a": 3e-6}, vectors="row", noise=seed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\pi \approx 3.14", True),
        (r"\pi \approx 3.15", False),
        (r"\pi \approx 3.2", False),
        (r"\pi \approx 3", True),
        (r"710 - 113 \cdot 2\pi \approx 6.03 \cdot 10^{-5}", True),
        (r"710 - 113 \cdot 2\pi \approx 6.04 \cdot 10^{-5}", False),
        (r"2^{16} \approx 65{,}500", True),
        (r"2^{16} \approx 66{,}000", True),
        (r"2^{16} \approx 65{,}000", False),
        (r"2^{16} \approx 60{,}000", False),
        (r"2^{16} \approx 65{,}535", False),
        (r"e^2 \approx 2 e \cdot 1.36", True),
    ],
)
def test_a_printed_approximation_is_right_to_its_last_digit(text, expected):
    assert holds(text, {}) == expected


def test_flags_of_the_processor_decide_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluate(r"\det A", {"A": np.zeros((2, 2))}) == 0
        assert evaluate(r"e^{-x}", {"x": 800.0}) == 0


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (r"e^{x}", {"x": 800.0}),
        (r"x - y", {"x": math.inf, "y": math.inf}),
        (r"x e^{y}", {"x": np.array([1.0, 2.0]), "y": 710.0}),
    ],
)
def test_a_result_that_is_not_finite_does(text, values):
    with pytest.raises(LatexError):
        evaluate(text, values, vectors="row")


def test_a_tie_is_one_on_every_processor():
    text = r"f = \begin{cases} 1 & \text{if } a < b \\ 2 & \text{if } a \ge b \end{cases}"
    for seed in SEEDS:
        assert holds(text, {"a": 0.1 + 0.2, "b": 0.3, "f": 2}, noise=seed)


def test_an_array_is_compared_entry_by_entry():
    small = np.diag([1e3, 1.3e-3])
    wrong = small + np.array([[0, 0], [0, 1e-9]])
    assert holds("A = B", {"A": small, "B": small.copy()})
    assert not holds("A = B", {"A": small, "B": wrong})

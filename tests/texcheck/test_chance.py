"""Numbers that are alike on every draw: each way to print one for another is told."""

import math

import numpy as np
import pytest

from texcheck.chance import chances, too_few, varied
from texcheck.errors import RefutedError
from texcheck.formulas import Check
from texcheck.misprints import misprints
from texcheck.mutate import verdicts_of
from texcheck.trial import Fate, Trial

OPTIONS = {"vectors": "row", "first_index": 1}
X = np.array([3.0, 5.0, 6.0, 10.0])
Y = np.array([7.0, 2.0, 8.0, 3.0])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (X + 3, "E = k + 3"),
        (7 - X, "E = -1 k and a constant"),
        (2 * X + 1, "E = 2 k and a constant"),
        (2 * X, "E = 2 k"),
        (6 / X, "E = 6 1/k"),
        (X**2, "E = k^2"),
        (X**2 - 1, "E = k^2 - 1"),
        (2**X, "E = 2^k"),
        (np.log2(X), "E = 1.442695 \\log k"),
        ([math.factorial(int(x)) for x in X], "E = k!"),
        (X * (X + 1) / 2, "E = 0.5 k (k + 1)"),
        (np.floor(X / 2), "E = \\lfloor k / 2 \\rfloor"),
        (np.ceil(X / 2), "E = \\lceil k / 2 \\rceil"),
        (X + Y, "E = k + l"),
        (X - Y, "E = k - l"),
        (X * Y, "E = k l"),
        (2 * X * Y, "E = 2 k l"),
        (Y / X, "E = l / k"),
        (np.maximum(X, Y), "E = \\max(k, l)"),
        (np.minimum(X, Y), "E = \\min(k, l)"),
        (X**Y, "E = k^l"),
    ],
)
def test_what_another_number_gives_is_found(values, expected):
    tables = [{"E": e, "k": k, "l": y} for e, k, y in zip(values, X, Y, strict=True)]
    assert expected in [str(chance) for chance in chances(varied(tables))]


def test_numbers_that_are_drawn_apart_have_nothing_in_common():
    rng = np.random.default_rng(1)
    for _ in range(50):
        tables = [dict(zip("abcd", rng.uniform(0.5, 9, size=4), strict=True)) for _ in range(5)]
        assert not list(chances(varied(tables)))


def test_a_number_of_two_values_needs_a_third():
    tables = [{"k": k, "x": x} for k, x in ((1, 0.5), (2, 0.7), (1, 0.9))]
    assert too_few(varied(tables)) == ["k"]


def layer(rng):
    """E and k as four draws often have them."""
    experts = int(rng.integers(4, 6))
    k, d = int(rng.integers(1, experts)), float(rng.uniform(2, 9))
    return {"E": experts, "k": k, "d": d, "P": 3 * experts * d}


@pytest.mark.parametrize("text", ["P = 3 (k + 3) d", "P = 3 (E + k - k!) d"])
def test_chance_is_drawn_away_whatever_the_text_is(text):
    with pytest.raises(RefutedError, match="fails"):
        Check("experts", layer, OPTIONS).run(text)


def test_further_draws_are_those_that_tell_something():
    def free(rng):
        return dict(zip("ab", rng.uniform(1, 2, size=2), strict=True))

    def tied(rng):
        return {**(values := free(rng)), "c": values["a"] + values["b"]}

    assert len(Check("free", free, OPTIONS).inputs()) == 4
    assert len(Check("tied", tied, OPTIONS).inputs()) == 4

    def coin(rng):
        return {"k": int(rng.integers(1, 4)), "x": float(rng.uniform())}

    assert len({one["k"] for one in Check("coin", coin, OPTIONS).inputs()}) == 3


def test_a_coin_is_told():
    def coin(rng):
        k, x = int(rng.integers(1, 3)), float(rng.uniform(1, 2))
        return {"k": k, "x": x, "y": k * x}

    with pytest.raises(RefutedError, match="draw a third value of k"):
        Check("coin", coin, OPTIONS).run("y + k = k x + k")
    Check("coin", coin, OPTIONS, fixed={"k": "why"}).run("y + k = k x + k")


@pytest.mark.parametrize("text", ["y = 2 w x + w", "y = 8 x + w"])
def test_a_multiple_of_a_number_with_one_value_is_told(text):
    inputs = [{"w": 4, "x": x, "y": 8 * x + 4} for x in (1.3, 2.1, 2.9)]
    fate, said = Trial(inputs, OPTIONS, fixed={"w": "why"}).fate(text)
    assert (fate is Fate.REFUTED) == ("8" in text)
    assert ("8 is printed, and is 2 times w" in said) == ("8" in text)


def test_what_a_sum_leaves_out_must_count():
    def chosen(rng, rest):
        g = rng.uniform(1, 2, size=5) * np.array([1, rest, 1, rest, rest])
        return {"g": g, r"\mathcal{T}": {1, 3}, "y": g[0] + g[2]}

    text = r"y = \sum_{i \in \mathcal{T}} g_i"
    (change,) = [one.change for one in misprints(text) if "drop range" in one.change]
    for rest, caught in ((0, False), (1, True)):
        check = Check("chosen", lambda rng, rest=rest: chosen(rng, rest), OPTIONS)
        (found,) = [one for one in verdicts_of(check, text) if one.mutant.change == change]
        assert found.caught is caught


def test_a_sum_over_a_whole_array_says_the_same_without_its_range():
    whole = r"y_m = \sum_{n=0}^{N-1} A_{mn} x_n + \sum_{i=0}^{d_k/2-1} B_{mi}"
    assert not [one for one in misprints(whole) if "drop range" in one.change]
    causal = [one.text for one in misprints(r"y_m = \sum_{n=0}^{m} A_{mn} x_n")]
    assert r"y_m = \sum_{n} A_{mn} x_n" in causal

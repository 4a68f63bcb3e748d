"""Many texts on the same values: bounds must be near, and what is remembered changes no verdict."""

import math

import numpy as np
import pytest

from texcheck import LatexError, RefutedError, check
from texcheck.formulas import Fate, Formulas, Silent, Trial
from texcheck.misprints import misprints

OPTIONS = {"vectors": "row", "first_index": 1}
ANGLES = [{"x": 0.02}, {"x": 1.3}, {"x": -0.7}]
AND_ZERO = [*ANGLES, {"x": 0.0}]


def fate(text, inputs=AND_ZERO, **loose):
    return Trial(inputs, OPTIONS, **loose).fate(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\lvert \sin x \rvert \le \lvert x \rvert", Fate.SURVIVED),
        (r"\lvert \sin x \rvert \le 2 \lvert x \rvert", Fate.REFUTED),  # true, and too loose
        (r"\lvert \sin x \rvert \le 0.95 \lvert x \rvert", Fate.REFUTED),
        (r"x^2 \ge 0", Fate.SURVIVED),  # says a sign, not a bound
        (r"x^2 > -0.5", Fate.REFUTED),
    ],
)
def test_a_bound_must_come_near_somewhere(text, expected):
    assert fate(text)[0] is expected


def test_a_weak_inequality_must_be_an_equality_somewhere():
    assert fate(r"x^2 > 0")[0] is Fate.REFUTED
    assert fate(r"x^2 > 0", ANGLES)[0] is Fate.SURVIVED
    found, said = fate(r"x^2 \ge 0", ANGLES)
    assert found is Fate.REFUTED
    assert "never an equality, so that > would hold as well" in said
    assert fate(r"\lvert \sin x \rvert \le \lvert x \rvert", ANGLES)[0] is Fate.REFUTED


def test_a_loose_bound_says_why():
    text = r"\lvert \sin x \rvert \le 2 \lvert x \rvert"
    assert "never comes nearer to equality than 50%" in fate(text)[1]
    assert fate(text, loose={1: "a rough bound is enough here"})[0] is Fate.SURVIVED
    near = fate(r"\sin x \le \lvert x \rvert", loose={1: "a rough bound is enough here"})
    assert "take it out of loose=" in near[1]


def test_zero_on_both_sides_shows_no_bound_near():
    assert fate(r"\lvert x \rvert \le 2 \lvert x \rvert", [{"x": 0.0}])[0] is Fate.REFUTED
    assert fate(r"\lvert x \rvert \le \lvert x \rvert^2", [{"x": 1.0}])[0] is Fate.SURVIVED


def test_whole_numbers_are_near_at_a_difference_of_one():
    assert fate("n < m", [{"n": 4, "m": 5}])[0] is Fate.SURVIVED
    assert fate("n < m", [{"n": 4, "m": 6}])[0] is Fate.REFUTED


SLOPE = (
    r"\frac{\mathrm{d}}{\mathrm{d}x} f(x) = "
    r"\begin{cases} 1 & \text{if } x > 0 \\ -1 & \text{if } x < 0 \end{cases}"
)


def test_what_holds_where_nothing_is_stated_claims_too_much():
    inputs = [{"x": 0.7, "f": abs}, {"x": -0.4, "f": abs}, Silent({"x": 0.0, "f": lambda x: x})]
    assert fate(SLOPE, inputs)[0] is Fate.SURVIVED
    found, said = fate(SLOPE.replace("x > 0", r"x \ge 0"), inputs)
    assert found is Fate.REFUTED
    assert "should say nothing" in said


def test_two_sides_printed_alike_state_nothing():
    with pytest.raises(LatexError, match="printed alike"):
        check("a_1 = a_1 = 2", {"a": [2.0, 3.0]})


def test_what_is_remembered_changes_no_verdict():
    rng = np.random.default_rng(0)
    text = r"\begin{aligned} y_i &= \sum_{j=1}^{n} A_{ij} x_j \\ &\le \max_j A_{ij} s \end{aligned}"
    A = rng.uniform(1, 2, size=(3, 4))
    A[1] = 1.5
    inputs = []
    for _ in range(2):
        x = rng.uniform(size=4)
        values = {"A": A, "x": x, "y": A @ x, "s": x.sum(), "n": 4, "i": range(1, 4)}
        inputs.append(values)
    together = Trial(inputs, OPTIONS)
    assert together.fate(text)[0] is Fate.SURVIVED
    for misprint in misprints(text, ["A"]):
        alone = Trial(inputs, OPTIONS).fate(misprint.text)
        assert together.fate(misprint.text) == alone, misprint.change


def test_another_book_says_which_of_its_bounds_are_loose():
    book = Formulas({"sine": r"\sin x < 2"})

    def bound(rng):
        return {"x": rng.uniform(0, math.pi)}

    with pytest.raises(RefutedError, match="a sharper bound would hold as well"):
        book.test("sine")(bound)()

r"""Bounds: the numbers of ``<`` and ``\le`` are the best with their digits."""

import pytest

from texcheck.formulas import Check
from texcheck.misprints import misprints
from texcheck.mutate import verdicts_of
from texcheck.trial import Fate, Trial

OPTIONS = {"vectors": "row", "first_index": 1}
INPUTS = [{"x": x, "y": ratio * x} for x, ratio in ((1.13, 2.213), (1.57, 2.4), (4.738, 2.638))]


def trial(text, **excused):
    given = [{name: one[name] for name in "xy" if name in text} for one in INPUTS]
    return Trial(given, OPTIONS, **excused).fate(text)


@pytest.mark.parametrize(
    ("text", "best", "blunt"),
    [
        ("x < {}", "4.74", "4.75"),
        ("x < {}", "4.8", "4.81"),
        ("{} > x", "4.74", "4.75"),
        (r"x \cdot 10^{{2}} < {}", "474", "475"),
        (r"x \cdot 1000 < {}", "4{,}739", "4{,}741"),
        ("x > {}", "1.12", "1.11"),
        ("y < {} x", "2.64", "2.65"),
        ("y > {} x", "2.21", "2.20"),
        (r"\frac{{y}}{{{}}} < x", "2.64", "2.65"),
    ],
)
def test_a_bound_is_the_best_with_its_digits(text, best, blunt):
    assert trial(text.format(best)) == (Fate.SURVIVED, "")
    fate, told = trial(text.format(blunt))
    assert fate is Fate.REFUTED
    assert f"in place of {blunt} as well, and is sharper" in told


def test_a_blunt_bound_says_why():
    change = "last digit: 4.75 → 4.74"
    assert change in trial("x < 4.75")[1]
    assert trial("x < 4.75", equivalent={change: "it is the round number"})[0] is Fate.SURVIVED
    change = "off by one: 475 → {474}"
    text = r"100 x < 475"
    assert change in trial(text)[1]
    assert trial(text, equivalent={change: "it is the round number"})[0] is Fate.SURVIVED


def test_a_loose_bound_is_the_best_with_its_digits_too():
    loose = {1: (0.4, "the number of the other page")}
    assert "holds with 5 in place of 6 as well" in trial("x < 6", loose=loose)[1]
    assert trial("x < 6.0", loose=loose)[1].startswith("holds with 5.9 in place of 6.0")


def test_0_is_no_bound():
    assert trial("x > 0")[0] is Fate.SURVIVED
    assert trial(r"0 < \frac{1}{x}")[0] is Fate.SURVIVED


def test_numbers_of_bounds_are_moved_both_ways():
    changes = {one.change for one in misprints(r"k - 1 < 4.79 \le 30 k^2")}
    assert changes >= {
        "last digit: 4.79 → 4.80",
        "last digit: 4.79 → 4.78",
        "off by one: 30 → {31}",
        "off by one: 30 → {29}",
        "off by one: 2 → 3",
        "off by one: 2 → 1",
    }
    # That is "drop one".
    assert "off by one: 1 → 0" not in changes
    assert "off by one: 30 → {29}" not in {one.change for one in misprints("a = 30 k")}


def test_a_check_notices_both():
    check = Check("bound", lambda rng: INPUTS, OPTIONS)
    found = {one.mutant.change: one for one in verdicts_of(check, "y < 2.64 x")}
    for change in ("last digit: 2.64 → 2.65", "last digit: 2.64 → 2.63"):
        assert found[change].caught, change

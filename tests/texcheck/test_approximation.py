"""``\approx``: a decimal is the rounding of what makes it an equality, or a share is said."""

import math

import numpy as np
import pytest

from texcheck import LatexError, RefutedError, check
from texcheck.__main__ import main
from texcheck.formulas import Check
from texcheck.magic import texcheck as magic
from texcheck.misprints import misprints
from texcheck.mutate import verdicts_of
from texcheck.trial import Fate, Trial

OPTIONS = {"vectors": "row", "first_index": 1}
DRAWS = [(3.0, 1.3, 2), (7.0, 2.9, 5), (2.5, 8.3, 6), (11.0, 0.4, 11)]
INPUTS = [
    {
        "d": d,
        "s": s,
        "n": n,
        "i": range(3),
        "t": 8 * d / 3,
        r"\mu": 0.1 * math.log(s) + 1,
        r"\lambda": [2 * math.pi * s**k for k in range(3)],
        r"\nu": d / (2 * math.pi),
        r"\alpha": (2 * n) ** 0.25,
        r"\beta": (8 * n) ** -0.25,
        r"\tau": math.sqrt(d) / math.sqrt(2 * math.log(n)),
        "y": 2 * d / 3 + s / 3,
        "x": 0.01 * n,
    }
    for d, s, n in DRAWS
]


def said(text, inputs=None, approx=None, **excused):
    symbols = [name for name in INPUTS[0] if name.removeprefix("\\") in text]
    given = inputs or [{name: one[name] for name in symbols} for one in INPUTS]
    options = {**OPTIONS, "first_index": 0, "approx": approx or {}}
    return Trial(given, options, **excused).fate(text)


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        (r"t \approx {} d", "2.65", "2.67"),
        (r"t \approx {} d", "2.66", "2.667"),
        (r"\mu \approx {} \ln s + 1", "0.11", "0.10"),
        (r"\lambda_i \approx {} s^i", "6.2", "6.3"),
        (r"\lambda_i \simeq {} s^i", "6.29", "6.28"),
        (r"\nu \approx \frac{{d}}{{{}}}", "6.2", "6.28"),
        (r"\alpha \approx {} n^{{\frac{{1}}{{4}}}}", "1.18", "1.19"),
        (r"\beta \approx {} n^{{-\frac{{1}}{{4}}}}", "0.60", "0.59"),
        (r"\tau \approx {} \frac{{\sqrt{{d}}}}{{\sqrt{{\ln n}}}}", "0.72", "0.71"),
        (r"\frac{{2 d}}{{3}} \approx {} d", "0.66", "0.67"),
        (r"\frac{{n}}{{12}} \approx {} n", "0.082", "0.083"),
    ],
)
def test_a_decimal_is_the_rounding_of_what_makes_it_an_equality(text, wrong, right):
    fate, reason = said(text.format(wrong))
    assert fate is Fate.REFUTED
    assert f"{wrong} is no rounding of" in reason
    if len(right) == len(wrong):
        assert f"print {right}" in reason
    if right != "0.10":  # it is exact, see below
        assert said(text.format(right)) == (Fate.SURVIVED, "")


def test_a_whole_number_is_exact():
    assert said(r"\nu \approx \frac{d}{6}")[0] is Fate.REFUTED
    fate, reason = said(r"\ln \nu \approx \ln(d / 6)")
    assert fate is Fate.REFUTED
    assert "nothing is rounded" in reason


def test_nearness_in_place_of_equality_buys_no_room():
    assert "print =" in said(r"t \approx \frac{8}{3} d")[1]
    assert "print =" in said(r"\mu \approx 0.1 \ln s + 1")[1]


def test_the_number_is_one_for_all_draws():
    """At each draw alone some number between 0.65 and 0.75 would do."""
    inputs = [{"a": a, "b": b} for a, b in [(0.66, 1.0), (1.48, 2.0), (2.1, 3.0)]]
    for values in inputs:
        options = {**OPTIONS, "fixed": {"a": "one"}}
        del options["first_index"]
        assert check(r"a \approx 0.7 b", values, **options)[0].holds
    assert said(r"a \approx 0.7 b", inputs)[0] is Fate.REFUTED


def test_several_decimals_are_told_apart_by_the_draws():
    text = r"y \approx 0.67 d + 0.33 s"
    assert said(text) == (Fate.SURVIVED, "")
    fate, reason = said(text.replace("0.33", "0.34"))
    assert fate is Fate.REFUTED
    assert "0.34 is no rounding of 0.3333333: print 0.33" in reason
    assert "0.67 is no rounding" not in reason
    alike = [{name: one[name] for name in "yds"} for one in INPUTS[:1]]
    fixed = dict.fromkeys("yds", "one draw")
    fate, reason = said(text, alike, fixed=fixed)
    assert fate is Fate.REFUTED
    assert "in place of" in reason
    assert 'equivalent={"last digit: ' in reason


def test_a_decimal_beside_a_number_is_told_too():
    assert all(one.holds for one in check(r"1.4 \cdot 3.7 \approx 5.2", {}))
    (relation,) = check(r"0.67 \cdot 1.5 \approx 1.0", {})
    assert "with 0.68 in place of 0.67" in relation.note


def test_a_decimal_in_a_conclusion():
    draws = [{"x": x, "r": share * 2 * math.pi * x} for x in (1.3, 4.2) for share in (1, 0.7, 1.01)]
    text = r"\frac{r}{2\pi} = x \implies r \approx %s x"
    assert said(text % "6.28", draws) == (Fate.SURVIVED, "")
    assert "6.2 is no rounding of 6.28" in said(text % "6.2", draws)[1]


def test_nearness_is_no_condition():
    text = r"r \approx 2\pi x \implies \frac{r}{2\pi} = x"
    with pytest.raises(LatexError, match="cannot be a condition"):
        check(text, {"x": 1.3, "r": 2.6 * math.pi})


def test_entries_of_an_array():
    inputs = [{"A": A, "B": 2 * A / 3} for A in np.random.default_rng(0).normal(size=(3, 3, 3))]
    assert said(r"B \approx 0.67 A", inputs) == (Fate.SURVIVED, "")
    assert "print 0.67" in said(r"B \approx 0.66 A", inputs)[1]


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0035, ""),
        (0.002, r"\sin x \approx x fails"),
        (0.01, "the sides differ by at most 0.002; draw values"),
    ],
)
def test_what_is_no_rounding_says_how_near_it_is(share, expected):
    reason = said(r"\sin x \approx x", approx={1: (share, "the third order is left out")})[1]
    assert bool(reason) == bool(expected)
    assert expected in reason
    assert "approx={1: (" in said(r"\sin x \approx x")[1]


def test_zeros_that_end_a_number_say_how_near_they_are():
    text = r"2^{10} \approx 1000"
    assert not check(text, {})[0].holds
    assert check(text, {}, approx={1: (0.03, "a power of ten")})[0].holds
    assert not check(text, {}, approx={1: (0.3, "a power of ten")})[0].holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (r"61234 \approx 61000", True),
        (r"61234 \approx 61{,}000", True),
        (r"61234 \approx 61200", True),
        (r"61234 \approx 62000", False),
        (r"1015 \approx 1000", False),
        (r"\sqrt{1000800} \approx 1000", True),
        (r"1015 \approx 1.0 \cdot 10^3", True),
        (r"1015 \approx 1020", True),
        (r"299792458 \approx 300{,}000{,}000", False),
        (r"299792458 \approx 3.0 \cdot 10^8", True),
    ],
)
def test_zeros_behind_a_single_digit_are_printed_digits(text, holds):
    assert check(text, {})[0].holds is holds


def test_one_draw_of_several_needs_not_tell_all():
    fixed = {"approx": "one draw of several"}
    approx = {1: (0.02, "the third order is left out")}
    assert not check(r"\sin x \approx x", {"x": 0.1}, approx=approx)[0].holds
    assert check(r"\sin x \approx x", {"x": 0.1}, approx=approx, fixed=fixed)[0].holds
    assert check(r"0.67 \cdot 1.5 \approx 1.0", {}, fixed=fixed)[0].holds


def test_a_share_that_nothing_needs():
    approx = {1: (0.005, "why")}
    assert "take it out" in said(r"t \approx 2.67 d", approx=approx)[1]
    assert r"is no \approx" in said(r"t = \frac{8}{3} d", approx=approx)[1]
    with pytest.raises(ValueError, match="and why"):
        check(r"\pi \approx 3.1", {}, approx=0.02)
    with pytest.raises(ValueError, match="and why"):
        check(r"\pi \approx 3.1", {}, approx={1: (0.02, "")})


def test_a_decimal_within_the_share_is_told():
    """The share leaves room for 1.00 and 1.01, and so for no digit behind the point."""
    approx = {1: (0.003, "the third order is left out")}
    assert "in place of 1.000" in said(r"\sin x \approx 1.000 x", approx=approx)[1]
    assert said(r"\sin x \approx 1.0 x", approx=approx)[0] is Fate.SURVIVED


def test_the_last_digit_is_planted_both_ways():
    changes = {one.change for one in misprints(r"t \approx 2.69 d, \quad x = 0.5 n")}
    assert {"last digit: 2.69 → 2.70", "last digit: 2.69 → 2.68"} <= changes
    assert "last digit: 0.5 → 0.4" not in changes
    checked = Check("near", lambda rng: chosen(rng), OPTIONS)
    checked.run(r"t \approx 2.67 d")
    found = verdicts_of(checked, r"t \approx 2.67 d")
    assert found
    assert all(verdict.caught for verdict in found)
    with pytest.raises(RefutedError, match=r"print 2\.67"):
        checked.run(r"t \approx 2.65 d")


def chosen(rng):
    d = rng.uniform(1, 9)
    return {"t": 8 * d / 3, "d": d}


def test_averages_are_not_off_by_more_than_they_are():
    inputs = [{"a": 1.004 * b, "b": b} for b in (1.5, 2.5)]
    assert fate_of_average(inputs, 0.006) == ""
    assert "say sampling_error=0.006" in fate_of_average(inputs, 0.03)


def fate_of_average(inputs, allowed):
    return Trial(inputs, {**OPTIONS, "sampling_error": allowed}).fate("a = b")[1]


def test_the_command_and_the_magic_have_the_same_rule(capsys):
    assert main([r"\frac{8}{3} d \approx 2.65 d", "--with", "d = 3.7"]) == 1
    assert "2.65 is no rounding of 2.666667: print 2.67" in capsys.readouterr().out
    assert main([r"\frac{8}{3} d \approx 2.67 d", "--with", "d = 3.7"]) == 0
    assert main([r"\sin x \approx x", "--with", "x = 0.1"]) == 1
    assert main([r"\sin x \approx x", "--with", "x = 0.1", "--approx", "1=0.003"]) == 0
    assert "holds" in magic("--approx=1=0.003 x=0.1", r"\sin x \approx x")
    assert "fails" in magic("x=0.1", r"\sin x \approx x")

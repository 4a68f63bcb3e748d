r"""Checks that can refute: each way in which values could not tell a misprint is seen."""

import math

import numpy as np
import pytest

from texcheck import Excluded, LatexError, Random, RefutedError, Silent, check
from texcheck.formulas import Check
from texcheck.misprints import misprints
from texcheck.mutate import report, verdicts_of
from texcheck.trial import Fate, Trial, kinds_of, transposable

OPTIONS = {"vectors": "row", "first_index": 1}
ANGLES = [{"x": 0.02}, {"x": 1.3}, {"x": -0.7}]
AND_ZERO = [*ANGLES, {"x": 0.0}]


def trial(inputs, **excused):
    return Trial(inputs, OPTIONS, **excused)


def fate(text, inputs=AND_ZERO, **excused):
    return trial(inputs, **excused).fate(text)[0]


def said(text, inputs=AND_ZERO, **excused):
    return trial(inputs, **excused).fate(text)[1]


# -- inequalities ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\lvert \sin x \rvert \le \lvert x \rvert", Fate.SURVIVED),
        (r"\lvert \sin x \rvert \le 2 \lvert x \rvert", Fate.REFUTED),  # true, and too loose
        (r"\lvert \sin x \rvert \le 0.95 \lvert x \rvert", Fate.REFUTED),
        (r"x^2 \ge 0", Fate.SURVIVED),  # says a sign, not a bound
        (r"x^2 > -0.5", Fate.REFUTED),
        (r"x^2 > 0", Fate.REFUTED),
    ],
)
def test_a_bound_must_come_near_somewhere(text, expected):
    assert fate(text) is expected


def test_a_weak_inequality_is_an_equality_somewhere():
    assert fate(r"x^2 > 0", ANGLES) is Fate.SURVIVED
    assert "never an equality, so that > would hold" in said(r"x^2 \ge 0", ANGLES)


@pytest.mark.parametrize("weaker", [r"\le", r"\ge", r"\approx"])
def test_an_equality_that_is_weakened_is_seen(weaker):
    inputs = [{"a": a, "b": b} for a, b in [(1.3, 2.1), (0.4, -0.8)]]
    assert fate("(a + b)^2 = a^2 + 2 a b + b^2", inputs) is Fate.SURVIVED
    text = rf"(a + b)^2 {weaker} a^2 + 2 a b + b^2"
    assert "an equality on every input" in said(text, inputs)
    assert any(one.text.split() == text.split() for one in misprints(text.replace(weaker, "=")))


def test_a_loose_bound_says_why():
    text = r"\lvert \sin x \rvert \le 2 \lvert x \rvert"
    assert "not come nearer to equality than 50%" in said(text)
    why = "a rough bound is enough here"
    blunt = {"off by one: 2 → 1": why}
    assert fate(text, loose={1: (0.55, why)}, equivalent=blunt) is Fate.SURVIVED
    sharp = r"\lvert \sin x \rvert \le \lvert x \rvert"
    assert "take it out of loose=" in said(sharp, loose={1: (0.5, why)})


def test_a_loose_bound_says_how_near_it_comes():
    inputs = [{"x": x} for x in (1.1, 1.5, 1.8)]
    why = "a rough bound is enough here"
    assert fate("x < 2", inputs, loose={1: (0.15, why)}) is Fate.SURVIVED
    far = said("x < 2", inputs, loose={1: (0.05, why)})
    assert "is loose by 0.05, and the sides come within 0.1 of the larger one" in far
    rough = said("x < 2", inputs, loose={1: (0.25, why)})
    assert 'say loose={1: (0.15, "why")}' in rough
    # What would have been near enough to any bound is not any more.
    assert fate("x < 3", inputs, loose={1: (0.15, why)}) is Fate.REFUTED
    assert "more than 0.6 is no bound" in said("x < 9", inputs, loose={1: (0.5, why)})


def test_only_an_inequality_is_loose():
    inputs = [{"a": a, "b": b} for a, b in [(1.3, 2.1), (0.4, -0.8)]]
    said_so = said("a + b = b + a", inputs, loose={1: (0.1, "why")})
    assert "is no inequality; take loose={1: …} out" in said_so


@pytest.mark.parametrize("loose", [{1: "why"}, {1: (0.1, " ")}, {1: (0.7, "why")}, {1: (0, "why")}])
def test_a_loose_bound_needs_a_share_and_a_reason(loose):
    with pytest.raises(ValueError, match=r"share below 0\.6 its sides differ"):
        trial(AND_ZERO, loose=loose)


def test_a_bound_is_sharp_at_every_index():
    bounds = np.array([1.0, 4.0])
    inputs = [{"x": np.array([1.0, y]), "c": bounds, "i": range(1, 3)} for y in (0.5, 3.0)]
    assert "at i = 2" in said(r"x_i \le c_i", inputs)
    assert fate(r"x_i \le c_i", inputs, somewhere={1: "only the first"}) is Fate.SURVIVED
    near = [*inputs, {"x": np.array([0.2, 4.0]), "c": bounds, "i": range(1, 3)}]
    assert fate(r"x_i \le c_i", near) is Fate.SURVIVED
    assert "no somewhere=" in said(r"x_i \le c_i", near, somewhere={1: "only the first"})


def test_a_printed_range_is_no_bound():
    inputs = [{"i": range(n), "n": n, "x": np.arange(n) ** 2.0} for n in (3, 4)]
    options = {"vectors": "row", "first_index": 0}
    text = r"x_i = x_i + 0 \cdot i, \qquad 0 \le i < n"
    assert Trial(inputs, options).fate(text)[0] is Fate.SURVIVED
    assert Trial(inputs, options).fate(text.replace("< n", r"\le n"))[0] is Fate.REFUTED


def test_whole_numbers_are_near_at_a_difference_of_one():
    assert fate("n < m", [{"n": 4, "m": 5}, {"n": 6, "m": 7}]) is Fate.SURVIVED
    assert fate("n < m", [{"n": 4, "m": 6}, {"n": 6, "m": 8}]) is Fate.REFUTED


# -- coincidences ----


def test_a_symbol_that_equals_a_printed_number_is_refused():
    text = r"y = \frac{2 x^2}{d}"
    values = [{"x": 3.0, "y": 9.0, "d": 2}, {"x": 1.5, "y": 2.25, "d": 2}]
    assert "d is 2 on every input" in said(text, values)
    assert fate(text, [*values, {"x": 3.0, "y": 6.0, "d": 3}]) is Fate.SURVIVED
    assert fate(rf"d = 2, \quad {text}", values) is Fate.SURVIVED


def test_a_number_varies_over_the_inputs_or_a_reason_is_given():
    """Else the misprint 2^{-2j} for 2^{-8j/h} is true at h = 4."""
    text = "y = 2^{-8 j/h}"
    inputs = [{"y": 2 ** (-8 * j / 4), "j": j, "h": 4} for j in (1, 3)]
    assert "h is 4 on every input" in said(text, inputs)
    # 8 is twice this number, and could be printed as 2 h.
    assert "8 is printed, and is 2 times h" in said(text, inputs, fixed={"h": "published"})
    assert fate(text, inputs, fixed={"h": "published", "8": "published too"}) is Fate.SURVIVED
    assert fate(text, [*inputs, {"y": 2.0**-1, "j": 1, "h": 8}]) is Fate.SURVIVED
    # What the text itself says is 4 may be 4.
    assert fate("h = 4", inputs) is Fate.SURVIVED


def test_two_numbers_or_two_arrays_differ_somewhere():
    inputs = [{"y": 2 * B * L, "B": B, "L": L, "h": B} for B, L in ((2, 5), (7, 3))]
    assert "B and h are equal on every input" in said("y = B L + h L", inputs)
    apart = [{"y": (B + h) * L, "B": B, "L": L, "h": h} for B, L, h in ((2, 5, 2), (7, 3, 4))]
    assert fate("y = B L + h L", apart) is Fate.SURVIVED
    q = np.array([1.0, 2.0])
    same = [{"q": x, "k": x, "y": x @ x} for x in (q, 3 * q)]
    assert "k and q are equal on every input" in said("y = q k^\\top", same)
    flat = [{"u": np.full(2, x), "y": 2 * x**2} for x in (1.0, 3.0)]
    assert "array of equal numbers" in said("y = u u^\\top", flat)


@pytest.mark.parametrize(
    ("text", "of", "missing"),
    [
        (r"y = \max(x, 1)", lambda x: max(x, 1), "argument 2 of \\max is never the largest"),
        (r"y = \lvert x \rvert", abs, "never negative"),
        (r"y = \lfloor x \rfloor", math.floor, "always a whole number"),
    ],
)
def test_a_maximum_bars_and_roundings_go_every_way(text, of, missing):
    one_way = [{"x": x, "y": of(x)} for x in (2.0, 3.0)]
    assert missing in said(text, one_way)
    every_way = [*one_way, *({"x": x, "y": of(x)} for x in (0.4, -1.2))]
    assert fate(text, every_way) is Fate.SURVIVED


@pytest.mark.parametrize(
    ("text", "of", "below", "above"),
    [
        (r"y = \lfloor x \rfloor", math.floor, 2.3, 2.7),
        (r"y = \lceil x \rceil", math.ceil, 2.7, 2.3),
        (r"y = \operatorname{round}(x)", round, 2.3, 3.7),
        (r"y = \operatorname{round}(x)", round, 3.7, 2.3),
    ],
)
def test_roundings_are_told_apart(text, of, below, above):
    """At 2.3 round(x) is the floor, at 2.7 the ceiling."""
    alike = [{"x": x, "y": of(x)} for x in (below, below + 1, 4.0)]
    assert "another rounding gives the same" in said(text, alike)
    assert fate(text, alike, fixed={of.__name__: "why"}) is Fate.SURVIVED
    apart = [*alike, {"x": above, "y": of(above)}]
    assert fate(text, apart) is Fate.SURVIVED
    changed = [one.text for one in misprints(text) if one.change.startswith("round otherwise")]
    assert len(changed) == (2 if of is round else 3)
    assert {fate(one, apart) for one in changed} == {Fate.REFUTED}


def test_what_differs_is_tried_where_it_is_excluded():
    inputs = [{"x": 0.1}, {"x": 0.12}]
    assert "nearly any other text" in said(r"\sin x \ne x", inputs)
    loose = {1: (0.1, "the next term")}
    assert "nearly any other text" in said(r"\sin x \ne x", inputs, loose=loose)
    inputs.append(Excluded({"x": 0.0}))
    assert fate(r"\sin x \ne x", inputs) is Fate.SURVIVED
    assert "holds for values that it should exclude" in said(r"\cos x \ne x", inputs)


def test_another_symbol_of_the_same_kind_and_numbers_for_symbols_are_planted():
    values = {"d": 5, "d_k": 3, "x": np.ones(4), "y": np.zeros(4), "n": range(4)}
    texts = {one.text for one in misprints(r"x_n + 2 d = y_n \cdot d_k", (), kinds_of([values]))}
    for expected in (
        r"{y}_n + 2 d = y_n \cdot d_k",
        r"x_n + 2 {d_k} = y_n \cdot d_k",
        r"x_n + 2 d = y_n \cdot {d}",
        r"x_n + 2 {2} = y_n \cdot d_k",
        r"x_n + {d_k} d = y_n \cdot d_k",
    ):
        assert expected in texts
    # An index is not taken for a number, nor an array for one.
    assert not any("{n}" in text or "{x} d" in text for text in texts)


def test_a_difference_is_turned_only_where_its_sign_counts():
    text = r"\lvert a - b \rvert + (c - d)^2 = (e - f)^3 + \lVert g - h \rVert"
    turned = [one.change for one in misprints(text) if one.change.startswith("turn")]
    assert turned == ["turn difference: e-f → f-e"]


def test_a_misprint_keeps_its_name_where_spaces_are_added():
    tight = r"\sin(a-b)=\frac{a}{b} c+\sqrt{a-b}"
    wide = "\\sin(a - b) \\;=\\; \\frac{a}{b} \\, c + \\sqrt{ a\\,-b }"
    names = [one.change for one in misprints(tight)]
    assert len(names) > 10
    assert [one.change for one in misprints(wide)] == names


def test_misprints_of_the_same_name_are_told_apart_by_what_is_near():
    found = [one.change for one in misprints("a+b+c=d+c")]
    assert len(found) == len(set(found))
    assert [name for name in found if name.startswith("flip")] == [
        "flip sign: + → -, after a",
        "flip sign: + → -, after b",
        "flip sign: + → -, after d",
    ]
    (first, second) = [one.change for one in misprints("x+1=y+1") if "off by" in one.change]
    assert first == "off by one: 1 → 2, before ="
    assert second == "off by one: 1 → 2, after y+"
    assert [one.change for one in misprints("x = - y") if "flip" in one.change] == [
        "flip sign: - → +"
    ]


def test_a_symmetric_matrix_is_not_transposed():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    assert transposable([{"A": A, "S": A + A.T}]) == ["A"]


# -- ranges of indices ----


def digits(base):
    """The digits of all numbers with two of them, in some base."""

    def digit(j, m):
        return int(m) // base ** int(j) % base

    return {"B": base, r"\operatorname{digit}": digit, "m": range(base**2), "j": range(2)}


DIGITS = r"m = \operatorname{digit}_0(m) + \operatorname{digit}_1(m) B"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (r" \quad \text{for} \quad 0 \le m < B^2", Fate.SURVIVED),
        (r", \qquad m = 0, \ldots, B^2 - 1", Fate.SURVIVED),
        (r" \quad \text{for} \quad m < B^2", Fate.SURVIVED),
        (r" \quad \text{for} \quad m \ge 0", Fate.REFUTED),
        (r" \quad \text{for all} \quad m", Fate.REFUTED),
        ("", Fate.REFUTED),
    ],
)
def test_a_text_that_fails_beside_a_range_prints_it(condition, expected):
    inputs = [digits(3), digits(5), digits(4)]
    assert fate(DIGITS + condition, inputs) is expected
    if not condition:
        assert "holds at the declared m, and fails at m = 9" in said(DIGITS, inputs)
        assert fate(DIGITS, inputs, fixed={"m": "the sentence says so"}) is Fate.SURVIVED


def test_a_text_that_means_nothing_beside_a_range_needs_none():
    x = np.array([1.0, 4.0, 6.5])
    inputs = [{"x": x * c, "y": 2 * c * x, "i": range(1, 4)} for c in (1.0, 1.7)]
    assert fate("y_i = 2 x_i", inputs) is Fate.SURVIVED
    short = [{**one, "i": range(1, 3)} for one in inputs]
    assert fate("y_i = 2 x_i", short) is Fate.SURVIVED  # true at 3 as well
    spoilt = [{**one, "y": one["y"] + [0, 0, 1]} for one in short]
    assert "fails at i = 3" in said("y_i = 2 x_i", spoilt)


def test_a_function_may_be_for_the_range_alone():
    def squared(c):
        def square(i):
            assert i < 4
            return c * i * i

        return square

    inputs = [{"f": squared(c), "c": c, "i": range(1, 4)} for c in (1.5, 2.5)]
    assert fate("f_i = c i^2", inputs) is Fate.SURVIVED


# -- conditions and implications ----

STEP = r"f(x) = \begin{cases} x & \text{if } x > 1 \\ 2x - 1 & \text{otherwise} \end{cases}"


def step(x):
    return x if x > 1 else 2 * x - 1


def test_both_sides_of_a_condition_and_a_tie_are_drawn():
    inputs = [{"f": step, "x": x} for x in (0.5, 3.0, 1.0)]
    assert fate(STEP, inputs) is Fate.SURVIVED
    assert "never holds" in said(STEP, [inputs[0], inputs[2]])
    assert "always holds" in said(STEP, inputs[1:2])
    assert "draw a tie" in said(STEP, inputs[:2])


def test_an_indicator_is_drawn_on_both_sides():
    text = r"y = \mathbb{1}[x > 2]"
    assert "never holds" in said(text, [{"x": 1.0, "y": 0}, {"x": 2.0, "y": 0}])
    inputs = [{"x": x, "y": y} for x, y in ((1.0, 0), (2.0, 0), (3.0, 1))]
    assert fate(text, inputs) is Fate.SURVIVED


def test_an_implication_is_tried_where_its_premise_holds_and_where_not():
    text = r"x = 2 \implies x^2 = 4"
    assert fate(text, [{"x": 2.0}, {"x": 3.0}]) is Fate.SURVIVED
    assert "fails together with its premise" in said(text, [{"x": 2.0}])
    assert "never holds" in said(text, [{"x": 3.0}])
    assert fate(text, [{"x": 2.0}, {"x": -2.0}]) is Fate.REFUTED  # never with a false conclusion
    assert fate(r"x^2 = 4 \implies x = 2", [{"x": 2.0}, {"x": -2.0}]) is Fate.REFUTED


def test_an_equivalence_is_tried_both_ways():
    text = r"x^2 = 4 \iff x = 2"
    assert fate(text, [{"x": 2.0}, {"x": 3.0}]) is Fate.SURVIVED
    assert "one side" in said(text, [{"x": 2.0}, {"x": -2.0}])
    assert "never holds" in said(text, [{"x": 5.0}])


def test_silent_values_must_be_refused():
    text = r"y = \begin{cases} 1 & \text{if } x > 0 \\ -1 & \text{if } x < 0 \end{cases}"
    inputs = [{"x": 2.0, "y": 1}, {"x": -2.0, "y": -1}, Silent({"x": 0.0, "y": 1})]
    assert fate(text, inputs) is Fate.SURVIVED
    assert "of which it should say nothing" in said(text.replace("x > 0", r"x \ge 0"), inputs)


# -- the run of misprints ----


def bound(rng):
    a, b = rng.uniform(1, 2, size=2)
    return {"a": a, "b": b, "c": math.hypot(a, b)}


def test_every_misprint_of_a_sharp_check_is_noticed():
    found = verdicts_of(Check("pythagoras", bound, OPTIONS), "c^2 = a^2 + b^2")
    assert len(found) > 10
    assert all(verdict.caught for verdict in found)
    assert report(found)[1]


def test_survivors_are_told_and_excused_by_their_reason():
    def values(rng):
        b = rng.uniform(1, 2)
        return {"a": 0.0, "b": b, "c": b}

    blunt = Check("blunt", values, OPTIONS, fixed={"a": "why", "c": "why"})
    found = verdicts_of(blunt, "c^2 = a^2 + b^2")
    alive = [verdict.mutant.change for verdict in found if not verdict.caught]
    assert alive
    text, passed = report(found)
    assert not passed
    assert f"survived: blunt: {alive[0]}" in text
    blunt.equivalent = {**dict.fromkeys(alive, "a is 0"), "gone: a → b": "noticed by now"}
    text, passed = report(verdicts_of(blunt, "c^2 = a^2 + b^2"))
    assert not passed
    assert "error: blunt: gone: a → b: no survivor; remove it" in text
    del blunt.equivalent["gone: a → b"]
    assert report(verdicts_of(blunt, "c^2 = a^2 + b^2"))[1]


def test_a_check_that_fails_catches_nothing():
    wrong = Check("wrong", bound, OPTIONS)
    (verdict,) = verdicts_of(wrong, "c^2 = a^2 - b^2")
    assert verdict.fate is Fate.INTERNAL
    with pytest.raises(RefutedError, match=r"wrong: c\^2 = .* fails"):
        wrong.run("c^2 = a^2 - b^2")
    with pytest.raises(TypeError, match="must return a dictionary"):
        Check("none", lambda rng: None, OPTIONS).run("a = b")


def test_what_is_remembered_changes_no_verdict():
    """Values that one text has evaluated serve the others, and only where they are the same."""
    rng = np.random.default_rng(3)
    inputs = [
        {"x": rng.normal(size=n), "A": rng.normal(size=(n, n)), "n": n, "i": range(1, n + 1)}
        for n in (3, 4)
    ]
    for values in inputs:
        values.update(y=values["x"] @ values["A"])
    text = r"y_i = \sum_{j=1}^{n} x_j A_{ji} \quad \text{for} \quad i = 1, \ldots, n"
    shared = trial(inputs)
    assert shared.fate(text)[0] is Fate.SURVIVED
    for one in [text, *(m.text for m in misprints(text, ["A"], kinds_of(inputs)))]:
        try:
            fresh = all(r.holds for v in inputs for r in check(one, v, **OPTIONS))
        except LatexError:
            assert shared.fate(one)[0] is Fate.REFUSED
            continue
        assert (shared.fate(one)[0] is Fate.SURVIVED) <= fresh


@pytest.mark.parametrize(
    ("text", "values", "said"),
    [
        ("x^2 = 2 x", {"x": 2}, "x is 2 on every input, and 2 is printed beside it"),
        ("a + b = 2 a", {"a": 1.5, "b": 1.5}, "a and b are equal on every input"),
        ("x \\cdot w = 3", {"x": [1, 1, 1], "w": [0, 1, 2]}, "x is an array of equal numbers"),
        ("x \\cdot w = 5", {"x": [0, 1, 2], "w": [0, 1, 2]}, "w and x are equal"),
    ],
)
def test_a_single_input_that_could_not_tell_does_not_count(text, values, said):
    (relation,) = check(text, values)
    assert not relation.holds
    assert said in str(relation)
    (relation,) = check(text, values, fixed=dict.fromkeys(values, "there is no other"))
    assert relation.holds


def test_what_a_text_itself_says_is_no_coincidence():
    assert all(one.holds for one in check("d_k = 2 a, a = 2", {"d_k": 4, "a": 2}))
    assert all(one.holds for one in check("a = b", {"a": 1.5, "b": 1.5}))


RNG = np.random.default_rng(7)
MATRICES = [RNG.normal(size=(3, 3)) for _ in range(3)]
SYMMETRIC = [matrix + matrix.T for matrix in MATRICES]
MIRRORS = [matrix @ np.diag([1, 1, -1]) @ np.linalg.inv(matrix) for matrix in MATRICES]


@pytest.mark.parametrize(
    ("matrices", "kind"),
    [
        ([np.eye(3)] * 3, "the identity"),
        ([np.diag(RNG.normal(size=3)) for _ in range(3)], "diagonal"),
        (SYMMETRIC, "symmetric"),
        (MIRRORS, "its own inverse"),
    ],
)
def test_a_matrix_is_not_special_on_every_input(matrices, kind):
    vectors = [RNG.normal(size=3) for _ in matrices]
    inputs = [{"A": A, "x": x, "y": x @ A + x} for A, x in zip(matrices, vectors, strict=True)]
    text = "y = x A + x"
    assert f"A is {kind} on every input" in said(text, inputs)
    assert fate(text, inputs, fixed={"A": "the sentence says so"}) is Fate.SURVIVED
    general = {"A": MATRICES[0], "x": vectors[0], "y": vectors[0] @ MATRICES[0] + vectors[0]}
    assert fate(text, [*inputs, general]) is Fate.SURVIVED
    (relation,) = check(text, inputs[0], **OPTIONS)
    assert not relation.holds
    assert f"A is {kind} on every input" in relation.note


def masks(draw, sizes=(4, 5)):
    found = []
    for number, size in enumerate(sizes):
        S = np.random.default_rng(number).normal(size=(size, size))
        found.append({"M": draw(number, size), "S": S, "N": size, "m": range(1, size + 1)})
    return [{**one, "y": (one["M"] * one["S"]).sum(axis=1)} for one in found]


@pytest.mark.parametrize(
    ("draw", "side"),
    [
        (lambda _, size: np.tri(size), "above"),
        (lambda _, size: np.tri(size).T, "below"),
        (lambda number, size: np.tri(size) - np.tri(size, k=-2 - number), "above"),
        (lambda number, size: np.tri(size) > 0, "above"),
    ],
)
def test_a_mask_is_not_causal_on_every_input(draw, side):
    text = r"y_m = \sum_{n=1}^{N} M_{mn} S_{mn}"
    given = masks(draw)
    assert f"M is a mask with nothing {side} its diagonal on every input" in said(text, given)
    assert fate(text, given, fixed={"M": "the page says so"}) is Fate.SURVIVED
    general = masks(lambda number, size: np.random.default_rng(number).integers(0, 2, (size, size)))
    assert fate(text, [*given, *general]) is Fate.SURVIVED
    causal = r"y_m = \sum_{n=1}^{m} M_{mn} S_{mn}"
    assert fate(causal, [*given, *general]) is Fate.REFUTED
    # What the display itself says of a mask is nothing special.
    indicator = r"M_{mn} = \mathbb{1}[n \le m]"
    known = [{"M": np.tri(n), "m": range(1, n + 1), "n": range(1, n + 1)} for n in (3, 4)]
    assert fate(indicator, known) is Fate.SURVIVED


def test_a_vector_has_several_entries():
    text = r"y = \sum_{n=1}^{m} v_n w_n"
    units = [
        {"v": c * np.eye(4)[0], "w": np.arange(1.0, 5) * c, "m": m, "y": c * c}
        for c, m in ((1.5, 2), (2.5, 3), (1.2, 4))
    ]
    assert "v is a vector with one entry that is not 0 on every input" in said(text, units)
    assert fate(text, units, fixed={"v": "the page says so"}) is Fate.SURVIVED


def test_a_function_depends_on_its_arguments():
    text = "y_m = 2 q_m"
    flat = [{"q": lambda m, x=x: x, "y": lambda m, x=x: 2 * x, "m": m} for m, x in ((3, 5), (4, 7))]
    assert "q gives the same for any value of its argument" in said(text, flat)
    why = {"q": "a table of one row", "y": "the same"}
    assert fate(text, flat, fixed=why) is Fate.SURVIVED
    steps = [
        {"q": lambda m, x=x: x * m, "y": lambda m, x=x: 2 * x * m, "m": m}
        for m, x in ((3, 5), (4, 7))
    ]
    assert fate(text, steps) is Fate.SURVIVED
    changed = [
        one.text for one in misprints(text, (), kinds_of(steps)) if "index off" in one.change
    ]
    assert [fate(one, steps) for one in changed] == [Fate.REFUTED] * 2
    # A function that looks its argument up, and refuses others, is not asked.
    tables = [{"q": {m: 5 * m}.__getitem__, "y": {m: 10 * m}.__getitem__, "m": m} for m in (3, 4)]
    assert fate(text, tables) is Fate.SURVIVED


def test_a_function_tells_its_arguments_apart():
    text = "y = f(a, b)"
    numbers = ((2.5, 3.5), (1.5, 0.5))
    for function, answer in ((lambda a, b: a * b, "exchanged"), (lambda a, b: a, "argument 2")):
        inputs = [{"f": function, "a": a, "b": b, "y": function(a, b)} for a, b in numbers]
        assert answer in said(text, inputs, fixed={"y": "it is what f gives"})
    inputs = [{"f": lambda a, b: a - b, "a": a, "b": b, "y": a - b} for a, b in numbers]
    assert fate(text, inputs, fixed={"y": "it is what f gives"}) is Fate.SURVIVED
    changed = [
        one.text for one in misprints(text, (), kinds_of(inputs)) if "argument" in one.change
    ]
    assert changed == ["y = f(a + 1, b)", "y = f(a, b + 1)", "y = f(b, a)"]
    assert {fate(one, inputs) for one in changed} == {Fate.REFUTED}


def test_rows_of_an_array_differ():
    text = "y_m = P_m a"
    same = [
        {"P": np.tile(x, (3, 1)), "y": np.tile(2 * s * x, (3, 1)), "a": 2 * s, "m": range(1, 4)}
        for s, x in ((1.0, np.array([1.0, 2.0])), (1.5, np.array([4.0, 3.0])))
    ]
    assert "P is an array of equal rows" in said(text, same)


def test_what_a_text_says_of_a_matrix_is_nothing_special():
    assert fate(r"A = A^\top", [{"A": one} for one in SYMMETRIC]) is Fate.SURVIVED
    products = [{"A": one @ one.T, "B": one} for one in MATRICES]
    assert fate(r"A = B B^\top", products) is Fate.SURVIVED
    inverses = [{"A": one, "B": np.linalg.inv(one), "I": np.eye(3)} for one in MATRICES]
    assert fate("A B = I", inverses) is Fate.SURVIVED


def test_an_equation_is_not_flat():
    inputs = [{"x": np.array([a, 2 * a]), "y": np.array([-2 * a, a])} for a in (1.0, 3.0)]
    text = r"x \cdot y = 3 x \cdot y"
    assert "has the value 0 on both sides everywhere" in said(text, inputs)
    (relation,) = check(text, inputs[0], **OPTIONS)
    assert not relation.holds
    (relation,) = check(text, inputs[0], fixed={"=": "why"}, **OPTIONS)
    assert relation.holds
    assert fate(text, inputs, fixed={"=": "they are perpendicular"}) is Fate.SURVIVED
    # A text that prints the number says so.
    assert fate(r"x \cdot y = 0", inputs) is Fate.SURVIVED
    ones = [{"x": np.array([a, 1 - a]), "y": np.array([b, 1 - b])} for a, b in ((2, 3), (4, 5))]
    assert "has the value 1 on both sides" in said(r"\sum_i x_i = \sum_i y_i", ones)


def test_outcomes_have_different_sizes():
    text = r"\operatorname{Var}(a q) = a^2"
    signs = [{"a": a, "q": Random([-1, 1])} for a in (1.5, 2.5)]
    assert "the outcomes of q have the same square" in said(text, signs)
    skewed = [{"a": a, "q": Random([2.0, -0.5], [0.2, 0.8])} for a in (1.5, 2.5)]
    assert fate(text, skewed) is Fate.SURVIVED
    assert fate(r"\operatorname{Var}(a q^3) = a^2", skewed) is Fate.REFUTED


def test_numbers_are_no_multiples_of_each_other():
    inputs = [{"w": 2 * p, "P": p, "b": b, "t": 3 * p / b} for p, b in ((3, 7), (5, 11), (8, 9))]
    text = r"t = \frac{w + P}{b}"
    assert "on every input P = 0.5 w" in said(text, inputs)
    assert fate(text, inputs, fixed={"P": "two bytes each"}) is Fate.SURVIVED
    assert fate("w = 2 P", inputs) is Fate.SURVIVED
    free = {"w": 9.5, "P": 2.0, "b": 3.0, "t": 11.5 / 3}
    assert fate(text, [*inputs, free]) is Fate.SURVIVED


@pytest.mark.parametrize(
    ("of", "what"),
    [
        (lambda w, b: w + 2, "on every input P = w + 2"),
        (lambda w, b: w**2, "on every input P = w^2"),
        (lambda w, b: w + b, "on every input P = b + w"),
    ],
)
def test_numbers_are_no_sums_and_squares_of_others(of, what):
    drawn = ((3.0, 7.0), (5.0, 11.5), (8.0, 9.0))
    inputs = [{"w": w, "P": of(w, b), "b": b, "t": of(w, b) * b / w} for w, b in drawn]
    text = r"t = \frac{P b}{w}"
    assert what in said(text, inputs)
    assert fate(text, inputs, fixed={"P": "so it is", "b": "so", "w": "so"}) is Fate.SURVIVED
    free = {"w": 4.5, "P": 2.0, "b": 3.0, "t": 6 / 4.5}
    assert fate(text, [*inputs, free]) is Fate.SURVIVED


def test_a_number_is_not_the_product_of_others():
    shapes = [(2, 7, 5), (3, 4, 9), (4, 5, 8)]
    inputs = [{"h": h, "k": k, "d": h * k, "N": N, "F": N * h * k} for h, k, N in shapes]
    assert "on every input d = h k" in said("F = N d", inputs)
    assert "on every input d = h k" in said("F = N h k", inputs)
    assert fate("F = N h k", [{**one, "d": 3.5 + one["N"]} for one in inputs]) is Fate.SURVIVED
    assert fate("d = h k", inputs) is Fate.SURVIVED

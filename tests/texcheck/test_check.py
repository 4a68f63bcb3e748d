"""Relations, chains, derivations, ranges and conditions of a display."""

import functools

import numpy as np
import pytest

import texcheck
from texcheck import LatexError

check = functools.partial(texcheck.check, vectors="row")

X = np.array([0.3, -1.2, 2.0, 0.9])
P = np.exp(X) / np.exp(X).sum()
A = np.arange(12.0).reshape(3, 4)


def holds(text, values, **options):
    fixed = dict.fromkeys([*values, "="], "read so")
    return [relation.holds for relation in check(text, values, fixed=fixed, **options)]


def test_one_entry_for_each_relation_of_a_chain():
    first, second = check(r"a = b + 1 \le 5", {"a": 3, "b": 2})
    assert (first.left, first.right, first.deviation, first.holds) == (3, 3, 0, True)
    assert (second.relation, second.left, second.right, second.holds) == ("<=", 3, 5, True)
    assert second.left_text == "b + 1"


def test_a_false_relation_tells_both_sides_and_the_deviation():
    (entry,) = check(r"x^2 = 2 x", {"x": 3.0})
    assert not entry.holds
    assert entry.deviation == pytest.approx(3.0)
    assert "9" in str(entry)
    assert "fails" in str(entry)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"1 < 2", True),
        (r"2 < 2", False),
        (r"2 \le 2", True),
        (r"3 \leq 2", False),
        (r"3 > 2", True),
        (r"2 \ge 3", False),
        (r"1 \ne 2", True),
        (r"2 \neq 2", False),
        (r"101 \approx 100", False),
        (r"110 \approx 111", True),
        (r"100 \approx 110", False),
        (r"1 + 10^{-15} = 1", False),
        (r"1 + 10^{-6} = 1", False),
        (r"a \in \mathbb{R}", True),
    ],
)
def test_each_relation(text, expected):
    assert holds(text, {"a": 2}) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"A \in \mathbb{R}^{n \times d}", True),
        (r"A \in \mathbb{R}^{d \times n}", False),
        (r"x \in \mathbb{R}^d", True),
        (r"x \in \mathbb{R}^{n}", False),
    ],
)
def test_shapes_and_sets(text, expected):
    values = {"A": A, "x": X, "p": P, "s": np.array([1, -1, -1, 1]), "n": 3, "d": 4}
    assert holds(text, values) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"i = 1, 2, \ldots, n.", True),
        (r"i = 1, \ldots, n", True),
        (r"1 \le i \le n", True),
        (r"0 < i \le n", True),
        (r"0 \le i \le n", False),
        (r"i = 1, \ldots, n - 1", False),
    ],
)
def test_a_printed_range_is_the_one_that_is_declared(text, expected):
    display = (
        rf"p_i = \frac{{e^{{x_i}}}}{{\sum_{{j=1}}^n e^{{x_j}}}} \quad \text{{for}} \quad {text}"
    )
    values = {"p": P, "x": X, "n": 4, "i": range(1, 5)}
    assert all(holds(display, values)) is expected
    wrong = P.copy()
    wrong[3] += 1e-3
    entry = check(display, {**values, "p": wrong})[0]
    assert not entry.holds, "the last index is wrong and must be seen"
    assert entry.deviation == pytest.approx(1e-3)
    with pytest.raises(LatexError, match="unknown symbol"):
        check(display, {"p": P, "x": X, "n": 4})


def test_an_index_declared_as_a_range_is_run_through():
    (entry,) = check(r"B_{ij} = A_{ji}", {"A": A, "B": A.T, "i": range(1, 5), "j": range(1, 4)})
    assert entry.holds
    assert entry.instances == 12
    (entry,) = check(r"s = \sum_{i=1}^{4} x_i", {"x": X, "s": X.sum(), "i": range(1, 5)})
    assert entry.instances == 1, "an index that the sum binds is not free"


def test_a_declared_index_must_lie_in_the_stated_range():
    text = r"p_i > 0, \quad i = 1, \ldots, n"
    assert holds(text, {"p": P, "n": 4, "i": 2}) == [True, True]
    assert holds(text, {"p": P, "n": 3, "i": 4}) == [True, False]


def test_conditions_must_hold_for_the_bound_values():
    text = r"4 N^2 d = 24 N d^2 \quad \text{for} \quad N = 6 d"
    assert holds(text, {"N": 30, "d": 5}) == [True, True]
    assert holds(text, {"N": 31, "d": 5}) == [False, False]


ALIGNED = r"""\begin{aligned}
(a + b)^2 &= (a + b)(a + b) \\
&= a^2 + 2ab \\
&\quad + b^2 \\
&\ge 4 a b, \\
c &= 3
\end{aligned}"""


def test_every_step_of_a_derivation_is_checked():
    assert holds(ALIGNED, {"a": 2.0, "b": 5.0, "c": 3}) == [True, True, True, True]


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [("(a + b)(a + b)", "(a + b)(a - b)", 0), ("2ab", "ab", 1), ("4 a b", "6 a b", 2)],
)
def test_a_wrong_step_of_a_derivation_is_found(old, new, step):
    result = holds(ALIGNED.replace(old, new), {"a": 2.0, "b": 5.0, "c": 3})
    assert not result[step]


def test_sides_of_different_shape_do_not_hold():
    (entry,) = check("A = B", {"A": A, "B": A.T})
    assert not entry.holds
    assert entry.deviation == np.inf
    assert "(3, 4)" in entry.note


def test_not_a_number_never_holds():
    (entry,) = check("a = b", {"a": float("nan"), "b": float("nan")})
    assert not entry.holds


@pytest.mark.parametrize("sign", ["=", r"\le", "<", r"\approx"])
def test_infinities_compare_as_they_should(sign):
    (entry,) = check(f"a {sign} 1", {"a": float("inf")})
    assert not entry.holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"x + 1", "without a relation"),
        (r"i = 1, \ldots, 3", "unknown symbol"),
        (r"x = \lim_{n \to \infty} n", "a limit cannot be read"),
        (r"x = 1, , x = 1", "two commas"),
        (r"x &= 1", "alignment mark"),
        (r"x = 1 \text{ by magic }", "unknown symbol"),
        # a list of values needs commas and one symbol: these state something else
        (r"\begin{aligned} x &= 1 \\ + x \end{aligned}", "without a relation"),
        (r"x = 1 \quad 2", "without a relation"),
        (r"x = 1, \quad 2", "without a relation"),
        (r"x + 0 = 1, 2", "not one symbol"),
        (r"10^{400} = 10^{401}", "too large"),
    ],
)
def test_what_is_not_a_claim_is_refused(text, message):
    with pytest.raises(LatexError, match=message):
        check(text, {"x": 1})


def test_a_list_of_values_is_a_membership():
    assert holds(r"x = 1, 2", {"x": 2}) == [True]
    assert holds(r"x = 1, 3", {"x": 2}) == [False]

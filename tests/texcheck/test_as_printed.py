"""What is printed is what is checked: readings that once dropped or invented something."""

import math

import numpy as np
import pytest

from texcheck import LatexError, Random, check, evaluate

X = np.array([0.5, -1.5, 2.0])
A = np.array([[1.0, 2.0], [3.0, 4.0]])
B = np.arange(6.0).reshape(2, 3)


def holds(text, values, **options):
    return all(relation.holds for relation in check(text, values, **options))


# -- ranges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        r"x = 2, \quad 1 \le \lamda \le 5",
        r"x = 2, \quad 1 \le y < 5",
        r"x = 2 \quad (1 \le y < 5)",
        r"x = 2, \quad y = 1, \ldots, 5",
        r"x = 2, \quad y \in \{1, 2\}",
        r"x = 2 \text{ and } 1 \le y \le 5",
        r"x = 2 \text{ where } 1 \le y \le 5",
        r"x = 2, \quad y \ge 0",
    ],
)
def test_an_undeclared_symbol_is_unknown_and_its_claim_stays(text):
    with pytest.raises(LatexError, match="unknown symbol"):
        check(text, {"x": 2})


def test_a_range_after_for_that_nothing_uses_is_refused():
    with pytest.raises(LatexError, match="no statement uses it"):
        check(r"x = 2 \quad \text{for } 1 \le \lamda \le 5", {"x": 2})


@pytest.mark.parametrize("word", [r"\text{for }", r"\text{for all } \quad", r"\forall "])
def test_a_range_after_for_runs(word):
    (entry,) = check(rf"x_i < 3 \qquad {word} 1 \le i \le 3", {"x": X})
    assert entry.instances == 3


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (r"i = 1, 2, 3", True),
        (r"i = 1, \ldots, 3", True),
        (r"i = 1, 2", False),
        (r"i = 2, 3", False),
        (r"1 \le i \le 3", True),
        (r"0 < i < 4", True),
        (r"1 \le i < 3", False),
        (r"1 \le i \le 4", False),
        (r"i \in \{1, 2, 3\}", True),
        (r"i \in \{1, 2, 3, 4\}", False),
        (r"i \le 3", True),
    ],
)
def test_a_printed_range_is_the_declared_one_exactly(printed, expected):
    values = {"x": X, "i": range(1, 4)}
    assert holds(rf"x_i < 3, \qquad {printed}", values) == expected


# -- tolerance ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"10^{-12} = 10^{-10}", False),
        (r"10^{-12} = 1.0000001 \cdot 10^{-12}", False),
        (r"10^{-12} = 0.1 \cdot 10^{-11}", True),
        (r"10^{-300} = 0", False),
        (r"10^{-12} \le 10^{-13}", False),
        (r"10^{-12} \ne 10^{-13}", True),
        (r"10^{-13} < 10^{-12}", True),
        (r"0.3 < 0.1 + 0.2", False),
        (r"0.1 + 0.2 > 0.3", False),
        (r"10^{-13} \in \{0\}", False),
        (r"\int_0^1 10^{-13} t \,\mathrm{d}t = 10^{-14}", False),
        (r"\int_0^1 10^{-13} t \,\mathrm{d}t = 0.5 \cdot 10^{-13}", True),
        (r"\frac{\mathrm{d}}{\mathrm{d}a} (10^{-13} a^2) = 3 \cdot 10^{-13} a", False),
        (r"\frac{\mathrm{d}}{\mathrm{d}a} (10^{-13} a^2) = 2 \cdot 10^{-13} a", True),
    ],
)
def test_tolerance_is_relative(text, expected):
    assert holds(text, {"a": 1.5}) == expected


# -- aligned --------------------------------------------------------------------------------------


def aligned(*lines):
    return r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}"


VALUES = {"a": 6.0, "b": 6.0, "c": 6.0, "d": 6.0, "g": 2.0, "h": 3.0}


@pytest.mark.parametrize(
    "lines",
    [
        ("a &= b", "& c", "&= d"),
        ("a &= b", "& c &= d"),
        ("a &= g h", "c & d"),
        ("a & b", "&= c"),
        ("a &= g", "& (h)"),
        ("a &= g", "& h = h"),
        ("a &= b & c & d",),
        ("&= b",),
        ("a &= b", "c", r"d &= d"),
        ("& a = b", "& c", "& = d"),
        ("a &= (b", "&= c)"),
    ],
)
def test_a_line_that_lost_its_relation_is_refused(lines):
    with pytest.raises(LatexError):
        check(aligned(*lines), VALUES)


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        (("a &= b", "&= c", "&= d"), 3),
        (("a &= g", r"&\quad \cdot h"), 1),
        (("a &= b", "c &= d"), 2),
        (("a &= b & c &= d",), 2),
        (("a &= b & c &= d", "&= c & &= a"), 4),
        (("a &= b && c = d",), 2),
        (("& a = b", "& c = d"), 2),
        (("a", "&= b"), 1),
        (("a &= b", r"& \text{if } c = d"), 2),
    ],
)
def test_columns_are_statements_of_their_own(lines, count):
    assert [r.holds for r in check(aligned(*lines), VALUES)] == [True] * count


def test_a_wrong_second_column_is_seen():
    assert not holds(aligned("a &= b & c &= g"), VALUES)


# -- nothing dropped ------------------------------------------------------------------------------

DROPPED = [
    r"\sum_{m!=0}^{2} m",
    r"\sum_{n=0}^{n} n",
    r"\int_0^n n \,\mathrm{d}n",
    r"\sum_{k=1}^{2} \sum_{k=1}^{2} k",
    r"\sum_{k=1}^{2} \int_0^1 k \,\mathrm{d}k",
    r"\max_{k=1}^{3} n",
    r"\max(n)",
    r"\min(n)",
    r"\max^2(n, 1)",
    r"\{n\}",
    r"\{n, n\}",
    r"n^*",
    r"n^\star",
    r"n \star n",
    r"\overline{n}",
    r"n^\dagger",
    r"\operatorname{Re}(n)",
    r"\left( n)",
    r"( n\right)",
    r"\left| n |",
    r"| n \right|",
    r"\bigl n",
    r"A^2_{12}",
    r"A_{12}^2",
    r"A_{12}^{-1}",
    r"A^\dagger_{12}",
    r"-1 \bmod 3",
    r"n - 1 \bmod 3",
    r"n \cdot 2 \bmod 3",
    r"n \bmod 3 \cdot 2",
    r"n \bmod 3 n",
    r"\mathbb{1}_2[n > 1]",
    r"\arg_2 \max_k X_k",
    r"(n \quad n)",
    r"10^-3",
]


@pytest.mark.parametrize("text", DROPPED)
def test_nothing_that_is_printed_is_dropped(text):
    with pytest.raises(LatexError):
        evaluate(text, {"n": 3, "A": A, "X": X})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"(-1) \bmod 3", 2),
        (r"(n - 1) \bmod 2", 0),
        (r"2 n \bmod 4", 2),
        (r"(A^2)_{12}", 10.0),
        (r"(A_{12})^2", 4.0),
        (r"B_{12}^2", 1.0),
        (r"\operatorname{tr} A", 5.0),
        (r"\operatorname{tr} A A", 29.0),
        ("n − 1", 2),
        (r"10^{−3}", 0.001),
        (r"\max(X)", 2.0),
    ],
)
def test_what_was_meant_has_its_value(text, value):
    assert evaluate(text, {"n": 3, "A": A, "B": B, "X": X}) == pytest.approx(value)


# -- broadcasts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        r"X \le 2",
        r"X > -2",
        r"X - 1 = Y",
        r"B - r = C",
        r"B \odot r = D",
        r"X \in [-2, 2]",
        r"X \in \{0.5, -1.5, 2\}",
        r"\max(X, -2) = X",
        r"2^X = Z",
    ],
)
def test_shapes_that_differ_need_the_checks_word(text):
    r = np.array([1.0, 2.0, 3.0])
    values = {"X": X, "Y": X - 1, "B": B, "r": r, "C": B - r, "D": B * r, "Z": 2**X}
    assert holds(text, values, broadcast=True, vectors="row")
    try:
        assert not holds(text, values, vectors="row")
    except LatexError as error:
        assert "broadcast=True" in str(error)  # noqa: PT017


def test_zero_is_the_array_of_zeros():
    assert holds("X - X = 0", {"X": X})
    assert not holds("X = 0", {"X": X})
    assert holds(r"X \ne 0", {"X": X})


# -- common notation ------------------------------------------------------------------------------


def test_both_signs_must_hold():
    values = {"a": 0.7, "b": 0.4, "x_+": 3.0, "x_-": 1.0}
    text = r"\cos(a \pm b) = \cos(a) \cos(b) \mp \sin(a) \sin(b)"
    assert holds(text, values)
    assert not holds(text.replace(r"\mp", r"\pm"), values)
    assert holds(r"x_{\pm} = 2 \pm 1", values)
    assert not holds(r"x_{\pm} = 2 \mp 1", values)
    with pytest.raises(LatexError, match="two values"):
        evaluate(r"2 \pm 1", {})


def test_a_divisor():
    assert holds(r"3 \mid n", {"n": 6})
    assert not holds(r"4 \mid n", {"n": 6})
    assert holds(r"4 \nmid n", {"n": 6})
    with pytest.raises(LatexError, match="whole number"):
        check(r"3 \mid n", {"n": 6.5})


def test_a_condition_in_a_moment():
    values = {"q": Random([1, 2, 3, 4])}
    assert holds(r"\mathbb{E}[q \mid q > 2] = 3.5", values)
    assert holds(r"\Pr(q = 4 \mid q \ge 3) = \frac{1}{2}", values)
    with pytest.raises(LatexError, match="never holds"):
        check(r"\mathbb{E}[q \mid q > 4] = 1", values)


def test_a_relation_without_one_meaning_is_declared_or_refused():
    with pytest.raises(LatexError, match="declare it"):
        check(r"a \sim b", {"a": 1, "b": 2})
    same_sign = {r"\sim": lambda a, b: a * b > 0}
    assert holds(r"a \sim b", {"a": 1, "b": 2, **same_sign})
    assert not holds(r"a \sim b", {"a": 1, "b": -2, **same_sign})


# -- the edges of values --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["Z = Z", r"\sum_i Z_i = 0", r"\max(Z) = 0", r"\lVert Z \rVert = 0"]
)
def test_an_array_without_entries_is_refused(text):
    with pytest.raises(LatexError):
        check(text, {"Z": np.zeros(0)})


@pytest.mark.parametrize("text", ["9" * 5000 + " = 1", r"2000! = 1", r"(2^{9000})(2^{9000}) = 1"])
def test_a_number_too_long_to_write_is_refused(text):
    with pytest.raises(LatexError):
        check(text, {})


def test_a_fault_of_the_interpreter_escapes(monkeypatch):
    def broken(*arguments):
        raise AttributeError("a fault")

    monkeypatch.setattr("texcheck.evaluator.Evaluator.value_of", broken)
    with pytest.raises(AttributeError, match="a fault"):
        evaluate("1", {})


def test_a_declared_function_may_refuse_its_arguments():
    def positive(x):
        if x < 0:
            raise ValueError("negative")
        return math.sqrt(x)

    with pytest.raises(LatexError, match="f refused its arguments: negative"):
        evaluate("f(-1)", {"f": positive})

"""What could be read as something that its author did not mean: read as it is meant, or refused."""

import math

import numpy as np
import pytest

from texcheck import LatexError, Random, check
from texcheck.guess import UnsureError, guessed_symbols

LAMBDA = np.array([2.0, 3.0, 7.0])
VECTOR = Random([(1.0, 2.0), (3.0, 7.0)])
GROWS = {r"\gg": lambda a, b: a > 10 * b}
KRON = {r"\otimes": np.kron, "A": np.array([[1.0, 2.0], [3.0, 4.0]]), "B": np.array([[0.0, 1.0]])}

HOLDS = [
    # powers behind brackets
    (r"\sin(x)^2 + \cos^2(x) = 1", {"x": 0.7}),
    (r"\exp(x + 1)^2 = e^{2x + 2}", {"x": 0.7}),
    # derivatives, integrals
    (r"\frac{d}{dx} (x \cdot x) = 2x", {"x": 3.0}),
    (r"\partial_w \frac{w^2}{2} = w", {"w": 3.0}),
    (r"F = \int_0^x 2x \, dx", {"F": 9.0, "x": 3.0}),
    (r"\int_0^1 \int_0^2 x y^2 \, dy \, dx = \frac{4}{3}", {}),
    (r"\int_{\mathbb{R}} e^{-x^2} \, dx = \sqrt{\pi}", {}),
    # conditions
    (r"a = 1 \text{ if } b > 0 \text{ and } c > 0", {"a": 2, "b": 1, "c": -1}),
    (r"a, b \in \{1, 2\}", {"a": 1, "b": 2}),
    (r"a \in S \text{ whenever } b, c > 0", {"a": 7, "S": {1}, "b": 1, "c": -1}),
    (r"p = \begin{cases} 1 & k \le x < k+1 \text{ with } k > 3 \\ 0 & \text{otherwise} \end{cases}",
     {"p": 0, "k": 2, "x": 2.5}),
    # expectations
    (r"2 E[x] = 4, \quad E(x) = 2, \quad \mathbb{E}_x x^2 = 5", {"x": Random([1, 3])}),
    (r"\operatorname{Cov}[x]_{12} = 2.5", {"x": VECTOR}),
    # sums, products and dots
    (r"\sum_{i, j = 1}^n A_{i,j} = 12", {"A": np.arange(1.0, 10).reshape(3, 3), "n": 2}),
    (r"\sum_{i=1}^3 -\lambda_i = -12", {r"\lambda": LAMBDA}),
    (r"{\sum_i} \lambda_i = 12", {r"\lambda": LAMBDA}),
    (r"\lambda_1 \cdots \lambda_n = 42", {r"\lambda": LAMBDA, "n": 3}),
    (r"\lambda_1 + \lambda_2 + \ldots + \lambda_n = 12", {r"\lambda": LAMBDA, "n": 3}),
    (r"1 \cdot 2 \cdots n = n! = \ldots = 24", {"n": 4}),
    # extremes
    (r"k = \arg\max_i \lambda_i", {r"\lambda": LAMBDA, "k": 3}),
    (r"k = \operatorname*{arg\,min}_i \lambda_i", {r"\lambda": LAMBDA, "k": 1}),
    # how it is printed
    (r"\small{a = 2 \cdot 3, = 6}", {"a": 6}),
    (r"\begin{aligned} a &= 2 \cdot 3 =& 6, \\ \ldots \\ b &= 1 \end{aligned}", {"a": 6, "b": 1}),
    (r"\mathbf{v_1} + \mathbf{v_2 w_1} = 7", {r"\mathbf{v}": [1, 2], r"\mathbf{w}": [3]}),
    (r"a = \frac{1.97E+14}{8.20E+11}, \quad b > 61,000", {"a": 1.97e14 / 8.2e11, "b": 61_001}),
    (r"\begin{aligned} a &= 1 && \text{for any constant $C$} \end{aligned}", {"a": 1}),
    # signs that are declared
    (r"a \gg b = 1", {**GROWS, "a": 11, "b": 1}),
    (r"(A \otimes B)_{2,4} = 4", KRON),
    (r"a \gg b = 1 \implies a = 20", {**GROWS, "a": 9, "b": 1}),
    (r"a \gg b = 1 \implies a = 20", {**GROWS, "a": 90, "b": 2}),
    (r"a, b > 0 \implies c > 0", {"a": -1, "b": 1, "c": -1}),
    (r"a = 1 \implies a \gg b = 2", {**GROWS, "a": 2, "b": 1}),
    (r"\hat{x_2} = 5, \quad \sum_{i=1}^2 \vec{e_i} = 4", {r"\hat{x}": [4, 5], r"\vec{e}": [1, 3]}),
    (r"a \cdot_D b = 5", {r"\cdot_D": lambda a, b: a + b, "a": 2, "b": 3}),
    (r"a \rightarrow b", {r"\to": lambda a, b: abs(a - b) < 0.1, "a": 1, "b": 1.01}),
    (r"\operatorname{half} a = 3", {r"\operatorname{half}": lambda a: a / 2, "a": 6}),
    (r"D_x f(x) = 2x", {"D_x f": lambda x: 2 * x, "x": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values"), HOLDS, ids=[text for text, _ in HOLDS])
def test_it_is_read_as_it_is_meant(text, values):
    for relation in check(text, values, fixed=dict.fromkeys([*values, "="], "read so")):
        assert relation.holds, relation


FAILS = [
    (r"a = 1 \text{ if } b > 0 \text{ and } c > 0", {"a": 2, "b": 1, "c": 1}),
    (r"a, b \in \{1, 2\}", {"a": 1, "b": 3}),
    (r"a \in S \text{ whenever } b, c > 0", {"a": 7, "S": {1}, "b": 1, "c": 1}),
    (r"\lambda_1 \cdots \lambda_n = 12", {r"\lambda": LAMBDA, "n": 3}),
    (r"k = \arg\max_i \lambda_i", {r"\lambda": LAMBDA, "k": 1}),
    (r"a \gg b = 1", {**GROWS, "a": 9, "b": 1}),
    (r"a, b > 0 \implies c > 0", {"a": 1, "b": 1, "c": -1}),
    (r"a \gg b = 1", {**GROWS, "a": 90, "b": 2}),
    (r"a \gg b = 1 \implies a = 20", {**GROWS, "a": 90, "b": 1}),
    # the arrow still leads from one line to the next
    (r"\begin{aligned} a = 1 \Rightarrow \\ b = 1 \end{aligned}", {"a": 1, "b": 2}),
]


@pytest.mark.parametrize(("text", "values"), FAILS, ids=[text for text, _ in FAILS])
def test_what_is_false_fails(text, values):
    found = check(text, values, fixed=dict.fromkeys([*values, "="], "read so"))
    assert not all(relation.holds for relation in found)


def test_an_arrow_at_the_end_of_a_line_leads_to_the_next():
    text = r"\begin{aligned} a = 1 \Rightarrow \\ b = 1 \end{aligned}"
    found = check(text, {"a": 2, "b": 2}, fixed={"b": "read so"})
    assert all(relation.holds for relation in found)


REFUSED = [
    (r"\sin (x + 1)^2 = 1", {"x": 1.0}, "is ambiguous"),
    (r"\log (2 x)^2 = 1", {"x": 1.0}, "is ambiguous"),
    (r"\prod_{t=T-1}^1 t = 1", {"T": 3}, "runs from 2 down to 1"),
    (r"\sum_{i=1}^3 x_i = 6", {"x_i": 2}, "declared as one symbol"),
    (r"\sum_k q_k k_j = 1", {"q": [1, 2], "k": [1, 2], "j": 1}, "an index has none itself"),
    (r"\frac{d}{dx} x \cdot x = 2x", {"x": 3.0}, "where does the expression end"),
    (r"\partial_x x \cdot x = 2x", {"x": 3.0}, "unknown symbol|where does"),
    (r"1 + 2 + \ldots + 2^n = 15", {"n": 3}, "are not alike"),
    (r"1 - 2 + \ldots + n = 15", {"n": 3}, "dots in a sum"),
    (r"\lambda_2 \lambda_3 \cdots \lambda_1 = 1", {r"\lambda": LAMBDA}, "no pattern"),
    (r"k = \arg\max_i x_i", {"x": [1, 3, 3], "k": 3}, "is not unique"),
    (r"f(x)[1] = 1", {"f": lambda x: x, "x": np.ones(2)}, "an entry of the value"),
    (r"2\{x\} = 1", {"x": 1}, "brackets or a set"),
    (r"y_i = A_{ij} x_j", {"y": [1], "A": np.eye(2), "x": [1], "i": 1, "j": 1}, "a sum over j"),
    (r"a = \sum_{i=1}^2 x_i + x_i", {"a": 1, "x": [1, 2], "i": range(1, 3)}, "belong to the sum"),
    (r"A^T A = A", {"A": np.eye(2), "T": 3}, "a transpose, or the power"),
    (r"a = e_1 + \pi_k", {"a": 1}, "unknown symbol e_1"),
    (r"n = 61,000", {"n": 61_000}, "is a list"),
    (r"n \approx 3,141", {"n": 3.141}, "is a list"),
    (r"a \oplus b \cdot c = 3", {r"\oplus": max, "a": 1, "b": 2, "c": 2}, "beside another"),
    (r"a = 2E+1", {"a": 20}, "times e"),
    (r"a \gg b", {"a": 2, "b": 1}, "how much larger.*declare it"),
    (r"a \oplus b = 1", {"a": 2, "b": 1}, "declare it as a function"),
    (r"\begin{aligned} a &= 1 && \text{unless b is 0} \end{aligned}", {"a": 1}, "change what"),
    (r"\begin{aligned} a &= 1 && \text{only if b is 0} \end{aligned}", {"a": 1}, "change what"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "values", "reason"), REFUSED, ids=[text for text, _, _ in REFUSED]
)
def test_what_is_ambiguous_is_refused(text, values, reason):
    with pytest.raises(LatexError, match=reason):
        check(text, values)


def kinds(text):
    return {name: guess.kind for name, guess in guessed_symbols(text).items()}


def test_guesses_follow_all_of_a_formula():
    assert kinds(r"|e| \le c (e^{(k)})^2")["c"] == "number"
    assert kinds(r"p^m (1 - p)^{n - m} = 1")["p"] == "number"
    assert (
        kinds(r"a = \mathbf{W}_q \mathbf{q} + \mathbf{W}_k \mathbf{k}")[r"\mathbf{W}_k"] == "matrix"
    )
    assert kinds(r"P(x_1, x_2, \ldots, x_T) = 1")["x"] == "array"
    assert kinds(r"\Lambda (\bar{\mathbf{x}} - \bar{\mathbf{x}}_0) = 0") == {
        r"\bar\mathbf{x}_0": "vector", r"\Lambda": "number", r"\bar\mathbf{x}": "vector",
    }  # fmt: skip
    assert kinds(r"E(R(x)) = 2 E[R(x)]").keys() == {"R", "x"}
    assert kinds(r"E[R(x)] - R^* \ge 0") == {"R": "function", "x": "number", "R^star": "number"}


UNSURE = [
    (r"X = \sum_{i=1}^n X_i", "a number, or all of"),
    (r"\eta(t) = \eta_i + 1", "a value of the function"),
    (r"4 p - 2 = \sum_i p_i", "a number, or all of"),
    (r"\frac{\partial f}{\partial x_i} = f_i", "a number, or all of"),
    (r"L^2 = K_1^1", "the 1 above K"),
    (r"c(x)^2 = 1", "with its power a product"),
    (r"d(x y) = 1", "a differential"),
    (r"a \propto b", "leaves the factor open"),
    (r"a \cdot_D b = 1", "what does"),
]


@pytest.mark.parametrize(("text", "reason"), UNSURE, ids=[text for text, _ in UNSURE])
def test_no_guess_where_two_are_as_good(text, reason):
    with pytest.raises(UnsureError, match=reason):
        guessed_symbols(text)


def test_a_normal_density_has_area_one_also_in_the_plane():
    text = r"\int_{\mathbb{R}^2} e^{-(x^2 + y^2)} \, dx \, dy = \pi"
    (relation,) = check(text, {})
    assert relation.holds
    assert relation.left == pytest.approx(math.pi)

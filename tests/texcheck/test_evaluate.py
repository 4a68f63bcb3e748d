"""Each construct of the subset, against the value it must have."""

import functools
import math

import numpy as np
import pytest
from scipy import linalg, special

import texcheck
from texcheck import Random, depends, nodes
from texcheck.evaluation.rules import RULES

evaluate = functools.partial(texcheck.evaluate, vectors="row")

X = np.array([0.3, -1.2, 2.0])
Y = np.array([1.5, 0.4, -0.7])
A = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 4.0]])
B = np.array([[2.0, 1.0], [0.5, 3.0]])
C = np.array([[1.0, -1.0], [2.0, 0.25]])
Z = 0.6 - 1.1j


def softmax(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


CASES = [
    # numbers, signs, fractions, powers
    (r"1 + 2 \cdot 3", {}, 7),
    (r"-2^2", {}, -4),
    (r"\frac{1}{2} + \frac{1}3", {}, 5 / 6),
    (r"2 a b^2", {"a": 3, "b": 4}, 96),
    (r"a(b + 1)", {"a": 3, "b": 4}, 15),
    (r"a (-b)", {"a": 3, "b": 4}, -12),
    (r"n(n+1)/2", {"n": 5}, 15),
    (r"10000^{-2i/d}", {"i": 3, "d": 8}, 10000 ** (-6 / 8)),
    (r"10{,}000 + 10\,000", {}, 20000),
    (r"0.5 x", {"x": 3.0}, 1.5),
    (r"\sqrt{x} + \sqrt2", {"x": 16}, 4 + math.sqrt(2)),
    (r"e^{x}", {"x": 0.7}, math.exp(0.7)),
    (r"e^{-t^2}", {"t": 0.7}, math.exp(-0.49)),
    (r"e x", {"e": 2.0, "x": 3.0}, 6.0),
    (r"2\pi r", {"r": 2.0}, 4 * math.pi),
    (r"7 \bmod 4", {}, 3),
    (r"a / b \cdot c", {"a": 6, "b": 2, "c": 5}, 15),
    (r"\left\lfloor -\frac{7}{2} \right\rfloor + \lceil x \rceil", {"x": 2.1}, -1),
    (r"\lvert x \rvert + \lvert y \rvert", {"x": -2.0, "y": 3.0}, 5.0),
    # names: longest declared first
    (r"d_k + d", {"d_k": 64, "d": 512}, 576),
    (r"d_{k}", {"d_k": 64}, 64),
    (r"F_{\text{core}} + \hat{x}", {r"F_{\text{core}}": 2, r"\hat{x}": 3}, 5),
    (r"W^Q x^2", {"W^Q": 2.0, "x": 3.0}, 18.0),
    (r"W^Q_j", {"W^Q": A, "j": 2}, A[1]),
    (r"W_j^{Q}", {"W^Q": A, "j": 2}, A[1]),
    (r"x' + x", {"x'": 1, "x": 2}, 3),
    (r"\mathbf{x}_2", {r"\mathbf{x}": X}, X[1]),
    (r"\sigma^2", {r"\sigma": 3}, 9),
    (r"x^{(2)}", {"x^{(2)}": 7}, 7),
    (r"2 \Delta w_2 + \Delta t", {r"\Delta w": X, r"\Delta t": 1}, 2 * X[1] + 1),
    # functions
    (r"f(x)", {"f": lambda x: x + 1, "x": 2}, 3),
    (r"f(x)^2", {"f": lambda x: x + 1, "x": 2}, 9),
    (r"f(x, 3) x", {"f": lambda x, y: x + y, "x": 2}, 10),
    (r"R_{n-m}", {"R": lambda k: 10 * k, "n": 5, "m": 2}, 30),
    (r"f_m(x)", {"f": lambda m, x: m * x, "m": 5, "x": 2}, 10),
    (r"\sin m\theta + \cos(m\theta)", {"m": 3, r"\theta": 0.2}, math.sin(0.6) + math.cos(0.6)),
    (r"\sin\theta\cos\theta", {r"\theta": 0.2}, math.sin(0.2) * math.cos(0.2)),
    (r"\sin^2 x + \cos^2(x)", {"x": 0.3}, 1.0),
    (r"\log\frac{a}{b}", {"a": 3.0, "b": 2.0}, math.log(1.5)),
    (r"\exp(x) y", {"x": 0.5, "y": 2.0}, 2 * math.exp(0.5)),
    (r"\tanh x", {"x": 0.5}, math.tanh(0.5)),
    (r"\operatorname{softmax}(x)_2", {"x": X}, softmax(X)[1]),
    (r"\mathrm{softmax}(A)", {"A": A}, softmax(A)),
    (r"\operatorname{erf}\left(x\right)", {"x": 0.4}, special.erf(0.4)),
    (r"\max(a, b, c)", {"a": 1, "b": 7, "c": 3}, 7),
    (r"\operatorname{tr}(BC) + \det B", {"B": B, "C": C}, np.trace(B @ C) + np.linalg.det(B)),
    (r"\operatorname{diag}(x)", {"x": X}, np.diag(X)),
    (r"\operatorname{rank}(A)", {"A": A}, 2),
    # indices
    (r"x_2 + x_i", {"x": X, "i": 3}, X[1] + X[2]),
    (r"x_{2i-1}", {"x": X, "i": 2}, X[2]),
    (r"x_{2i}", {"x": X, "i": 1}, X[1]),
    (r"A_{ij}", {"A": A, "i": 2, "j": 3}, A[1, 2]),
    (r"A_{i,j+1}", {"A": A, "i": 2, "j": 2}, A[1, 2]),
    (r"A_{12}", {"A": A}, A[0, 1]),
    (r"A_i", {"A": A, "i": 2}, A[1]),
    (r"(BC)_{21}", {"B": B, "C": C}, (B @ C)[1, 0]),
    (r"x_i^2", {"x": X, "i": 2}, X[1] ** 2),
    # sums, products, extremes
    (r"\sum_{i=1}^{3} x_i y_i", {"x": X, "y": Y}, X @ Y),
    (r"\sum_i x_i + 1", {"x": X}, X.sum() + 1),
    (r"2\sum_{i} x_i \sum_{j} y_j", {"x": X, "y": Y}, 2 * X.sum() * Y.sum()),
    (r"\sum_{j \ne i} x_j", {"x": X, "i": 2}, X[0] + X[2]),
    (r"\sum_{i,j} A_{ij}", {"A": A}, A.sum()),
    (r"\sum_{1 \le i < j \le n} i j", {"n": 4}, 35),
    (r"\sum_{j \le i} x_j", {"x": X, "i": 2}, X[0] + X[1]),
    (r"\sum_{i \in S} i", {"S": {2, 5}}, 7),
    (r"\sum_{i=5}^{3} i", {}, 0),
    (r"\prod_{k=1}^{4} k", {}, 24),
    (r"\max_i x_i - \min_{i} x_i", {"x": X}, X.max() - X.min()),
    (r"\max_{j \ne i} x_j", {"x": X, "i": 3}, 0.3),
    (r"f(x_1, \ldots, x_n)", {"f": lambda *a: sum(a), "x": X, "n": 3}, X.sum()),
    # vectors and matrices
    (r"x \cdot y", {"x": X, "y": Y}, X @ Y),
    (r"x y^\top", {"x": X, "y": Y}, X @ Y),
    (r"x A^\top", {"A": A, "x": X}, X @ A.T),
    (r"x \odot y", {"x": X, "y": Y}, X * Y),
    (r"x A^\top \odot v B", {"x": X, "A": A, "v": Y[:2], "B": B}, (X @ A.T) * (Y[:2] @ B)),
    (r"a b / c", {"a": 6, "b": 2, "c": 4}, 3),
    (r"B C", {"B": B, "C": C}, B @ C),
    (r"B^2 + B^{-1}", {"B": B}, B @ B + np.linalg.inv(B)),
    (r"\lVert B \rVert_F", {"B": B}, np.linalg.norm(B)),
    (r"\lVert B \rVert_2", {"B": B}, np.linalg.norm(B, 2)),
    (r"\begin{pmatrix} 1 & a \\ 0 & \frac{1}{2} \end{pmatrix}", {"a": 3}, [[1, 3], [0, 0.5]]),
    (r"\begin{pmatrix} B & 0 \\ 0 & C \end{pmatrix}", {"B": B, "C": C},
     np.block([[B, np.zeros((2, 2))], [np.zeros((2, 2)), C]])),
    # complex numbers
    (r"\Re(z) + \Im z", {"z": Z}, Z.real + Z.imag),
    (r"e^{i m \theta}", {"i": 1j, "m": 3, r"\theta": 0.2}, np.exp(0.6j)),
    (r"e^{\mathrm{i} x}", {"x": 0.2}, np.exp(0.2j)),
    (r"\Re{[z^2]}", {"z": Z}, (Z**2).real),
    # cases, indicators
    (r"\begin{cases} x, & \text{if } x > 0 \\ 0, & \text{otherwise} \end{cases}", {"x": -2.0}, 0),
    (r"\begin{cases} 1 & 0 \le x < 1 \\ 2 & x \ge 1 \end{cases}", {"x": 1.0}, 2),
    (r"\delta_{ij} + \delta_{i,i}", {"i": 1, "j": 2}, 1),
    (r"\mathbb{1}[n \le m]", {"m": 2, "n": 2}, 1),
    # calculus
    (r"\frac{\mathrm{d}}{\mathrm{d}x} x^3", {"x": 2.0}, 12.0),
    (r"\frac{\partial f(x, y)}{\partial x}", {"f": lambda x, y: x**2 * y, "x": 3.0, "y": 2.0}, 12),
    (r"\frac{\partial f}{\partial x}", {"f": lambda x: x**3, "x": 2.0}, 12.0),
    (r"\frac{\partial^2}{\partial x^2} x^3", {"x": 2.0}, 12.0),
    (r"\frac{\partial p_i}{\partial x_j}", {"p": depends("x", softmax), "x": X, "i": 1, "j": 2},
     -softmax(X)[0] * softmax(X)[1]),
    (r"\frac{\partial}{\partial x} \ln x", {"x": 0.01}, 100.0),
    (r"\frac{\partial}{\partial x} \sqrt{x}", {"x": 1e-3}, 0.5 / math.sqrt(1e-3)),
    (r"\frac{\partial}{\partial x} \sin(100 x)", {"x": 1.0}, 100 * math.cos(100)),
    (r"\frac{\partial}{\partial x} \lvert x \rvert", {"x": 0.01}, 1.0),
    (r"\int_0^2 \mathrm{d}t", {}, 2),
    (r"\int_0^x e^{-t^2} \, \mathrm{d}t", {"x": 0.8}, math.sqrt(math.pi) / 2 * math.erf(0.8)),
    (r"\int_{-\infty}^{\infty} e^{-t^2} \mathrm{d}t \cdot 2", {}, 2 * math.sqrt(math.pi)),
    # probability
    (r"\mathbb{E}[x^2]", {"x": Random([1, 2, 6], [0.5, 0.25, 0.25])}, 10.5),
    (r"\mathbb{E}[x]^2", {"x": Random([1, 3])}, 4),
    (r"\mathbb{E}[x]", {"x": Random(np.array([1, 3]), np.array([0.25, 0.75]))}, 2.5),
    (r"\operatorname{Var}(x \cdot y)",
     {"x": Random([-1, 1], shape=(3,)), "y": Random([-2, 2], shape=(3,))}, 12),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "expected"), CASES, ids=[case[0] for case in CASES])
def test_value(text, values, expected):
    np.testing.assert_allclose(evaluate(text, values), expected, rtol=1e-9, atol=1e-12)


def test_indices_may_start_at_zero():
    assert evaluate("x_0", {"x": X}, first_index=0) == X[0]
    assert evaluate(r"\sum_{i=0}^{2} x_i", {"x": X}, first_index=0) == pytest.approx(X.sum())


def test_vectors_can_be_declared_rows_or_columns():
    outer = np.outer(X, Y)
    np.testing.assert_allclose(evaluate(r"x^\top y", {"x": X, "y": Y}, vectors="row"), outer)
    np.testing.assert_allclose(evaluate(r"x y^\top", {"x": X, "y": Y}, vectors="column"), outer)
    with pytest.raises(ValueError, match="row"):
        evaluate("x", {"x": X}, vectors="diagonal")


def test_a_declared_symbol_wins_over_a_known_one():
    assert evaluate(r"\pi", {r"\pi": 7}) == 7
    assert evaluate(r"\max(1, 2)", {r"\max": lambda a, b: 10 * a + b}) == 12


class Tensor:
    """What the interpreter asks of a tensor; importing torch here would cost seconds."""

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return np.array([1.0, 2.5], dtype=np.float32)


def test_tensors_are_read_as_arrays():
    assert evaluate("x_2", {"x": Tensor()}) == 2.5


def test_dots_of_a_diagonal_matrix_are_filled():
    text = r"""\begin{pmatrix} R(\theta_0) & 0 & \cdots & 0 \\ 0 & R(\theta_1) & \cdots & 0 \\
    \vdots & \vdots & \ddots & \vdots \\ 0 & 0 & \cdots & R(\theta_{n-1}) \end{pmatrix}"""
    blocks = {0.1: B, 0.2: C, 0.3: B @ C, 0.4: B + C}
    values = {"R": blocks.get, r"\theta": np.array([*blocks]), "n": len(blocks)}
    expected = linalg.block_diag(*blocks.values())
    np.testing.assert_allclose(evaluate(text, values, first_index=0), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"(x_1, x_2, \ldots, x_n)", [1, 2, 3, 4, 5]),
        (r"(x_1, x_3, \ldots, x_n)", [1, 3, 5]),
        (r"(x_n, \ldots, x_1)", [5, 4, 3, 2, 1]),
    ],
)
def test_dots_are_filled_by_the_pattern(text, expected):
    np.testing.assert_allclose(evaluate(text, {"x": np.arange(1.0, 7.0), "n": 5}), expected)


def test_every_construct_has_a_rule_or_has_no_value():
    sets = {nodes.NumberSet, nodes.ListedSet, nodes.DeclaredSet, nodes.Interval}
    parts = {nodes.Case, nodes.Chain, nodes.Dots, nodes.DottedList, nodes.RunTogether}
    assert set(nodes.Node.__subclasses__()) == {*RULES, *sets, *parts}

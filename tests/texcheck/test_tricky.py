"""Tricky statements: none is accepted that is false, none is refuted that is true."""

import math

import numpy as np
import pytest

from texcheck import LatexError, Random, check

A = np.array([[2.0, 1.0], [0.5, 3.0]])
X = np.array([0.3, -1.2, 2.0])
P = np.exp(X) / np.exp(X).sum()
BIG = 10**12

TRUE = [
    (r"\sin \pi = 0", {}),
    (r"e^{\mathrm{i}\pi} + 1 = 0", {}),
    (r"\cos \frac{\pi}{2} = 0", {}),
    (r"A A^{-1} - I = 0", {"A": A, "I": np.eye(2)}),
    (r"A^{-1} A = I", {"A": A, "I": np.eye(2)}),
    (r"x^2 = 4 \iff x = 2", {"x": 3.0}),
    (r"x > 1 \implies x^2 > 1", {"x": 0.5}),
    (r"\pi \approx 3.14", {}),
    (r"\pi \approx 3.1416", {}),
    (r"e \approx 2.72", {}),
    (r"\sqrt{2} \approx 1.4142", {}),
    (r"2^{10} \approx 1000", {"approx": {1: (0.03, "It is a power of ten.")}}),
    (r"0.1 + 0.2 = 0.3", {}),
    (r"0.1 \cdot 3 = 0.3", {}),
    (r"\sqrt{2}^2 = 2", {}),
    (r"(\sqrt{3})^4 = 9", {}),
    (r"\frac{1}{3} + \frac{1}{6} = \frac{1}{2}", {}),
    (r"10^{20} + 1 - 10^{20} = 1", {}),
    (r"n(n + 1) = n^2 + n", {"n": BIG}),
    (r"\frac{n}{3} \cdot 3 = n", {"n": BIG + 1}),
    (r"\lfloor \ln(8) / \ln(2) \rfloor = 3", {}),
    (r"\lfloor -0.5 \rfloor = -1", {}),
    (r"-7 / 2 = -3.5", {}),
    (r"(-7) \bmod 3 = 2", {}),
    (r"-2^2 = -4", {}),
    (r"2^{3^2} = 512", {}),
    (r"\sum_{i=1}^{0} i = 0", {}),
    (r"\prod_{i=1}^{0} i = 1", {}),
    (r"\sum_n p_n = 1", {"p": P}),
    (r"\sum_{n=1}^{3} p_n (1 - p_n) = 1 - \sum_{n=1}^{3} p_n^2", {"p": P}),
    (r"x \cdot x = \lVert x \rVert^2", {"x": X}),
    (r"x x^\top = x \cdot x", {"x": X}),
    (r"(x^\top x)_{12} = x_1 x_2", {"x": X}),
    (r"(A^2)_{12} = \sum_j A_{1,j} A_{j,2}", {"A": A}),
    (r"\operatorname{tr}(A) = A_{11} + A_{22}", {"A": A}),
    (r"\det A = A_{11} A_{22} - A_{12} A_{21}", {"A": A}),
    (r"\int_0^\infty e^{-t} \,\mathrm{d}t = 1", {}),
    (r"\frac{\mathrm{d}}{\mathrm{d}t} t^3 = 3 t^2", {"t": 1.7}),
    (r"\operatorname{Var}[x] = \mathbb{E}[x^2] - \mathbb{E}[x]^2", {"x": Random([1, 2, 5])}),
    (r"\cos^2 t + \sin^2 t = 1", {"t": 1e6}),
    (r"\lvert -3 \rvert = 3", {}),
    (r"1 < 2 \le 2 < 3", {}),
    (r"x \ne 0", {"x": X}),
    (r"b = -\infty, \quad \exp(b) = 0", {"b": -math.inf}),
]
FALSE = [
    (r"\pi \approx 3.2", {}),
    (r"\pi \approx 3.15", {}),
    (r"\pi = 3.14159265", {}),
    (r"e \approx 2.71", {}),
    (r"\frac{1}{3} = 0.333333333", {}),
    (r"10^{12} = 10^{12} + 1", {}),
    (r"n = m", {"n": BIG, "m": BIG + 1}),
    (r"n^2 = m", {"n": 10**8, "m": 10**16 + 1}),
    (r"x_1 = x_2", {"x": np.array([1e15, 1e15 + 1])}),
    (r"x = y", {"x": np.array([1e9, 1.0]), "y": np.array([1e9, 1.001])}),
    (r"\lvert z \rvert = 0", {"z": 1e-9}),
    (r"\sin 3.14159 = 0", {}),
    (r"-2^2 = 4", {}),
    (r"(2^3)^2 = 512", {}),
    (r"x > 1 \implies x^2 > 9", {"x": 2.0}),
    (r"x^2 = 4 \iff x = 2", {"x": -2.0}),
    (r"\sqrt{x^2} = x", {"x": -2.0}),
    (r"2 < 2", {}),
    (r"\sqrt{2}^2 < 2", {}),
    (r"0.1 + 0.2 > 0.3", {}),
    (r"x^\top x = x \cdot x", {"x": X}),
    (r"A B = B A", {"A": A, "B": A.T}),
    (r"(A B)^\top = A^\top B^\top", {"A": A, "B": np.array([[0.0, 1], [2, 0]])}),
    (r"\mathbb{E}[x^2] = \mathbb{E}[x]^2", {"x": Random([1, 2, 5])}),
    (r"\max(1, 2) = 1", {}),
    (r"i = 1, 2", {"i": 3}),
    (r"1 \le 2 \le 1", {}),
]


def holds(text, values):
    values = dict(values)
    options = {"approx": values.pop("approx")} if "approx" in values else {}
    given = {"vectors": "row", "fixed": dict.fromkeys([*values, "="], "read so"), **options}
    return all(relation.holds for relation in check(text, values, **given))


@pytest.mark.parametrize(("text", "values"), TRUE, ids=[case[0] for case in TRUE])
def test_true(text, values):
    assert holds(text, values)


@pytest.mark.parametrize(("text", "values"), FALSE, ids=[case[0] for case in FALSE])
def test_false(text, values):
    assert not holds(text, values)


@pytest.mark.parametrize(
    ("text", "values", "reason"),
    [
        (r"x y = 1", {"x": X, "y": X}, "a product of two rows"),
        (r"A + 1 = A", {"A": A}, "shapes differ"),
        (r"1/2 x = y", {"x": 1, "y": 2}, "ambiguous"),
        (r"A^2_{12} = 1", {"A": A}, "an entry's power or a power's entry"),
        (r"\lim_{n} x = 1", {"x": 1}, "a limit"),
        (r"x = x", {"x": 1}, "printed alike"),
        (r"x + 1", {"x": 1}, "states nothing"),
        (r"x^12 = 1", {"x": 1}, "write"),
        (r"x = \pm 2", {"x": 2}, "two values"),
        (r"x = 1, |x| = x \quad \text{if} \quad x > 0", {"x": 1}, "a condition"),
        (r"\ln_2 8 = 3", {}, "takes no subscript"),
        (r"2^n! = 1", {"n": 1}, "factorial"),
        (r"x = \{1, 2\}", {"x": 1}, "a set by its members"),
        (r"x_5 = 1", {"x": X}, "outside"),
        (r"\frac{1}{x} = 1", {"x": 0}, "division by zero|zero"),
        (r"\ln x = 1", {"x": -1.0}, "not positive"),
        (r"x \otimes x = 1", {"x": X}, "has no one meaning"),
        (r"y = 1", {"x": 1}, "unknown symbol y"),
    ],
)
def test_refused(text, values, reason):
    with pytest.raises(LatexError, match=reason) as refusal:
        check(text, values, vectors="row")
    assert "at character" in str(refusal.value)


def test_vectors_are_columns_unless_it_is_said():
    with pytest.raises(ValueError, match='"row" or "column"'):
        check("x = y", {"x": 1, "y": 1}, vectors="both")
    text, values = r"A x = y", {"A": A, "x": X[:2], "y": A @ X[:2]}
    assert check(text, values)[0].holds
    assert check(text, values, vectors="column")[0].holds
    with pytest.raises(LatexError, match="with vectors as rows"):
        check(text, values, vectors="row")

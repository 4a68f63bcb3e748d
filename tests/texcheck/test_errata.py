"""Formulas that notes and pages print wrongly: each is refuted, and its correction accepted.

The comments name what is wrong; the numbers are those of the book's list of errata.
"""

import math

import numpy as np
import pytest

from texcheck import LatexError, check

RNG = np.random.default_rng(20)
D = 8
THETA = 10000.0 ** (-2 * np.arange(D // 2) / D)
X, Y = RNG.normal(size=(2, D))
W_Q, W_K = RNG.normal(size=(2, D, 3))
P = RNG.normal(size=(5, D))
OFFSETS = RNG.normal(size=(7, 3))


def rotation(m):
    """Turns columns by the angles m·theta, pair by pair."""
    result = np.zeros((D, D))
    for i, angle in enumerate(m * THETA):
        c, s = np.cos(angle), np.sin(angle)
        result[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, -s], [s, c]]
    return result


def relative_scores():
    """Scores with a vector for each offset j - i added to the key."""
    queries, keys = P @ W_Q, P @ W_K
    return [
        [q @ (k + OFFSETS[j - i + 2]) for j, k in enumerate(keys[:4])]
        for i, q in enumerate(queries[:3])
    ]


def sinusoid(position, column):
    angle = position * THETA[column // 2]
    return math.sin(angle) if column % 2 == 0 else math.cos(angle)


def layer_norm(x):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5)


ELEMENTWISE = r"""R_m x =
\begin{pmatrix} x_1 \\ x_2 \\ x_3 \\ x_4 \\ \vdots \\ x_{d-1} \\ x_d \end{pmatrix} \odot
\begin{pmatrix} \cos m\theta_1 \\ \cos m\theta_1 \\ \cos m\theta_2 \\ \cos m\theta_2 \\ \vdots \\
\cos m\theta_{d/2} \\ \cos m\theta_{d/2} \end{pmatrix} +
\begin{pmatrix} -x_2 \\ x_1 \\ -x_4 \\ x_3 \\ \vdots \\ LAST \end{pmatrix} \odot
\begin{pmatrix} \sin m\theta_1 \\ \sin m\theta_1 \\ \sin m\theta_2 \\ \sin m\theta_2 \\ \vdots \\
\sin m\theta_{d/2} \\ \sin m\theta_{d/2} \end{pmatrix}"""
GELU = r"\operatorname{GELU}(x) = "
GELU_VALUES = {"x": -1.0, "GELU": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2)))}
ROTARY = {"R": rotation, "x": X, "y": Y, "m": 3, "n": 7, "d": D, r"\theta": THETA}
SCORES = {"W_Q": W_Q, "W_K": W_K, "R": rotation, "x": X, "y": Y, "m": 3, "n": 7}
COMPLEX = {"q": 0.3 + 1.2j, "k": -0.8 + 0.5j, "m": 3, "n": 7, r"\theta": 0.4, "i": 1j}
PAIR = {
    "x": np.array([0.7, -0.2]),
    "m": 3,
    r"\theta": 0.4,
    "R": lambda m: rotation_of_pair(0.4 * m),
}


def rotation_of_pair(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


CASES = {
    "12: a factor 2 before the sinusoids": (
        r"\operatorname{PE}(m, 2i) = 2 \sin\left(\frac{m}{10000^{2i/d}}\right)",
        r"\operatorname{PE}(m, 2i) = \sin\left(\frac{m}{10000^{2i/d}}\right)",
        {"PE": sinusoid, "m": 5, "i": 1, "d": D},
        {},
    ),
    "12: the squared length is then four times too large": (
        r"\|P\|_2^2 = 2 d",
        r"\|P\|_2^2 = \frac{d}{2}",
        {"P": np.array([sinusoid(5, c) for c in range(D)]), "d": D},
        {},
    ),
    "14: a factor 2 pi in the frequency": (
        r"\theta_i = \frac{2\pi}{10000^{2i/d}}, \quad \text{for } i = 0, 1, \ldots, d/2-1",
        r"\theta_i = \frac{1}{10000^{2i/d}}, \quad \text{for } i = 0, 1, \ldots, d/2-1",
        {r"\theta": THETA, "d": D},
        {"first_index": 0},
    ),
    "17: the first frequency is 1, not 0": (
        r"\theta = (0, 1/B, 1/B^2, \ldots, 1/B^{k-1})",
        r"\theta = (1, 1/B, 1/B^2, \ldots, 1/B^{k-1})",
        {r"\theta": THETA, "B": 10000 ** (2 / D), "k": D // 2},
        {},
    ),
    "17: the exponent counts from 0": (
        r"\theta_k = 10000^{-k/n}, \quad \text{for } k = 1, \ldots, n",
        r"\theta_k = 10000^{-(k-1)/n}, \quad \text{for } k = 1, \ldots, n",
        {r"\theta": THETA, "n": D // 2},
        {},
    ),
    "21: the order of the matrices": (
        r"(P_i W_Q)(P_j W_K)^\top = P_i W_K W_Q^\top P_j^\top",
        r"(P_i W_Q)(P_j W_K)^\top = P_i W_Q W_K^\top P_j^\top",
        {"P": P, "W_Q": W_Q, "W_K": W_K, "i": 2, "j": 4},
        {},
    ),
    "21: dropping the projections": (
        r"(P_i W_Q)(P_j W_K)^\top = P_i P_j^\top",
        r"(P_i W_Q)(P_j W_K)^\top = P_i W_Q W_K^\top P_j^\top",
        {"P": P, "W_Q": W_Q, "W_K": W_K, "i": 2, "j": 4},
        {},
    ),
    "25: the last rows of the elementwise form": (
        ELEMENTWISE.replace("LAST", r"-x_{d-1} \\ x_d"),
        ELEMENTWISE.replace("LAST", r"-x_d \\ x_{d-1}"),
        ROTARY,
        {},
    ),
    "27: without a conjugate the positions add": (
        r"\Re[q e^{i m \theta} k e^{i n \theta}] = \Re[q k e^{i (m - n) \theta}]",
        r"\Re[q e^{i m \theta} (k e^{i n \theta})^*] = \Re[q k^* e^{i (m - n) \theta}]",
        COMPLEX,
        {},
    ),
    "28: a transpose is missing between the projections": (
        r"(x R_m W_Q)(y R_n W_K)^\top = x R_m W_Q W_K R_n^\top y^\top",
        r"(x R_m W_Q)(y R_n W_K)^\top = x R_m W_Q W_K^\top R_n^\top y^\top",
        SCORES,
        {},
    ),
    "29: a transpose is missing on the key": (
        r"A_{ij} = x_i W_Q (x_j W_K + r_{j-i+3})",
        r"A_{ij} = x_i W_Q (x_j W_K + r_{j-i+3})^\top",
        {"A": relative_scores(), "x": P, "W_Q": W_Q, "W_K": W_K, "r": OFFSETS, "i": 2, "j": 4},
        {},
    ),
    "32: GELU without its factor x": (
        GELU + r"0.5 \cdot \left[1 + \operatorname{erf}\left(x / \sqrt{2}\right)\right]",
        GELU + r"0.5 \cdot x \cdot \left[1 + \operatorname{erf}\left(x / \sqrt{2}\right)\right]",
        GELU_VALUES,
        {},
    ),
    "32: the lower bound of erf": (
        r"\operatorname{erf}(x) = \frac{2}{\sqrt{\pi}} \int_1^x e^{-t^2} \mathrm{d}t",
        r"\operatorname{erf}(x) = \frac{2}{\sqrt{\pi}} \int_0^x e^{-t^2} \mathrm{d}t",
        GELU_VALUES,
        {},
    ),
    "Designing positional encoding: matrix and elementwise form turn in opposite directions": (
        r"\begin{pmatrix} \cos m\theta & -\sin m\theta \\ \sin m\theta & \cos m\theta \end{pmatrix}"
        r" x = \begin{pmatrix} x_1 \\ x_2 \end{pmatrix} \cos m\theta"
        r" + \begin{pmatrix} x_2 \\ -x_1 \end{pmatrix} \sin m\theta",
        r"\begin{pmatrix} \cos m\theta & -\sin m\theta \\ \sin m\theta & \cos m\theta \end{pmatrix}"
        r" x = \begin{pmatrix} x_1 \\ x_2 \end{pmatrix} \cos m\theta"
        r" + \begin{pmatrix} -x_2 \\ x_1 \end{pmatrix} \sin m\theta",
        PAIR,
        {},
    ),
    "labml: the sign of the exponent": (
        r"\theta_i = 10000^{\frac{2(i-1)}{d}}, \quad \text{for } i = 1, 2, \ldots, d/2",
        r"\theta_i = 10000^{-\frac{2(i-1)}{d}}, \quad \text{for } i = 1, 2, \ldots, d/2",
        {r"\theta": THETA, "d": D},
        {},
    ),
    "labml: an output where a value belongs": (
        r"o_i = \sum_{j=1}^{n} A_{ij} o_j",
        r"o_i = \sum_{j=1}^{n} A_{ij} v_j",
        {"A": np.tri(4) / 2, "v": P[:4], "o": np.tri(4) / 2 @ P[:4], "n": 4, "i": 3},
        {},
    ),
    "The Annotated Transformer: layer norm with Bessel's correction": (
        r"y_i = \frac{x_i - \mu}{\sqrt{\frac{1}{d-1} \sum_{j=1}^{d} (x_j - \mu)^2} + \epsilon}",
        r"y_i = \frac{x_i - \mu}{\sqrt{\frac{1}{d} \sum_{j=1}^{d} (x_j - \mu)^2 + \epsilon}}",
        {"x": X, "y": layer_norm(X), r"\mu": X.mean(), r"\epsilon": 1e-5, "d": D, "i": 2},
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_wrong_formula_is_refuted_and_the_right_one_accepted(name):
    wrong, right, values, options = CASES[name]
    assert all(entry.holds for entry in check(right, values, **options))
    try:
        entries = check(wrong, values, **options)
    except LatexError:
        # A missing transpose may leave a product that has no value at all.
        assert "transpose" in name
    else:
        assert not all(entry.holds for entry in entries)


def test_gelu_and_layer_norm_numbers():
    (entry,) = check(CASES["32: GELU without its factor x"][0], GELU_VALUES)
    assert (round(entry.left, 3), round(entry.right, 3)) == (-0.159, 0.159)
    unit = np.array([1.0, 0.0, 0.0, 0.0])
    text = r"a = \frac{x_1 - \mu}{\sqrt{\frac{1}{3} \sum_j (x_j - \mu)^2}}, \quad "
    text += r"b = \frac{x_1 - \mu}{\sqrt{\frac{1}{4} \sum_j (x_j - \mu)^2}}"
    entries = check(text, {"x": unit, r"\mu": 0.25, "a": 1.5, "b": math.sqrt(3)})
    assert all(entry.holds for entry in entries)

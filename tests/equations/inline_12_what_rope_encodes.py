"""Chapter 12: the relations inside its sentences."""

import numpy as np

from attention_to_rope import rotary_frequencies
from bookcheck.equations.checks import Random, depends
from bookcheck.equations.expressions import RESULT
from shared_rotations import rotation_of_all_pairs, some_frequencies

PAGE = "12-what-rope-encodes"
OPTIONS = {"first_index": 0}
D_K = 4


def bindings(rng):
    """A random base and the library's frequencies for it."""
    b, theta = some_frequencies(rng, D_K)
    return {r"\theta": theta.numpy(), "b": b, "d_k": D_K}


def turned_signs(rng):
    """Entries with mean 0 and variance 1, all outcomes of which can be counted, turned."""
    turn = rotation_of_all_pairs(some_frequencies(rng, D_K)[1])
    q = Random([-1, 1], shape=(D_K,))
    turned = depends("q", lambda q: q @ turn(3))
    return {"q": q, "u": turned, r"\mathbf{R}": turn, "r": 3, "I": np.eye(D_K)}


def by_hand(rng):
    del rng
    return {r"\theta": rotary_frequencies(4, 100.0).numpy()}


CHECKS = {
    r"\mathbb{E}[u^\top u] = \mathbf{R}_r^\top \mathbb{E}[q^\top q] \mathbf{R}_r"
    r" = \mathbf{R}_r^\top \mathbf{R}_r = I": turned_signs,
    r"\theta = (1, 0.1)": by_hand,
}
# Names, conditions, examples, and what exercises ask to judge.
DEFINITIONS = [
    r"r = \lvert n - m \rvert = m - n",
    r"\lambda_i < N",
    r"N > 2\pi",
    r"N\theta_i \le 1/2",
    r"\sum_i \cos(r\theta_i) > 0",
    r"d_k = 128",
    r"q = k",
    r"u = q \mathbf{R}_r",
    r"a = c",
    r"q = k \mathbf{R}_{-r_0}",
    r"r = r_0",
    r"i = 0",
    r"b = 100",
    r"q = k = (1, 0, 1, 0)",
    r"N = 16",
    r"N = 64",
    r"r = 0, 3, 31",
    r"r = 3",
    r"r = 31",
    r"N = 131{,}072",
    r"\lambda_j = 2\pi b^{2j/d_k} \ge N",
    r"j = d_k/2 - 1",
    r"j = d_k/4",
    r"r = 0",
    r"q = k \ne 0",
    r"\cos(r\theta_i) = 1",
    r"z_i \ne 0",
    r"r \ne 0",
    r"C_q = \mathbb{E}[q^\top q]",
    r"C_k = \mathbb{E}[k^\top k]",
    r"C_q = C_k = \operatorname{diag}(1, 0)",
    r"q = k \mathbf{R}_{-3} + k \mathbf{R}_{-40}",
]


def by_hand(rng):
    """The exercise's score, by the library's matrix."""
    r = int(rng.integers(1, 40))
    turn = rotation_of_all_pairs(rotary_frequencies(4, 100.0))(r)
    q = np.array([1.0, 0.0, 1.0, 0.0])
    return {"r": r, RESULT: float(q @ turn @ q)}


EXPRESSIONS = {r"\cos r + \cos(r/10)": by_hand}

"""Chapter 7: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import rotary_frequencies, rotation_matrix, sinusoidal
from bookcheck.equations.expressions import RESULT

PAGE = "07-sinusoids"
OPTIONS = {"first_index": 0}


def bindings(rng):
    """The inner product of two positions, and two angles."""
    theta = rotary_frequencies(16, rng.uniform(5, 60)).numpy()
    places = {"m": rng.uniform(1, 9), "n": rng.uniform(1, 9), r"\delta": int(rng.integers(1, 90))}
    angle = {r"\theta": rng.uniform(0.2, 3)}
    return {**places, **angle, "g": lambda delta: np.cos(delta * theta).sum()}


def four_dimensions(base):
    return lambda rng: {r"\theta": rotary_frequencies(4, base).numpy()}


def two_back(rng):
    """Rows of the library and its rotation back by two places."""
    theta = rotary_frequencies(8, rng.uniform(5, 60))
    P = sinusoidal(torch.arange(9), 8, float(theta[1] ** -4), dtype=torch.float64).numpy()

    def shift(delta):
        return rotation_matrix(torch.tensor(int(delta)), theta, layout="interleaved").numpy().T

    def g(delta):
        return np.cos(delta * theta.numpy()).sum()

    return {"P": P, "T": shift, "g": g, "m": range(2, 9), "n": range(9)}


CHECKS = {
    r"P_m T_{-2} P_n^\top = g(n - (m - 2))": two_back,
    r"b = 10000": lambda rng: {"b": sinusoidal.__defaults__[0]},
    r"\theta_0 = 1": four_dimensions(10000.0),
    r"\theta_1 = 1/100": four_dimensions(10000.0),
    r"\theta_1 = 100^{-1/2} = 0.1": four_dimensions(100.0),
    r"r \ge 1": lambda rng: {"r": 1},
    r"B = 10": lambda rng: {"B": float(1 / rotary_frequencies(4, 100.0)[1])},
}
LOOSE = {r"3 < \pi": "Two constants; the cosine falls up to the second."}
# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"b = 100",
    r"d = 2",
    r"d = 4",
    r"d = 8",
    r"d = 64",
    r"d = 128",
    r"d = 512",
    r"d_k = 16",
    r"d_k < d",
    r"m = 0",
    r"n = m - 2",
    r"C = W^Q (W^K)^\top",
    r"C = I",
    r"m, n \ge 0",
    r"\delta = n - m",
    r"r = \lvert n - m \rvert",
    r"r \le 3",
]


def row_length(d):
    return float(sinusoidal(torch.tensor([1234]), d, dtype=torch.float64).norm())


EXPRESSIONS = {
    r"10000^{-6/8}": lambda rng: {RESULT: float(rotary_frequencies(8)[-1])},
    r"\sqrt{256}": lambda rng: {RESULT: row_length(512)},
    r"\sqrt{d/2}": lambda rng: {"d": 10, RESULT: row_length(10)},
}

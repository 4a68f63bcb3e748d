"""Chapter 9: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import relative_positions, t5_bucket
from bookcheck.equations.expressions import RESULT

PAGE = "09-relative-positions"
OPTIONS = {"first_index": 0}


def bindings(rng):
    """A slope, and a key that stands before its query."""
    m, n, s = int(rng.integers(6, 12)), int(rng.integers(0, 6)), rng.uniform(0.2, 2)
    return {"m": m, "n": n, "s": s, "y": float(np.exp(-s)), "e": np.e}


CHECKS = {
    r"\sum_{r=0}^{N} y^r \approx 1/(1-y)": lambda rng: {"N": 400},
    r"\sum_{r=0}^{N} r y^r \approx y / (1-y)^2": lambda rng: {"N": 400},
    r"n_b = 32": lambda rng: {"n_b": t5_bucket.__kwdefaults__["buckets"]},
    r"y / (1 - y) = 1 / (1/y - 1) = 1/(e^s - 1)": bindings,
    r"\lvert n - m \rvert = m - n": bindings,
    r"-s(m - n) = s n - s m": bindings,
    r"y = e^{-s} < 1": lambda rng: {"s": 0.01, "y": float(np.exp(-0.01))},
    r"n \le m": lambda rng: [{}, {"m": 4, "n": 4}],
}
# Conditions, names and examples. The two series of the proof have no end: the displayed quotient
# is summed in test_09_relative_positions.py.
DEFINITIONS = [
    r"r = \lvert n - m \rvert",
    r"n_e = n_b / 2",
    r"n_b = 8",
    r"r_{\max} = 128",
    r"r_{\max} = 64",
    r"j = 1, \dots, h",
    r"l = \ln 2 / s",
    r"K \ge N - 1",
    r"N > n_e + 1",
    r"q_m = 0",
    r"c \ne 0",
]


def offsets(rng):
    N = int(rng.integers(3, 9))
    places = torch.arange(N)
    return {"N": N, RESULT: relative_positions(places, places).unique().numel()}


def nearest_share(rng):
    """The share of the nearest l tokens in a long series of weights."""
    s, nearest = float(rng.uniform(0.2, 1)), 4
    weights = np.exp(-s * np.arange(400))
    share = float(weights[:nearest].sum() / weights.sum())
    return {"s": s, "l": nearest, "e": np.e, RESULT: share}


EXPRESSIONS = {r"2N - 1": offsets, r"1 - e^{-sl}": nearest_share}

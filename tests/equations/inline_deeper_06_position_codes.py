"""Deeper, chapter 6: the relations inside its sentences."""

import numpy as np

PAGE = "deeper/06-position-codes"
OPTIONS = {"first_index": 0}
N = 4


def self_or_other(rng):
    """A bias of the form that the proof arrives at, off its diagonal."""
    a, c = 2 + rng.uniform(), rng.normal(size=N)
    B = c[:, None] + a * np.eye(N)
    m = int(rng.integers(N))
    return {"B": B, "a": a, "c": c, "m": m, "n": (m + 1) % N}


def bindings(rng):
    """The two claims have values of their own."""
    del rng
    return {}


CHECKS = {
    r"B_{mn} = B_{mm} - a": self_or_other,
    r"c_m = B_{mm} - a": self_or_other,
}
# Conditions, and what a name stands for.
DEFINITIONS = [
    r"h_m = \tanh(h_{m-1} U + x_m W)",
    r"D_{mn} = B_{mn} - B_{mm}",
    r"\Pi^\top D \Pi = D",
    r"m \ne n",
    r"P_m = (\cos m\theta, \sin m\theta)",
    r"\theta = \pi",
]

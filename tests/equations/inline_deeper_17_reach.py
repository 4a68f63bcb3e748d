"""Deeper, chapter 17: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import global_mask, sliding_window_mask
from bookcheck.equations.expressions import RESULT

PAGE = "deeper/17-reach"
OPTIONS = {"first_index": 0}


def bindings(rng):
    """The mask of one global token among six."""
    g = int(rng.integers(6))
    mask = global_mask(6, torch.tensor([g])).double().numpy()
    return {"M": mask, "g": g, "m": range(6), "n": range(6)}


CHECKS = {
    r"M_{mm} = 1": lambda rng: {"M": sliding_window_mask(6, window=3).double().numpy()},
}
# What an arrow is, and the steps of a proof.
DEFINITIONS = [
    r"n \le m",
    r"r = \lvert n - m \rvert",
    r"(M^L)_{mn} > 0",
    r"L = 1",
    r"M_{mn} = 1",
    r"M_{ml} = 1",
    r"(M^L)_{ln} > 0",
    r"r \le L (W - 1)",
    r"l = 0, 1, \dots, L - 1",
    r"n \le g \le m",
]


def farthest(rng):
    """The weight of the farthest position after 16 layers of equal weights in a window of 8."""
    weights = np.ones(1)
    for _ in range(16):
        weights = np.convolve(weights, np.full(8, 1 / 8))
    return {RESULT: float(weights[-1])}


EXPRESSIONS = {r"8^{-16}": farthest}

"""Chapter 17: the relations inside its sentences."""

import torch

from attention_to_rope import sliding_window_mask
from bookcheck.equations.expressions import RESULT

PAGE = "17-beyond-softmax"


def bindings(rng):
    """Its sentences state a condition and the sizes of examples only."""
    del rng
    return {}


# A condition, and the window of an exercise.
DEFINITIONS = [r"W \le N", r"W = 4096"]


def reached(rng):
    mask = torch.linalg.matrix_power(sliding_window_mask(40, window=5).double(), 3)
    return {RESULT: int((mask[-1] > 0).sum())}


EXPRESSIONS = {r"1 + 3 \cdot 4": reached}

"""Chapter 11: the relations inside its sentences."""

import math

import torch

from attention_to_rope import rotary_table, rotate
from bookcheck.equations.expressions import RESULT
from shared_11_implementing_rope import H, R, permutation

PAGE = "11-implementing-rope"


def bindings(rng):
    """The two rotations as matrices, and the permutation between them."""
    return {r"\Pi": permutation(), "m": range(2, 6), r"\mathbf{R}": R, r"\mathbf{H}": H}


# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [r"d_k = 128", r"d_k = 8", r"d_k = 4", r"x = (1, 2, 3, 4)", r"m = n"]


def partner(rng):
    """Where a quarter turn of every pair of halves brings dimension 5 of 128."""
    quarter = torch.full((64,), math.pi / 2, dtype=torch.float64)
    table = rotary_table(torch.tensor([1]), quarter, dtype=torch.float64)
    turned = rotate(torch.eye(128, dtype=torch.float64)[5][None], table, layout="half")
    return {RESULT: int(turned.abs().argmax())}


EXPRESSIONS = {r"5 + 64": partner}

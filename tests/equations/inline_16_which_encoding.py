"""Chapter 16: the formulas inside its sentences."""

import itertools

import torch

from attention_to_rope import alibi_bias
from bookcheck.equations.expressions import RESULT

PAGE = "16-which-encoding"


def bindings(rng):
    return {}


def penalty(rng):
    """What slope 0.5 leaves of a weight 20 positions back, by the library's bias."""
    half = torch.tensor([0.5], dtype=torch.float64)
    bias = alibi_bias(half, torch.tensor([20]), torch.tensor([0]))
    return {RESULT: float(bias.exp())}


EXPRESSIONS = {
    r"e^{-10}": penalty,
    r"2^n": lambda rng: {"n": 5, RESULT: sum(1 for _ in itertools.product("+-", repeat=5))},
}

"""Chapter 13: the relations inside its sentences."""

import torch

from attention_to_rope import MultiHeadAttention, cache_numbers_per_token
from bookcheck.equations.expressions import RESULT

PAGE = "13-cache"


def bindings(rng):
    """A number of key-value heads."""
    return {"g": int(rng.integers(1, 9))}


CHECKS = {
    r"d_k = 64": lambda rng: {"d_k": MultiHeadAttention(512, 8, seed=rng).d_k},
}
# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"g = h",
    r"g = 1",
    r"g = 8",
    r"d = 512",
    r"h = 8",
    r"d_k = 128",
    r"d_R = 64",
    r"d_c = 512",
    r"g = 2",
]


def kept(rng):
    held = [torch.zeros(1, 3, 1, 5)] * 2
    return {"g": 3, "d_k": 5, RESULT: cache_numbers_per_token(*held, length=1)}


EXPRESSIONS = {
    r"2 g d_k": kept,
    r"2 \cdot 80 \cdot 8 \cdot 128 \cdot 2": lambda rng: {RESULT: 320 * 1024},
    r"512 + 64": lambda rng: {
        RESULT: cache_numbers_per_token(torch.zeros(1, 1, 512), torch.zeros(1, 1, 64), length=1)
    },
}

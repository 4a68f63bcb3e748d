"""Chapter 3: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import MultiHeadAttention, attention, cache_numbers_per_token
from bookcheck.equations.expressions import RESULT
from shared_counts import matrix_operations

PAGE = "03-many-heads"


def bindings(rng):
    """A number of key-value heads."""
    return {"g": int(rng.integers(1, 9))}


CHECKS = {
    r"d_k = 64": lambda rng: {"d_k": MultiHeadAttention(512, 8, seed=rng).d_k},
}
# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"j = 0, \dots, h - 1",
    r"d_k = d / h",
    r"h d_k = d",
    r"d = 2880",
    r"g = h",
    r"g = 1",
    r"g = 8",
    r"d = 512",
    r"h = 8",
    r"d_k = 128",
    r"d_R = 64",
    r"d_c = 512",
    r"g = 2",
    r"d_k = 1",
    r"N = 5",
    r"d_k = 2",
    r"q_m > 0",
    r"q_m < 0",
    r"n = m",
    r"d_k = d / 2",
    r"d_k = d",
    r"x_n = c_n w",
]


def explained(first):
    """How much of one of two independent numbers their mixture explains, over all outcomes."""

    def values(rng):
        a = float(rng.uniform(0.1, 0.9))
        hour, degrees = np.array([[-1, -1, 1, 1], [-1, 1, -1, 1]])
        mixture = a * hour + (1 - a) * degrees
        share = np.corrcoef(mixture, hour if first else degrees)[0, 1] ** 2
        return {"a": a, RESULT: float(share)}

    return values


def kept(rng):
    held = [torch.zeros(1, 3, 1, 5)] * 2
    return {"g": 3, "d_k": 5, RESULT: cache_numbers_per_token(*held, length=1)}


def weights_of_a_layer(rng):
    parameters = MultiHeadAttention(6, 2, bias=False, seed=0).parameters()
    return {"d": 6, RESULT: sum(one.numel() for one in parameters)}


def heads_side_by_side(rng):
    h, N, d_k = 3, 5, 2
    q = torch.ones(h, N, d_k)
    sizes = {"h": h, "N": N, "d": h * d_k}
    _, weights = attention(q, q, q, return_weights=True)
    operations = matrix_operations(lambda: attention(q, q, q))
    return sizes, weights.numel(), operations


def entries_of_softmax(rng):
    sizes, entries, _ = heads_side_by_side(rng)
    return {**sizes, RESULT: entries}


def core_of_all_heads(rng):
    sizes, _, operations = heads_side_by_side(rng)
    return {**sizes, RESULT: operations}


EXPRESSIONS = {
    r"a^2 / (a^2 + (1 - a)^2)": explained(True),
    r"(1 - a)^2 / (a^2 + (1 - a)^2)": explained(False),
    r"2 g d_k": kept,
    r"4 d^2": weights_of_a_layer,
    r"h N^2": entries_of_softmax,
    r"4 N^2 d": core_of_all_heads,
    r"2 \cdot 80 \cdot 8 \cdot 128 \cdot 2": lambda rng: {RESULT: 320 * 1024},
    r"512 + 64": lambda rng: {
        RESULT: cache_numbers_per_token(torch.zeros(1, 1, 512), torch.zeros(1, 1, 64), length=1)
    },
}

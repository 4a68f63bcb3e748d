"""Chapter 3: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import MultiHeadAttention, attention
from bookcheck.equations.expressions import RESULT
from shared_counts import matrix_operations

PAGE = "03-many-heads"


def bindings(rng):
    """All other relations of the page name cases."""
    del rng
    return {}


CHECKS = {
    r"d_k = 64": lambda rng: {"d_k": MultiHeadAttention(512, 8, seed=rng).d_k},
}
# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"j = 0, \dots, h - 1",
    r"d_k = d / h",
    r"h d_k = d",
    r"d = 2880",
    r"d = 512",
    r"h = 8",
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
    r"4 d^2": weights_of_a_layer,
    r"h N^2": entries_of_softmax,
    r"4 N^2 d": core_of_all_heads,
}

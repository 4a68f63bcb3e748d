"""Chapter 1: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import FeedForward, MultiHeadAttention, attention, softmax
from bookcheck.equations.expressions import RESULT
from shared_counts import layer_operations, matrix_operations

PAGE = "01-attention"
OPTIONS = {"first_index": 0}
N, D_K = 4, 3


def rows_softmax(S):
    return softmax(torch.from_numpy(np.ascontiguousarray(S))).numpy()


def bindings(rng):
    """Queries, keys, their scores, the library's softmax, and a permutation."""
    Q, K = rng.normal(size=(2, N, D_K))
    places = {"m": range(N), "n": range(N)}
    scores = {"Q": Q, "K": K, "S": Q @ K.T / np.sqrt(D_K), "d_k": D_K}
    order = {r"\Pi": np.eye(N)[rng.permutation(N)], "I": np.eye(N)}
    return {**scores, **order, **places, r"\operatorname{softmax}": rows_softmax}


def one_matrix(rng):
    """Queries and keys from one matrix."""
    rows = rng.normal(size=(N, D_K))
    return {"S": rows @ rows.T / np.sqrt(D_K)}


CHECKS = {
    r"S_{mn} = S_{nm}": one_matrix,
    r"(4 r^2 + 2 r) / (r^2 + r) = (4 r + 2) / (r + 1)": lambda rng: {"r": rng.uniform(0.2, 5)},
}
# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"W^Q = W^K",
    r"M_{mn} = 1",
    r"d_k = d_v = d",
    r"b = -\infty",
    r"d_k = 2",
    r"q = (0, 1)",
    r"N \ge d_v + 1",
    r"d_k = 1",
    r"q = 0",
    r"d_k \ge N - 1",
    r"d = 1024",
    r"N = 2048",
    r"r = N / (6 d)",
    r"r = 1",
    r"N = 6 d",
]


N_TOKENS, WIDTH = 5, 6


def matrix_product(rng):
    sizes = 2, 3, 5
    product = matrix_operations(lambda: torch.ones(sizes[:2]) @ torch.ones(sizes[1:]))
    return {"N_1": 2, "N_2": 3, "N_3": 5, RESULT: product}


def core(rng):
    q = torch.ones(N_TOKENS, WIDTH)
    return {"N": N_TOKENS, "d": WIDTH, RESULT: matrix_operations(lambda: attention(q, q, q))}


def projections(rng):
    layer = MultiHeadAttention(WIDTH, 2, seed=0)
    whole = layer_operations(layer, N_TOKENS, WIDTH)
    return {"N": N_TOKENS, "d": WIDTH, RESULT: whole - core(rng)[RESULT]}


def feed_forward(rng):
    layer = FeedForward(WIDTH, activation="relu", seed=0)
    return {"N": N_TOKENS, "d": WIDTH, RESULT: layer_operations(layer, N_TOKENS, WIDTH)}


EXPRESSIONS = {
    r"2 N_1 N_2 N_3": matrix_product,
    r"4 N^2 d": core,
    r"8 N d^2": projections,
    r"16 N d^2": feed_forward,
}

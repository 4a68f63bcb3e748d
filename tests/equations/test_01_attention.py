"""Chapter 1: the equations of the page, executed against the library where it has them."""

import numpy as np
import torch

from attention_to_rope import attention, sink_attention
from bookcheck.equations.checks import equation
from shared import library_attention

N, D, D_K, D_V = 4, 5, 3, 2


def softmax(S):
    weights = np.exp(S - S.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def tokens(rng):
    """Queries, keys, values and everything computed from them, under the symbols of the page."""
    q, k, v = rng.normal(size=(N, D_K)), rng.normal(size=(N, D_K)), rng.normal(size=(N, D_V))
    S = q @ k.T / np.sqrt(D_K)
    A = softmax(S)
    o = library_attention(q, k, v)
    every = {"m": range(N), "n": range(N), "c": range(D_V), "N": N, "d_k": D_K}
    return {"q": q, "k": k, "v": v, "V": v, "S": S, "A": A, "o": o, **every}


@equation("eq-score", first_index=0)
def test_score(rng):
    return tokens(rng)


@equation("eq-weight", first_index=0)
def test_weight(rng):
    return tokens(rng)


@equation("eq-average", first_index=0, library=attention)
def test_average(rng):
    return tokens(rng)


@equation("eq-attention", library=attention)
def test_attention(rng):
    Q, K, V = rng.normal(size=(N, D_K)), rng.normal(size=(6, D_K)), rng.normal(size=(6, D_V))
    return {"Q": Q, "K": K, "V": V, "d_k": D_K, r"\operatorname{Attention}": library_attention}


def projections(rng):
    X = rng.normal(size=(N, D))
    W_Q, W_K, W_V = rng.normal(size=(D, D_K)), rng.normal(size=(D, D_K)), rng.normal(size=(D, D_V))
    weights = {"W^Q": W_Q, "W^K": W_K, "W^V": W_V, "d": D, "d_k": D_K, "d_v": D_V}
    return {"X": X, "Q": X @ W_Q, "K": X @ W_K, "V": X @ W_V, **weights}


@equation("eq-projections")
def test_projections(rng):
    return projections(rng)


@equation("eq-projection-shapes")
def test_projection_shapes(rng):
    return projections(rng)


@equation("eq-softmax-shift", first_index=0)
def test_softmax_shift(rng):
    return {"x": rng.normal(size=N), "c": rng.normal(), "n": range(N), "N": N}


@equation("eq-stable-softmax", first_index=0)
def test_stable_softmax(rng):
    x = rng.normal(size=N)
    return {"x": x, "p": softmax(x), "c": x.max(), "n": range(N), "N": N}


@equation("eq-weights-sum", first_index=0)
def test_weights_sum(rng):
    return tokens(rng)


@equation("eq-hull", first_index=0, library=attention)
def test_hull(rng):
    return tokens(rng)


@equation("eq-hull-proof", first_index=0, library=attention)
def test_hull_proof(rng):
    values = tokens(rng)
    # Where all values agree, the average is the largest of them.
    equal = {name: np.full_like(np.asarray(values[name]), 0.7) for name in ("V", "o")}
    return [values, {**values, **equal}]


@equation("eq-masked-weight", first_index=0, library=attention)
def test_masked_weight(rng):
    values = tokens(rng)
    M = np.tri(N)
    q, k = torch.from_numpy(values["q"]), torch.from_numpy(values["k"])
    # Values that are the unit vectors make the output the weights themselves.
    A = attention(q, k, torch.eye(N, dtype=torch.float64), mask=torch.from_numpy(M > 0))
    return {**values, "M": M, "A": A}


def permuted(rng):
    Q, K, V = rng.normal(size=(N, D_K)), rng.normal(size=(N, D_K)), rng.normal(size=(N, D_V))
    functions = {r"\operatorname{Attention}": library_attention}
    return {"Q": Q, "K": K, "V": V, r"\Pi": np.eye(N)[rng.permutation(N)], "d_k": D_K, **functions}


@equation("eq-equivariance", library=attention)
def test_equivariance(rng):
    return permuted(rng)


@equation("eq-equivariance-proof", library=attention)
def test_equivariance_proof(rng):
    return permuted(rng)


@equation("eq-flops-core")
def test_flops_core(rng):
    tokens_count, width = (int(x) for x in rng.integers(2, 100, size=2))
    count = 2 * (2 * tokens_count * tokens_count * width)
    return {"N": tokens_count, "d": width, r"F_{\text{core}}": count}


@equation("eq-flops-balance")
def test_flops_balance(rng):
    width = int(rng.integers(2, 100))
    return {"N": 6 * width, "d": width}


@equation("eq-constant-key", first_index=0)
def test_constant_key(rng):
    return {**tokens(rng), "c": rng.normal(size=D_K)}


@equation("eq-sink", first_index=0, library=sink_attention)
def test_sink(rng):
    """The library's weights, read off with the values e_0, e_1, …"""
    q, k = rng.normal(size=(N, D_K)), rng.normal(size=(5, D_K))
    b = rng.normal()
    one_head = [torch.from_numpy(x)[None] for x in (q, k, np.eye(5))]
    A = sink_attention(*one_head, torch.tensor([b], dtype=torch.float64)).numpy()[0]
    return {"A": A, "S": q @ k.T / np.sqrt(D_K), "b": b, "m": range(N), "n": range(5), "N": 5}

"""Chapter 1: the equations of the page, executed against the library where it has them."""

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import attention, sink_attention, softmax
from attention_to_rope.layers import Linear
from bookcheck.equations.checks import equation, sentences
from shared import library_attention, library_scores, library_weights, tensor

N, D, D_K, D_V = 4, 5, 3, 2


def tokens(rng):
    """Queries, keys, values and everything computed from them, under the symbols of the page."""
    q, k, v = rng.normal(size=(N, D_K)), rng.normal(size=(N, D_K)), rng.normal(size=(N, D_V))
    S, A, o = library_scores(q, k), library_weights(q, k), library_attention(q, k, v)
    every = {"m": range(N), "n": range(N), "j": range(D_V), "N": N, "d_k": D_K}
    return {"q": q, "k": k, "v": v, "V": v, "S": S, "A": A, "o": o, **every}


test_score = equation("eq-score", first_index=0)(tokens)


test_weight = equation("eq-weight", first_index=0)(tokens)


test_average = equation("eq-average", first_index=0)(tokens)


@equation("eq-attention")
def test_attention(rng):
    Q, K, V = rng.normal(size=(N, D_K)), rng.normal(size=(6, D_K)), rng.normal(size=(6, D_V))
    return {"Q": Q, "K": K, "V": V, "d_k": D_K, r"\operatorname{Attention}": library_attention}


def projections(rng):
    """What three of the library's linear layers make of the tokens, and their matrices."""
    X = rng.normal(size=(N, D))
    layers = {
        name: Linear(D, width, seed=rng, bias=False).double()
        for name, width in (("Q", D_K), ("K", D_K), ("V", D_V))
    }
    made = {name: layer(tensor(X)).detach() for name, layer in layers.items()}
    weights = {f"W^{name}": layer.W.detach() for name, layer in layers.items()}
    return {"X": X, **made, **weights, "d": D, "d_k": D_K, "d_v": D_V}


test_projections = equation("eq-projections")(projections)


test_projection_shapes = equation("eq-projection-shapes")(projections)


@equation("eq-softmax-shift", first_index=0)
def test_softmax_shift(rng):
    return {"x": rng.normal(size=N), "c": rng.normal(), "n": range(N), "N": N}


@equation("eq-stable-softmax", first_index=0)
def test_stable_softmax(rng):
    x = rng.normal(size=N)
    return {"x": x, "p": softmax(tensor(x)), "c": x.max(), "n": range(N), "N": N}


test_weights_sum = equation("eq-weights-sum", first_index=0)(tokens)


@equation("eq-hull", first_index=0)
def test_hull(rng):
    values = tokens(rng)
    # Where all values agree, so does their average.
    equal = {name: np.full_like(np.asarray(values[name]), 0.7) for name in ("V", "o")}
    cases = [values, {**values, **equal}]
    # A query along one key and far out: nearly all weight is on one value, in every channel.
    for n in range(N):
        q = 40 * values["k"][n] / np.linalg.norm(values["k"][n]) * np.ones((N, 1))
        k = values["k"] / np.linalg.norm(values["k"], axis=1, keepdims=True)
        cases.append({**values, "o": library_attention(q, k, values["v"])})
    return cases


@equation("eq-hull-proof", first_index=0)
def test_hull_proof(rng):
    values = tokens(rng)
    # Where all values agree, the average is the largest of them.
    equal = {name: np.full_like(np.asarray(values[name]), 0.7) for name in ("V", "o")}
    return [values, {**values, **equal}]


@equation("eq-masked-weight", first_index=0)
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


test_equivariance = equation("eq-equivariance")(permuted)


test_equivariance_proof = equation("eq-equivariance-proof")(permuted)


@equation("eq-flops-core")
def test_flops_core(rng):
    length, width = (int(x) for x in rng.integers(2, 100, size=2))
    with FlopCounterMode(display=False) as counter:
        attention(*(tensor(rng.normal(size=(length, width))) for _ in range(3)))
    return {"N": length, "d": width, r"F_{\text{core}}": counter.get_total_flops()}


@equation("eq-flops-balance")
def test_flops_balance(rng):
    width = int(rng.integers(2, 100))
    return {"N": 6 * width, "d": width}


@equation("eq-constant-key", first_index=0)
def test_constant_key(rng):
    return {**tokens(rng), "u": rng.normal(size=D_K)}


@equation("eq-sink", first_index=0)
def test_sink(rng):
    """The library's weights, read off with the values e_0, e_1, …"""
    q, k = rng.normal(size=(N, D_K)), rng.normal(size=(5, D_K))
    b = rng.normal()
    one_head = [torch.from_numpy(x)[None] for x in (q, k, np.eye(5))]
    A = sink_attention(*one_head, torch.tensor([b], dtype=torch.float64)).numpy()[0]
    return {"A": A, "S": library_scores(q, k), "b": b, "m": range(N), "n": range(5), "N": 5}


N_TEXT, D_K_TEXT = 4, 3


def rows_softmax(S):
    return softmax(torch.from_numpy(np.ascontiguousarray(S))).numpy()


def bindings(rng):
    """Queries, keys, their scores, the library's softmax, and a permutation."""
    Q, K = rng.normal(size=(2, N_TEXT, D_K_TEXT))
    places = {"m": range(N_TEXT), "n": range(N_TEXT)}
    scores = {"Q": Q, "K": K, "S": Q @ K.T / np.sqrt(D_K_TEXT), "d_k": D_K_TEXT}
    order = {r"\Pi": np.eye(N_TEXT)[rng.permutation(N_TEXT)], "I": np.eye(N_TEXT)}
    return {**scores, **order, **places, r"\operatorname{softmax}": rows_softmax}


def one_matrix(rng):
    """Queries and keys from one matrix."""
    rows = rng.normal(size=(N_TEXT, D_K_TEXT))
    return {"S": rows @ rows.T / np.sqrt(D_K_TEXT)}


test_sentences = sentences(
    "01-attention",
    first_index=0,
    where={
        "be symmetric, …": one_matrix,
        "for example …": None,
        "Doubling gives …": lambda rng: {"r": rng.uniform(0.2, 5)},
    },
    unchecked={
        "look at whom: …": "Not executed yet.",
    },
)(bindings)

"""Chapter 6: the displayed equations of the page are executed, most against the library."""

import numpy as np
import torch

from attention_to_rope import (
    Architecture,
    Block,
    Learned,
    Rotary,
    Sinusoidal,
    alibi_bias,
    attention,
    causal_mask,
    rotary_frequencies,
)
from bookcheck.equations.checks import equation, sentences
from shared import library_scores, library_weights, tensor

N, D, D_K = 5, 6, 3


@equation("eq-content-score", first_index=0)
def test_content_score(rng):
    x = rng.normal(size=(N, D))
    W_Q, W_K = rng.normal(size=(2, D, D_K))
    S = library_scores(x @ W_Q, x @ W_K)
    symbols = {"x": x, "W^Q": W_Q, "W^K": W_K, "d_k": D_K, "S": S}
    return {**symbols, "m": range(N), "n": range(N)}


@equation("eq-block-equivariance")
def test_block_equivariance(rng):
    block = Block(Architecture(d=D, heads=2, layers=1), seed=rng).double()

    def on_matrix(part):
        def function(x):
            with torch.no_grad():
                return part(tensor(x)[None])[0].numpy()

        return function

    X, order = rng.normal(size=(N, D)), rng.permutation(N)
    # The whole block, of which the page shows the first half, must keep the symmetry too.
    assert np.allclose(on_matrix(block)(X[order]), on_matrix(block)(X)[order])
    return {
        "X": X,
        r"\Pi": np.eye(N)[order],
        r"\operatorname{Attention}": on_matrix(block.attention),
        r"\operatorname{norm}": on_matrix(block.attention_residual.norm),
    }


@equation("eq-biased-weight", first_index=0)
def test_biased_weight(rng):
    q, k, B = rng.normal(size=(N, D_K)), rng.normal(size=(N, D_K)), rng.normal(size=(N, N))
    symbols = {"A": library_weights(q, k, B), "S": library_scores(q, k), "B": B, "N": N}
    return {**symbols, "m": range(N), "n": range(N)}


def biased(rng):
    X, B = rng.normal(size=(N, D)), rng.normal(size=(N, N))
    W_Q, W_K, W_V = rng.normal(size=(D, D_K)), rng.normal(size=(D, D_K)), rng.normal(size=(D, 2))

    def library(x, bias):
        queries, keys, values = tensor(x @ W_Q), tensor(x @ W_K), tensor(x @ W_V)
        return attention(queries, keys, values, bias=tensor(bias)).numpy()

    S = library_scores(X @ W_Q, X @ W_K)
    symbols = {"X": X, "B": B, "S": S, "V": X @ W_V, r"\Pi": np.eye(N)[rng.permutation(N)]}
    return {**symbols, r"\operatorname{Attention}": library}


test_bias_permuted = equation("eq-bias-permuted")(biased)


test_bias_permuted_proof = equation("eq-bias-permuted-proof")(biased)


@equation("eq-nope-counter", first_index=0)
def test_nope_counter(rng):
    scores = torch.full((N, 1), float(rng.normal()), dtype=torch.float64)
    v = np.eye(N)[:, 0]
    o = attention(scores, scores, tensor(v)[:, None], mask=causal_mask(N))[:, 0].numpy()
    return {"o": o, "v": v, "m": range(N)}


test_nope_gap = equation("eq-nope-gap")(lambda rng: {"m": int(rng.integers(2, 1000))})


@equation("eq-position-input", first_index=0)
def test_position_input(rng):
    """What a model of the library does to its tokens; P is what it does to tokens of zeros."""
    x, cases = rng.normal(size=(N, D)), []
    for scheme in (Learned(N, D, seed=rng).double(), Sinusoidal()):
        placed, alone = (
            scheme.embed(tensor(rows)[None], torch.arange(N))[0].detach().numpy()
            for rows in (x, np.zeros_like(x))
        )
        cases.append({"x": x, "P": alone, "x'": placed, "m": range(N)})
    return cases


@equation("eq-position-bias", first_index=0)
def test_position_bias(rng):
    q, k, B = rng.normal(size=(N, D_K)), rng.normal(size=(N, D_K)), rng.normal(size=(N, N))
    symbols = {"q": q, "k": k, "B": B, "d_k": D_K, "S": library_scores(q, k, B)}
    return {**symbols, "m": range(N), "n": range(N)}


@equation("eq-position-rotate", first_index=0)
def test_position_rotate(rng):
    width = 4
    scheme = Rotary(rotary_frequencies(width), layout="half")

    def f(m, x):
        return scheme.rotate(tensor(x)[None, None, None], torch.tensor([int(m)]))[0, 0, 0].numpy()

    q, k = rng.normal(size=(N, width)), rng.normal(size=(N, width))
    turned_q, turned_k = (np.stack([f(m, y[m]) for m in range(N)]) for y in (q, k))
    symbols = {"q": q, "k": k, "f": f, "d_k": width, "S": library_scores(turned_q, turned_k)}
    return {**symbols, "m": range(N), "n": range(N)}


@equation("eq-unit-interval", first_index=0)
def test_unit_interval(rng):
    count = int(rng.integers(3, 20))
    return {"P": np.linspace(0, 1, count), "N": count, "m": range(count - 1)}


@equation("eq-one-hot", first_index=0)
def test_one_hot(rng):
    rows = np.eye(int(rng.integers(3, 8)))
    return [
        {"e": rows, "m": m, "n": n} for m in range(len(rows)) for n in range(len(rows)) if m != n
    ]


@equation("eq-reversal-kept")
def test_mirror(rng):
    places = torch.arange(N)
    slope = torch.tensor([float(rng.uniform(0.2, 2.0))], dtype=torch.float64)
    B = alibi_bias(slope, places, places)[0].numpy()
    assert not np.allclose(B, np.roll(B, 1, axis=1))
    return {r"\Pi": np.eye(N)[::-1], "B": B}


N_TEXT, D_TEXT = 5, 6


def on_matrix(part):
    def function(x):
        with torch.no_grad():
            return part(torch.from_numpy(np.ascontiguousarray(x))[None])[0].numpy()

    return function


def bindings(rng):
    """Two blocks of the library, a norm, tokens and a permutation."""
    shape = Architecture(d=D_TEXT, heads=2, layers=1)
    first, second = (Block(shape, seed=rng).double() for _ in range(2))
    functions = {"f": on_matrix(first), "g": on_matrix(second)}
    norm = {r"\operatorname{norm}": on_matrix(first.attention_residual.norm)}
    order = {r"\Pi": np.eye(N_TEXT)[rng.permutation(N_TEXT)], "I": np.eye(N_TEXT)}
    return {**functions, **norm, **order, "X": rng.normal(size=(N_TEXT, D_TEXT))}


test_sentences = sentences(
    "06-why-position",
    first_index=0,
    unchecked={
        "own dimension: …": "Not executed yet.",
        "code needs …": "Not executed yet.",
        "weighted sum over …": "Not executed yet.",
    },
)(bindings)

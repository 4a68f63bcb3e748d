"""The chapter: the equations of the page, executed against the library where it has them."""

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import attention, softmax
from attention_to_rope.layers import Linear
from attention_to_rope.recurrent_attention import linear_attention_steps
from bookcheck.equations.checks import equation, sentences
from shared import (
    PERMUTATION,
    TWO_MATRICES,
    every,
    library_attention,
    library_scores,
    library_weights,
    sizes,
    tensor,
)


def rows_softmax(S):
    return softmax(tensor(S)).numpy()


def page(rng):
    """Queries, keys, values and what the library computes from them, by the page's symbols."""
    N, d, d_k, d_v = sizes(rng, 4, 5, 3, 2)
    X, W = rng.normal(size=(N, d)), {}
    for name, width in (("Q", d_k), ("K", d_k), ("V", d_v)):
        layer = Linear(d, width, seed=rng, bias=False).double()
        W |= {name: layer(tensor(X)).detach().numpy(), f"W^{name}": layer.W.detach().numpy()}
    Q, K, V = W["Q"], W["K"], W["V"]
    _, state = linear_attention_steps(*map(tensor, (Q, K, V)))  # the sum of all k_n^T v_n
    computed = {"S": library_scores(Q, K), "A": library_weights(Q, K)}
    outputs = {"o": library_attention(Q, K, V), r"\hat{o}": Q @ state.numpy()}
    names = {"q": Q, "k": K, "v": V, "X": X, "N": N, "d": d, "d_k": d_k, "d_v": d_v}
    order = {r"\Pi": np.eye(N)[rng.permutation(N)], "m": range(N), "n": range(N)}
    functions = {
        r"\operatorname{Attention}": library_attention,
        r"\operatorname{softmax}": rows_softmax,
    }
    return {**W, **names, **computed, **outputs, **order, **functions, "u": rng.normal(size=d_k)}


test_score = equation("eq-score", first_index=0, symbols="q, k, d_k, S, m, n")(page)
test_weight = equation("eq-weight", first_index=0, symbols="N, S, A, m, n")(page)
test_average = equation("eq-average", first_index=0, symbols="v, N, A, o, m")(page)
test_unnormalised = equation("eq-unnormalised", first_index=0, symbols=r"q, k, v, N, \hat{o}, m")(
    page
)
test_projections = equation("eq-projections", symbols="Q, W^Q, K, W^K, V, W^V, X")(page)
ANY_ORDER = {**every("Q", "K"), **PERMUTATION, **TWO_MATRICES}
test_equivariance = equation(
    "eq-equivariance", equivalent=ANY_ORDER, symbols=r"Q, K, V, \Pi, \operatorname{Attention}"
)(page)


@equation("eq-constant-key", first_index=0, names={1: "T_{mn}"})
def test_constant_key(rng):
    """The library's scores for keys to which u is added."""
    values = page(rng)
    return {**values, "T": library_scores(values["Q"], values["K"] + values["u"])}


@equation("eq-attention", equivalent=every("Q", "K"))
def test_attention(rng):
    """With more keys than queries."""
    N, keys, d_k, d_v = sizes(rng, 4, 6, 3, 2)
    Q, K, V = (rng.normal(size=shape) for shape in ((N, d_k), (keys, d_k), (keys, d_v)))
    return {"Q": Q, "K": K, "V": V, "d_k": d_k, r"\operatorname{Attention}": library_attention}


@equation("eq-stable-softmax", first_index=0)
def test_stable_softmax(rng):
    (N,) = sizes(rng, 4)
    x = rng.normal(size=N)
    return {"s": x, "p": rows_softmax(x), "c": x.max(), "n": range(N), "N": N}


@equation("eq-hull", first_index=0)
def test_hull(rng):
    N, d_k, d_v = sizes(rng, 4, 3, 2)
    k, V = rng.normal(size=(N, d_k)), rng.normal(size=(N, d_v))
    k /= np.linalg.norm(k, axis=1, keepdims=True)
    # A query along one key and far out gives nearly all the weight to one value.
    queries = [rng.normal(size=(N + 1, d_k)), *(np.tile(40 * one, (N + 1, 1)) for one in k)]
    every = {"m": range(N + 1), "j": range(d_v)}
    cases = [{**every, "V": V, "o": library_attention(q, k, V)} for q in queries]
    # Where all values agree, so does their average.
    return [*cases, {**every, "V": np.full((N, d_v), 0.7), "o": np.full((N + 1, d_v), 0.7)}]


@equation("eq-masked-weight", first_index=0, symbols="N, S, A, m, n, M")
def test_masked_weight(rng):
    values = page(rng)
    N = values["N"]
    # Any mask, in which every query sees itself.
    mask = np.maximum(rng.integers(0, 2, size=(N, N)), np.eye(N))
    A = library_weights(values["Q"], values["K"], mask=torch.from_numpy(mask > 0))
    return {**values, "M": mask, "A": A}


def flops_core(rng):
    length, width = (int(x) for x in rng.integers(2, 100, size=2))
    with FlopCounterMode(display=False) as counter:
        attention(*(tensor(rng.normal(size=(length, width))) for _ in range(3)))
    return {"N": length, "d": width, r"F_{\text{core}}": counter.get_total_flops()}


test_flops_core = equation("eq-flops-core")(flops_core)


@equation("eq-flops-balance", names={1: r"F_{\text{core}}"}, symbols=r"F_{\text{core}}, N, d, P")
def test_flops_balance(rng):
    values = flops_core(rng)
    return {**values, "P": 2 * values["N"] * values["d"]}


@equation("eq-sink", first_index=0)
def test_sink(rng):
    """The library's weights, read off with the values e_0, e_1, …"""
    queries, N, d_k = sizes(rng, 4, 5, 3)
    q, k, b = rng.normal(size=(queries, d_k)), rng.normal(size=(N, d_k)), rng.normal()
    A = attention(*(tensor(x) for x in (q, k, np.eye(N))), sink=tensor([[b]])).numpy()
    return {"A": A, "S": library_scores(q, k), "b": b, "m": range(queries), "n": range(N), "N": N}


def one_matrix(rng):
    """Queries and keys from one matrix."""
    rows = rng.normal(size=(4, 3))
    return {"S": library_scores(rows, rows), "m": range(4), "n": range(4)}


def of_the_quiz(rng):
    """The values of the question's three tokens, and the output of the choice."""
    del rng
    return {"v": np.array([1.0, 2.0, 6.0]), "o": 2}


def block_of_2017(rng):
    """Where its two parts take equally many operations, by the shapes of its matrices."""
    d = int(rng.integers(2, 100))
    P = 4 * d * d + d * (4 * d) + (4 * d) * d
    return {"d": d, "P": P, "N": P // (2 * d)}


def doubled(rng):
    """How much more the whole block costs when the text is twice as long."""
    d, N = 6 * int(rng.integers(2, 20)), int(rng.integers(9, 200))

    def operations(N):
        return 4 * N * N * d + 2 * N * (12 * d * d)

    return {"r": N / (6 * d), "c": operations(2 * N) / operations(N)}


test_sentences = sentences(
    "attention",
    first_index=0,
    where={
        "be symmetric, …": one_matrix,
        "for example …": of_the_quiz,
        "block of 2017 has …": block_of_2017,
        "parts are equal at …": block_of_2017,
        "that is, at …": block_of_2017,
        "Doubling gives …": doubled,
    },
    numbers={"for example …": "0.4, v_0, 0.5, v_1, 0.1, v_2, o"},
    names={"Doubling gives …": "c"},
)(page)

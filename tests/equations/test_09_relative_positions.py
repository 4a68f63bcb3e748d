"""Chapter 9: the equations of the page, executed against the library where it has them."""

import math
from inspect import signature

import numpy as np
import torch

from attention_to_rope import (
    alibi_bias,
    alibi_slopes,
    causal_mask,
    relative_positions,
    t5_bucket,
)
from bookcheck.equations.checks import by_hand, equation, sentences
from shared import library_scores, library_weights

N, D, D_K = 5, 6, 3


def alibi(slope, size, first=0):
    """The library's bias of one head at positions first, first + 1, …"""
    places = torch.arange(size) + first
    return alibi_bias(torch.tensor([slope], dtype=torch.float64), places, places)[0].numpy()


def relative_scores(rng):
    """Scores with a directed bias, at positions from 0 and from tau, and g as its own formula."""
    x, M, tau = rng.normal(size=(N, D)), rng.normal(size=(D, D)), 11
    numbers = rng.normal(size=32)

    def biased(first):
        places = torch.arange(N) + first
        buckets = t5_bucket(relative_positions(places, places), bidirectional=True)
        return x @ M @ x.T + numbers[buckets.numpy()]

    def g(left, right, offset):
        # So near, every distance has a bucket of its own; later keys have the second half.
        return left @ M @ right + numbers[int(abs(offset)) + (16 if offset > 0 else 0)]

    every = {"m": range(N), "n": range(N), "x": x, "g": g, r"\tau": tau}
    return every | {"S": biased(0), r"\tilde{S}": biased(tau)}


test_relative_goal = equation("eq-relative-goal", first_index=0)(relative_scores)


test_shift_invariance = equation("eq-shift-invariance", first_index=0)(relative_scores)


def bias_of_offsets(rng):
    """A bias with a random number for every offset, and these numbers as a function."""
    numbers = rng.normal(size=2 * N + 1)
    places = torch.arange(N)
    offsets = relative_positions(places, places).numpy()
    return numbers[offsets + N], lambda offset: numbers[int(offset) + N]


@equation("eq-relative-bias", first_index=0, vectors="row")
def test_relative_bias(rng):
    B, b = bias_of_offsets(rng)
    q, k = rng.normal(size=(N, D_K)), rng.normal(size=(N, D_K))
    every = {"m": range(N), "n": range(N), "d_k": D_K}
    return {"q": q, "k": k, "S": library_scores(q, k, B), "B": B, "b": b, **every}


@equation("eq-toeplitz", first_index=0)
def test_toeplitz(rng):
    B, _ = bias_of_offsets(rng)
    return {"B": B, "m": range(N - 1), "n": range(N - 1)}


@equation("eq-toeplitz-matrix")
def test_toeplitz_matrix(rng):
    B, b = bias_of_offsets(rng)
    return {"B": B[:4, :4], "b": b, "N": 4}


def shaw(rng):
    size, reach = 7, 2
    q, k = rng.normal(size=(size, D_K)), rng.normal(size=(size, D_K))
    a = rng.normal(size=(2 * reach + 1, D_K))
    places = torch.arange(size)
    rho = relative_positions(places, places).numpy().clip(-reach, reach)
    bias = np.take_along_axis(q @ a.T, rho + reach, axis=1) / math.sqrt(D_K)
    every = {"m": range(size), "n": range(size), "K": reach, "d_k": D_K}
    functions = {
        "a": lambda offset: a[int(offset) + reach],
        r"\rho": lambda m, n: int(rho[int(m), int(n)]),
    }
    return {"q": q, "k": k, "S": library_scores(q, k, bias), **every, **functions}


test_shaw = equation("eq-shaw", first_index=0, vectors="row")(shaw)


test_shaw_bias = equation("eq-shaw-bias", first_index=0, vectors="row")(shaw)


@equation("eq-t5-bucket")
def test_t5_bucket(rng):
    cases = []
    for buckets, farthest in ((32, 128), (12, 50)):

        def bucket(distance, buckets=buckets, farthest=farthest):
            relative = -torch.tensor([int(distance)])
            found = t5_bucket(relative, bidirectional=False, buckets=buckets, max_distance=farthest)
            return int(found)

        scale = {"n_b": buckets, "n_e": buckets // 2, r"r_{\max}": farthest}
        for distance in (*range(1, 30), 47, 51, 65, 127, 300):
            cases.append({"r": distance, r"\operatorname{bucket}": bucket, **scale})
    return cases


@equation("eq-alibi", first_index=0, vectors="row")
def test_alibi(rng):
    slope = 0.3
    q, k, B = rng.normal(size=(N, D_K)), rng.normal(size=(N, D_K)), alibi(slope, N)
    every = {"m": range(N), "n": range(N), "d_k": D_K}
    return {"q": q, "k": k, "S": library_scores(q, k, B), "s_j": slope, **every}


@equation("eq-alibi-slopes")
def test_alibi_slopes(rng):
    return [{"s": alibi_slopes(heads), "h": heads} for heads in (2, 8, 16)]


@by_hand("eq-alibi-window", "The sums have no end; 6000 terms leave less than 1e-9 of them.")
def test_alibi_window(rng):
    largest = 0.0
    distance = np.arange(6000)
    for slope in alibi_slopes(8).numpy():
        weight = np.exp(-slope * distance)
        mean = (distance * weight).sum() / weight.sum()
        largest = max(largest, abs(mean / (1 / np.expm1(slope)) - 1))
    assert largest < 1e-6
    return largest


@equation("eq-alibi-key", first_index=0)
def test_alibi_key(rng):
    """The left side is also the library's causal attention with the full bias."""
    slope = 0.45
    q, k = rng.normal(size=(N, D_K)), rng.normal(size=(N, D_K))
    S = library_scores(q, k)
    A = library_weights(q, k, alibi(slope, N), causal_mask(N))
    cases = []
    for m in range(N):
        row = np.exp(S[m, : m + 1] - slope * (m - np.arange(m + 1)))
        assert np.allclose(row / row.sum(), A[m, : m + 1], atol=1e-12)
        cases.append({"S": S, "s": slope, "m": m, "n": range(m + 1)})
    return cases


@equation("eq-mirror", first_index=0)
def test_mirror(rng):
    mirror = np.eye(N)[::-1].copy()
    every = {"m": range(N), "n": range(N), "s": 0.7}
    return {r"\Pi": mirror, "B": alibi(0.7, N), **every}


@equation("eq-alibi-half")
def test_alibi_half(rng):
    """l is counted: how many tokens it takes until half of the weight is passed."""
    cases = []
    for slope in (*alibi_slopes(8).tolist(), 0.3, 1.7):
        weight = np.exp(-slope * np.arange(20000))
        nearest = int((weight.cumsum() < 0.5 * weight.sum()).sum()) + 1
        cases.append({"l": nearest, "s": slope})
    return cases


@equation("eq-alibi-appended", first_index=0, vectors="row")
def test_alibi_appended(rng):
    slope = float(rng.uniform(0.2, 2.0))
    B = alibi(slope, N)
    return [{"B": B, "s": slope, "m": m, "n": range(m + 1)} for m in range(1, N)]


def bindings(rng):
    """A slope, and a key that stands before its query."""
    m, n, s = int(rng.integers(6, 12)), int(rng.integers(0, 6)), rng.uniform(0.2, 2)
    return {"m": m, "n": n, "s": s, "y": float(np.exp(-s)), "e": np.e}


def long_text(rng):
    """So long that what the text leaves out is small, and not so long that nothing is."""
    s = rng.uniform(0.1, 0.6)
    return {"s": s, "y": float(np.exp(-s)), "N": round(7 / s)}


test_sentences = sentences(
    "09-relative-positions",
    first_index=0,
    where={
        "is $ and all …": lambda rng: {"n_b": signature(t5_bucket).parameters["buckets"].default},
        "Put … .": lambda rng: {"s": 0.01, "y": float(np.exp(-0.01))},
        "a long text …": long_text,
        "times $ gives …": long_text,
        "Divide: … .": bindings,
        "Before the query …": bindings,
        "query $, and …": bindings,
        "For … :": lambda rng: [{}, {"m": 4, "n": 4}],
    },
    unchecked={
        "one direction, …": "Not executed yet.",
        "as soon as …": "Not executed yet.",
        "a constant …": "Not executed yet.",
    },
)(bindings)

"""Chapter 2: the size of a dot product, the softmax gradient and the guards on scores, executed."""

import numpy as np
import torch

from attention_to_rope import attention, soft_cap
from bookcheck.equations.checks import Random, depends, equation, sentences
from shared_02_why_sqrt_d import (
    D_K,
    D_V,
    HEAVY,
    HEAVY_CHANCES,
    SKEWED,
    SKEWED_CHANCES,
    N,
    independent,
    jacobian,
    mixed,
    scores,
    softmax,
    weights,
)

test_softmax_of_scores = equation("eq-softmax-of-scores", first_index=0)(scores)


test_jacobian_own = equation("eq-jacobian-own", first_index=0)(scores)


@equation("eq-jacobian-other", first_index=0)
def test_jacobian_other(rng):
    values = scores(rng)
    pairs = [(n, other) for n in range(N) for other in range(N) if n != other]
    return [{**values, "n": n, "l": other} for n, other in pairs]


@equation("eq-jacobian-entries", first_index=0)
def test_jacobian_entries(rng):
    return {**weights(rng), "l": range(N)}


test_jacobian = equation("eq-jacobian", first_index=0, vectors="row")(weights)


@equation("eq-score-gradient", first_index=0)
def test_score_gradient(rng):
    v, g = rng.normal(size=(N, D_V)), rng.normal(size=D_V)

    def output(x):
        # Queries of length 1 with value 1 make the scores themselves the keys.
        keys = torch.from_numpy(np.asarray(x, dtype=float))[:, None]
        return attention(torch.ones(1, 1).double(), keys, torch.from_numpy(v))[0].numpy()

    values = scores(rng)
    return {
        **values,
        "v": v,
        "g": g,
        "o": depends("x", output),
        r"\mathcal{L}": depends("x", lambda x: float(g @ output(x))),
    }


@equation("eq-dot-mean", first_index=0)
def test_dot_mean(rng):
    # Means that are not 0, so that every term counts.
    outcomes = rng.normal(size=(2, 2)).tolist()
    q, k = (Random(values, SKEWED_CHANCES, shape=(D_K,)) for values in outcomes)
    return {"q": q, "k": k, "d_k": D_K}


@equation("eq-dot-square", first_index=0)
def test_dot_square(rng):
    # Correlated coordinates and means that are not 0: these steps need independence alone.
    return mixed(rng)


test_dot_variance = equation("eq-dot-variance", first_index=0, draws=1)(lambda rng: independent())


@equation("eq-divided-variance", first_index=0)
def test_divided_variance(rng):
    return {**independent(), "s": float(rng.uniform(1.5, 4))}


@equation("eq-mean-gap", draws=1)
def test_mean_gap(rng):
    # The display defines τ; that it is near the mean gap is asserted here, for large N.
    d_k, size = 9, 2_000
    x = np.sqrt(d_k) * rng.normal(size=(4_000, size))
    top = np.partition(x, -2, axis=-1)[:, -2:]
    tau = np.sqrt(d_k) / np.sqrt(2 * np.log(size))
    assert abs(np.diff(np.sort(top)).mean() / tau - 1) < 0.15
    return {r"\tau": tau, "d_k": d_k, "N": size}


@equation("eq-aligned-mean", first_index=0)
def test_aligned_mean(rng):
    rho, d_k = float(rng.uniform(0.2, 0.8)), 2
    q = Random(HEAVY, HEAVY_CHANCES, shape=(d_k,))
    z = Random(SKEWED, SKEWED_CHANCES, shape=(d_k,))
    side = np.sqrt(1 - rho**2)
    k = depends("q", "z", lambda q, z: rho * np.asarray(q) + side * np.asarray(z))
    return {"q": q, "z": z, "k": k, r"\rho": rho, "d_k": d_k}


@equation("eq-initial-variance", first_index=0, draws=2)
def test_initial_variance(rng):
    # Both matrices are drawn; the tokens are given, with ‖x‖² = d as after a norm layer.
    return [initial_scores(rng, *sizes) for sizes in ((2, 2), (3, 1))]


def initial_scores(rng, d, d_k):
    sigma, X = float(rng.uniform(0.3, 2)), rng.normal(size=(2, d))
    X *= np.sqrt(d) / np.linalg.norm(X, axis=-1, keepdims=True)
    W_Q, W_K = (Random(SKEWED, SKEWED_CHANCES, shape=(d, d_k)) for _ in range(2))

    def scores_of(W_Q, W_K):
        return (X @ (sigma * np.asarray(W_Q))) @ (X @ (sigma * np.asarray(W_K))).T / np.sqrt(d_k)

    S = depends("W_Q", "W_K", scores_of)
    places = {"m": range(2), "n": range(2)}
    return {"W_Q": W_Q, "W_K": W_K, "S": S, r"\sigma": sigma, "d": d, "d_k": d_k, **places}


@equation("eq-soft-cap", first_index=0)
def test_soft_cap(rng):
    C, x = float(rng.uniform(2, 9)), rng.normal(scale=6, size=N)
    capped = soft_cap(torch.from_numpy(x), C).numpy()
    return {"x": x, r"\hat{x}": capped, "C": C, "n": range(N)}


@equation("eq-qk-norm", first_index=0)
def test_qk_norm(rng):
    q, k, gamma = rng.normal(size=D_K), rng.normal(size=(N, D_K)), 2.3
    cosines = torch.nn.functional.cosine_similarity(torch.tensor(k), torch.tensor(q), dim=-1)
    parallel = np.outer([-0.5, 1.7, 3.0, 2.0, 0.4], q)  # the bound is reached
    signs = gamma * np.array([-1.0, 1, 1, 1, 1])
    common = {"q": q, r"\gamma": gamma, "n": range(N)}
    return [
        {**common, "k": k, "x": gamma * cosines.numpy()},
        {**common, "k": parallel, "x": signs},
    ]


@equation("eq-qk-ceiling", first_index=0)
def test_qk_ceiling(rng):
    gamma, place = float(rng.uniform(0.5, 2)), 3
    p = softmax(gamma * np.where(np.arange(N) == place, 1, -1))
    others = rng.uniform(-gamma, gamma, size=(200, N))
    assert max(softmax(x).max() for x in others) < p[place], "no other row may exceed it"
    return {"p": p, "n": place, r"\gamma": gamma, "N": N}


test_log_derivative = equation("eq-log-derivative", first_index=0)(scores)


def uncorrelated(rng):
    """Two different coordinates of one vector, of mean 0."""
    q = Random(SKEWED, SKEWED_CHANCES, shape=(D_K,))
    return [{"q": q, "a": a, "c": c} for a, c in [(0, 1), (1, 2), (2, 0)]]


def trained(rng):
    key = rng.normal(size=D_K)
    return {"q": key, "k": key}


@sentences(
    "02-why-sqrt-d",
    first_index=0,
    where={
        "are uncorrelated: …": uncorrelated,
        "heads of length …": lambda rng: {"d_k": 7, "d": 8},
        "Jacobian $, with …": lambda rng: {"p": depends("x", softmax)},
        "equal to its key, …": trained,
        "at once from …": None,
    },
)
def test_sentences(rng):
    """Scores, the library's weights and derivatives, and the normaliser."""
    x = rng.normal(size=N)
    p = softmax(x)
    places = {"n": range(N), "l": range(N)}
    return {"x": x, "p": p, "J": jacobian(p), "Z": np.exp(x).sum(), **places}

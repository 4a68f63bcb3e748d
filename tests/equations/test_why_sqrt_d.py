"""The chapter: the size of a dot product, the softmax gradient, the guards on scores, executed."""

import numpy as np
import torch

from attention_to_rope import attention, softmax_jacobian
from attention_to_rope import softmax as library_softmax
from bookcheck.equations.checks import Random, depends, equation, sentences
from shared import library_scores
from shared_why_sqrt_d import (
    D_K,
    D_V,
    HEAVY,
    SKEWED,
    N,
    mixed,
    of_weights,
    scores,
    softmax,
    weights,
)

SYMMETRIC = {"J": "The Jacobian of softmax is symmetric."}


def scores_with_slopes(rng):
    """Scores with the library's derivatives J of their weights, and those of the logarithms, L."""
    given = scores(rng)
    s = torch.from_numpy(given["s"])
    J = softmax_jacobian(library_softmax(s)).numpy()
    L = torch.autograd.functional.jacobian(lambda s: library_softmax(s).log(), s).numpy()
    return {**given, "J": J, "L": L}


test_jacobian_own = equation(
    "eq-jacobian-own", names={1: "J_{nn}"}, first_index=0, fixed=SYMMETRIC
)(scores_with_slopes)
test_jacobian = equation("eq-jacobian", first_index=0)(weights)
test_log_derivative = equation("eq-log-derivative", names={1: "L_{nl}"}, first_index=0)(
    scores_with_slopes
)


def with_products(values):
    """With the library's score of q and k, times √d_k, as s."""
    root = np.sqrt(values["d_k"])

    def dot_product(q, k):
        return float(library_scores(q[None], k[None])[0, 0] * root)

    return {**values, "s": depends("q", "k", dot_product)}


@equation("eq-dot-square", names={1: r"\mathbb{E}[s^2]"}, first_index=0)
def test_dot_square(rng):
    """Correlated entries and means that are not 0: these steps need independence alone."""
    return with_products(mixed(rng))


@equation("eq-jacobian-other", names={1: "J_{nl}"}, first_index=0, fixed=SYMMETRIC)
def test_jacobian_other(rng):
    given = scores_with_slopes(rng)
    N = given["N"]
    pairs = [(n, other) for n in range(N) for other in range(N) if n != other]
    return [{**given, "n": n, "l": other} for n, other in pairs]


@equation("eq-score-gradient", names={1: "G_n"}, first_index=0)
def test_score_gradient(rng):
    """G is the gradient through the library's attention, by autograd."""
    given = scores(rng)
    v, g = rng.normal(size=(given["N"], D_V)), rng.normal(size=D_V)

    def attended(s):
        # A query of length 1 with value 1 makes the scores themselves the keys.
        return attention(torch.ones(1, 1).double(), s[:, None], torch.from_numpy(v))[0]

    def output(s):
        return attended(torch.from_numpy(np.asarray(s, dtype=float))).numpy()

    free = torch.tensor(given["s"], requires_grad=True)
    (torch.from_numpy(g) @ attended(free)).backward()
    loss = depends("s", lambda s: float(g @ output(s)))
    given["G"] = free.grad.numpy()
    return {**given, "v": v, "g": g, "o": depends("s", output), r"\mathcal{L}": loss}


@equation("eq-dot-mean", names={1: r"\mathbb{E}[s]"}, first_index=0)
def test_dot_mean(rng):
    # Means that are not 0, so that every term counts.
    d_k = int(rng.integers(2, 5))
    q, k = (Random(rng.normal(size=2).tolist(), SKEWED[1], shape=(d_k,)) for _ in range(2))
    return with_products({"q": q, "k": k, "d_k": d_k})


def independent(rng):
    d_k = int(rng.integers(2, 5))
    q, k = Random(*SKEWED, shape=(d_k,)), Random(*SKEWED, shape=(d_k,))
    return {"q": q, "k": k, "d_k": d_k, "D": float(rng.uniform(1.5, 4))}


CENTRED = {"text of eq-dot-square": "The means are 0, so that the mean square is the variance."}


@equation("eq-dot-variance", names={1: r"\operatorname{Var}[s]"}, first_index=0, equivalent=CENTRED)
def test_dot_variance(rng):
    return with_products(independent(rng))


@equation("eq-mean-gap", draws=2)
def test_mean_gap(rng):
    # The display defines τ; that it is near the mean gap is asserted here, for large N.
    d_k, size = int(rng.integers(5, 20)), int(rng.integers(1_000, 3_000))
    x = np.sqrt(d_k) * rng.normal(size=(2_000, size))
    top = np.partition(x, -2, axis=-1)[:, -2:]
    tau = np.sqrt(d_k) / np.sqrt(2 * np.log(size))
    assert abs(np.diff(np.sort(top)).mean() / tau - 1) < 0.15
    return {r"\tau": tau, "d_k": d_k, "N": size}


def aligned(rng):
    rho = float(rng.uniform(0.2, 0.8))
    d_k = int(rng.integers(1, 5))
    side = np.sqrt(1 - rho**2)
    k = depends("q", "z", lambda q, z: rho * np.asarray(q) + side * np.asarray(z))
    q, z = Random(*HEAVY, shape=(d_k,)), Random(*SKEWED, shape=(d_k,))
    return {"q": q, "z": z, "k": k, r"\rho": rho, "d_k": d_k, "a": range(d_k)}


@equation(
    "eq-initial-variance",
    first_index=0,
    draws=2,
    equivalent=dict.fromkeys(
        ("exchange name: m → n", "exchange name: n → m"),
        "The score of a token with itself has the same variance.",
    ),
    identity={1: "d_k may have any value: it cancels, which is what the display shows."},
)
def test_initial_variance(rng):
    # Both matrices are drawn; the tokens are given, with ‖x‖² = d as after a norm layer.
    return [initial_scores(rng, *sizes) for sizes in ((2, 2), (3, 1), (1, 3), (2, 1))]


def initial_scores(rng, d, d_k):
    sigma, X = float(rng.uniform(0.3, 2)), rng.normal(size=(2, d))
    X *= np.sqrt(d) / np.linalg.norm(X, axis=-1, keepdims=True)
    W_Q, W_K = (Random(*SKEWED, shape=(d, d_k)) for _ in range(2))

    def scores_of(W_Q, W_K):
        return (X @ (sigma * np.asarray(W_Q))) @ (X @ (sigma * np.asarray(W_K))).T / np.sqrt(d_k)

    S = depends("W_Q", "W_K", scores_of)
    places = {"m": range(2), "n": range(2)}
    return {"W_Q": W_Q, "W_K": W_K, "S": S, r"\sigma": sigma, "d": d, "d_k": d_k, **places}


@equation("eq-qk-norm", first_index=0)
def test_qk_norm(rng):
    q, k, gamma = rng.normal(size=D_K), rng.normal(size=(N, D_K)), rng.uniform(1.5, 4)
    cosines = torch.nn.functional.cosine_similarity(torch.tensor(k), torch.tensor(q), dim=-1)
    parallel = np.outer([-0.5, 1.7, 3.0, 2.0, 0.4], q)  # the bound is reached
    signs = gamma * np.array([-1.0, 1, 1, 1, 1])
    common = {"q": q, r"\gamma": gamma, "n": range(N)}
    return [
        {**common, "k": k, "s": gamma * cosines.numpy()},
        {**common, "k": parallel, "s": signs},
    ]


def uncorrelated(rng):
    """Two different entries of one vector, of mean 0."""
    q = Random(*SKEWED, shape=(D_K,))
    return [{"q": q, "a": a, "c": c} for a, c in [(0, 1), (1, 2), (2, 0)]]


def narrower(rng):
    """A head that is as wide as can be."""
    d = int(rng.integers(8, 99))
    return {"d_k": d - 1, "d": d}


def trained(rng):
    key = rng.normal(size=D_K)
    return {"q": key, "k": key}


@sentences(
    "why-sqrt-d",
    first_index=0,
    where={
        "are uncorrelated: …": uncorrelated,
        "by $, so that …": independent,
        "queries and keys of only …": narrower,
        "Jacobian $, with …": lambda rng: {"p": depends("s", softmax)},
        "has the mean …": aligned,
        "has the mean $, so that …": aligned,
        "equal to its key, …": trained,
        "at once from …": None,
    },
    equivalent={
        "are uncorrelated: …": dict.fromkeys(
            ("drop factor: q_a → ∅", "drop factor: q_c → ∅"),
            "Every entry has the mean 0 by itself.",
        )
    },
)
def test_sentences(rng):
    """Scores, the library's weights and derivatives, and the sum of exponentials."""
    s = rng.normal(size=N)
    return {**of_weights(softmax(s)), "s": s, "Z": np.exp(s).sum(), r"\delta": np.eye(N)}

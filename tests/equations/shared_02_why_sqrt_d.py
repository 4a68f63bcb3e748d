"""Chapter 2 and its page of depth: what the formulas of both are bound to."""

import numpy as np
import torch

from attention_to_rope import softmax as library_softmax
from attention_to_rope import softmax_jacobian
from bookcheck.equations.checks import Random, depends

N, D_K, D_V = 5, 3, 2
SIGNS = [-1.0, 1.0]
# Mean 0 and variance 1, kurtosis 3.25 and 6.25: neither normal (3) nor random signs (1).
SKEWED, SKEWED_CHANCES = [-2.0, 0.5], [0.2, 0.8]
HEAVY, HEAVY_CHANCES = [-2.5, 0.0, 2.5], [0.08, 0.84, 0.08]


def softmax(x):
    return library_softmax(torch.from_numpy(np.asarray(x, dtype=float))).numpy()


def jacobian(p):
    return softmax_jacobian(torch.from_numpy(p)).numpy()


def normaliser(x):
    return np.exp(x).sum()


def scores(rng, spread=1.0, length=N):
    """Scores, with the weights and the normaliser that follow them."""
    x = rng.normal(scale=spread, size=length)
    return {
        "x": x,
        "p": depends("x", softmax),
        "Z": depends("x", normaliser),
        "N": length,
        "n": range(length),
        "l": range(length),
    }


def weights(rng, spread=1.0, length=N):
    """Weights with the derivatives that the library gives for them."""
    p = softmax(rng.normal(scale=spread, size=length))
    return {"p": p, "J": jacobian(p), "N": length, "n": range(length)}


def independent(d_k=D_K):
    q = Random(SKEWED, SKEWED_CHANCES, shape=(d_k,))
    k = Random(SKEWED, SKEWED_CHANCES, shape=(d_k,))
    return {"q": q, "k": k, "d_k": d_k}


def mixed(rng, d_k=D_K):
    """q = μ_q + u with correlated coordinates, and k the same, from few equally likely points."""
    mix_q, mix_k = rng.normal(size=(2, 2, d_k))
    mu_q, mu_k = rng.normal(size=(2, d_k))
    z_q, z_k = Random(SIGNS, shape=(2,)), Random(SIGNS, shape=(2,))
    return {
        "z_q": z_q,
        "z_k": z_k,
        "u": depends("z_q", lambda z: np.asarray(z) @ mix_q),
        "w": depends("z_k", lambda z: np.asarray(z) @ mix_k),
        "q": depends("z_q", lambda z: mu_q + np.asarray(z) @ mix_q),
        "k": depends("z_k", lambda z: mu_k + np.asarray(z) @ mix_k),
        r"\mu_q": mu_q,
        r"\mu_k": mu_k,
        r"\Sigma_q": mix_q.T @ mix_q,
        r"\Sigma_k": mix_k.T @ mix_k,
        "d_k": d_k,
    }

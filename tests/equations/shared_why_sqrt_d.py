"""The chapter and its page of depth: what the formulas of both are bound to."""

import numpy as np
import torch

from attention_to_rope import saturation, softmax_jacobian
from attention_to_rope import softmax as library_softmax
from bookcheck.equations.checks import Random, depends

N, D_K, D_V = 5, 3, 2
SIGNS = [-1.0, 1.0]
# Outcomes and chances of an entry with mean 0 and variance 1 that is neither normal nor a sign.
SKEWED = [-2.0, 0.5], [0.2, 0.8]
HEAVY = [-2.5, 0.0, 2.5], [0.08, 0.84, 0.08]


def softmax(x):
    return library_softmax(torch.from_numpy(np.asarray(x, dtype=float))).numpy()


def scores(rng, length=None):
    """Scores, with the weights and the sum of exponentials that follow them."""
    length = length or int(rng.integers(3, 8))
    return {
        "s": rng.normal(size=length),
        "p": depends("s", softmax),
        "Z": depends("s", lambda s: np.exp(s).sum()),
        "N": length,
        "n": range(length),
        "l": range(length),
    }


def of_weights(p):
    """Weights with the library's derivatives and what the largest weight leaves."""
    p = torch.as_tensor(p, dtype=torch.float64)
    J, r = softmax_jacobian(p).numpy(), float(saturation(p))
    return {"p": p.numpy(), "J": J, "r": r, "N": len(p), "n": range(len(p)), "l": range(len(p))}


def weights(rng, spread=1.0, length=None):
    length = length or int(rng.integers(3, 8))
    return of_weights(softmax(rng.normal(scale=spread, size=length)))


def mixed(rng, d_k=None):
    """q = μ_q + u with correlated entries, and k the same, from few equally likely points."""
    d_k = d_k or int(rng.integers(2, 6))
    mix_q, mix_k = rng.normal(size=(2, 2, d_k))
    mu_q, mu_k = rng.normal(size=(2, d_k))
    return {
        "z_q": Random(SIGNS, shape=(2,)),
        "z_k": Random(SIGNS, shape=(2,)),
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

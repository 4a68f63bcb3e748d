"""The errata: the relations inside their sentences, those that are right."""

import numpy as np
import torch

import attention_to_rope as book
from bookcheck.equations.checks import sentences
from texcheck import Random

D, D_K = 6, 3


def bindings(rng):
    """The library's sizes, its DeepNorm, and the inner product of two codes."""
    layer = book.MultiHeadAttention(D, 2, seed=rng)
    blocks = int(rng.integers(2, 99))
    alpha, beta = book.deepnorm_constants(blocks)
    return {
        "W^Q": layer.query.W.detach().numpy()[:, :D_K],
        "d": D,
        "d_k": D_K,
        r"\alpha": alpha,
        r"\beta": beta,
        "N": blocks,
        "g": lambda k: float(np.cos(k * book.rotary_frequencies(D).numpy()).sum()),
        "k": int(rng.integers(1, 9)),
        "B": rng.uniform(2, 9),
        "m": int(rng.integers(1, 5)),
        "n": int(rng.integers(1, 5)),
        "e": np.e,
    }


def jacobian(rng):
    """Of many keys, and of two, where the bound is met."""
    weights = [book.softmax(torch.from_numpy(rng.normal(size=n))) for n in (4, 2)]
    return [{"J": book.softmax_jacobian(p).numpy(), "p": p.numpy()} for p in weights]


def uniform(rng):
    n = int(rng.integers(2, 9))
    p = torch.full((n,), 1 / n, dtype=torch.float64)
    return {"J": book.softmax_jacobian(p).numpy(), "n": n}


def independent(rng):
    """Correlated coordinates of mean 0: every sign pattern of a mixture, all equally likely."""
    mix_q, mix_k = rng.normal(size=(2, 2, 2))
    signs = np.array([[a, b] for a in (-1, 1) for b in (-1, 1)])
    products = [float((s @ mix_q) @ (t @ mix_k)) for s in signs for t in signs]
    return {
        "q": Random(products, shape=(1,)),
        "k": np.ones(1),
        r"\Sigma_q": mix_q.T @ mix_q,
        r"\Sigma_k": mix_k.T @ mix_k,
    }


test_sentences = sentences(
    "errata",
    first_index=0,
    where={
        "cannot be, since …": lambda rng: {
            "k": range(1, D // 2 + 1),
            "d": len(book.rotary_frequencies(D)),
        },
        "most $, so for …": lambda rng: {"d_k": D - 1, "d": D},
        "There is one: …": jacobian,
        "small Jacobian, …": uniform,
        "In general …": independent,
        "the note has …": lambda rng: {"D": D, "d": len(book.rotary_frequencies(D))},
    },
    unchecked={
        "S2.4 writes …": "Quoted, and corrected by this erratum: the block without residuals.",
        "S4.9 sets … ,": "Quoted, and corrected by this erratum: the angle with a factor 2π.",
        "RoPE prints …": "Quoted, and corrected by this erratum: an exponent without its sign.",
    },
)(bindings)

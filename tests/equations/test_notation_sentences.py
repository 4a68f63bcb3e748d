"""The notation: the relations inside its sentences."""

import numpy as np
import torch

import attention_to_rope as book
from bookcheck.equations.checks import sentences
from shared_rotations import some_frequencies

N, D, D_K = 3, 4, 2


def bindings(rng):
    """One layer of the library: its projections, and the scores behind its weights."""
    base, theta = some_frequencies(rng, D)
    X = rng.normal(size=(N, D))
    projections = dict(zip(("Q", "K", "V"), rng.normal(size=(3, D, D_K)), strict=True))
    rows = {name: X @ W for name, W in projections.items()}
    scores = torch.from_numpy(rows["Q"] @ rows["K"].T) * book_scale(D_K)
    return {
        "X": X,
        **rows,
        **{f"W^{name}": W for name, W in projections.items()},
        "S": scores.numpy(),
        "d_k": D_K,
        r"\theta": np.asarray(theta),
        "b": base,
        "d": D,
        "i": range(D // 2),
    }


def book_scale(d_k):
    """The library's factor of the scores, seen in the weights of two keys."""
    values = torch.eye(2, dtype=torch.float64)
    query = torch.zeros(1, d_k, dtype=torch.float64)
    query[0, 0] = 1.0
    keys = torch.zeros(2, d_k, dtype=torch.float64)
    keys[0, 0] = 1.0
    weights = book.attention(query, keys, values)[0]
    return float(torch.log(weights[0] / weights[1]))


def column(rng):
    return {"W": rng.normal(size=(3, D)), "x": rng.normal(size=(D, 1))}


test_sentences = sentences(
    "notation",
    first_index=0,
    where={
        "transpose it: …": column,
        "to the next, …": None,
    },
)(bindings)

"""The notation: the relations inside its sentences."""

import numpy as np
import torch

import attention_to_rope as book
from bookcheck.equations.checks import sentences
from shared import even
from shared_rotations import some_frequencies

N = 3


def bindings(rng):
    """One layer of the library: its projections, and the scores behind its weights."""
    d, d_k = even(rng, 4), int(rng.integers(1, 4))
    base, theta = some_frequencies(rng, d)
    X = rng.normal(size=(N, d))
    projections = dict(zip(("Q", "K", "V"), rng.normal(size=(3, d, d_k)), strict=True))
    rows = {name: X @ W for name, W in projections.items()}
    scores = torch.from_numpy(rows["Q"] @ rows["K"].T) * book_scale(d_k)
    return {
        "X": X,
        **rows,
        **{f"W^{name}": W for name, W in projections.items()},
        "S": scores.numpy(),
        "d_k": d_k,
        r"\theta": np.asarray(theta),
        "b": base,
        "d": d,
        "i": range(d // 2),
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
    return {"W": rng.normal(size=(3, 4)), "x": rng.normal(size=(4, 1))}


test_sentences = sentences(
    "notation",
    first_index=0,
    where={
        "transpose it: …": column,
        "to the next, …": None,
    },
)(bindings)

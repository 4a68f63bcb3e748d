"""The glossary: the relations inside its sentences."""

import numpy as np
import torch

import attention_to_rope as book
from bookcheck.equations.checks import sentences
from shared import even
from shared_rotations import rotation_of_all_pairs, some_frequencies


def bindings(rng):
    """The library's frequencies and rotations, and its Jacobian of softmax."""
    d = even(rng, 6)
    base, theta = some_frequencies(rng, d)
    p = book.softmax(torch.from_numpy(rng.normal(size=4)))
    return {
        r"\theta": np.asarray(theta),
        r"\lambda": 2 * np.pi / np.asarray(theta),
        "b": base,
        "d": d,
        "i": range(d // 2),
        "p": p.numpy(),
        "J": book.softmax_jacobian(p).numpy(),
        "U": rotation_of_all_pairs(theta)(3),
        "I": np.eye(d),
    }


test_sentences = sentences(
    "glossary",
    first_index=0,
    where={
        "matrix $ with …": None,
        "dimensions with …": None,
    },
    equivalent={
        "dimensions with …": {r"add transpose: ∅ → ^\top": "A transpose has the same determinant."},
    },
)(bindings)

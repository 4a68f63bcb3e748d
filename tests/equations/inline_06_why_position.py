"""Chapter 6: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import Architecture, Block

PAGE = "06-why-position"
OPTIONS = {"first_index": 0}
N, D = 5, 6


def on_matrix(part):
    def function(x):
        with torch.no_grad():
            return part(torch.from_numpy(np.ascontiguousarray(x))[None])[0].numpy()

    return function


def bindings(rng):
    """Two blocks of the library, a norm, tokens and a permutation."""
    shape = Architecture(d=D, heads=2, layers=1)
    first, second = (Block(shape, seed=rng).double() for _ in range(2))
    functions = {"f": on_matrix(first), "g": on_matrix(second)}
    norm = {r"\operatorname{norm}": on_matrix(first.attention_residual.norm)}
    order = {r"\Pi": np.eye(N)[rng.permutation(N)], "I": np.eye(N)}
    return {**functions, **norm, **order, "X": rng.normal(size=(N, D))}


# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"d = 64",
    r"B_{mn} = -\infty",
    r"P_m = m",
    r"P_m = e_m",
    r"d \ge N",
    r"N = 8",
    r"N = 40",
    r"N = 400",
    r"n \le m",
    r"m = 5",
    r"N = 2000",
]

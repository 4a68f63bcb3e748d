"""Chapter 11: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import layout_permutation, rotary_frequencies, rotation_matrix

PAGE = "11-implementing-rope"
D_K = 6


def matrix(layout):
    theta = rotary_frequencies(D_K, base=7.0)
    return lambda m: rotation_matrix(torch.tensor(int(m)), theta, layout=layout).numpy()


def bindings(rng):
    """The two rotations as matrices, and the permutation between them."""
    order = layout_permutation(D_K, source="interleaved", target="half").numpy()
    rotations = {r"\mathbf{R}": matrix("interleaved"), r"\mathbf{H}": matrix("half")}
    return {r"\Pi": np.eye(D_K)[:, order], "m": range(2, 6), **rotations}


# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [r"d_k = 128", r"d_k = 4", r"x = (1, 2, 3, 4)", r"m = n"]

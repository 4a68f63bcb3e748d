"""Deeper 11: the relations inside its sentences."""

import torch

from attention_to_rope import rotary_frequencies, rotation_matrix

PAGE = "deeper/11-implementing-rope"
OPTIONS = {"first_index": 0}
D_K = 6
THETA = rotary_frequencies(D_K, base=7.0)


def bindings(rng):
    """The rotation as a matrix, and a gradient."""

    def R(m):
        return rotation_matrix(torch.tensor(int(m)), THETA, layout="interleaved").numpy()

    return {r"\mathbf{R}": R, "m": range(2, 6), "g": rng.normal(size=D_K)}


# Conditions and examples, and what introduces a symbol.
DEFINITIONS = [
    r"p = 8",
    r"L > p",
    r"\hat{a} = m\theta_i (1 + \delta_1)(1 + \delta_2)",
    r"p = 11",
    r"L = 14",
    r"y = x \mathbf{R}_m",
]

"""Deeper 11: the relations inside its sentences."""

from shared_11_implementing_rope import D_K, R

PAGE = "deeper/11-precision"
OPTIONS = {"first_index": 0}


def bindings(rng):
    """The rotation as a matrix, and a gradient."""
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

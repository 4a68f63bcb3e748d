"""Chapter 11: the relations inside its sentences."""

from shared_11_implementing_rope import H, R, permutation

PAGE = "11-implementing-rope"


def bindings(rng):
    """The two rotations as matrices, and the permutation between them."""
    return {r"\Pi": permutation(), "m": range(2, 6), r"\mathbf{R}": R, r"\mathbf{H}": H}


# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [r"d_k = 128", r"d_k = 4", r"x = (1, 2, 3, 4)", r"m = n"]

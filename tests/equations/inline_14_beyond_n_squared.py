"""Chapter 14: the relations inside its sentences."""

import torch

from attention_to_rope.merge import log_total, partial_attention

PAGE = "14-beyond-n-squared"


def bindings(rng):
    """The state of one query and seven keys, with the library's logarithm of its sum."""
    s, v = torch.from_numpy(rng.normal(size=(7, 1))), torch.from_numpy(rng.normal(size=(7, 2)))
    state = partial_attention(torch.ones(1, 1, dtype=torch.float64), s, v, scale=1.0)
    names = {"c": state.largest.item(), r"\ell": state.total.item()}
    return {**names, r"\lambda": log_total(state).item()}


# Names of a proof, one number per query, a condition, the numbers of two exercises, a shape.
DEFINITIONS = [
    r"c_{12} = \max(c_1, c_2)",
    r"c = \max(c_{12}, c_3)",
    r"c_2 = -\infty",
    r"\lambda_m = c_m + \log \ell_m",
    r"w \le N",
    r"c_1 = 2",
    r"\ell_1 = 1.5",
    r"u_1 = 3",
    r"c_2 = 2 + \ln 4",
    r"\ell_2 = 2",
    r"u_2 = 1",
    r"w = 4096",
    r"d_k = 64",
    r"N = 8192",
]

"""The chapter and its page of depth: what the formulas of both are bound to."""

import numpy as np
import torch

from attention_to_rope import (
    layout_permutation,
    rotary_frequencies,
    rotary_table,
    rotate,
    rotation_matrix,
)
from shared import even
from shared_rotations import some_base


def frequencies(rng):
    """The library's frequencies for any base, of an even number of dimensions."""
    return rotary_frequencies(even(rng, 6), some_base(rng))


def turned(x, m, theta, layout="interleaved"):
    """The library's rotation of one row at position m."""
    table = rotary_table(torch.tensor([m]), theta, dtype=torch.float64)
    return rotate(torch.as_tensor(x)[None], table, layout=layout)[0].numpy()


def matrix(layout, theta):
    """m → the library's dense rotation in a layout."""
    return lambda m: rotation_matrix(torch.tensor(int(m)), theta, layout=layout).numpy()


def permutation(d_k):
    """Π with x Π = x in the half layout, from the library's order of the dimensions."""
    order = layout_permutation(d_k, source="interleaved", target="half")
    return np.eye(d_k)[:, order.numpy()]


def common(rng, layout="interleaved"):
    theta, m = frequencies(rng), int(rng.integers(2, 9))
    d_k = 2 * len(theta)
    x = rng.normal(size=d_k)
    symbols = {"x": x, "m": m, "y": turned(x, m, theta, layout), r"\theta": theta.numpy()}
    return symbols | {"d_k": d_k, "i": range(d_k // 2)}

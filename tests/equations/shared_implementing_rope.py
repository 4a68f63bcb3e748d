"""Chapter 11 and its page of depth: what the formulas of both are bound to."""

import numpy as np
import torch

from attention_to_rope import (
    layout_permutation,
    rotary_frequencies,
    rotary_table,
    rotate,
    rotation_matrix,
)

D_K, PAIRS = 6, 3
THETA = rotary_frequencies(D_K, base=7.0)


def turned(x, m, layout="interleaved"):
    """The library's rotation of one row at position m."""
    table = rotary_table(torch.tensor([m]), THETA, dtype=torch.float64)
    return rotate(torch.as_tensor(x)[None], table, layout=layout)[0].numpy()


def matrix(layout):
    """m → the library's dense rotation in a layout."""
    return lambda m: rotation_matrix(torch.tensor(int(m)), THETA, layout=layout).numpy()


R, H = matrix("interleaved"), matrix("half")


def permutation():
    """Π with x Π = x in the half layout, from the library's order of the dimensions."""
    order = layout_permutation(D_K, source="interleaved", target="half")
    return np.eye(D_K)[:, order.numpy()]


def common(rng, layout="interleaved"):
    x, m = rng.normal(size=D_K), int(rng.integers(2, 9))
    symbols = {"x": x, "m": m, "y": turned(x, m, layout), r"\theta": THETA.numpy()}
    return symbols | {"d_k": D_K, "i": range(PAIRS)}

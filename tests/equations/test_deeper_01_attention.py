"""Deeper 1: the sum without its softmax."""

import numpy as np

from bookcheck.equations.checks import equation


@equation("eq-unnormalised", first_index=0)
def test_unnormalised(rng):
    N, d_k, d_v = 4, 3, 2
    q, k, v = (rng.normal(size=(N, size)) for size in (d_k, d_k, d_v))
    u = np.einsum("md,nd,nc->mc", q, k, v)
    return {"q": q, "k": k, "v": v, "u": u, "m": range(N), "N": N}

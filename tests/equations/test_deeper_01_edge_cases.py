"""Deeper 1: the sum without its softmax."""

import torch

from attention_to_rope.recurrent_attention import linear_attention_steps
from bookcheck.equations.checks import equation


@equation("eq-unnormalised", first_index=0)
def test_unnormalised(rng):
    """The library's linear attention keeps a state; after all tokens each query reads it."""
    N, d_k, d_v = 4, 3, 2
    q, k, v = (rng.normal(size=(N, size)) for size in (d_k, d_k, d_v))
    _, state = linear_attention_steps(*map(torch.from_numpy, (q, k, v)))
    return {"q": q, "k": k, "v": v, "u": q @ state.numpy(), "m": range(N), "N": N}

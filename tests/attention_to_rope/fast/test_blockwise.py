"""Attention in blocks equals attention, with its gradients, and holds no more than a block."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import attention_to_rope as book
from attention_to_rope.fast import blockwise_attention


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


@given(
    n=st.integers(1, 9),
    more=st.integers(0, 5),
    heads=st.sampled_from([(4, 4), (4, 2), (4, 1)]),
    causal=st.booleans(),
    window=st.none() | st.integers(1, 6),
    masked=st.sampled_from(["no", "rows", "padding"]),
    biased=st.booleans(),
    sunk=st.sampled_from(["no", "heads", "queries"]),
    cap=st.none() | st.just(3.0),
    blocks=st.tuples(st.integers(1, 5), st.integers(1, 5)),
)
def test_blocks_equal_attention_and_its_gradients(
    n, more, heads, causal, window, masked, biased, sunk, cap, blocks
):
    m, (h, g) = n + more, heads
    leaves = [normal(2, h, n, 3), normal(2, g, m, 3, seed=1), normal(2, g, m, 2, seed=2)]
    bias = normal(1, h, n, m, seed=3) if biased else None
    sink = None if sunk == "no" else normal(1, h, 1 if sunk == "heads" else n, 1, seed=4)
    leaves = [x.requires_grad_() for x in (*leaves, bias, sink) if x is not None]
    q, k, v = leaves[:3]
    rows = normal(2, 1, 1 if masked == "padding" else n, m, seed=5) > -0.5
    seen = torch.ones(n, m, dtype=torch.bool)
    if window is not None:
        seen = book.sliding_window_mask(n, m, window=window, causal=causal)
    elif causal:
        seen = book.causal_mask(n, m)
    options = {"bias": bias, "sink": sink, "soft_cap": cap}
    got = blockwise_attention(
        q,
        k,
        v,
        causal=causal,
        window=window,
        mask=None if masked == "no" else rows,
        q_block=blocks[0],
        k_block=blocks[1],
        **options,
    )
    wide = [x.repeat_interleave(h // g, dim=1) for x in (k, v)]
    whole = seen[None, None] if masked == "no" else rows & seen
    expected = book.attention(q, *wide, mask=whole, **options)
    torch.testing.assert_close(got, expected)
    upstream = normal(*got.shape, seed=6)
    one, other = (torch.autograd.grad(x, leaves, upstream) for x in (got, expected))
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b)


def test_plain_matrices_half_types_and_refusals():
    q, k, v = (normal(5, 8, seed=s, dtype=torch.bfloat16) for s in range(3))
    got = blockwise_attention(q, k, v, q_block=2, k_block=2)
    assert (got - book.attention(q, k, v)).abs().max() <= 2**-7
    with pytest.raises(ValueError, match="last positions"):
        blockwise_attention(q, k[:3], v[:3], causal=True)
    for name, shape in (("mask", (5, 6)), ("bias", (4, 5))):
        wrong = torch.ones(shape, dtype=torch.bool if name == "mask" else q.dtype)
        with pytest.raises(ValueError, match=name):
            blockwise_attention(q, k, v, **{name: wrong})


class Largest(TorchDispatchMode):
    """The entries of the largest tensor that an operation makes."""

    entries = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        sizes = [x.numel() for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        self.entries = max([self.entries, *sizes])
        return result


def test_no_tensor_is_as_large_as_all_scores():
    N = 128
    q, k, v = (normal(1, 1, N, 4, seed=s).requires_grad_() for s in range(3))
    with Largest() as largest:
        blockwise_attention(q, k, v, q_block=16, k_block=16).sum().backward()
    assert largest.entries <= 4 * N < N * N

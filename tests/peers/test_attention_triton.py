"""The attention kernel to read, run on a CPU by Triton's interpreter: equal to `attention`."""

import pytest
import torch

import attention_to_rope as book
from attention_to_rope.fast.attention_triton import triton_attention
from bookkit.randomness import normal

pytest.importorskip("triton", reason="Triton is for Linux; tests/peers/requirements.txt has it")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [1, 64, 100])  # less than a block, a block, blocks and a rest
def test_kernel_equals_attention(causal: bool, length: int) -> None:
    q, k, v = (normal(2, 2, length, 16, seed=s, dtype=torch.float32) for s in range(3))
    mask = book.causal_mask(length) if causal else None
    got = triton_attention(q * 30, k, v, causal=causal)
    assert (got - book.attention(q * 30, k, v, mask=mask)).abs().max() <= 1e-5

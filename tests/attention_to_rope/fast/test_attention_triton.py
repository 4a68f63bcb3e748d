"""The kernel to read refuses what it cannot do; tests/peers runs it by Triton's interpreter."""

import pytest
import torch

from attention_to_rope.fast import attention_triton
from attention_to_rope.fast.attention_triton import triton_attention


def test_without_a_gpu_it_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_triton, "is_available", lambda x: False)
    x = torch.zeros(1, 1, 4, 16)
    with pytest.raises(RuntimeError, match=r"needs a GPU and Triton, or Triton's interpreter"):
        triton_attention(x, x, x)


def test_errors_and_what_is_handed_to_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_triton, "is_available", lambda x: True)
    handed = []
    monkeypatch.setattr(attention_triton, "launch", lambda *given: handed.append(given))
    x = torch.zeros(1, 4, 2, 16).transpose(1, 2)
    triton_attention(x, x, x, causal=True)
    *tensors, causal = handed[0]
    assert causal is True
    triton_attention(x, x, x)
    assert handed[1][-1] is False
    assert all(tensor.is_contiguous() and tensor.shape == x.shape for tensor in tensors)
    for shapes in [((4, 16),) * 3, ((1, 1, 4, 16), (1, 1, 5, 16), (1, 1, 4, 16))]:
        q, k, v = (torch.zeros(shape) for shape in shapes)
        with pytest.raises(ValueError, match=r"must have one shape \(B, H, N, d\), got"):
            triton_attention(q, k, v)
    for d in (8, 24):
        y = torch.zeros(1, 1, 4, d)
        with pytest.raises(ValueError, match=rf"d must be a power of two, at least 16, got {d}"):
            triton_attention(y, y, y)


def test_a_block_is_a_power_of_two_which_triton_asks_for() -> None:
    assert attention_triton.BLOCK & (attention_triton.BLOCK - 1) == 0

"""Block-wise attention equals attention, forward and backward, and keeps no N × N matrix."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import attention_to_rope as book
from attention_to_rope.fast.blockwise import _Blockwise, _visible_blocks
from bookkit.randomness import normal


@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 10),
    st.integers(1, 10),
    st.booleans(),
    st.sampled_from([1.0, 100.0]),
)
def test_equals_attention(
    n_q: int, n_k: int, q_block: int, k_block: int, causal: bool, size: float
) -> None:
    n_q = min(n_q, n_k) if causal else n_q
    q, k = normal(2, n_q, 3, seed=0) * size, normal(2, n_k, 3, seed=1) * size
    v = normal(2, n_k, 4, seed=2)
    tensors = [tensor.requires_grad_() for tensor in (q, k, v)]
    mask = book.causal_mask(n_q, n_k) if causal else None
    expected = book.attention(*tensors, mask=mask, scale=0.4)
    got = book.blockwise_attention(
        *tensors, causal=causal, scale=0.4, q_block=q_block, k_block=k_block
    )
    assert (got - expected).abs().max() <= 1e-12
    upstream = normal(2, n_q, 4, seed=3)
    for a, b in zip(
        torch.autograd.grad(got, tensors, upstream),
        torch.autograd.grad(expected, tensors, upstream),
        strict=True,
    ):
        assert (a - b).abs().max() <= 1e-12 * size


@pytest.mark.parametrize("causal", [False, True])
def test_gradcheck(causal: bool) -> None:
    tensors = [normal(1, 2, 5, 3, seed=s).requires_grad_() for s in range(3)]
    assert torch.autograd.gradcheck(
        lambda q, k, v: book.blockwise_attention(q, k, v, causal=causal, q_block=2, k_block=3),
        tensors,
    )


def test_default_scale_and_blocks() -> None:
    q, k, v = (normal(2, 9, 4, seed=s) for s in range(3))
    assert (book.blockwise_attention(q, k, v) - book.attention(q, k, v)).abs().max() <= 1e-14


@pytest.mark.parametrize("leading", [(), (2,), (2, 3), (2, 1, 3), (0,), (2, 0)])
def test_any_leading_axes(leading: tuple[int, ...]) -> None:
    q, k, v = (normal(*leading, 5, width, seed=s) for s, width in enumerate((4, 4, 6)))
    torch.testing.assert_close(book.blockwise_attention(q, k, v), book.attention(q, k, v))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dtypes(dtype: torch.dtype) -> None:
    q, k, v = (normal(2, 9, 4, seed=s, dtype=dtype) for s in range(3))
    got = book.blockwise_attention(q, k, v, k_block=2)
    assert got.dtype == dtype
    expected = book.attention(q, k, v)
    assert (got - expected).abs().max() <= 4 * torch.finfo(dtype).eps


class LargestTensor(TorchDispatchMode):
    """Remembers the largest tensor that any operation made."""

    def __init__(self) -> None:
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, torch.Tensor):
                self.numel = max(self.numel, tensor.numel())
        return result


@pytest.mark.parametrize("causal", [False, True])
def test_no_tensor_grows_with_the_square_of_the_length(causal: bool) -> None:
    sizes = {}
    for length in (32, 64):
        q, k, v = (normal(length, 4, seed=s).requires_grad_() for s in range(3))
        with LargestTensor() as seen:
            book.blockwise_attention(q, k, v, causal=causal, q_block=8, k_block=8).sum().backward()
        sizes[length] = seen.numel
    assert sizes == {32: 32 * 4, 64: 64 * 4}
    with LargestTensor() as naive:
        book.attention(q, k, v)
    assert naive.numel == 64 * 64


def test_causal_skips_what_nobody_sees() -> None:
    assert _visible_blocks(0, 2, 0, 8, 2, True) == [(0, 2, True)]
    assert _visible_blocks(4, 6, 0, 8, 2, True) == [(0, 2, False), (2, 4, False), (4, 6, True)]
    assert _visible_blocks(4, 6, 0, 8, 4, True) == [(0, 4, False), (4, 6, True)]
    assert _visible_blocks(0, 1, 3, 4, 4, True) == [(0, 4, False)]
    assert _visible_blocks(0, 2, 0, 5, 2, False) == [(0, 2, False), (2, 4, False), (4, 5, False)]


def test_errors() -> None:
    x = torch.zeros(3, 4)
    with pytest.raises(ValueError, match=r"q_block must be at least 1, got 0"):
        book.blockwise_attention(x, x, x, q_block=0)
    with pytest.raises(ValueError, match=r"k_block must be at least 1, got 0"):
        book.blockwise_attention(x, x, x, k_block=0)
    with pytest.raises(ValueError, match=r"scale must be finite and above 0, got -1"):
        book.blockwise_attention(x, x, x, scale=-1.0)
    with pytest.raises(ValueError, match=r"at least as many keys as queries, got 2 keys and 3"):
        book.blockwise_attention(x, x[:2], x[:2], causal=True)
    with pytest.raises(ValueError, match=r"same head dim"):
        book.blockwise_attention(x, x[:, :2], x)


@pytest.mark.parametrize(
    ("dtype", "n_q", "causal", "fused"),
    [
        (torch.float32, 4, False, True),
        (torch.bfloat16, 4, True, True),
        (torch.float32, 3, False, True),
        (torch.float32, 3, True, False),  # their causal mask begins at the first key
        (torch.float64, 4, False, False),
    ],
)
def test_a_gpu_uses_the_fused_kernel_where_it_means_the_same(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, n_q: int, causal: bool, fused: bool
) -> None:
    """Fake tensors know that they are on a GPU and need none; what is called is only noted."""
    calls = []

    def kernel(q, k, v, **options):  # type: ignore[no-untyped-def]
        calls.append(("fused", options))
        return q

    def blocks(q, k, v, *options):  # type: ignore[no-untyped-def]
        calls.append(("blocks", options))
        return (q,)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", kernel)
    monkeypatch.setattr(_Blockwise, "apply", blocks)
    with FakeTensorMode():
        q = torch.empty(1, 2, n_q, 8, dtype=dtype, device="cuda")
        k = torch.empty(1, 2, 4, 8, dtype=dtype, device="cuda")
        got = book.blockwise_attention(q, k, k, causal=causal, scale=0.3)
    if fused:
        assert calls == [("fused", {"is_causal": causal, "scale": 0.3})]
    else:
        assert calls == [("blocks", (causal, 0.3, 512, 2048))]
    assert got.shape == q.shape
    assert got.dtype == dtype
    assert got.is_cuda

"""Queries and keys in one call, where the kernel cannot run: equal to `rotate`, to the bit.

The kernel itself is run by Triton's interpreter in tests/peers/test_rope_cuda.py.
"""

import pytest
import torch

import attention_to_rope as book
from attention_to_rope.fast import rope_triton
from attention_to_rope.fast.rope_triton import rotate_queries_and_keys
from bookkit.randomness import normal

LAYOUTS = ["half", "interleaved"]


@pytest.fixture(autouse=True)
def _no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without Triton, also where it happens to be installed."""
    monkeypatch.setattr(rope_triton, "triton", None)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_falls_back_to_rotate(layout, dtype: torch.dtype) -> None:  # type: ignore[no-untyped-def]
    q, k = normal(2, 4, 5, 8, seed=0, dtype=dtype), normal(2, 2, 5, 8, seed=1, dtype=dtype)
    table = book.rotary_table(torch.arange(5) + 1000, book.rotary_frequencies(8), dtype=dtype)
    turned_q, turned_k = rotate_queries_and_keys(q, k, table, layout=layout)
    assert torch.equal(turned_q, book.rotate(q, table, layout=layout))
    assert torch.equal(turned_k, book.rotate(k, table, layout=layout))
    assert turned_q.dtype == turned_k.dtype == dtype


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_rotate(layout) -> None:  # type: ignore[no-untyped-def]
    q, k = (normal(1, 2, 3, 4, seed=s).requires_grad_() for s in (0, 1))
    table = book.rotary_table(torch.arange(3), book.rotary_frequencies(4), dtype=torch.float64)
    turned = rotate_queries_and_keys(q, k, table, layout=layout)
    upstream = [normal(1, 2, 3, 4, seed=s) for s in (2, 3)]
    gradients = torch.autograd.grad(turned, (q, k), upstream)
    for gradient, given in zip(gradients, upstream, strict=True):
        assert (gradient - book.rotate_back(given, table, layout=layout)).abs().max() <= 1e-15


def test_is_available_only_with_triton_and_a_gpu_or_its_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = torch.zeros(1)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert not rope_triton.is_available(x)
    monkeypatch.setattr(rope_triton, "triton", object())
    assert rope_triton.is_available(x)
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    assert not rope_triton.is_available(x)
    monkeypatch.delenv("TRITON_INTERPRET")
    assert not rope_triton.is_available(x)


def test_tables_by_batch_and_odd_sizes_go_to_rotate(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel does not take must not reach it, even where it could run."""
    monkeypatch.setattr(rope_triton, "is_available", lambda x: True)

    def launch(*arguments: object) -> None:
        raise AssertionError("the kernel was called")

    monkeypatch.setattr(rope_triton, "_launch", launch)
    frequencies = book.rotary_frequencies(8)
    table = book.rotary_table(torch.arange(5), frequencies)
    q = normal(2, 3, 5, 8, seed=0, dtype=torch.float32)
    with pytest.raises(AssertionError, match="the kernel was called"):
        rotate_queries_and_keys(q, q, table, layout="half")

    by_batch = book.rotary_table(torch.arange(10).reshape(2, 5), frequencies)
    exact = book.rotary_table(torch.arange(5), frequencies, dtype=torch.float64)
    six = book.rotary_table(torch.arange(5), book.rotary_frequencies(6))
    learned = q.clone().requires_grad_()
    every_second = normal(2, 3, 5, 16, seed=1, dtype=torch.float32)[..., ::2]
    for x, k, used in [
        (q, q, by_batch),
        (q.double(), q.double(), exact),
        (q[..., :6], q[..., :6], six),
        (learned, q, table),
        (q, learned, table),
        (q[0], q[0], table),
        (q, q[:1], table),
        (every_second, q, table),
    ]:
        turned = rotate_queries_and_keys(x, k, used, layout="half")
        assert torch.equal(turned[0], book.rotate(x, used, layout="half"))
        assert torch.equal(turned[1], book.rotate(k, used, layout="half"))
    with torch.no_grad(), pytest.raises(AssertionError, match="the kernel was called"):
        rotate_queries_and_keys(learned, q, table, layout="half")


def test_errors() -> None:
    q = torch.zeros(1, 2, 3, 4)
    table = book.rotary_table(torch.arange(3), book.rotary_frequencies(4))
    with pytest.raises(ValueError, match=r"layout must be one of 'half', 'interleaved'; got 'x'"):
        rotate_queries_and_keys(q, q, table, layout="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"q and k must have the same dtype"):
        rotate_queries_and_keys(q, q.double(), table, layout="half")
    with pytest.raises(ValueError, match=r"q and k must be on the same device"):
        rotate_queries_and_keys(q, q.to("meta"), table, layout="half")
    with pytest.raises(ValueError, match=r"the table holds 3 positions but x has 2"):
        rotate_queries_and_keys(q, q[:, :, :2], table, layout="half")
    with pytest.raises(ValueError, match=r"a table of 2 pairs turns 4 dimensions"):
        rotate_queries_and_keys(q[..., :2], q[..., :2], table, layout="half")
    with pytest.raises(TypeError, match=r"needs a table of torch.float64"):
        rotate_queries_and_keys(q.double(), q.double(), table, layout="half")

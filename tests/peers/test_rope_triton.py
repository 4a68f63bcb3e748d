"""The GPU kernel, run on a CPU by Triton's interpreter: equal to `rotate`."""

import os

os.environ["TRITON_INTERPRET"] = "1"  # read by Triton when the kernel is defined, so set first

import pytest
import torch

import attention_to_rope as book
from attention_to_rope.fast import rope_triton
from attention_to_rope.fast.rope_triton import is_available, rotate_queries_and_keys
from bookkit.randomness import normal

pytest.importorskip("triton", reason="Triton is for Linux; requirements-peers.txt has it")
LAYOUTS = ["half", "interleaved"]


@pytest.fixture(autouse=True)
def launches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the launches: a silent fallback would make every comparison here an empty one."""
    count: list[int] = []
    launch = rope_triton._launch

    def counted(*arguments):  # type: ignore[no-untyped-def]
        count.append(1)
        return launch(*arguments)

    monkeypatch.setattr(rope_triton, "_launch", counted)
    return count


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("length", [1, 8, 19])  # less than a tile, a tile, tiles and a rest
def test_kernel_equals_rotate(layout, dtype, length, launches) -> None:  # type: ignore[no-untyped-def]
    q = normal(2, 5, length, 16, seed=0, dtype=dtype)  # 5 heads: no multiple of the tile's 2
    k = normal(2, 2, length, 16, seed=1, dtype=dtype)
    table = book.rotary_table(torch.arange(length) + 1000, book.rotary_frequencies(16))
    assert is_available(q)
    turned = rotate_queries_and_keys(q, k, table, layout=layout)
    assert launches == [1]
    # One rounding of numbers below 8: the order of the float32 operations is free.
    rounding = 8 * torch.finfo(dtype).eps
    for result, x in zip(turned, (q, k), strict=True):
        assert result.dtype == dtype
        assert result.shape == x.shape
        difference = (result.double() - book.rotate(x, table, layout=layout).double()).abs()
        assert difference.max() <= rounding


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_error_against_float64_is_one_rounding(layout, dtype, launches) -> None:  # type: ignore[no-untyped-def]
    positions = torch.arange(131_072 - 8, 131_072)
    frequencies = book.rotary_frequencies(128)
    q = normal(1, 2, 8, 128, seed=0, dtype=dtype)
    turned, _ = rotate_queries_and_keys(
        q, q[:, :1], book.rotary_table(positions, frequencies), layout=layout
    )
    exact = book.rotary_table(positions, frequencies, dtype=torch.float64)
    truth = book.rotate(q.double(), exact, layout=layout)
    assert launches == [1]
    if dtype == torch.float16:
        bound = (truth.to(dtype).double() - truth).abs()
    else:  # a GPU rounds to the nearest bfloat16; the interpreter cuts the last digits off
        bound = truth.abs() * torch.finfo(dtype).eps
    assert ((turned.double() - truth).abs() <= bound + 1e-5).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_heads_behind_positions_in_memory(layout, launches) -> None:  # type: ignore[no-untyped-def]
    """Projections give (B, N, H, d); a transposed view is the usual argument."""
    q = normal(2, 9, 4, 16, seed=0, dtype=torch.float32).transpose(1, 2)
    k = normal(2, 9, 3, 16, seed=1, dtype=torch.float32).transpose(1, 2)
    table = book.rotary_table(torch.arange(9), book.rotary_frequencies(16))
    turned = rotate_queries_and_keys(q, k, table, layout=layout)
    assert launches == [1]
    for result, x in zip(turned, (q, k), strict=True):
        assert result.is_contiguous()
        assert (result - book.rotate(x, table, layout=layout)).abs().max() <= 1e-6


def test_inputs_stay_as_they_are(launches) -> None:  # type: ignore[no-untyped-def]
    q, k = (normal(1, 2, 5, 8, seed=s, dtype=torch.float32) for s in (0, 1))
    before = q.clone(), k.clone()
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(8))
    rotate_queries_and_keys(q, k, table, layout="half")
    assert launches == [1]
    assert torch.equal(q, before[0])
    assert torch.equal(k, before[1])


def test_a_gradient_goes_to_rotate(launches) -> None:  # type: ignore[no-untyped-def]
    q, k = (normal(1, 2, 5, 8, seed=s, dtype=torch.float32).requires_grad_() for s in (0, 1))
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(8))
    turned_q, _ = rotate_queries_and_keys(q, k, table, layout="half")
    turned_q.sum().backward()
    assert launches == []
    assert q.grad is not None

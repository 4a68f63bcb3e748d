"""Where the kernels cannot run; `tests/peers` runs them by Triton's interpreter."""

import pytest
import torch

import attention_to_rope as book
from attention_to_rope.fast import attention_triton, rope_triton, rotate_queries_and_keys

LAYOUTS = ["half", "interleaved"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("rotary_dim", [None, 4])
def test_without_a_kernel_it_is_rotate(monkeypatch, layout, dtype, rotary_dim):
    monkeypatch.setattr(rope_triton, "triton", None)
    q, k = torch.randn(2, 4, 5, 8).to(dtype), torch.randn(2, 2, 5, 8).to(dtype)
    frequencies = book.rotary_frequencies(rotary_dim or 8)
    table = book.rotary_table(torch.arange(5) + 1000, frequencies, dtype=dtype)
    options = {"layout": layout, "rotary_dim": rotary_dim}
    got = rotate_queries_and_keys(q, k, table, **options)
    for one, x in zip(got, (q, k), strict=True):
        assert torch.equal(one, book.rotate(x, table, **options))


def test_the_kernel_needs_triton_and_a_gpu_or_its_interpreter(monkeypatch):
    x = torch.zeros(1)
    monkeypatch.setattr(rope_triton, "triton", object())
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert rope_triton.is_available(x)
    monkeypatch.delenv("TRITON_INTERPRET")
    assert not rope_triton.is_available(x)


def test_what_the_kernel_does_not_take_goes_to_rotate_and_the_gradient_rotates_back(monkeypatch):
    launched = []

    def launch(q, k, cos, sin, layout, back):
        launched.append(back)
        table = book.RotaryTable(cos, -sin if back else sin)
        return tuple(book.rotate(x, table, layout=layout) for x in (q, k))

    monkeypatch.setattr(rope_triton, "is_available", lambda x: True)
    monkeypatch.setattr(rope_triton, "launch", launch)
    frequencies = book.rotary_frequencies(8)
    table = book.rotary_table(torch.arange(5), frequencies)
    q = torch.randn(2, 3, 5, 8, requires_grad=True)
    got = rotate_queries_and_keys(q, q[:, :1], table, layout="half")
    got[0].sum().backward()
    assert launched == [False, True]
    exact = book.rotary_table(torch.arange(5), frequencies, dtype=torch.float64)
    rotate_queries_and_keys(q.double(), q.double(), exact, layout="half")
    learned = book.RotaryTable(table.cos.clone().requires_grad_(), table.sin)
    rotate_queries_and_keys(q, q, learned, layout="half")
    assert len(launched) == 2


def test_tiles():
    q = torch.zeros(2, 8, 100, 64)
    assert rope_triton.tile_for(q, 32) == "positions"
    assert rope_triton.tile_for(q[:, :, :1], 32) == "one position"
    strided = torch.zeros(2, 100, 8, 64).transpose(1, 2)
    assert rope_triton.tile_for(strided, 32) == "heads"
    assert rope_triton.tile_for(strided, 24) == "padded heads"
    assert rope_triton.fitted_tile(q[:, :, :3], 32).rows == 4
    tile = rope_triton.Tile(rows=8, heads=2, stretch=32, warps=4)
    assert rope_triton.tiles_in_stretch(100, tile) == 4


def test_the_kernel_to_read_says_what_it_needs(monkeypatch):
    x = torch.zeros(1, 4, 2, 16).transpose(1, 2)
    monkeypatch.setattr(attention_triton, "is_available", lambda x: False)
    with pytest.raises(RuntimeError, match="needs a GPU and Triton"):
        attention_triton.triton_attention(x, x, x)
    monkeypatch.setattr(attention_triton, "is_available", lambda x: True)
    handed = []
    monkeypatch.setattr(attention_triton, "launch", lambda *given: handed.append(given) or given[0])
    attention_triton.triton_attention(x, x, x, causal=True)
    assert handed[0][-1] is True
    assert handed[0][0].is_contiguous()
    with pytest.raises(ValueError, match="one shape"):
        attention_triton.triton_attention(x, x[:, :, :1], x)
    with pytest.raises(ValueError, match="power of two"):
        attention_triton.triton_attention(*(torch.zeros(1, 1, 4, 24),) * 3)

"""Where the kernels cannot run; `tests/peers` runs them by Triton's interpreter."""

import pytest
import torch

import attention_to_rope as book
from attention_to_rope.fast import (
    attention_triton,
    rope_kernel,
    rope_triton,
    rotate_queries_and_keys,
)

LAYOUTS = ["half", "interleaved"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("rotary_dim", [None, 4])
def test_without_a_kernel_it_is_rotate(monkeypatch, layout, dtype, rotary_dim):
    monkeypatch.setattr(rope_kernel, "triton", None)
    q, k = torch.randn(2, 4, 5, 8).to(dtype), torch.randn(2, 2, 5, 8).to(dtype)
    frequencies = book.rotary_frequencies(rotary_dim or 8)
    table = book.rotary_table(torch.arange(5) + 1000, frequencies, dtype=dtype)
    options = {"layout": layout, "rotary_dim": rotary_dim}
    got = rotate_queries_and_keys(q, k, table, **options)
    for one, x in zip(got, (q, k), strict=True):
        assert torch.equal(one, book.rotate(x, table, **options))


def test_the_kernel_needs_triton_and_a_gpu_or_its_interpreter(monkeypatch):
    x = torch.zeros(1)
    monkeypatch.setattr(rope_kernel, "triton", object())
    monkeypatch.setattr(rope_kernel, "INTERPRETED", True)
    assert rope_triton.is_available(x)
    monkeypatch.setattr(rope_kernel, "INTERPRETED", False)
    assert not rope_triton.is_available(x)


@pytest.mark.skipif(rope_kernel.INTERPRETED, reason="the kernels are interpreted from the start")
def test_a_kernel_that_is_defined_is_not_interpreted_from_then_on(monkeypatch):
    """As with a GPU build of torch on a machine without a GPU: Triton is there, but no driver."""
    monkeypatch.setattr(rope_kernel, "triton", object())
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    q, k = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 5, 8)
    got = rotate_queries_and_keys(q, k, TABLE, layout="half")
    assert torch.equal(got[0], book.rotate(q, TABLE, layout="half"))
    with pytest.raises(RuntimeError, match="when the kernel is imported"):
        attention_triton.triton_attention(q, q, q)


@pytest.fixture
def launched(monkeypatch):
    """The kernel, played by `rotate`: which way each launch rotated."""
    ways = []

    def launch(q, k, cos, sin, layout, back):
        if torch.compiler.is_compiling():
            return rope_triton._operator(q, k, cos, sin, layout, back)
        ways.append(back)
        table = book.RotaryTable(cos, -sin if back else sin)
        return tuple(book.rotate(x, table, layout=layout) for x in (q, k))

    monkeypatch.setattr(rope_triton, "is_available", lambda x: True)
    monkeypatch.setattr(rope_triton, "launch", launch)
    return ways


TABLE = book.rotary_table(torch.arange(5), book.rotary_frequencies(8))


def test_what_the_kernel_does_not_take_goes_to_rotate_and_the_gradient_rotates_back(launched):
    q = torch.randn(2, 3, 5, 8, requires_grad=True)
    got = rotate_queries_and_keys(q, q[:, :1], TABLE, layout="half")
    got[0].sum().backward()
    assert launched == [False, True]
    exact = book.RotaryTable(TABLE.cos.double(), TABLE.sin.double())
    rotate_queries_and_keys(q.double(), q.double(), exact, layout="half")
    learned = book.RotaryTable(TABLE.cos.clone().requires_grad_(), TABLE.sin)
    rotate_queries_and_keys(q, q, learned, layout="half")
    rotate_queries_and_keys(q[:0], q[:0], TABLE, layout="half")
    assert len(launched) == 2


def test_no_gradient_is_recorded_where_none_is_wanted(launched):
    q = torch.randn(2, 3, 5, 8, requires_grad=True)
    with torch.no_grad():
        got = rotate_queries_and_keys(q, q, TABLE, layout="half")
    assert launched == [False]
    assert not got[0].requires_grad


def test_derivatives_that_a_launch_cannot_see_go_to_rotate(launched):
    """`torch.func`, forward mode, and vmap over the backward pass."""
    q = torch.randn(2, 3, 5, 8)

    def both(q):
        return rotate_queries_and_keys(q, q[:, :1], TABLE, layout="half")

    expected = book.rotate(q, TABLE, layout="half")
    assert torch.equal(torch.func.vmap(both)(q[None])[0][0], expected)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(q, q)
        tangent = torch.autograd.forward_ad.unpack_dual(both(dual)[0]).tangent
        assert torch.allclose(tangent, expected, atol=1e-6)
    assert launched == []
    leaf = q.clone().requires_grad_()
    inverse = book.RotaryTable(TABLE.cos, -TABLE.sin)
    for number, heads in enumerate((3, 1)):  # of the queries, of the keys
        upstream = torch.randn(4, 2, heads, 5, 8)
        got = torch.autograd.grad(both(leaf)[number], leaf, upstream, is_grads_batched=True)[0]
        expected = book.rotate(upstream, inverse, layout="half")
        assert torch.allclose(got[:, :, :heads], expected, atol=1e-6)
    assert launched == [False, False]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("order", ["positions", "heads", "last axis outside"])
def test_a_compiler_keeps_it_in_one_graph_with_its_gradient(launched, order):
    torch._dynamo.reset()
    q = torch.randn(2, 3, 5, 8)
    if order == "heads":
        q = torch.randn(2, 5, 3, 8).transpose(1, 2)
    if order == "last axis outside":
        q = torch.randn(2, 3, 8, 5).transpose(2, 3)
    q = q.detach().requires_grad_()

    def both(q, cos, sin):
        table = book.RotaryTable(cos, sin)
        return rotate_queries_and_keys(2 * q, q[:, :1], table, layout="interleaved")

    eager = both(q, *TABLE)
    (expected,) = torch.autograd.grad(sum(x.square().sum() for x in eager), q)
    assert launched == [False, True]
    got = torch.compile(both, fullgraph=True, backend="aot_eager")(q, *TABLE)
    (gradient,) = torch.autograd.grad(sum(x.square().sum() for x in got), q)
    assert launched == [False, True] * 2
    for a, b in zip((*got, gradient), (*eager, expected), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_tiles():
    tiles = rope_kernel.TILES
    q = torch.zeros(2, 8, 100, 64)
    assert rope_kernel.tile_for(q, 32) == tiles["positions"]
    one, rows = torch.zeros(2, 40, 1, 64), tiles["one position"].rows
    assert rope_kernel.tile_for(one, 32) == tiles["one position"]
    assert [rope_kernel.tile_for(one[:, :h], 32).rows for h in (1, 5, 40)] == [1, 8, rows]
    strided = torch.zeros(2, 100, 8, 64).transpose(1, 2)
    assert rope_kernel.tile_for(strided, 32) == tiles["heads"]
    assert rope_kernel.tile_for(strided, 24) == tiles["padded heads"]
    assert rope_kernel.tile_for(q[:, :, :3], 32).rows == 4
    tile = rope_kernel.Tile(rows=8, heads=2, stretch=32, warps=4)
    assert rope_kernel.tiles_in_stretch(100, tile) == 4


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


def test_another_tile_is_used_from_then_on(monkeypatch):
    monkeypatch.setattr(rope_kernel, "TILES", dict(rope_kernel.TILES))
    monkeypatch.setattr(rope_triton, "_launchers", {("a call",): "made for another tile"})
    tile = rope_kernel.Tile(rows=4, heads=1, stretch=16, warps=2)
    rope_triton.use_tile("positions", tile)
    assert rope_kernel.tile_for(torch.empty(1, 2, 64, 64), 32) == tile
    assert rope_triton._launchers == {}

"""Queries and keys in one call, where the kernel cannot run: equal to `rotate`, to the bit.

The kernel itself is run by Triton's interpreter in tests/peers/test_rope_triton.py.
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
def test_falls_back_to_rotate(layout, dtype: torch.dtype) -> None:
    q, k = normal(2, 4, 5, 8, seed=0, dtype=dtype), normal(2, 2, 5, 8, seed=1, dtype=dtype)
    table = book.rotary_table(torch.arange(5) + 1000, book.rotary_frequencies(8), dtype=dtype)
    turned_q, turned_k = rotate_queries_and_keys(q, k, table, layout=layout)
    assert torch.equal(turned_q, book.rotate(q, table, layout=layout))
    assert torch.equal(turned_k, book.rotate(k, table, layout=layout))
    assert turned_q.dtype == turned_k.dtype == dtype
    part = book.rotary_table(torch.arange(5), book.rotary_frequencies(4), dtype=dtype)
    turned_q, turned_k = rotate_queries_and_keys(q, k, part, layout=layout, rotary_dim=4)
    assert torch.equal(turned_q, book.rotate(q, part, layout=layout, rotary_dim=4))
    assert torch.equal(turned_k, book.rotate(k, part, layout=layout, rotary_dim=4))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_rotate(layout) -> None:
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


def test_what_the_kernel_does_not_take_goes_to_rotate(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel does not take must not reach it, even where it could run."""
    monkeypatch.setattr(rope_triton, "is_available", lambda x: True)
    launched = []

    def launch(q, k, cos, sin, layout, back):
        launched.append(back)
        return q.clone(), k.clone()

    monkeypatch.setattr(rope_triton, "launch", launch)
    frequencies = book.rotary_frequencies(8)
    table = book.rotary_table(torch.arange(5), frequencies)
    by_batch = book.rotary_table(torch.arange(10).reshape(2, 5), frequencies)
    q = normal(2, 3, 5, 8, seed=0, dtype=torch.float32)
    learned = q.clone().requires_grad_()
    for x, k, used, part in [
        (q, q, table, None),
        (q, q, by_batch, None),
        (q, q[:, :1], book.rotary_table(torch.arange(5), book.rotary_frequencies(4)), 4),
        (q.bfloat16(), q.bfloat16(), table, 8),
    ]:
        rotate_queries_and_keys(x, k, used, layout="half", rotary_dim=part)
    assert launched == [False] * 4
    turned = rotate_queries_and_keys(learned, q, table, layout="half")
    turned[0].sum().backward()
    assert launched == [False] * 5 + [True]  # the gradient turns back
    launched.clear()

    exact = book.rotary_table(torch.arange(5), frequencies, dtype=torch.float64)
    wanted = book.RotaryTable(table.cos.clone().requires_grad_(), table.sin)
    also = book.RotaryTable(table.cos, table.sin.clone().requires_grad_())
    for x, k, used in [
        (q.double(), q.double(), exact),
        (q[0], q[0], table),
        (q, q[:1], table),
        (q[:0], q[:0], table),
        (q, q[:, :0], table),
        (q, q, wanted),
        (q, q, also),
    ]:
        turned = rotate_queries_and_keys(x, k, used, layout="half")
        assert torch.equal(turned[0], book.rotate(x, used, layout="half"))
        assert torch.equal(turned[1], book.rotate(k, used, layout="half"))
    inside = torch.func.vmap(lambda x: rotate_queries_and_keys(x, x, table, layout="half")[0])
    assert (inside(q[None])[0] - book.rotate(q, table, layout="half")).abs().max() <= 1e-6
    for wrong in (book.RotaryTable(table.cos, table.sin[:3]), by_batch._replace(cos=table.cos)):
        with pytest.raises(ValueError, match=r"cos and sin must have the same shape"):
            rotate_queries_and_keys(q, q, wrong, layout="half")
    with pytest.raises(ValueError, match=r"a table of 4 pairs turns 8 dimensions"):
        rotate_queries_and_keys(q, q, table, layout="half", rotary_dim=4)
    wide = book.rotary_table(torch.arange(5), book.rotary_frequencies(16))
    for used, part in [(wide, 16), (book.RotaryTable(q[0, 0, :, :0], q[0, 0, :, :0]), 0)]:
        with pytest.raises(ValueError, match=r"rotary.dim"):
            rotate_queries_and_keys(q, q, used, layout="half", rotary_dim=part)
    with pytest.raises(ValueError, match=r"layout must be one of"):
        rotate_queries_and_keys(q, q, table, layout="x")
    with pytest.raises(TypeError, match=r"q must be floating point"):
        rotate_queries_and_keys(q.long(), q.long(), table, layout="half")
    with pytest.raises(TypeError, match=r"k must be a torch.Tensor, got list"):
        rotate_queries_and_keys(q, q.tolist(), table, layout="half")
    assert launched == []


@pytest.mark.parametrize("name", rope_triton.TILES)
def test_stretches_are_alike_so_that_hardly_a_program_is_empty(name: str) -> None:
    tile = rope_triton.TILES[name]
    longest = max(1, tile.stretch // tile.rows)
    for length in (1, 2, 511, 512, 513, 4096, 4097, 5000, 8192, 9000, 131072, 131073):
        tiles = -(-length // tile.rows)
        in_stretch = rope_triton.tiles_in_stretch(length, tile)
        assert 1 <= in_stretch <= min(longest, tiles)
        stretches = -(-tiles // in_stretch)
        assert stretches == -(-tiles // longest)  # no more than the tile asks for
        assert 0 <= stretches * in_stretch - tiles < stretches
    assert rope_triton.tiles_in_stretch(100, tile._replace(rows=16, stretch=8)) == 1


@pytest.mark.parametrize("name", rope_triton.TILES)
def test_a_tile_is_made_of_powers_of_two(name: str) -> None:
    """Triton cuts blocks and warps so; a stretch is then a whole number of tiles."""
    assert [size & (size - 1) for size in rope_triton.TILES[name]] == [0, 0, 0, 0]


def test_one_position_is_one_row() -> None:
    assert rope_triton.TILES["one position"].rows == 1


def test_the_tile_follows_the_order_in_memory_and_the_length() -> None:
    q = torch.zeros(2, 4, 100, 8)
    assert rope_triton.fitted_tile(q, 4) == rope_triton.TILES["positions"]
    behind = torch.zeros(2, 100, 4, 8).transpose(1, 2)
    assert rope_triton.fitted_tile(behind, 4) == rope_triton.TILES["heads"]
    assert rope_triton.fitted_tile(q[:, :, :1], 4).rows == 1
    assert rope_triton.fitted_tile(q[:, :, :3], 4).rows == 4


def test_errors() -> None:
    q = torch.zeros(1, 2, 3, 4)
    table = book.rotary_table(torch.arange(3), book.rotary_frequencies(4))
    with pytest.raises(ValueError, match=r"layout must be one of 'half', 'interleaved'; got 'x'"):
        rotate_queries_and_keys(q, q, table, layout="x")
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


@pytest.mark.parametrize(
    ("sizes", "transposed", "pairs", "name"),
    [
        ((1, 4, 9, 8), False, 4, "positions"),
        ((1, 9, 4, 8), True, 4, "heads"),
        ((1, 9, 4, 6), True, 3, "padded heads"),
        ((1, 4, 9, 6), False, 3, "positions"),
        ((5, 4, 1, 8), False, 4, "one position"),
        ((5, 1, 4, 8), True, 4, "one position"),
        ((1, 1, 9, 8), False, 4, "positions"),
        ((1, 9, 1, 8), True, 4, "positions"),
        ((1, 9, 4, 2), True, 1, "heads"),
    ],
)
def test_the_tile_follows_the_order_in_memory(
    sizes: tuple[int, ...], transposed: bool, pairs: int, name: str
) -> None:
    q = torch.zeros(sizes)
    q = q.transpose(1, 2) if transposed else q
    assert rope_triton.tile_for(q, pairs) == name
    tile = rope_triton.fitted_tile(q, pairs)
    assert tile.rows == min(rope_triton.TILES[name].rows, 1 if q.shape[2] == 1 else 16)
    assert tile[1:] == rope_triton.TILES[name][1:]

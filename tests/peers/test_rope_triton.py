"""The GPU kernel, run on a CPU by Triton's interpreter: equal to `rotate`."""

import inspect

import pytest
import torch

import attention_to_rope as book
from attention_to_rope.fast import rope_kernel, rope_triton
from attention_to_rope.fast.rope_triton import is_available, rotate_queries_and_keys
from bookkit.randomness import normal

pytest.importorskip("triton", reason="Triton is for Linux; tests/peers/requirements.txt has it")
LAYOUTS = ["half", "interleaved"]


@pytest.fixture(autouse=True)
def launches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the launches: a silent fallback would make every comparison here an empty one."""
    count: list[int] = []
    launch = rope_triton.launch

    def counted(*arguments):
        if not torch.compiler.is_compiling():
            count.append(1)
        return launch(*arguments)

    monkeypatch.setattr(rope_triton, "launch", counted)
    return count


def test_sizes_are_the_kernel_s_arguments_in_their_order() -> None:
    tensors = ["q", "k", "q_out", "k_out", "cos_table", "sin_table"]
    parameters = list(inspect.signature(rope_kernel.kernel.fn).parameters)
    assert parameters == [*tensors, *rope_kernel.Sizes._fields]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("length", [1, 8, 19])  # less than a tile, a tile, tiles and a rest
@pytest.mark.parametrize("dim", [16, 12])
def test_kernel_equals_rotate(layout, dtype, length, dim, launches) -> None:
    q = normal(2, 5, length, dim, seed=0, dtype=dtype)  # 5 heads: no multiple of the tile's 2
    k = normal(2, 2, length, dim, seed=1, dtype=dtype)
    table = book.rotary_table(torch.arange(length) + 1000, book.rotary_frequencies(dim))
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
@pytest.mark.parametrize("dim", [96, 6])
@pytest.mark.parametrize("rotary_dim", [None, 4])
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("order", ["positions", "heads", "fused projection", "every second"])
def test_dims_parts_tables_and_orders_in_memory(
    layout, dim, rotary_dim, batched, order, launches
) -> None:
    """Forward and gradient, for all that the kernel takes; results keep the order in memory."""
    B, H, H_kv, N = 2, 3, 2, 5
    if order == "positions":
        q, k = (normal(B, h, N, dim, seed=h, dtype=torch.float32) for h in (H, H_kv))
    elif order == "heads":
        q, k = (normal(B, N, h, dim, seed=h, dtype=torch.float32) for h in (H, H_kv))
        q, k = q.transpose(1, 2), k.transpose(1, 2)
    elif order == "fused projection":
        both = normal(B, N, H + H_kv, dim, seed=0, dtype=torch.float32).transpose(1, 2)
        q, k = both[:, :H], both[:, H:]
    else:
        q, k = (normal(B, h, N, 2 * dim, seed=h, dtype=torch.float32)[..., ::2] for h in (H, H_kv))
    q, k = (x.detach().requires_grad_() for x in (q, k))
    positions = torch.arange(B * N).reshape(B, N) if batched else torch.arange(N) + 7
    table = book.rotary_table(positions, book.rotary_frequencies(rotary_dim or dim))
    turned = rotate_queries_and_keys(q, k, table, layout=layout, rotary_dim=rotary_dim)
    assert launches == [1]
    expected = [book.rotate(x, table, layout=layout, rotary_dim=rotary_dim) for x in (q, k)]
    upstream = [normal(*x.shape, seed=8, dtype=torch.float32) for x in (q, k)]
    got = torch.autograd.grad(turned, (q, k), upstream)
    assert launches == [1, 1]
    for a, b in zip(
        (*turned, *got), (*expected, *torch.autograd.grad(expected, (q, k), upstream)), strict=True
    ):
        assert (a - b).abs().max() <= 1e-5
    if order in ("heads", "fused projection"):
        assert all(x.transpose(1, 2).is_contiguous() for x in turned)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_gradients(layout, launches) -> None:
    """The rotation is linear and its gradient turns back: back and forth is where it began."""
    q, k = (normal(1, 2, 5, 8, seed=s, dtype=torch.float32).requires_grad_() for s in (0, 1))
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(8))
    turned = rotate_queries_and_keys(q, k, table, layout=layout)
    loss = sum(x.pow(3).sum() for x in turned)
    first = torch.autograd.grad(loss, (q, k), create_graph=True)
    second = torch.autograd.grad(sum(x.square().sum() for x in first), (q, k))
    expected = [book.rotate(x, table, layout=layout) for x in (q, k)]
    loss = sum(x.pow(3).sum() for x in expected)
    theirs = torch.autograd.grad(loss, (q, k), create_graph=True)
    theirs = torch.autograd.grad(sum(x.square().sum() for x in theirs), (q, k))
    assert len(launches) >= 3
    for a, b in zip(second, theirs, strict=True):
        assert (a - b).abs().max() <= 1e-3


def test_more_programs_than_a_short_axis_of_the_grid_holds(monkeypatch) -> None:
    """40,000 sequences of 40 heads: all programs stand on the grid's first axis, 2³¹ long."""
    grids = []

    class Kernel:
        def __getitem__(self, grid):
            grids.append(grid)
            return lambda *arguments, **options: None

    monkeypatch.setattr(rope_kernel, "kernel", Kernel())
    monkeypatch.setattr(rope_triton, "_launchers", {})
    q, k = (torch.empty(40_000, heads, 1, 8) for heads in (32, 8))
    table = book.rotary_table(torch.arange(1), book.rotary_frequencies(8))
    rotate_queries_and_keys(q, k, table, layout="half")
    (programs, *others) = grids[0]
    assert others == [1, 1]
    assert 65_535 < programs < 2**31


def test_what_is_kept_of_a_call_serves_the_same_sizes_and_no_others(monkeypatch) -> None:
    """Each call is compared: sizes, orders, layouts and directions that share no launcher."""
    monkeypatch.setattr(rope_triton, "_launchers", {})
    monkeypatch.setattr(rope_triton, "_MOST", 5)
    shapes = [(1, 2, 5, 8), (1, 2, 5, 6), (2, 2, 5, 8), (1, 3, 5, 8), (1, 2, 4, 8)]
    for seed, (shape, layout) in enumerate([(s, lay) for s in shapes for lay in LAYOUTS] * 2):
        q = normal(*shape, seed=seed, dtype=torch.float32).requires_grad_()
        k = normal(shape[0], 1, *shape[2:], seed=99, dtype=torch.float32)
        positions = torch.arange(shape[2]) + seed
        table = book.rotary_table(positions, book.rotary_frequencies(shape[3]))
        turned, _ = rotate_queries_and_keys(q, k, table, layout=layout)
        expected = book.rotate(q, table, layout=layout)
        assert (turned - expected).abs().max() <= 1e-6
        gradients = [torch.autograd.grad(x.square().sum(), q)[0] for x in (turned, expected)]
        assert (gradients[0] - gradients[1]).abs().max() <= 1e-5
        assert 0 < len(rope_triton._launchers) <= 5
    before = len(rope_triton._launchers)
    rotate_queries_and_keys(q, k, table, layout=layout)
    assert len(rope_triton._launchers) == before
    wide = book.rotary_table(torch.arange(6), book.rotary_frequencies(6))
    q, k = q[..., :4, :6], k[..., :4, :6]
    for start in range(3):  # a table that begins at another address
        table = book.RotaryTable(wide.cos[start : start + 4], wide.sin[start : start + 4])
        turned, _ = rotate_queries_and_keys(q, k, table, layout="half")
        assert (turned - book.rotate(q, table, layout="half")).abs().max() <= 1e-6


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_compiled_model_keeps_the_kernel_without_a_graph_break(layout, launches) -> None:
    q, k = (normal(1, 2, 5, 8, seed=s, dtype=torch.float32).requires_grad_() for s in (0, 1))
    cos, sin = book.rotary_table(torch.arange(5), book.rotary_frequencies(8))

    def scores(q, k, cos, sin):
        table = book.RotaryTable(cos, sin)
        q, k = rotate_queries_and_keys(2 * q, k, table, layout=layout)
        return q @ k.mT

    got = torch.compile(scores, fullgraph=True, backend="aot_eager")(q, k, cos, sin)
    mine = torch.autograd.grad(got.square().sum(), (q, k))
    assert len(launches) >= 2  # the kernel itself, forward and backward
    table = book.RotaryTable(cos, sin)
    expected = book.rotate(2 * q, table, layout=layout) @ book.rotate(k, table, layout=layout).mT
    theirs = torch.autograd.grad(expected.square().sum(), (q, k))
    for a, b in zip((got, *mine), (expected, *theirs), strict=True):
        assert (a - b).abs().max() <= 1e-4


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_error_against_float64_is_one_rounding(layout, dtype, launches) -> None:
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


def test_inputs_stay_as_they_are(launches) -> None:
    q, k = (normal(1, 2, 5, 8, seed=s, dtype=torch.float32) for s in (0, 1))
    before = q.clone(), k.clone()
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(8))
    rotate_queries_and_keys(q, k, table, layout="half")
    assert launches == [1]
    assert torch.equal(q, before[0])
    assert torch.equal(k, before[1])


def test_a_gradient_of_the_table_and_a_short_sine_do_not_reach_the_kernel(launches) -> None:
    q, k = (normal(1, 2, 5, 8, seed=s, dtype=torch.float32) for s in (0, 1))
    cos, sin = book.rotary_table(torch.arange(5), book.rotary_frequencies(8))
    learned = book.RotaryTable(cos.clone().requires_grad_(), sin)
    turned_q, _ = rotate_queries_and_keys(q, k, learned, layout="half")
    turned_q.sum().backward()
    assert learned.cos.grad is not None
    with pytest.raises(ValueError, match="with sin of shape"):
        rotate_queries_and_keys(q, k, book.RotaryTable(cos, sin[:3]), layout="half")
    assert launches == []

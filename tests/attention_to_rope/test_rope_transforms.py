"""Rotation under everything torch wraps around a function: compilers, tracers, transforms."""

import warnings
from functools import partial

import pytest
import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import attention_to_rope as book
from bookkit.randomness import normal

LAYOUTS = ["half", "interleaved"]
FREQUENCIES = book.rotary_frequencies(8)
POSITIONS = torch.arange(5)
X = normal(2, 3, 5, 8, seed=0, dtype=torch.float32)
pytestmark = pytest.mark.parametrize("layout", LAYOUTS)


def turned(x: Tensor, positions: Tensor, *, layout: str) -> Tensor:
    table = book.rotary_table(positions, book.rotary_frequencies(8, device=x.device), dtype=x.dtype)
    return book.rotate(x, table, layout=layout)


def test_compiles_without_a_graph_break(layout: str) -> None:
    compiled = torch.compile(partial(turned, layout=layout), backend="eager", fullgraph=True)
    expected = turned(X, POSITIONS, layout=layout)
    assert (compiled(X, POSITIONS) - expected).abs().max() <= 1e-6


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx(layout: str, mode: str) -> None:
    traced = make_fx(partial(turned, layout=layout), tracing_mode=mode)(X, POSITIONS)
    assert (
        traced(2 * X, POSITIONS + 1) - turned(2 * X, POSITIONS + 1, layout=layout)
    ).abs().max() <= 1e-6


def test_fake_tensors(layout: str) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        result = turned(mode.from_tensor(X), mode.from_tensor(POSITIONS), layout=layout)
    assert result.shape == X.shape


def test_meta(layout: str) -> None:
    result = turned(X.to("meta"), POSITIONS.to("meta"), layout=layout)
    assert result.is_meta
    assert result.shape == X.shape


def test_export(layout: str) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Tensor, positions: Tensor) -> Tensor:
            return turned(x, positions, layout=layout)

    program = torch.export.export(Model(), (X, POSITIONS))
    difference = program.module()(X, POSITIONS + 3) - turned(X, POSITIONS + 3, layout=layout)
    assert difference.abs().max() <= 1e-6


def test_jit_trace(layout: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its tracer deprecated, and sizes constant
        traced = torch.jit.trace(
            lambda x, positions: turned(x, positions, layout=layout), (X, POSITIONS)
        )
    difference = traced(2 * X, POSITIONS + 4) - turned(2 * X, POSITIONS + 4, layout=layout)
    assert difference.abs().max() <= 1e-6


def test_vmap_over_vectors_over_positions_and_over_both(layout: str) -> None:
    rotate = partial(turned, layout=layout)
    many = torch.stack((POSITIONS, POSITIONS + 9))
    expected = torch.stack([rotate(X[b], many[b]) for b in range(2)])
    assert torch.allclose(torch.vmap(rotate)(X, many), expected, atol=1e-6)
    assert torch.allclose(
        torch.vmap(rotate, in_dims=(0, None))(X, POSITIONS), rotate(X, POSITIONS), atol=1e-6
    )
    shared = torch.vmap(rotate, in_dims=(None, 0))(X, many)
    assert torch.allclose(shared[1], rotate(X, many[1]), atol=1e-6)


def test_forward_and_reverse_derivatives(layout: str) -> None:
    x, direction = normal(3, 5, 8, seed=0), normal(3, 5, 8, seed=1)
    rotate = partial(turned, positions=POSITIONS, layout=layout)
    value, tangent = torch.func.jvp(rotate, (x,), (direction,))
    assert torch.allclose(value, rotate(x))
    assert torch.allclose(tangent, rotate(direction))  # the rotation is linear
    jacobian = torch.func.jacrev(rotate)(x)
    assert torch.allclose(torch.einsum("abcijk,ijk->abc", jacobian, direction), tangent)


def test_dual_numbers_with_and_without_a_gradient(layout: str) -> None:
    rotate = partial(turned, positions=POSITIONS, layout=layout)
    for needs_gradient in (False, True):
        x, direction = normal(3, 5, 8, seed=0), normal(3, 5, 8, seed=1)
        x.requires_grad_(needs_gradient)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, direction)
            tangent = torch.autograd.forward_ad.unpack_dual(rotate(dual)).tangent
        assert tangent is not None
        assert torch.allclose(tangent, rotate(direction))


def test_autocast(layout: str) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = turned(X, POSITIONS, layout=layout)
        half = turned(X.bfloat16(), POSITIONS, layout=layout)
    assert torch.equal(result, turned(X, POSITIONS, layout=layout))
    assert torch.equal(half, turned(X.bfloat16(), POSITIONS, layout=layout))


def test_a_plain_pair_is_a_table_there_and_back(layout: str) -> None:
    cos, sin = book.rotary_table(POSITIONS, FREQUENCIES)
    there = book.rotate(X, (cos, sin), layout=layout)
    assert torch.equal(there, book.rotate(X, book.RotaryTable(cos, sin), layout=layout))
    assert (book.rotate_back(there, (cos, sin), layout=layout) - X).abs().max() <= 1e-6


@pytest.mark.parametrize("function", [book.rotate, book.rotate_back])
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (torch.zeros(2, 5, 4), r"table must be a pair \(cos, sin\) .* got Tensor"),
        ((torch.zeros(5, 4),), r"table must be a pair"),
        ((torch.zeros(5, 4), None), r"sin must be a torch.Tensor, got NoneType"),
        ((torch.zeros(4), torch.zeros(4)), r"\(N, d/2\) or \(B, N, d/2\), got \(4,\)"),
        (None, r"table must be a pair .* got NoneType"),
    ],
)
def test_what_is_no_table_is_said(layout: str, function, table: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        function(X, table, layout=layout)


def test_gradients_of_each_row_beside_a_known_table(layout) -> None:
    table = book.rotary_table(torch.arange(3), book.rotary_frequencies(4), dtype=torch.float64)
    x = normal(2, 3, 4, seed=0)
    upstream = normal(3, 4, seed=1)
    each = torch.func.vmap(
        torch.func.grad(lambda row: (book.rotate(row, table, layout=layout) * upstream).sum())
    )(x)
    expected = book.rotate_back(upstream, table, layout=layout).expand_as(x)
    assert torch.allclose(each, expected, atol=1e-12)

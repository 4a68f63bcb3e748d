"""The module to take away from the chapter runs alone and agrees with the library."""

import pytest
import torch

from attention_to_rope import attention, causal_mask
from bookformat.notebooks import read
from bookformat.paths import CHAPTERS

B, N, D, D_K, D_V = 2, 7, 6, 4, 3
SIDES = {"right": [[1] * 7, [1] * 4 + [0] * 3], "left": [[1] * 7, [0] * 3 + [1] * 4]}


@pytest.fixture(scope="module")
def module():
    """The layer of the cell, which is executed without any other cell, in float64."""
    cells = read(CHAPTERS / "attention.ipynb").cells
    (source,) = (cell.source for cell in cells if "def attend(q, k, v, mask=None)" in cell.source)
    names = {}
    exec(source, names)
    return names["PaddedSelfAttention"](D, D_K, D_V).double()


def expected(module, x, mask):
    """The library's attention with the module's matrices."""
    q = x @ module.W_Q.weight.T
    k = x @ module.W_K.weight.T
    v = x @ module.W_V.weight.T
    return attention(q, k, v, mask=mask)


@pytest.mark.parametrize("causal", [True, False])
def test_it_agrees_with_the_library(module, causal):
    x = torch.randn(B, N, D, dtype=torch.float64)
    mask = causal_mask(N) if causal else None
    torch.testing.assert_close(module(x, causal=causal), expected(module, x, mask))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("side", SIDES)
def test_it_hides_padding_on_either_side(module, side, causal):
    real = torch.tensor(SIDES[side], dtype=torch.bool)
    x = torch.randn(B, N, D, dtype=torch.float64)
    x[~real] = 1e6
    output = module(x, real, causal=causal)
    alone = module(x[1:, real[1]], causal=causal)[0]
    torch.testing.assert_close(output[1, real[1]], alone)


def test_a_query_that_sees_only_padding_gets_nothing_and_no_nan(module):
    """Left padding under a causal mask has rows without keys."""
    real = torch.tensor(SIDES["left"], dtype=torch.bool)
    x = torch.randn(B, N, D, dtype=torch.float64, requires_grad=True)
    output = module(x, real)
    assert (output[1, :3] == 0).all()
    output.square().sum().backward()
    assert x.grad.isfinite().all()


@pytest.fixture(scope="module")
def with_heads():
    """The class of the cell with several heads, which is executed without any other cell."""
    cells = read(CHAPTERS / "attention.ipynb").cells
    (source,) = (cell.source for cell in cells if "class CausalSelfAttention" in cell.source)
    names = {}
    exec(source, names)
    return names["CausalSelfAttention"]


def test_heads_that_do_not_divide_the_width_are_refused(with_heads):
    with pytest.raises(AssertionError, match="5 heads cannot divide d = 12"):
        with_heads(d=12, heads=5)


@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize("side", SIDES)
def test_several_heads_hide_padding_on_either_side(with_heads, side, by_hand):
    layer = with_heads(d=D, heads=3).double()
    real = torch.tensor(SIDES[side], dtype=torch.bool)
    x = torch.randn(B, N, D, dtype=torch.float64)
    x[~real] = 1e3
    output = layer(x, real, by_hand=by_hand)
    assert output.isfinite().all()
    alone = layer(x[1:, real[1]], by_hand=by_hand)[0]
    torch.testing.assert_close(output[1, real[1]], alone)

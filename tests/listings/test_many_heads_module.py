"""The module to take away from chapter 3 runs alone and agrees with the library."""

import pytest
import torch

from attention_to_rope import MultiHeadAttention, causal_mask
from bookformat.notebooks import read
from bookformat.paths import CHAPTERS

B, N, D, H = 2, 7, 12, 3
SIDES = {"right": [[1] * 7, [1] * 4 + [0] * 3], "left": [[1] * 7, [0] * 3 + [1] * 4]}


@pytest.fixture(scope="module")
def listing():
    """The class of the cell, which is executed without any other cell."""
    cells = read(CHAPTERS / "many-heads.ipynb").cells
    (source,) = (cell.source for cell in cells if "class CausalMultiHeadAttention" in cell.source)
    names = {}
    exec(source, names)
    return names["CausalMultiHeadAttention"]


def same_layers(listing, head_dim=None):
    """The module and a layer of the library with the same weights, in float64."""
    layer = MultiHeadAttention(D, H, head_dim=head_dim, bias=False, seed=0).double()
    module = listing(D, H, head_dim).double()
    parts = {"W_Q": layer.query, "W_K": layer.key, "W_V": layer.value, "W_O": layer.output}
    module.load_state_dict({f"{name}.weight": part.weight for name, part in parts.items()})
    return module, layer


@pytest.mark.parametrize("head_dim", [None, 5])
def test_it_agrees_with_the_library(listing, head_dim):
    module, layer = same_layers(listing, head_dim)
    x = torch.randn(B, N, D, dtype=torch.float64)
    torch.testing.assert_close(module(x), layer(x, causal=True))


@pytest.mark.parametrize("side", SIDES)
def test_it_hides_padding_on_either_side(listing, side):
    module, layer = same_layers(listing)
    real = torch.tensor(SIDES[side], dtype=torch.bool)
    x = torch.randn(B, N, D, dtype=torch.float64)
    x[~real] = 1e6
    output = module(x, real)
    assert output.isfinite().all()
    expected = layer(x, mask=causal_mask(N) & real[:, None, :])
    torch.testing.assert_close(output[real], expected[real])
    torch.testing.assert_close(output[1, real[1]], module(x[1:, real[1]])[0])


def test_it_refuses_heads_that_do_not_divide_d(listing):
    with pytest.raises(ValueError, match="does not divide"):
        listing(D, 5)

"""The latent attention to take away runs alone and agrees with the library."""

import pytest
import torch

from attention_to_rope import KeyValueCache, LatentAttention, Rotary, rotary_frequencies
from bookformat.notebooks import read
from bookformat.paths import CHAPTERS


@pytest.mark.parametrize("absorbed", [True, False])
def test_it_agrees_with_the_library(absorbed):
    cells, names = read(CHAPTERS / "latent-attention.ipynb").cells, {}
    exec(next(cell.source for cell in cells if "class LatentAttention" in cell.source), names)
    sizes = {"head_dim": 6, "rotary_dim": 4, "latent_dim": 5, "query_latent_dim": 7}
    theirs = LatentAttention(16, 3, **sizes, seed=0).double()
    mine = names["LatentAttention"](16, 3, 6, 6, 4, 5, 7).double()
    rows = torch.cat((theirs.latent_down.weight, theirs.rotary_key.weight), dim=0)
    linear = {"W_DQ": theirs.query_down.weight, "W_UQ": theirs.query_up.weight, "W_DKV": rows}
    linear |= {"W_UK": theirs.key_up.weight, "W_UV": theirs.value_up.weight}
    linear |= {"W_O": theirs.output.weight}
    weights = {f"{name}.weight": weight for name, weight in linear.items()}
    missing, _ = mine.load_state_dict(weights, strict=False)
    assert missing == ["norm_u.weight", "norm_c.weight"]
    x = torch.randn(2, 9, 16, dtype=torch.float64)
    scheme = Rotary(rotary_frequencies(4), layout="half")
    expected, cache = theirs.extend(x, KeyValueCache(), scheme=scheme)
    first, held = mine(x[:, :4], absorbed=absorbed)
    rest, held = mine(x[:, 4:], held, absorbed=absorbed)
    torch.testing.assert_close(torch.cat((first, rest), dim=1), expected)
    torch.testing.assert_close(held, torch.cat((cache.values, cache.keys), dim=-1)[:, 0])

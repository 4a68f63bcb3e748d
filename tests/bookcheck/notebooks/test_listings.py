"""What a chapter offers to copy works where a reader's tensors are, not on the CPU alone."""

import json
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from bookcheck.paths import CHAPTERS

LAYOUTS = ["half", "interleaved"]


def listing(page: str, start: str) -> dict[str, Callable[..., Tensor]]:
    """The names that a code cell of a page defines; `start` tells which cell."""
    cells = json.loads((CHAPTERS / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    (source,) = [source for source in sources if start in source]
    names: dict[str, Callable[..., Tensor]] = {}
    exec(source, names)
    return names


@pytest.fixture(scope="module")
def rope() -> Callable[..., Tensor]:
    return listing("11-implementing-rope", "def rope(x, position_ids")["rope"]


# No processor but the CPU need be here: tensors on "meta" refuse to meet others as a GPU's do.
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_rope_computes_where_the_vectors_are(
    rope: Callable[..., Tensor], layout: str, place: str
) -> None:
    x, position_ids = torch.ones(2, 3, 5, 8, device="meta"), torch.arange(5).expand(2, 5)
    turned = rope(x, position_ids.to(place), layout=layout)
    assert turned.device.type == "meta"
    assert turned.shape == x.shape


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_default_device_does_not_matter(rope: Callable[..., Tensor], layout: str) -> None:
    x, position_ids = torch.ones(1, 1, 4, 8), torch.arange(4)[None]
    with torch.device("meta"):
        turned = rope(x, position_ids, layout=layout)
    assert turned.device.type == "cpu"
    assert (turned - rope(x, position_ids, layout=layout)).abs().max() == 0

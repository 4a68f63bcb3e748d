"""What a chapter offers to copy works where a reader uses it: on any device, on empty parts."""

import builtins
import json
from collections.abc import Callable
from dis import get_instructions
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_to_rope import rotary_frequencies
from attention_to_rope.merge import Partial, merge
from attention_to_rope.rope_families import FAMILIES, vectors
from bookcheck.notebooks.files import main_line, page_name
from bookcheck.paths import CHAPTERS
from bookcheck.prose.visible_code import stands_alone, visible_code

LAYOUTS = ["half", "interleaved"]
THETA = rotary_frequencies(8)


def source_of(page: str, start: str) -> str:
    """The code cell of a page that holds `start`."""
    cells = json.loads((CHAPTERS / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    (source,) = [source for source in sources if start in source]
    return source


def listing(page: str, start: str, **names: Any) -> dict[str, Any]:
    """What a code cell of a page defines; `start` tells which cell, names stand above it."""
    exec(source_of(page, start), names)
    return names


@pytest.mark.parametrize("path", main_line(), ids=page_name)
def test_the_self_contained_listings_run_alone(path: Path) -> None:
    for source in filter(stands_alone, visible_code(path)):
        names: dict[str, Any] = {"__name__": "listing"}
        exec(source, names)
        assert not undefined(names), "a function of the listing needs more than the listing brings"


def undefined(names: dict[str, Any]) -> set[str]:
    """What the functions and classes of a listing read from outside and nobody defines."""
    codes = [value.__code__ for value in names.values() if isinstance(value, FunctionType)]
    classes = [value for value in names.values() if getattr(value, "__module__", "") == "listing"]
    codes += [
        part.__code__
        for one in classes
        for part in vars(one).values()
        if isinstance(part, FunctionType)
    ]
    lines = (line for code in codes for line in get_instructions(code))
    read = {line.argval for line in lines if line.opname == "LOAD_GLOBAL"}
    return read - set(names) - set(vars(builtins))


LEANING = """
def f(x):
    return x + only_on_the_page


class C:
    def g(self):
        return torch
"""


def test_a_name_that_only_the_page_has_is_found() -> None:
    names: dict[str, Any] = {"__name__": "listing"}
    exec(LEANING, names)
    assert undefined(names) == {"only_on_the_page", "torch"}


def test_a_listing_that_leans_on_its_page_is_found() -> None:
    source = source_of("06-why-position", "def change(X, stack, causal)")
    with pytest.raises(NameError, match="torch"):
        exec(source.replace("import torch\n", "", 1), {})


@pytest.fixture(scope="module")
def rope_listing() -> dict[str, Any]:
    return listing("11-implementing-rope", "def rope(x, position_ids")


@pytest.fixture(scope="module")
def rope(rope_listing: dict[str, Any]) -> Callable[..., Tensor]:
    return rope_listing["rope"]


def test_rope_keeps_to_its_25_lines() -> None:
    lines = source_of("11-implementing-rope", "def rope(x, position_ids").splitlines()
    assert len([line for line in lines if line.strip()]) <= 25


# No processor but the CPU need be here: tensors on "meta" refuse to meet others as a GPU's do.
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_rope_computes_where_the_vectors_are(
    rope: Callable[..., Tensor], layout: str, place: str
) -> None:
    x, position_ids = torch.ones(2, 3, 5, 8, device="meta"), torch.arange(5).expand(2, 5)
    turned = rope(x, position_ids.to(place), THETA.to(place), layout=layout)
    assert turned.device.type == "meta"
    assert turned.shape == x.shape


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_default_device_does_not_matter(rope: Callable[..., Tensor], layout: str) -> None:
    x, position_ids = torch.ones(1, 1, 4, 8), torch.arange(4)[None]
    with torch.device("meta"):
        turned = rope(x, position_ids, THETA, layout=layout)
    assert turned.device.type == "cpu"
    assert (turned - rope(x, position_ids, THETA, layout=layout)).abs().max() == 0


# A scaled model, a table with a factor, a part of a head, and the fastest pairs of a whole one.
@pytest.mark.parametrize("name", FAMILIES)
def test_rope_turns_as_every_family_does(rope: Callable[..., Tensor], name: str) -> None:
    family, stored = FAMILIES[name], vectors(name)
    settings, cases = family.settings(), stored["cases"]
    x = torch.tensor([case["x"] for case in cases], dtype=torch.float64)[None, None]
    position_ids = torch.tensor([[case["position"] for case in cases]])
    options = {"layout": family.layout, "factor": settings.attention_factor}
    turned = rope(x, position_ids, settings.frequencies, **options)
    expected = torch.tensor([case["rotated"] for case in cases], dtype=torch.float64)
    torch.testing.assert_close(turned[0, 0], expected, rtol=0, atol=1e-12)


def test_the_plain_frequencies_are_those_of_the_library(rope_listing: dict[str, Any]) -> None:
    for dim, base in ((8, 10000.0), (128, 5e5)):
        found = rope_listing["frequencies"](dim, base)
        torch.testing.assert_close(found, rotary_frequencies(dim, base), rtol=1e-15, atol=0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_positions_may_be_shared_by_the_batch(rope: Callable[..., Tensor], layout: str) -> None:
    x, shared = torch.rand(3, 2, 4, 8), torch.arange(4)[None]
    turned = rope(x, shared, THETA, layout=layout)
    assert torch.equal(turned, rope(x, shared.expand(3, 4), THETA, layout=layout))


@pytest.mark.parametrize(
    "position_ids", [torch.zeros(1, 1).long(), torch.zeros(3, 4).long(), torch.zeros(1, 4)]
)
def test_positions_that_do_not_fit_are_refused(
    rope: Callable[..., Tensor], position_ids: Tensor
) -> None:
    with pytest.raises(ValueError, match="whole numbers"):
        rope(torch.ones(1, 2, 4, 8), position_ids, THETA, layout="half")


def test_pairs_that_do_not_fit_are_refused(rope_listing: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="in pairs, got 7"):
        rope_listing["frequencies"](7)
    with pytest.raises(RuntimeError, match="split"):
        rope_listing["rope"](torch.ones(1, 1, 1, 6), torch.tensor([[0]]), THETA, layout="half")
    with pytest.raises(ValueError, match="got 'halves'"):
        rope_listing["rope"](torch.ones(1, 1, 1, 8), torch.tensor([[0]]), THETA, layout="halves")


EMPTY = Partial(torch.full((1, 1), -torch.inf), torch.zeros(1, 1), torch.zeros(1, 2))
SOME = Partial(torch.tensor([[-3.0]]), torch.tensor([[1.5]]), torch.tensor([[2.0, -1.0]]))


@pytest.mark.parametrize(
    ("one", "two"), [(EMPTY, EMPTY), (EMPTY, SOME), (SOME, EMPTY), (SOME, SOME)]
)
def test_join_takes_states_of_no_keys(one: Partial, two: Partial) -> None:
    join = listing("14-attention-in-blocks", "def join(one, two)", torch=torch)["join"]
    for mine, theirs in zip(join(one, two), merge(one, two), strict=True):
        assert torch.equal(mine, theirs)
        assert not mine.isnan().any()

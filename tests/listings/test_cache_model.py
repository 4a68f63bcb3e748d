"""The model of the chapter on the cache: with its cache, without, and against the book's model."""

import re
from typing import Any

import pytest
import torch
from torch import Tensor

from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS
from bookkit import book_model
from bookkit.trained import held_out

PAGE = CHAPTERS / "cache.ipynb"
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"\s*# .*$")


def code(line: str) -> str:
    """A line without its comment."""
    return COMMENT.sub("", line)


@pytest.fixture(scope="module")
def after() -> str:
    """The listing with a cache, without comments, up to the lines that try it."""
    cells = [cell.source for cell in cells_of(PAGE) if cell.kind == "code"]
    (source,) = [cell for cell in cells if "def generate(model, tokens, count)" in cell]
    program = source.partition("\nmodel = Model(")[0]
    return "\n".join(map(code, program.splitlines())) + "\n"


def diffs() -> list[list[str]]:
    """The changes that the page prints, each as its lines."""
    text = "\n".join(cell.source for cell in cells_of(PAGE) if cell.kind == "markdown")
    return [found.splitlines() for found in DIFF.findall(text)]


def without_changes(program: str) -> str:
    """The program before the printed changes, each of which must fit at exactly one place."""
    for lines in diffs():
        new = "\n".join(line[1:] for line in lines if line[0] in "+ ")
        old = "\n".join(line[1:] for line in lines if line[0] in "- ")
        assert program.count(new) == 1, f"not once in the listing:\n{new}"
        program = program.replace(new, old)
    return program


def names_of(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(program, names)
    return names


def trained(names: dict[str, Any]) -> Any:
    model = names["Model"](vocabulary=257, d=192, h=6, g=2, hidden=512, layers=6)
    model.load_state_dict(book_model().state_dict())
    return model


def test_the_five_changes_lead_from_a_model_without_a_cache_to_the_listing(after: str) -> None:
    assert len(diffs()) == 5
    before = names_of(without_changes(after))
    prompt = held_out(40, start=30_000)
    model = trained(before)
    assert isinstance(model(prompt), Tensor)
    assert "cache" not in before["generate"].__code__.co_varnames
    cached = names_of(after)
    expected = before["generate"](model, prompt, 8)
    assert expected.shape == (1, 48)
    assert torch.equal(cached["generate"](trained(cached), prompt, 8), expected)


def test_the_listing_is_the_model_of_the_book(after: str) -> None:
    text = held_out(60)
    with torch.no_grad():
        logits, caches = trained(names_of(after))(text)
        expected, expected_caches = book_model()(text)
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-4)
    torch.testing.assert_close(caches[3][0], expected_caches[3].k, rtol=0, atol=1e-5)


def test_each_step_reads_one_token_and_reports_a_longer_cache(after: str) -> None:
    model = trained(names_of(after))
    read = []
    model.register_forward_pre_hook(lambda _, given: read.append(given[0].shape[1]))
    names_of(after)["generate"](model, held_out(9), 4)
    assert read == [9, 1, 1, 1]


def test_rotate_takes_a_base_and_keeps_float32_angles_whatever_the_default(after: str) -> None:
    rotate = names_of(after)["rotate"]
    x, positions = torch.ones(1, 1, 3, 8), torch.tensor([0, 7, 4001])
    half_angles = positions[:, None] * 500_000.0 ** (-torch.arange(4) / 4)
    expected = torch.cat(
        (half_angles.cos() - half_angles.sin(), half_angles.cos() + half_angles.sin()), dim=-1
    )
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = rotate(x, positions, base=500_000.0)[0, 0]
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(found, expected)

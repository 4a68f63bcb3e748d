"""The three pieces of the chapter, copied into one file, are the model of the book's own file."""

from typing import Any

import pytest
import torch

from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS
from bookkit import book_model
from bookkit.trained import START

PIECES = ("class Attention(nn.Module)", "class Block(nn.Module)", "class Llama(nn.Module)")


@pytest.fixture(scope="module")
def pieces() -> dict[str, Any]:
    names: dict[str, Any] = {"model": book_model(), "START": START}  # made in the page's first cell
    sources = [cell.source for cell in cells_of(CHAPTERS / "one-file.ipynb") if cell.kind == "code"]
    for piece in PIECES:
        (source,) = [source for source in sources if piece in source]
        exec(source, names)
    return names


@pytest.fixture
def small(pieces: dict[str, Any]) -> torch.nn.Module:
    made = pieces["Llama"](V=257, d=192, layers=6, h=6, g=2, d_k=32, d_f=512)
    made.load_state_dict(book_model().state_dict())
    return made.float()  # a test before this one may have chosen another default dtype


@torch.no_grad()
def test_its_logits_are_those_of_the_file(small: torch.nn.Module) -> None:
    tokens = torch.arange(300)[None] * 7919 % 256
    expected = book_model().double()(tokens)[0]
    torch.testing.assert_close(small(tokens), expected.float(), rtol=1e-4, atol=1e-3)


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_it_runs_in_half_precision(small: torch.nn.Module, dtype: torch.dtype) -> None:
    tokens = torch.arange(16)[None] * 7919 % 256
    expected = small(tokens)
    found = small.to(dtype)(tokens)
    assert found.dtype == dtype
    # Twelve sublayers and the output layer round their results.
    assert (found - expected).norm() <= 13 * torch.finfo(dtype).eps * expected.norm()


def test_it_writes_what_the_file_writes(pieces: dict[str, Any], small: torch.nn.Module) -> None:
    from one_file.llama import generate

    prompt = torch.tensor([[START, *b"import numpy as "]])
    written = pieces["write"](small, prompt, 12)
    assert written.tolist() == generate(book_model(), prompt, 12, temperature=0).tolist()


@pytest.mark.parametrize("factor", [1.0, 8.0, 32.0])
def test_slow_pairs_are_divided_as_in_the_file(pieces: dict[str, Any], factor: float) -> None:
    from one_file.llama import rope_frequencies

    plain = 500_000.0 ** (-torch.arange(0, 64, 2).double() / 64)
    settings = {
        "rope_type": "llama3",
        "rope_theta": 500_000.0,
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    expected, _ = rope_frequencies(64, settings)
    found = pieces["slowed"](plain, factor)
    torch.testing.assert_close(found, expected.double(), rtol=1e-12, atol=0.0)
    assert (found < plain).any() == (factor > 1)

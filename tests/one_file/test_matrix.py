"""Both files in each dtype and each way of use, within what the dtype allows of float64."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

SPEC = importlib.util.spec_from_file_location("matrix", Path(__file__).with_name("matrix.py"))
assert SPEC is not None
assert SPEC.loader is not None
matrix = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(matrix)

IN_SECONDS = [name for name in matrix.CASES if "compiled" not in name]
COMPILED = [name for name in matrix.CASES if "compiled" in name]


def check(name: str, dtype: torch.dtype) -> None:
    found = matrix.CASES[name](matrix.Use("cpu", dtype))
    assert found.error <= found.allowed


@pytest.mark.parametrize("dtype", matrix.DTYPES, ids=str)
@pytest.mark.parametrize("name", IN_SECONDS)
def test_it_is_as_exact_as_its_dtype(name: str, dtype: torch.dtype) -> None:
    check(name, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", matrix.DTYPES, ids=str)
@pytest.mark.parametrize("name", COMPILED)
def test_it_is_as_exact_when_compiled_in_one_graph(name: str, dtype: torch.dtype) -> None:
    check(name, dtype)


def half_table(self: Any, positions: torch.Tensor) -> Any:
    """Angles and their cosines as a careless model in half precision computes them."""
    dtype = self.embed_tokens.weight.dtype
    angles = positions[..., None].to(dtype) * self.frequencies.to(dtype)
    return angles.cos(), angles.sin()


def blind_to_padding(N: int, N_k: int, mask: Any, device: Any) -> torch.Tensor:
    columns = torch.arange(N_k, device=device)
    return columns <= columns[N_k - N :, None]


def half_positions(self: Any, tokens: torch.Tensor, first: int = 0) -> torch.Tensor:
    x = self.embedding(tokens)
    m = torch.arange(first, first + tokens.shape[1]).to(x.dtype)
    angles = m[:, None] / 10_000 ** (torch.arange(0, self.d, 2) / self.d).to(x.dtype)
    positions = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
    return x * self.d**0.5 + positions


def always_from_zero(self: Any, tokens: torch.Tensor, first: int = 0) -> torch.Tensor:
    return EMBED(self, tokens, 0)


EMBED = matrix.original.Transformer.embed
FAULTS: dict[str, tuple[str, Any, str, Any]] = {
    "llama, angles in half": ("llama, batched", matrix.llama.Model, "table", half_table),
    "llama, padding is seen": ("llama, padded", matrix.llama, "visible_tokens", blind_to_padding),
    "2017, angles in half": (
        "2017, batched",
        matrix.original.Transformer,
        "embed",
        half_positions,
    ),
    "2017, positions begin again": (
        "2017, cached steps",
        matrix.original.Transformer,
        "embed",
        always_from_zero,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_bounds_are_sharp_enough_to_see(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, place, attribute, replacement = FAULTS[fault]
    use = matrix.Use("cpu", torch.float16, length=300)  # long enough for angles to go wrong
    right = matrix.CASES[name](use)
    assert right.error <= right.allowed
    monkeypatch.setattr(place, attribute, replacement)
    wrong = matrix.CASES[name](use)
    assert wrong.error > 2 * wrong.allowed

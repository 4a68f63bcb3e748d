"""Both files in each dtype and each way of use, within what the dtype allows of float64.

The bound of llama.py is measured: the same model in float64, in which each result that the dtype
would round is rounded at random, up or down; the largest error of a logit vector in eight such
runs. To it comes what float32 loses within sums. The bound of transformer_2017.py counts the
roundings in a row and takes the root of their number. To it comes what float32 leaves of the
angles.
"""

from typing import Any

import pytest
import torch

from laboratory.precision import one_file_models as matrix
from laboratory.precision.situations import DTYPES

IN_SECONDS = [name for name in matrix.CASES if "compiled" not in name]
COMPILED = [name for name in matrix.CASES if "compiled" in name]
Name = tuple[str, str]  # of a model and a situation


def check(name: Name, dtype: torch.dtype) -> None:
    found = matrix.CASES[name](matrix.Use("cpu", dtype))
    assert found.error <= found.allowed


# bfloat16 is what most people use, and the least exact; the others are the same code.
OTHERS = [pytest.param(dtype, marks=pytest.mark.slow) for dtype in (torch.float32, torch.float16)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, *OTHERS], ids=str)
@pytest.mark.parametrize("name", IN_SECONDS, ids=", ".join)
def test_it_is_as_exact_as_its_dtype(name: Name, dtype: torch.dtype) -> None:
    check(name, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", COMPILED, ids=", ".join)
def test_it_is_as_exact_when_compiled_in_one_graph(name: Name, dtype: torch.dtype) -> None:
    check(name, dtype)


def test_the_bound_of_llama_is_an_error_of_the_same_model() -> None:
    _, exact = matrix.llama_pair(matrix.Use("cpu", torch.bfloat16))
    tokens = matrix.random_tokens(3, 40)
    logits = exact(tokens)[0]
    without = matrix.rounded_logits(exact, tokens, lambda x: x)
    assert torch.equal(without, logits)
    nearest = matrix.rounded_logits(exact, tokens, lambda x: x.bfloat16().double())
    error = matrix.largest_error(nearest, logits)
    bound = matrix.error_of_random_rounding(torch.bfloat16, 40)
    assert error < bound < 2.5 * error  # √2 on average, and the largest of eight runs


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_random_rounding_gives_a_neighbour_and_is_right_on_average(dtype: torch.dtype) -> None:
    rounded = matrix.at_random(dtype, 0)
    x = torch.full((40_000,), 1 / 3, dtype=torch.float64)
    found = rounded(x)
    near = torch.tensor(1 / 3, dtype=dtype)
    beyond = 1.0 if near.item() < 1 / 3 else 0.0  # on the other side of a third
    far = torch.nextafter(near, torch.tensor(beyond, dtype=dtype))
    assert sorted(found.unique().tolist()) == sorted([near.item(), far.item()])
    spacing = abs(near.item() - far.item())
    assert abs(found.mean().item() - 1 / 3) < 0.01 * spacing
    held = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64)  # numbers of the dtype stay
    assert rounded(held).tolist() == held.tolist()


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
FAULTS: dict[str, tuple[Name, Any, str, Any]] = {
    "llama, angles in half": (("llama", "batched"), matrix.llama.Model, "table", half_table),
    "llama, padding is seen": (
        ("llama", "padded"),
        matrix.llama,
        "visible_tokens",
        blind_to_padding,
    ),
    "2017, angles in half": (
        ("transformer_2017", "batched"),
        matrix.original.Transformer,
        "embed",
        half_positions,
    ),
    "2017, positions begin again": (
        ("transformer_2017", "cached steps"),
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

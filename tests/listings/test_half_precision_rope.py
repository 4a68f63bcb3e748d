"""What the chapters on RoPE offer to copy keeps its accuracy in bfloat16 and float16.

Expected values are computed here in float64, from the formulas and from the same rounded inputs.
"""

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS
from bookkit.randomness import normal

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
FAR = torch.tensor([0, 1, 255, 4_097, 131_071, 1_000_003])  # positions


def listing(page: str, start: str) -> dict[str, Any]:
    """What one code cell of a page defines, executed without any other cell."""
    cells = [cell for cell in cells_of(CHAPTERS / f"{page}.ipynb") if cell.kind == "code"]
    (source,) = [cell.source for cell in cells if start in cell.source]
    names: dict[str, Any] = {}
    exec(source, names)
    return names


def rotated(x: Tensor, positions: Tensor, layout: str, base: float = 10_000.0) -> Tensor:
    """RoPE in float64, as a product of complex numbers."""
    x, half = x.double(), x.shape[-1] // 2
    first, second = (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else x.chunk(2, -1)
    frequencies = base ** -(torch.arange(half, dtype=torch.float64) / half)
    angles = positions[:, None] * frequencies
    z = torch.complex(first, second) * torch.polar(torch.ones_like(angles), angles)
    members = torch.view_as_real(z)
    return members.flatten(-2) if layout == "interleaved" else torch.cat((z.real, z.imag), -1)


def attended(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention in float64."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v


def assert_rounded_once(found: Tensor, expected: Tensor, largest: float) -> None:
    """Half a unit in the last place of the dtype, beside what float32 itself rounds."""
    own = torch.finfo(found.dtype).eps / 2 * expected.abs()
    in_float32 = 2 * torch.finfo(torch.float32).eps * largest
    excess = (found.double() - expected).abs() - own - in_float32
    assert float(excess.max()) <= 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_deriving_rope_rotates_with_one_rounding(dtype: torch.dtype) -> None:
    rope = listing("deriving-rope", "def causal_rope_attention")["rope"]
    x = normal(2, 3, len(FAR), 64, seed=1).to(dtype)
    found = rope(x, FAR)
    assert found.dtype == dtype
    assert_rounded_once(found, rotated(x, FAR, "interleaved"), 2 * float(x.abs().max()))


def test_deriving_rope_keeps_float64() -> None:
    rope = listing("deriving-rope", "def causal_rope_attention")["rope"]
    x = normal(2, len(FAR), 8, seed=1)
    expected = rotated(x, FAR, "interleaved")
    torch.testing.assert_close(rope(x, FAR), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_deriving_rope_attends_nearly_as_well_as_rounded_inputs_allow(dtype: torch.dtype) -> None:
    """At best, a kernel rotates exactly, rounds q and k, attends exactly and rounds the result."""
    attend = listing("deriving-rope", "def causal_rope_attention")["causal_rope_attention"]
    (Q, K, V), positions = normal(3, 2, 4, 64, 64, seed=2).to(dtype), torch.arange(64) + 30_000
    q, k = (rotated(x, positions, "interleaved") for x in (Q, K))
    exact = attended(q, k, V.double())
    best = attended(q.to(dtype).double(), k.to(dtype).double(), V.double()).to(dtype)
    found = attend(Q, K, V, positions)
    assert found.dtype == dtype
    mean_error, least = ((y.double() - exact).abs().mean() for y in (found, best))
    # Kernels also round the weights, which costs a tenth; a rounded table costs half as much again.
    assert float(mean_error) < 1.3 * float(least)


@pytest.fixture(scope="module")
def rope_module() -> dict[str, Any]:
    return listing("implementing-rope", "class SelfAttention")


@pytest.mark.parametrize("dtype", DTYPES)
def test_implementing_rope_rotates_with_one_rounding(
    rope_module: dict[str, Any], dtype: torch.dtype
) -> None:
    x = normal(2, 3, len(FAR), 64, seed=3).to(dtype)
    expected = rotated(x, FAR, "half")
    for positions in (FAR, FAR.expand(2, -1)):  # for all sequences, and for each of them
        found = rope_module["rope"](x, *rope_module["rope_table"](positions, 64))
        assert found.dtype == dtype
        assert_rounded_once(found, expected, 2 * float(x.abs().max()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_implementing_rope_rotates_with_one_rounding_in_both_layouts(
    layout: str, dtype: torch.dtype
) -> None:
    names = listing("implementing-rope", "def checked_rope")
    x = normal(2, 3, len(FAR), 64, seed=3).to(dtype)
    table = names["checked_table"](FAR[None], names["frequencies"](64))
    found = names["checked_rope"](x, *table, layout=layout)
    assert found.dtype == dtype
    assert_rounded_once(found, rotated(x, FAR, layout), 2 * float(x.abs().max()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_implementing_rope_attends_in_every_dtype_and_with_its_cache(
    rope_module: dict[str, Any], dtype: torch.dtype
) -> None:
    d, h, N = 32, 2, 12
    layer = rope_module["SelfAttention"](d, h).requires_grad_(False).to(dtype)
    for seed, weight in enumerate(layer.parameters()):
        weight.copy_(normal(*weight.shape, seed=seed) / d**0.5)
    exact = copy.deepcopy(layer).double()  # the same rounded weights
    x, places = normal(2, N, d, seed=4).to(dtype), torch.arange(N) + 40_000
    angles = places[:, None] * 10_000.0 ** -(torch.arange(0, d // h, 2).double() / (d // h))
    expected, _ = exact(x.double(), (angles.cos(), angles.sin()))
    table = rope_module["rope_table"]
    first, cache = layer(x[:, :7], table(places[:7], d // h))
    second, _ = layer(x[:, 7:], table(places[7:], d // h), cache=cache)
    found = torch.cat((first, second), dim=1)
    assert found.dtype == dtype
    # Queries, keys, values, weights, heads and outputs are rounded once each.
    allowed = 4 * torch.finfo(dtype).eps * float(expected.abs().max())
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=allowed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_rope_encodes_sums_long_texts_in_float64(dtype: torch.dtype) -> None:
    """70,000 is more than the largest number of float16, and bfloat16 counts to 256."""
    preference = listing("what-rope-encodes", "def preference")["preference"]
    q, k = normal(3, 16, seed=5).to(dtype), normal(16, seed=6).to(dtype)
    distances = torch.arange(50)
    long = preference(q[:, None].expand(3, 70_000, 16), k.expand(3, 70_000, 16), distances)
    at_distance = [rotated(q, r.expand(3), "half") @ k.double() / 4 for r in distances]
    torch.testing.assert_close(long, torch.stack(at_distance, dim=-1), rtol=0, atol=1e-9)


def expected_yarn(d_k: int, base: float, trained: int, s: float, truncate: bool) -> Tensor:
    """The released rule, pair by pair."""
    frequencies = []
    ends = [d_k * math.log(trained / (n * 2 * math.pi)) / (2 * math.log(base)) for n in (32, 1)]
    if truncate:
        ends = [math.floor(ends[0]), math.ceil(ends[1])]
    low, high = max(ends[0], 0), min(ends[1], d_k - 1)
    for pair in range(d_k // 2):
        changed = min(max((pair - low) / (high - low), 0.0), 1.0)
        theta = base ** (-2 * pair / d_k)
        frequencies.append(theta * (1 - changed) + theta / s * changed)
    return torch.tensor(frequencies, dtype=torch.float64)


# gpt-oss, whose ramp does not begin and end at whole pairs; DeepSeek-V3's head; the book's model.
YARN = [(64, 150_000.0, 4096, 32.0), (64, 10_000.0, 4096, 40.0), (32, 10_000.0, 1024, 4.0)]


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("settings", YARN)
def test_longer_contexts_computes_both_ramps(
    settings: tuple[int, float, int, float], truncate: bool
) -> None:
    yarn = listing("longer-contexts", "def yarn(d_k, base")["yarn"]
    found, mu = yarn(*settings, truncate=truncate)
    expected = expected_yarn(*settings, truncate)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    assert mu == pytest.approx(0.1 * math.log(settings[-1]) + 1, rel=1e-12)
    other = expected_yarn(*settings, not truncate)
    assert float((found / other - 1).abs().max()) > 0.05  # the setting is not without effect


def test_longer_contexts_takes_the_factor_of_a_configuration() -> None:
    names = listing("longer-contexts", "def yarn(d_k, base")
    frequencies, mu = names["yarn"](64, 160_000.0, 65_536, 16.0, mu=1.0)
    assert mu == 1.0
    torch.testing.assert_close(frequencies, expected_yarn(64, 160_000.0, 65_536, 16.0, True))


@pytest.mark.parametrize("integer", [torch.int32, torch.int64])
def test_longer_contexts_rounds_its_table_once(integer: torch.dtype) -> None:
    names = listing("longer-contexts", "def yarn(d_k, base")
    frequencies, mu = names["yarn"](64, 150_000.0, 4096, 32.0, truncate=False)
    angles = FAR[:, None] * frequencies
    tables = names["rotary"](FAR.to(integer), frequencies, mu)
    for found, expected in zip(tables, (mu * angles.cos(), mu * angles.sin()), strict=True):
        assert found.dtype == torch.float32
        own = torch.finfo(torch.float32).eps / 2 * expected.abs()
        assert bool(((found.double() - expected).abs() <= own).all())
    elsewhere = names["rotary"](FAR.to("meta"), frequencies, mu)
    assert {table.device.type for table in elsewhere} == {"meta"}

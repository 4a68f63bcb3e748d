"""Listings to take away run in half precision, and lose no more than its rounding.

Their angles, sums and running states are in float32, so that a result in bfloat16 or float16 is as
good as the exact one, rounded once.
"""

import copy
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_to_rope import (
    attention,
    causal_mask,
    rotary_frequencies,
    rotary_table,
    rotate,
    sinusoidal,
    sliding_window_mask,
)
from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS, ROOT
from bookkit.randomness import normal

HALF = [torch.bfloat16, torch.float16]
DTYPES = [torch.float32, *HALF]
in_each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
FLOAT32_SUMS = 2e-6  # what sums over hundreds of float32 numbers lose


def listing(page: str, start: str) -> dict[str, Any]:
    """What a code cell of a page defines, executed without any other cell."""
    cells = [cell for cell in cells_of(CHAPTERS / f"{page}.ipynb") if cell.kind == "code"]
    (source,) = [cell.source for cell in cells if start in cell.source]
    names: dict[str, Any] = {}
    exec(source, names)
    return names


def printed_file(path: str) -> ModuleType:
    """A file that a page prints as a whole, executed as a reader's copy of it."""
    spec = importlib.util.spec_from_file_location(Path(path).stem + "_copy", ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_rounded_once(found: Tensor, exact: Tensor, dtype: torch.dtype) -> None:
    """It has this dtype and about the error of the exact result, rounded to it."""
    assert found.dtype == dtype
    rounding = (exact.to(dtype) - exact).norm()
    assert (found - exact).norm() <= 1.05 * rounding + FLOAT32_SUMS * exact.norm()


@pytest.fixture(params=DTYPES, ids=str)
def default_dtype(request: pytest.FixtureRequest) -> Iterator[torch.dtype]:
    """Programs that build a model in half precision change the dtype of new tensors."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    yield request.param
    torch.set_default_dtype(before)


# The chapter: rotated, stored and compared.


@pytest.fixture(scope="module")
def short_road() -> dict[str, Any]:
    return listing("short-road", "def attend(q, k, v, cache")


@in_each_dtype
def test_short_road_attends_with_a_cache(short_road: dict[str, Any], dtype: torch.dtype) -> None:
    q, k, v = (normal(2, 3, 300, 16, seed=seed).to(dtype) for seed in range(3))
    table = rotary_table(torch.arange(300), rotary_frequencies(16), dtype=torch.float64)
    # What a cache stores is rounded too.
    rotated = [rotate(x.double(), table, layout="interleaved").to(dtype).double() for x in (q, k)]
    exact = attention(*rotated, v.double(), mask=causal_mask(300))
    parts, cache = [], None
    for part in (slice(0, 200), slice(200, 201), slice(201, 300)):
        new = (x[..., part, :] for x in (q, k, v))
        output, cache = short_road["attend"](*new, cache)
        parts.append(output)
    assert cache[0].dtype == cache[1].dtype == dtype
    if dtype == torch.float32:  # its angles are float32 as well
        torch.testing.assert_close(torch.cat(parts, -2), exact.float(), rtol=0, atol=1e-5)
    else:
        assert_rounded_once(torch.cat(parts, -2), exact, dtype)


@in_each_dtype
def test_short_road_computes_angles_in_float32(
    short_road: dict[str, Any], dtype: torch.dtype, default_dtype: torch.dtype
) -> None:
    positions = torch.arange(3000, 3010)
    x = normal(2, 10, 16, seed=0).to(dtype)
    table = rotary_table(positions, rotary_frequencies(16), dtype=torch.float64)
    exact = rotate(x.double(), table, layout="interleaved")
    found = short_road["rotate"](x, positions)
    assert found.dtype == dtype
    of_angles = 3010 * torch.finfo(torch.float32).eps  # radians
    rounding = (exact.to(dtype) - exact).norm()
    assert (found - exact).norm() <= 1.05 * rounding + of_angles * exact.norm()


# The chapter: attention in a few lines.


@pytest.fixture(scope="module")
def few_lines() -> Any:
    return listing("attention", "def attend(q, k, v, mask=None)")["attend"]


@in_each_dtype
@pytest.mark.parametrize("masked", [False, True])
def test_attention_attends(few_lines: Any, dtype: torch.dtype, masked: bool) -> None:
    q, k, v = (normal(2, 300, 16, seed=seed).to(dtype) for seed in range(3))
    mask = causal_mask(300) if masked else None
    if mask is not None:
        mask[5] = False  # a row that sees nothing
    output = few_lines(q, k, v, mask)
    exact = attention(q.double(), k.double(), v.double(), mask=mask)
    assert_rounded_once(output, exact, dtype)
    if masked:
        assert (output[:, 5] == 0).all()


def test_attention_keeps_float64(few_lines: Any) -> None:
    q, k, v = (normal(2, 30, 16, seed=seed) for seed in range(3))
    torch.testing.assert_close(few_lines(q, k, v), attention(q, k, v), rtol=0, atol=1e-13)


@in_each_dtype
def test_attention_averages_seventy_thousand_equal_keys(few_lines: Any, dtype: torch.dtype) -> None:
    """In float16 their sum is infinite, and each weight would be 0."""
    q, k = torch.zeros(1, 4, dtype=dtype), torch.zeros(70_000, 4, dtype=dtype)
    output = few_lines(q, k, torch.ones(70_000, 1, dtype=dtype))
    assert output.item() == pytest.approx(1.0, rel=1e-3)  # float32 adds up 70,000 roundings


@in_each_dtype
def test_attention_has_scores_beyond_float16(few_lines: Any, dtype: torch.dtype) -> None:
    q = torch.full((1, 64), 200.0, dtype=dtype)
    k = torch.cat((q, -q))
    v = torch.tensor([[3.0], [5.0]], dtype=dtype)
    assert few_lines(q, k, v).item() == 3.0


# The chapter: the Transformer of 2017.


@pytest.fixture(scope="module")
def file_of_2017() -> ModuleType:
    return printed_file("src/one_file/transformer_2017.py")


def transformers(file: ModuleType, dtype: torch.dtype) -> tuple[Any, Any]:
    """A model in this dtype, and the same weights in float64."""
    torch.manual_seed(0)
    options = {"words": 50, "d": 32, "h": 4, "d_f": 64, "layers": 2}
    model, exact = (file.Transformer(**options).eval() for _ in range(2))
    model = model.to(dtype)
    exact = exact.double()
    exact.load_state_dict(model.state_dict())
    return model, exact


@in_each_dtype
def test_encoder_decoder_embeds_far_positions(
    file_of_2017: ModuleType, dtype: torch.dtype, default_dtype: torch.dtype
) -> None:
    model, exact = transformers(file_of_2017, dtype)
    tokens = torch.arange(40).view(2, 20)
    embedded = model.embed(tokens, first=3000)
    assert embedded.dtype == dtype
    positions = sinusoidal(torch.arange(3000, 3020), 32, dtype=torch.float64)
    sums = model.embedding(tokens).double() * 32**0.5 + positions  # rounded once
    of_angles = 3020 * torch.finfo(torch.float32).eps
    rounding = (sums.to(dtype) - sums).norm()
    assert (embedded - sums).norm() <= 1.05 * rounding + of_angles * positions.norm()
    torch.testing.assert_close(
        exact.embed(tokens, first=3000), exact.embedding(tokens) * 32**0.5 + positions
    )


@in_each_dtype
def test_encoder_decoder_reads_writes_and_learns(
    file_of_2017: ModuleType, dtype: torch.dtype
) -> None:
    model, exact = transformers(file_of_2017, dtype)
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(3, 50, (3, 12), generator=generator)
    target = torch.randint(3, 50, (3, 9), generator=generator)
    source[1, 7:] = file_of_2017.PAD
    logits, caches = model.decode(target[:, :-1], model.encode(source))
    expected, _ = exact.decode(target[:, :-1], exact.encode(source))
    assert logits.dtype == caches[0][0].dtype == caches[0][1].dtype == dtype
    # Ten sublayers round their results, each norm brings them back to size 1.
    assert (logits - expected).norm() <= 4 * torch.finfo(dtype).eps * expected.norm()
    assert model.generate(source, steps=4).shape == (3, 4)
    loss = model.loss(source, target)
    of_these_logits = torch.nn.functional.cross_entropy(logits.double().mT, target[:, 1:])
    assert loss.item() == pytest.approx(of_these_logits.item(), rel=1e-6)
    loss.backward()
    for weight in model.parameters():
        assert weight.grad.dtype == dtype
        assert weight.grad.isfinite().all()


# Deriving RoPE and latent attention: rotations with a table that is not half.


@in_each_dtype
@pytest.mark.parametrize(
    ("page", "name", "layout"),
    [("deriving-rope", "rope", "interleaved"), ("latent-attention", "rotate", "half")],
)
def test_rotated_vectors_are_rounded_once(
    page: str, name: str, layout: Any, dtype: torch.dtype
) -> None:
    positions = torch.arange(3000, 3100)
    x = normal(2, 100, 16, seed=0).to(dtype)
    table = rotary_table(positions, rotary_frequencies(16), dtype=torch.float64)
    found = listing(page, f"def {name}(x, positions")[name](x, positions)
    assert_rounded_once(found, rotate(x.double(), table, layout=layout), dtype)


@in_each_dtype
def test_cache_continues_in_parts(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    module = listing("cache", "def generate(model, tokens, count)")["Attention"]
    layer = module(d=96, h=6, g=2).to(dtype)
    exact = copy.deepcopy(layer).double()
    x = normal(2, 300, 96, seed=0).to(dtype)
    positions = torch.arange(300)
    parts, cache = [], None
    for part in (slice(0, 200), slice(200, 201), slice(201, 300)):
        output, cache = layer(x[:, part], positions[part], cache)
        parts.append(output)
    assert cache[0].dtype == cache[1].dtype == dtype
    assert cache[0].shape == (2, 2, 300, 16)
    found = torch.cat(parts, dim=1)
    assert found.dtype == dtype
    whole = exact(x.double(), positions)[0]
    rounding = (whole.to(dtype) - whole).norm()
    # Rounded: queries, keys, values, weights, output of the heads, output of the layer.
    assert (found - whole).norm() <= 6 * rounding + FLOAT32_SUMS * whole.norm()


@in_each_dtype
@pytest.mark.parametrize("absorbed", [True, False])
def test_latent_attention_continues_its_cache(dtype: torch.dtype, absorbed: bool) -> None:
    torch.manual_seed(0)
    module = listing("latent-attention", "class LatentAttention")["LatentAttention"]
    layer = module(24, 3, 6, 6, 4, 8, 12).to(dtype)
    exact = copy.deepcopy(layer).double()
    x = normal(2, 60, 24, seed=0).to(dtype)
    first, cache = layer(x[:, :50], absorbed=absorbed)
    rest, cache = layer(x[:, 50:], cache, absorbed=absorbed)
    assert cache.dtype == dtype
    found = torch.cat((first, rest), dim=1)
    assert found.dtype == dtype
    expected, _ = exact(x.double(), absorbed=absorbed)
    assert (found - expected).norm() <= torch.finfo(dtype).eps * 4 * expected.norm()
    layer.W_UQ.weight.data *= 1_000
    layer.W_DKV.weight.data *= 1_000  # now some scores exceed the largest number of float16
    assert layer(x, absorbed=absorbed)[0].isfinite().all()


# The chapter: attention in blocks, with its gradient.


@pytest.fixture(scope="module")
def in_blocks() -> Any:
    return listing("attention-in-blocks", "class InBlocks")["attend"]


@in_each_dtype
@pytest.mark.parametrize("N", [1, 300])
def test_attention_in_blocks_attends_and_has_gradients(
    in_blocks: Any, dtype: torch.dtype, N: int
) -> None:
    sizes = ((2, 4, N, 16), (2, 2, 300, 16), (2, 2, 300, 8))
    inputs = [normal(*size, seed=s).to(dtype).requires_grad_() for s, size in enumerate(sizes)]
    upstream = normal(2, 4, N, 8, seed=3).to(dtype)
    output, logs = in_blocks(*inputs, 64)
    found = torch.autograd.grad(output, inputs, upstream)
    exact_inputs = [x.detach().double().requires_grad_() for x in inputs]
    q, k, v = exact_inputs[0], *(x.repeat_interleave(2, dim=1) for x in exact_inputs[1:])
    mask = causal_mask(N, 300)
    exact = attention(q, k, v, mask=mask)
    expected = torch.autograd.grad(exact, exact_inputs, upstream.double())
    assert_rounded_once(output, exact, dtype)
    for one, other in zip(found, expected, strict=True):
        assert_rounded_once(one, other, dtype)
    scores = (q @ k.mT / 4).masked_fill(~mask, -torch.inf)
    assert logs.dtype == torch.float32
    torch.testing.assert_close(logs.double(), scores.logsumexp(-1, keepdim=True), rtol=0, atol=1e-5)


@in_each_dtype
def test_attention_in_blocks_averages_seventy_thousand_equal_keys(
    in_blocks: Any, dtype: torch.dtype
) -> None:
    q, k = torch.zeros(1, 1, 1, 4, dtype=dtype), torch.zeros(1, 1, 70_000, 4, dtype=dtype)
    output, logs = in_blocks(q, k, torch.ones(1, 1, 70_000, 1, dtype=dtype), 1024)
    assert output.item() == pytest.approx(1.0, rel=1e-3)
    assert logs.exp().item() == pytest.approx(70_000, rel=1e-3)


# Fewer scores: a window and a sink.


@in_each_dtype
def test_fewer_scores_attends_to_a_window(dtype: torch.dtype) -> None:
    attend = listing("fewer-scores", "def window_attention")["window_attention"]
    q, k, v = normal(3, 2, 4, 50, 8, seed=0).to(dtype)
    sink = normal(4, seed=1).to(dtype)
    mask = sliding_window_mask(50, window=8)
    exact = [x.double() for x in (q, k, v)]
    expected = attention(*exact, mask=mask, sink=sink.double()[None, :, None, None])
    assert_rounded_once(attend(q, k, v, 8, sink), expected, dtype)


# A state instead of a cache: a state that every token changes.


@in_each_dtype
def test_state_instead_of_cache_keeps_its_state_in_float32(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer = listing("state-instead-of-cache", "class DeltaLayer")["DeltaLayer"](24, 3, 4, 5).to(
        dtype
    )
    exact = copy.deepcopy(layer).double()
    x = normal(2, 400, 24, seed=0).to(dtype)
    first, state = layer(x[:, :300])
    rest, state = layer(x[:, 300:], state)
    expected, exact_state = exact(x.double())
    found = torch.cat((first, rest), dim=1)
    assert found.dtype == dtype
    assert state.dtype == torch.float32
    # The maps round their results before the state sees them; each step of it adds nothing.
    assert (state - exact_state).norm() <= 0.5 * torch.finfo(dtype).eps * exact_state.norm() + 1e-6
    assert (found - expected).norm() <= 0.5 * torch.finfo(dtype).eps * expected.norm() + 1e-5

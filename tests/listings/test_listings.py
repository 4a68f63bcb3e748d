"""What a chapter offers to copy works where a reader uses it: on any device, on empty parts."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attention_to_rope import (
    Learned,
    MultiHeadAttention,
    Rotary,
    Sinusoidal,
    alibi_bias,
    alibi_slopes,
    attention,
    causal_mask,
    rotary_frequencies,
    rotary_table,
    rotate,
    sliding_window_mask,
    t5_bucket,
)
from attention_to_rope.checkpoints import rotary_settings
from attention_to_rope.context_extension import yarn, yarn_attention_factor
from attention_to_rope.merge import log_total, partial_attention
from attention_to_rope.recurrent_attention import delta_rule_steps
from bookformat.contents import main_line, page_name
from bookformat.myst import Block, blocks_of, included_source
from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS, ROOT
from bookkit.published_forms import rotated_half
from bookkit.randomness import normal
from bookkit.seconds import least_seconds, read_gpu, ridge_operations_per_byte
from bookkit.traffic import Traffic
from bookkit.trained.stretching import stretched
from rope_doctor.families import FAMILIES, vectors


def listing(page: str, start: str, **names: Any) -> dict[str, Any]:
    """What a code cell of a page defines; `start` tells which cell, names stand above it."""
    cells = [cell for cell in cells_of(CHAPTERS / f"{page}.ipynb") if cell.kind == "code"]
    (source,) = [cell.source for cell in cells if start in cell.source]
    exec(source, names)
    return names


def stands_alone(source: str) -> bool:
    """Whether a cell is a listing: it imports NumPy or PyTorch, and nothing of the book."""
    imported = re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE)
    return bool(
        {"numpy", "torch"} & {*imported} and not {"attention_to_rope", "bookkit"} & {*imported}
    )


LISTINGS = {
    page_name(path): [cell.source for cell in cells_of(path) if stands_alone(cell.source)]
    for path in main_line()
    if path.stem != "one-file"  # which shows a whole file
}


@pytest.mark.parametrize("page", LISTINGS)
def test_the_self_contained_listings_run_alone(page: str) -> None:
    assert LISTINGS[page], "a chapter shows a listing that runs with NumPy or PyTorch alone"
    for source in LISTINGS[page]:
        exec(source, {"__name__": "listing"})


def test_the_listings_use_no_name_of_their_page(tmp_path: Path) -> None:
    """Not even inside a function, which running the listing need not call."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821", str(tmp_path)]

    def undefined_names() -> str:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    for page, sources in LISTINGS.items():
        for number, source in enumerate(sources):
            (tmp_path / f"{page}-{number}.py").write_text(source, encoding="utf-8")
    assert undefined_names() == "All checks passed!\n"
    (tmp_path / "x.py").write_text("def f(x):\n    return only_on_the_page\n", encoding="utf-8")
    assert "only_on_the_page" in undefined_names()


def test_add_positions_agrees_with_the_library_and_goes_on_from_any_start() -> None:
    add_positions = listing("sinusoids", "def sinusoids(positions, d")["add_positions"]
    x = torch.ones(2, 9, 12, dtype=torch.float64)
    expected = Sinusoidal().embed(x, torch.arange(9))
    torch.testing.assert_close(add_positions(x), expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(add_positions(x[:, 4:], 4), expected[:, 4:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_the_input_of_2017_scales_embeddings_and_adds_positions(dtype: torch.dtype) -> None:
    made = listing("sinusoids", "def sinusoids(positions, d")["TransformerInput"](8, 12)
    tokens = torch.tensor([[3, 1, 7, 7]])
    layer = made.to(dtype).eval()
    scaled = 12**0.5 * layer.embedding.weight.double()[tokens]
    expected = Sinusoidal().embed(scaled, torch.arange(5, 9))
    found = layer(tokens, start=5)
    assert found.dtype == dtype
    atol = 8 * torch.finfo(dtype).eps  # entries are smaller than 8
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=atol)


def test_learned_positions_agree_with_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    embedding = listing("why-position", "class PositionedEmbedding")["PositionedEmbedding"]
    seen = [line.split()[-1] for line in capsys.readouterr().out.splitlines()]
    assert seen == ["False", "False", "True", "True"]
    module, scheme, tokens = embedding(8, 6, 9), Learned(9, 6, seed=0), torch.randint(8, (2, 4))
    module.positions.weight = scheme.table.rows
    for start in (0, 5):
        expected = scheme.embed(module.weight[tokens], torch.arange(start, start + 4))
        torch.testing.assert_close(module(tokens, start), expected)
    with pytest.raises(ValueError, match="no row for position 9"):
        module(tokens, 6)


def test_deriving_rope_attends_as_the_library_does() -> None:
    attend = listing("deriving-rope", "def causal_rope_attention")["causal_rope_attention"]
    (Q, K, V), positions = torch.randn(3, 2, 4, 5, 8), torch.arange(5) + 7
    table = rotary_table(positions, rotary_frequencies(8))
    rotated = [rotate(x, table, layout="interleaved") for x in (Q, K)]
    expected = attention(*rotated, V, mask=causal_mask(5))
    torch.testing.assert_close(attend(Q, K, V, positions), expected)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    return listing("implementing-rope", "def checked_rope")


# A scaled model, a table with a factor, a part of a head, and the fastest pairs of a whole one.
@pytest.mark.parametrize("name", FAMILIES)
def test_rope_rotates_as_every_family_does(names: dict[str, Any], name: str) -> None:
    family, stored = FAMILIES[name], vectors(name)
    settings, cases = family.settings(), stored["cases"]
    x = torch.tensor([case["x"] for case in cases], dtype=torch.float64)[None, None]
    position_ids = torch.tensor([[case["position"] for case in cases]])
    of_family = settings.frequencies, settings.attention_factor, torch.float64
    table = names["checked_table"](position_ids, *of_family)
    rotated = names["checked_rope"](x, *table, layout=family.layout)
    expected = torch.tensor([case["rotated"] for case in cases], dtype=torch.float64)
    torch.testing.assert_close(rotated[0, 0], expected, rtol=0, atol=1e-12)


# No processor but the CPU need be here: tensors on "meta" refuse to meet others as a GPU's do.
def test_self_attention_with_rope() -> None:
    d, h, N = 24, 3, 5
    names = listing("implementing-rope", "class SelfAttention")
    layer, table = names["SelfAttention"](d, h), names["rope_table"]
    theta, x = rotary_frequencies(d // h), torch.randn(2, N, d)
    y, _ = layer(x, table(torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 10, 11]]), d // h))
    library = MultiHeadAttention(d, h, bias=False, seed=1)
    weights = *layer.qkv.weight.chunk(3), layer.out.weight
    parts = library.query, library.key, library.value, library.output
    for part, weight in zip(parts, weights, strict=True):
        part.weight.data = weight
    torch.testing.assert_close(y, library(x, causal=True, scheme=Rotary(theta, layout="half")))
    cache, steps = None, []
    for n in range(N):
        step, cache = layer(x[:, n : n + 1], table(torch.tensor([n]), d // h), cache=cache)
        steps.append(step)
    torch.testing.assert_close(torch.cat(steps, dim=1), y)
    far = layer.to("meta")(x.to("meta"), table(torch.arange(N, device="meta"), d // h))[0]
    assert far.shape == y.shape


def test_rope_refuses_what_would_be_silent(names: dict[str, Any]) -> None:
    rope, table, theta = names["checked_rope"], names["checked_table"], names["frequencies"](8)
    x, position_ids = torch.ones(2, 3, 5, 8, dtype=torch.bfloat16), torch.arange(5)[None]
    assert rope(x, *table(position_ids, theta), layout="interleaved").dtype == x.dtype
    for wrong in (
        lambda: rope(x, *table(position_ids[:, :1], theta), layout="half"),  # one for all tokens
        lambda: rope(x, *table(position_ids, theta), layout="neox"),
        lambda: table(position_ids.float(), theta),
        lambda: names["frequencies"](7),
    ):
        with pytest.raises(ValueError, match=r"expected|the table is"):
            wrong()


# One query after a cache, a whole text, blocks larger than the text; six heads in three groups.
@pytest.mark.parametrize(("N", "N_b"), [(1, 4), (7, 3), (11, 4), (11, 20)])
def test_attention_in_blocks_and_its_gradient_are_those_of_the_library(N: int, N_b: int) -> None:
    attend = listing("attention-in-blocks", "class InBlocks")["attend"]
    sizes = ((2, 6, N, 4), (2, 3, 11, 4), (2, 3, 11, 5))
    x = [normal(*size, seed=seed).requires_grad_() for seed, size in enumerate(sizes)]
    output, logs = attend(*x, N_b)
    q, k, v = x[0], *(part.repeat_interleave(2, 1) for part in x[1:])
    mask, g = causal_mask(N, 11), normal(2, 6, N, 5, seed=3)
    expected = attention(q, k, v, mask=mask)
    torch.testing.assert_close(output, expected)
    state = partial_attention(q, k, v, mask=mask)
    torch.testing.assert_close(logs, log_total(state))
    assert not logs.requires_grad
    mine, theirs = (torch.autograd.grad(y, x, g) for y in (output, expected))
    torch.testing.assert_close(mine, theirs)


def test_attention_in_blocks_refuses_what_it_would_compute_wrongly() -> None:
    attend = listing("attention-in-blocks", "class InBlocks")["attend"]
    x = normal(1, 1, 3, 4, seed=0).requires_grad_()
    with pytest.raises(ValueError, match="at most as many queries as keys, got 3 and 2"):
        attend(x, x[:, :, 1:], x[:, :, 1:])
    output, _ = attend(x, x, x)
    (gradient,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_the_loop_in_numpy_is_attention() -> None:
    attend = listing("attention-in-blocks", "def attend_in_blocks")["attend_in_blocks"]
    q, k, v = normal(3, 4, seed=0), normal(8, 4, seed=1), normal(8, 5, seed=2)
    output, logs = (torch.from_numpy(y) for y in attend(*(x.numpy() for x in (q, k, v)), 3))
    torch.testing.assert_close(output, attention(q, k, v))
    torch.testing.assert_close(logs, log_total(partial_attention(q, k, v)))


def test_cost_counts_as_the_book_does() -> None:
    x, table = torch.ones(2, 3, 5, 8), torch.ones(5, 8)
    names = listing("cost", "def cost(f")
    rates = {"peak": 1e9, "bandwidth": 1e6}
    least, limit, passes = names["cost"](rotated_half, x, table, table, **rates)
    with Traffic() as moved:
        rotated_half(x, table, table)
    least_bytes = 2 * x.nbytes + 2 * table.nbytes
    assert (least, limit, passes) == (least_bytes / 1e6, "memory", moved.total / least_bytes)
    _, _, of_a_copy = names["cost"](torch.clone, x, **rates)
    assert of_a_copy == 1


def test_cost_counts_the_weights_of_a_module() -> None:
    names = listing("cost", "def cost(f")
    layer, x = torch.nn.Linear(8, 16, bias=False), torch.ones(3, 8)
    least, limit, passes = names["cost"](layer, x, peak=1e9, bandwidth=1e6)
    least_bytes = x.nbytes + layer.weight.nbytes + layer(x).nbytes
    assert (least, limit, passes) == (least_bytes / 1e6, "memory", 1)


def test_cost_counts_only_tensors_also_those_in_lists() -> None:
    names = listing("cost", "def cost(f")
    first, second = torch.ones(8), torch.ones(4)

    def scaled(pair: list[torch.Tensor], factor: float) -> tuple[torch.Tensor, None, float]:
        return torch.cat(pair) * factor, None, factor

    least, limit, _ = names["cost"](scaled, [first, second], 2.0, peak=1e9, bandwidth=1e6)
    least_bytes = first.nbytes + second.nbytes + 4 * 12
    assert (least, limit) == (least_bytes / 1e6, "memory")


def test_cost_names_the_limit_on_both_sides_of_the_ridge(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = listing("cost", "def cost(f")
    gpu = read_gpu("H200 SXM")
    rates = {"peak": gpu.peak(), "bandwidth": gpu.bandwidth_bytes_per_second}
    ridge = ridge_operations_per_byte(gpu)
    matrix = torch.ones(4096, 14336, dtype=torch.bfloat16, device="meta")
    for rows in (1, 100, 1000):
        vectors = torch.ones(rows, 4096, dtype=torch.bfloat16, device="meta")
        operations = 2 * rows * matrix.numel()
        traffic = vectors.nbytes + matrix.nbytes + 2 * rows * 14336
        least, limit, passes = names["cost"](torch.matmul, vectors, matrix, **rates)
        assert least == least_seconds(gpu, operations=operations, traffic_bytes=traffic)
        assert limit == ("arithmetic" if operations / traffic > ridge else "memory")
        assert passes == 1
    names["report"](torch.clone, torch.ones(8), **rates)
    said = capsys.readouterr().out
    assert "limit: memory, 1.0 passes" in said
    assert "bound / measured" in said


# A ramp inside the head, one that the released code ends behind the last pair, and a large base.
@pytest.mark.parametrize(
    ("d_k", "base", "trained", "s"), [(32, 1e4, 1024, 4), (64, 1e4, 131072, 4), (128, 5e5, 8192, 8)]
)
def test_yarn_is_that_of_the_library(d_k: int, base: float, trained: int, s: int) -> None:
    names = listing("longer-contexts", "def yarn(d_k, base")
    frequencies, mu = names["yarn"](d_k, base, trained, s)
    expected = yarn(rotary_frequencies(d_k, base), s, original_length=trained)
    torch.testing.assert_close(frequencies, expected)
    assert mu == yarn_attention_factor(s)
    place = torch.tensor([5 * trained])  # one new token after a cache
    table = rotary_table(place, expected, dtype=torch.float32, attention_factor=mu)
    for mine, theirs in zip(names["rotary"](place, frequencies, mu), table[:2], strict=True):
        torch.testing.assert_close(mine, theirs)


# What the chapter's lines call a rule, and the record's name of it.
RULES = {
    "pi": "PI",
    "ntk_aware": "NTK-aware",
    "by_parts": "by parts",
    "yarn_frequencies": "YaRN",
    "llama3": "Llama 3",
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_in_one_line_is_that_of_the_record(name: str) -> None:
    theta, pairs = rotary_frequencies(32), torch.arange(16).double()
    above = {"math": math, "theta": theta, "i": pairs, "s": 4, "d_k": 32, "L_0": 1024}
    above |= {"nu": 1024 * theta / (2 * math.pi), "draw_rule": lambda *rules: None}
    names = listing("longer-contexts", f"{name} = ", **above)
    expected, factor = stretched(theta, RULES[name], 4)
    torch.testing.assert_close(names[name], expected, rtol=1e-12, atol=0)
    assert names.get("mu", 1.0) == factor


def test_the_printed_entry_is_yarn() -> None:
    text = "".join(cell.source for cell in cells_of(CHAPTERS / "longer-contexts.ipynb"))
    entry = json.loads(text.partition("```json\n")[2].partition("```")[0])
    settings = rotary_settings({"head_dim": 32, **entry})
    expected = yarn(rotary_frequencies(32, 500_000.0), 4.0, original_length=8192)
    torch.testing.assert_close(settings.frequencies, expected)
    assert entry["max_position_embeddings"] == 4 * 8192
    assert settings.attention_factor == yarn_attention_factor(4.0)


@pytest.mark.parametrize("N", [1, 40, 300])
def test_relative_biases_are_those_of_the_library(N: int) -> None:
    """The last N of 300 tokens attend, as with a cache; every bucket of T5 occurs."""
    names, at, h = listing("relative-positions", "def causal_attention("), torch.arange(300), 4
    offset = names["offsets_of"](N, 300)
    q, k, v = (torch.randn(2, h, *shape) for shape in ((N, 5), (300, 5), (300, 3)))
    table = torch.randn(32, h)
    buckets = table[t5_bucket(offset, bidirectional=False)].permute(2, 0, 1)
    line = alibi_bias(alibi_slopes(h), at[-N:], at).float()
    for mine, theirs in ((names["alibi"](offset, h), line), (names["t5"](offset, table), buckets)):
        assert torch.equal(mine, theirs)
        for scale in (None, 1.0):
            found = names["causal_attention"](q, k, v, mine, offset, scale)
            expected = attention(q, k, v, bias=theirs[None], mask=at <= at[-N:, None], scale=scale)
            torch.testing.assert_close(found, expected)
    elsewhere = names["offsets_of"](N, 300, "meta")
    for bias in (names["alibi"](elsewhere, h), names["t5"](elsewhere, table.to("meta"))):
        arguments = (q.to("meta"), k.to("meta"), v.to("meta"), bias, elsewhere)
        assert names["causal_attention"](*arguments).device.type == "meta"


@pytest.mark.parametrize("base", [None, 500.0])
@pytest.mark.parametrize("window", [None, 3])
def test_a_layer_rotates_and_sees_what_its_settings_say(
    base: float | None, window: int | None
) -> None:
    attend = listing("which-encoding", "def base_for(length)")["attend"]
    q, (k, v), positions = torch.randn(2, 4, 9, 8), torch.randn(2, 2, 2, 9, 8), torch.arange(9) + 5
    mask = causal_mask(9) if window is None else sliding_window_mask(9, window=window)
    table = rotary_table(positions, rotary_frequencies(8, base or 1.0))
    turned = [rotate(x, table, layout="half") if base else x for x in (q, k)]
    shared = [x.repeat_interleave(2, 1) for x in (turned[1], v)]  # two query heads for each
    expected = attention(turned[0], *shared, mask=mask)
    torch.testing.assert_close(attend(q, k, v, positions, base, window), expected)


def test_schemes_are_compared_in_pairs_at_a_rate_inside_the_grid() -> None:
    from scipy.stats import t as student  # here: collecting the tests need not wait for it
    from scipy.stats import ttest_rel

    names = listing("deeper/compare-encodings", "def best_rate(validation")
    y = np.array([0.3, 0.1, 0.4, 0.1, 0.5])
    expected = ttest_rel(1 + y, np.ones(5)).confidence_interval(0.95)
    mean, half = names["over_seeds"](1 + y, np.ones(5))
    assert (mean - half, mean + half) == pytest.approx([*expected], rel=1e-3)
    points = {seeds: student.ppf(0.975, seeds - 1) for seeds in range(3, 11)}
    assert names["TAU"] == pytest.approx(points, abs=5e-4)
    rates = {1: [3.0, 3.1], 2: [2.0, 2.2], 4: [2.0, 2.1], 8: [1.0, np.nan]}
    assert names["best_rate"](rates) == 4
    with pytest.raises(ValueError, match="2, is at the edge"):
        names["best_rate"]({1: [3.0], 2: [2.0]})


def test_an_interval_over_texts_is_that_of_the_mean_over_seeds() -> None:
    from scipy.stats import bootstrap

    over_texts = listing("deeper/compare-encodings", "def best_rate(validation")["over_texts"]
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 40))
    b = rng.normal(size=(5, 40)) + 0.3
    found = over_texts(a, b, np.random.default_rng(1), draws=20_000)
    y = a.mean(0) - b.mean(0)
    options = {"method": "percentile", "n_resamples": 20_000, "rng": np.random.default_rng(2)}
    expected = bootstrap((y,), np.mean, **options).confidence_interval
    assert found == pytest.approx([expected.low, expected.high], abs=0.01)
    assert over_texts(a, a + 1.0, rng) == pytest.approx((-1.0, -1.0))


@pytest.mark.parametrize(("N", "window"), [(10, 4), (12, 4), (3, 5), (7, 1)])
def test_fewer_scores_computes_a_window_with_a_sink_as_the_library_does(
    N: int, window: int
) -> None:
    attend = listing("fewer-scores", "def window_attention")["window_attention"]
    q, k, v = normal(3, 2, 3, N, 4, seed=N)
    sink = normal(3, seed=1)
    mask = sliding_window_mask(N, window=window)
    expected = attention(q, k, v, mask=mask, sink=sink[None, :, None, None])
    torch.testing.assert_close(attend(q, k, v, window, sink), expected, rtol=0, atol=1e-12)


def test_fewer_scores_keeps_a_window_of_keys_and_attends_to_them_alone() -> None:
    names = listing("fewer-scores", "class WindowAttention")
    layer = names["WindowAttention"](d=12, h=3, window=4).double()
    x = normal(2, 9, 12, seed=0)
    heads = [layer.split(matrix(x)) for matrix in (layer.W_Q, layer.W_K, layer.W_V)]
    expected = attention(*heads, mask=sliding_window_mask(9, window=4))
    first, cache = layer(x[:, :6])
    second, cache = layer(x[:, 6:], cache)
    found = torch.cat((first, second), dim=1)
    torch.testing.assert_close(found, layer.W_O(expected.transpose(1, 2).flatten(-2)))
    assert cache[0].shape == cache[1].shape == (2, 3, 4, 4)
    assert cache[2] == 9


def test_state_instead_of_cache_is_the_gated_delta_rule_and_goes_on_from_its_state() -> None:
    page = "state-instead-of-cache"
    layer, x = listing(page, "class DeltaLayer")["layer"], torch.randn(2, 7, 24)
    y, state = layer(x)
    first, middle = layer(x[:, :4])
    second, end = layer(x[:, 4:], middle)
    torch.testing.assert_close(torch.cat([first, second], dim=1), y)
    torch.testing.assert_close(end, state)
    maps = (layer.q, layer.k, layer.v)
    q, k, v = (one(x).unflatten(-1, (3, -1)).transpose(1, 2) for one in maps)
    unit = [one / one.norm(dim=-1, keepdim=True) for one in (q, k)]
    rates = layer.rate(x).sigmoid().mT, layer.keep(x).sigmoid().mT ** (1 / 16)
    read, expected = delta_rule_steps(*unit, v, rates[0], decay=rates[1])
    torch.testing.assert_close(state, expected)
    joined = read.transpose(1, 2).flatten(-2) * layer.gate(x).sigmoid()
    torch.testing.assert_close(y, layer.out(joined))


def included(text: str) -> Iterator[Block]:
    """The includes of a text, in order, also those that fold."""
    for block in blocks_of(text):
        if block.kind == "literalinclude":
            yield block
        elif block.kind == "admonition":
            yield from included(block.text)


WHOLE = {
    "encoder-decoder": "src/one_file/transformer_2017.py",
    "one-file": "src/one_file/llama.py",
}


@pytest.mark.parametrize("page", WHOLE)
def test_the_page_prints_the_whole_file_in_its_order(page: str) -> None:
    cells = [cell for cell in cells_of(CHAPTERS / f"{page}.ipynb") if cell.kind == "markdown"]
    parts = [included_source(block) for cell in cells for block in included(cell.source)]
    file = (ROOT / WHOLE[page]).read_text(encoding="utf-8").partition("\n\nif __name__")[0]
    lines = [line for line in file.splitlines() if line.strip()]
    assert [line for part in parts for line in part.splitlines() if line.strip()] == lines

"""Bytes and seconds: what a model keeps and reads, and the least time that a GPU needs for it.

A piece of work takes at least as long as its arithmetic at the GPU's peak rate, and at least as
long as its traffic at the bandwidth of the GPU's memory:

    seconds = max(operations / peak, bytes / bandwidth)

Every function here is that line, or counts what goes into it. Units are in the names; an operation
is one addition or one multiplication. The rates of GPUs are in `gpus.jsonl`, where each number has
the source in which it was read. They are peaks: `measured_bandwidth_bytes_per_second` is what our
own H200 reached.

`layers` is a list of groups of equal layers, as `models.jsonl` has them (see `bookkit.models`):
`count` layers with `kv_heads` of `head_dim`, perhaps a `window` or `compress` (tokens that share a
row), or `latent` and `rotary` for latent attention, or `recurrent` (no growing cache), or `shared`
(the layers use the keys and values of other layers and store none), or `heads`, where kinds of
layers have different numbers of query heads.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from bookkit.records import recorded

Layers = Sequence[Mapping[str, Any]]
BFLOAT16_BYTES = 2


@dataclass(frozen=True)
class Gpu:
    """A GPU's peak rates and memory, with the source in which each number was read."""

    name: str
    bandwidth_bytes_per_second: float
    memory_bytes: float
    peak_operations_per_second: Mapping[str, float]  # by dtype, dense
    sources: Mapping[str, str]

    def peak(self, dtype: str = "bfloat16") -> float:
        """Operations per second of matrix products in this dtype."""
        if dtype not in self.peak_operations_per_second:
            known = ", ".join(self.peak_operations_per_second)
            raise ValueError(f"{self.name} has no recorded peak for {dtype}, only for {known}")
        return self.peak_operations_per_second[dtype]


@cache
def read_gpus() -> dict[str, Gpu]:
    """All GPUs by their names, in the order of the file."""
    text = (files("bookkit") / "gpus.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return {row["name"]: Gpu(**row) for row in rows}


def read_gpu(name: str) -> Gpu:
    """The GPU of this name."""
    gpus = read_gpus()
    if name not in gpus:
        raise ValueError(f"no GPU {name!r} in gpus.jsonl; it has {', '.join(gpus)}")
    return gpus[name]


def measured_bandwidth_bytes_per_second() -> float:
    """The largest rate at which our H200 copied a tensor: bytes read and written per second."""
    copies = recorded("speed/gpu-calls.jsonl", group="rope", candidate="clone")
    rates: list[float] = []
    for row in copies:
        if row["pass"] == "forward":
            numbers = math.prod(row["shape"])
            moved_bytes = 2 * numbers * BFLOAT16_BYTES  # each number is read and written
            rates.append(moved_bytes / row["graph_seconds"])
    return max(rates)


def least_seconds(
    gpu: Gpu, *, operations: float, traffic_bytes: float, dtype: str = "bfloat16"
) -> float:
    """The lower bound of the time: arithmetic at the peak or traffic at the bandwidth."""
    arithmetic_seconds = operations / gpu.peak(dtype)
    traffic_seconds = traffic_bytes / gpu.bandwidth_bytes_per_second
    return max(arithmetic_seconds, traffic_seconds)


def ridge_operations_per_byte(gpu: Gpu, dtype: str = "bfloat16") -> float:
    """Operations per byte at which both bounds agree; with fewer, memory is the limit."""
    return gpu.peak(dtype) / gpu.bandwidth_bytes_per_second


def decoder_parameters(
    *,
    width: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    hidden: int,
    layers: int,
    vocabulary: int,
    tied: bool = False,
) -> int:
    """Parameters of a decoder in the shape of Llama: gated feed-forward, RMSNorm, no biases."""
    attention = 2 * width * head_dim * (heads + kv_heads)  # W^Q and W^O, W^K and W^V
    feed_forward = 3 * width * hidden
    norms = 2 * width
    embeddings = vocabulary * width * (1 if tied else 2)
    return embeddings + layers * (attention + feed_forward + norms) + width


def model_parameters(model: Mapping[str, Any]) -> int:
    """Parameters of a row of `models.jsonl` that has `hidden` and `vocabulary`."""
    (group,) = model["layers"]
    return decoder_parameters(
        width=model["width"],
        heads=model["heads"],
        kv_heads=group["kv_heads"],
        head_dim=group["head_dim"],
        hidden=model["hidden"],
        layers=group["count"],
        vocabulary=model["vocabulary"],
    )


def multiplied_parameters(model: Mapping[str, Any]) -> int:
    """Parameters that each token is multiplied with: all but the input embedding, a lookup."""
    looked_up: int = model["vocabulary"] * model["width"]
    return model_parameters(model) - looked_up


def weights_bytes(parameters: int, bytes_per_number: float = BFLOAT16_BYTES) -> float:
    """Bytes of so many parameters."""
    return parameters * bytes_per_number


def cached_rows(group: Mapping[str, Any], tokens: int) -> int:
    """Rows that a layer of this group keeps of a text: its window, and one for so many tokens."""
    rows: int = min(tokens, group.get("window", tokens))
    if "compress" in group:
        rows += tokens // group["compress"]
    return rows


def cached_numbers_per_row(group: Mapping[str, Any], tensor_ranks: int = 1) -> int:
    """Numbers of such a row, on each of the GPUs that share the heads."""
    if "latent" in group:  # it has no heads: every GPU holds all of it
        latent_and_rotary: int = group["latent"] + group["rotary"]
        return latent_and_rotary
    heads_here: int = math.ceil(group["kv_heads"] / tensor_ranks)
    key: int = group["head_dim"]
    value: int = 0 if group.get("same_key_value") else group.get("value_dim", key)
    return heads_here * (key + value)


def cached_numbers(group: Mapping[str, Any], tokens: int) -> int:
    """Numbers of keys and values that one layer of a group keeps of a text of this length."""
    return cached_rows(group, tokens) * cached_numbers_per_row(group)


def cache_bytes(
    layers: Layers,
    tokens: int,
    *,
    bytes_per_number: float = BFLOAT16_BYTES,
    tensor_ranks: int = 1,
    context_ranks: int = 1,
) -> float:
    """Bytes of keys and values that one sequence of `tokens` needs, on each GPU.

    Tensor parallelism divides the key-value heads; where there are fewer heads than ranks, ranks
    hold copies. A latent has no heads, so every rank holds all of it. Context parallelism divides
    the tokens.
    """
    numbers = 0
    for group in layers:
        if group.get("recurrent") or group.get("shared"):
            continue
        rows_here = math.ceil(cached_rows(group, tokens) / context_ranks)
        numbers += group["count"] * rows_here * cached_numbers_per_row(group, tensor_ranks)
    return numbers * bytes_per_number


def allocated_cache_bytes(
    layers: Layers, tokens: int, *, page_tokens: int, bytes_per_number: float = BFLOAT16_BYTES
) -> float:
    """Bytes of the same cache if memory is given out in pages of `page_tokens` tokens.

    A preallocated cache is one page as long as the longest text that it may hold.
    """
    pages = math.ceil(tokens / page_tokens)
    return cache_bytes(layers, pages * page_tokens, bytes_per_number=bytes_per_number)


def _operations_per_score(group: Mapping[str, Any], heads: int) -> int:
    """Operations that one query spends on one key: the score, and its share of the values."""
    heads = group.get("heads", heads)
    if "latent" in group:  # absorbed: heads score and sum the latents themselves
        scores_and_sum: int = 2 * group["latent"] + group["rotary"]
        return 2 * heads * scores_and_sum
    key: int = group["head_dim"]
    value: int = group.get("value_dim", key)
    return 2 * heads * (key + value)


def decode_attention_operations(layers: Layers, heads: int, tokens: int) -> int:
    """Scores and weighted sums of one new token that meets `tokens` keys, itself included."""
    operations = 0
    for group in layers:
        if group.get("recurrent"):
            continue
        seen = cached_rows(group, tokens)
        operations += group["count"] * seen * _operations_per_score(group, heads)
    return operations


def _sum_of_quotients(tokens: int, divisor: int) -> int:
    """The sum of ⌊m / c⌋ over m = 1 … N: c times each of 0, 1, 2, … and the incomplete block."""
    blocks = tokens // divisor
    rest = tokens % divisor
    return divisor * blocks * (blocks - 1) // 2 + blocks * (rest + 1)


def causal_attention_operations(layers: Layers, heads: int, tokens: int) -> int:
    """Scores and weighted sums of a whole text: query m meets m + 1 keys, N(N + 1)/2 in all.

    Counting all N² scores is the usual slip; it is twice as much.
    """
    operations = 0
    for group in layers:
        if group.get("recurrent"):
            continue
        window = min(tokens, group.get("window", tokens))
        growing = window * (window + 1) // 2  # the first `window` queries
        full = (tokens - window) * window  # all later ones
        scores = growing + full
        if "compress" in group:
            scores += _sum_of_quotients(tokens, group["compress"])
        operations += group["count"] * scores * _operations_per_score(group, heads)
    return operations


def decode_step_seconds(
    gpu: Gpu,
    *,
    parameters: int,
    layers: Layers,
    heads: int,
    tokens: int,
    batch: int = 1,
    bytes_per_number: float = BFLOAT16_BYTES,
    dtype: str = "bfloat16",
) -> float:
    """The least time of one decoding step: each of `batch` sequences of `tokens` gets a token.

    `parameters` are those that are multiplied (`multiplied_parameters`). The step reads these
    weights once for all sequences and each sequence's own cache:
    (batch · cache + weights) / bandwidth, or the arithmetic, 2 operations per parameter and token
    and those of the attention, if that takes longer.
    """
    own_bytes = cache_bytes(layers, tokens, bytes_per_number=bytes_per_number)
    traffic_bytes = batch * own_bytes + weights_bytes(parameters, bytes_per_number)
    one_token = 2 * parameters + decode_attention_operations(layers, heads, tokens)
    return least_seconds(
        gpu, operations=batch * one_token, traffic_bytes=traffic_bytes, dtype=dtype
    )


def prefill_seconds(
    gpu: Gpu,
    *,
    parameters: int,
    layers: Layers,
    heads: int,
    tokens: int,
    bytes_per_number: float = BFLOAT16_BYTES,
    dtype: str = "bfloat16",
) -> float:
    """The least time to read a prompt of `tokens` at once and write its cache."""
    operations = 2 * parameters * tokens + causal_attention_operations(layers, heads, tokens)
    written_bytes = cache_bytes(layers, tokens, bytes_per_number=bytes_per_number)
    traffic_bytes = weights_bytes(parameters, bytes_per_number) + written_bytes
    return least_seconds(gpu, operations=operations, traffic_bytes=traffic_bytes, dtype=dtype)

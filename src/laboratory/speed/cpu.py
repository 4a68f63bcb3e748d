"""The library on a CPU: rotation against copying, attention against PyTorch's fused kernel."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import Any, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attention_to_rope import (
    KeyValueCache,
    MultiHeadAttention,
    rotary_frequencies,
    rotary_table,
    rotate,
    rotation_matrix,
)
from attention_to_rope.fast import rotate_eagerly
from attention_to_rope.rope import Layout
from bookkit.published_forms import as_complex, rotated_half, textbook
from bookkit.randomness import normal
from bookkit.records import Row
from laboratory.speed.measure import Candidate, compare, medians

FUSED = "PyTorch's fused kernel"
SHAPES = [(1, 4, length, 64) for length in (512, 1024, 2048, 4096)]  # of the textbook form


def form_rows(
    rounds: int, *, shape: tuple[int, ...] = (1, 32, 2048, 128), compiler: str = "inductor"
) -> list[Row]:
    """The same rotation in several forms, float32, against copying."""
    torch._dynamo.reset()
    x = normal(*shape, seed=0, dtype=torch.float32)
    positions = torch.arange(shape[2])
    frequencies = rotary_frequencies(shape[3])
    table = rotary_table(positions, frequencies)
    wide = [torch.cat((part, part), dim=-1) for part in table]
    matrices = rotation_matrix(positions, frequencies, layout="half").float()
    candidates: dict[str, Candidate] = {
        "clone": x.clone,
        "dense matrices": partial(torch.einsum, "bhnd,nde->bhne", x, matrices),
        "elementwise, as published": partial(rotated_half, x, *wide),
        "complex, as published": partial(as_complex, x, torch.complex(*table)),
    }
    for layout in get_args(Layout):
        rotation = torch.compile(partial(rotate, layout=layout), backend=compiler)
        candidates[f"compiled, ours, {layout}"] = partial(rotation, x, table)
    about = {"group": "forms", "shape": list(shape), "dtype": "float32", "pass": "forward"}
    return [row | about for row in compare(candidates, floor="clone", rounds=rounds)]


def textbook_rows(
    rounds: int,
    *,
    shapes: Sequence[tuple[int, ...]] = SHAPES,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Iterator[Row]:
    """The textbook form against PyTorch's fused kernel, the same pass and the same mask."""
    for shape in shapes:
        drawn = [normal(*shape, seed=seed, dtype=dtype).to(device) for seed in range(3)]
        for causal, backward in product((False, True), repeat=2):
            q, k, v = (x.requires_grad_(backward) for x in drawn)
            forms: dict[str, Candidate] = {
                FUSED: partial(scaled_dot_product_attention, q, k, v, is_causal=causal),
                "textbook": partial(textbook, q, k, v, causal),
            }
            if backward:
                forms = {name: partial(_gradients, form, drawn) for name, form in forms.items()}
            about: Row = {"group": "textbook", "shape": list(shape), "dtype": str(dtype)[6:]}
            about |= {"causal": causal, "pass": "forward and backward" if backward else "forward"}
            for row in compare(forms, floor=FUSED, device=device, rounds=rounds):
                yield row | about


def _gradients(form: Candidate, inputs: list[Tensor]) -> object:
    return torch.autograd.grad(form().sum(), inputs)


class PlainHeads(nn.Module):
    """A layer that decodes, as one writes it by hand: `nn.Linear` and PyTorch's fused kernel."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(d, d) for _ in range(4))

    def _heads(self, x: Tensor) -> Iterator[Tensor]:
        projected = self.query(x), self.key(x), self.value(x)
        return (y.view(*y.shape[:2], self.heads, -1).transpose(1, 2) for y in projected)

    def forward(self, x: Tensor) -> Any:
        """Causal attention of all tokens."""
        q, k, v = self._heads(x)
        y = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(y.transpose(1, 2).flatten(2))

    def extend(self, x: Tensor, cache: Any) -> tuple[Tensor, tuple[Tensor, Tensor, int]]:
        """Attention of one token to n others and to itself; the cache has room for all of them."""
        q, k, v = self._heads(x)
        keys, values, n = cache
        keys[:, :, n : n + 1] = k
        values[:, :, n : n + 1] = v
        y = scaled_dot_product_attention(q, keys[:, :, : n + 1], values[:, :, : n + 1])
        return self.output(y.transpose(1, 2).flatten(2)), (keys, values, n + 1)


def decode(layer: Any, cache: Any, tokens: Tensor) -> Tensor:
    """The outputs of a layer, token by token."""
    outputs = []
    for x in tokens.split(1, dim=1):
        output, cache = layer.extend(x, cache)
        outputs.append(output)
    return torch.cat(outputs, dim=1)


@torch.no_grad()
def call_rows(
    rounds: int, *, widths: tuple[int, ...] = (256, 512, 1024), length: int = 32
) -> list[Row]:
    """Calls in which Python counts: one token rotated, a layer that decodes, against plain code."""
    x = normal(1, 32, 1, 128, seed=0, dtype=torch.float32)
    table = rotary_table(torch.tensor([1]), rotary_frequencies(128))
    cos, sin = table

    def by_formula() -> Tensor:
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

    def as_one_product() -> Tensor:
        return as_complex(x, torch.complex(cos, sin))

    by_hand: dict[Layout, Candidate] = {"half": by_formula, "interleaved": as_one_product}
    rows = []
    for layout, plain in by_hand.items():
        candidates: dict[str, Candidate] = {
            "plain": plain,
            "rotate": partial(rotate, x, table, layout=layout),
            "rotate_eagerly": partial(rotate_eagerly, x, table, layout=layout),
        }
        rows += _timed(candidates, f"one token, {layout}", x.shape, rounds, repeats=100)
    for d in widths:
        tokens = normal(1, length, d, seed=0, dtype=torch.float32)
        heads = d // 64
        by_hand_layer = PlainHeads(d, heads)
        layer = MultiHeadAttention(d, heads, seed=0)
        keys, values = torch.empty(2, 1, heads, length, 64)  # room for all tokens
        empty = KeyValueCache(capacity=length)
        decoding: dict[str, Candidate] = {
            "plain": partial(decode, by_hand_layer, (keys, values, 0), tokens),
            "ours": partial(decode, layer, empty, tokens),
        }
        whole: dict[str, Candidate] = {
            "plain": partial(by_hand_layer, tokens),
            "ours": partial(layer, tokens, causal=True),
        }
        rows += _timed(decoding, "decode", tokens.shape, rounds, repeats=3)
        rows += _timed(whole, "whole text", tokens.shape, rounds, repeats=3)
    return rows


def _timed(
    candidates: dict[str, Candidate], group: str, shape: torch.Size, rounds: int, *, repeats: int
) -> list[Row]:
    """The rows of one group, in the processor time of this program alone, against "plain"."""
    about = {"group": group, "shape": list(shape), "threads": torch.get_num_threads()}
    rows = compare(
        candidates, floor="plain", rounds=rounds, repeats=repeats, clock=time.process_time
    )
    return [row | about for row in rows]


def calls_in_processes(rounds: int, *, runs: int = 7) -> Iterator[Row]:
    """The same on one thread, in processes whose memory lies elsewhere: medians of their ratios."""
    fresh: dict[str, Any] = {"mp_context": get_context("spawn"), "max_tasks_per_child": 1}
    with ProcessPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,), **fresh) as pool:
        yield from medians(list(pool.map(call_rows, [rounds] * runs)))

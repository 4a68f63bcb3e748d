"""One step of decoding with a cache: `MultiHeadAttention.extend` against a plain loop."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_to_rope import (
    KeyValueCache,
    MultiHeadAttention,
    Rotary,
    rotary_frequencies,
    rotate,
)
from attention_to_rope.heads import place
from attention_to_rope.rope import RotaryTable
from bookkit.experiments.speed.measure import Candidate, compare
from bookkit.experiments.speed.traffic import Traffic
from bookkit.randomness import normal

Row = dict[str, Any]
fused_attention = torch.nn.functional.scaled_dot_product_attention


class Step(NamedTuple):
    """Sizes of one step: a batch, heads and the positions that the cache holds already."""

    batch: int
    heads: int
    kv_heads: int
    held: int
    dim: int


STEP = Step(4, 8, 2, 2048, 64)
TOY = Step(2, 4, 2, 16, 8)


class PlainLoop:
    """What people write: room for the cache made once, each step writes one row and attends."""

    def __init__(self, layer: MultiHeadAttention, step: Step, keys: Tensor, values: Tensor) -> None:
        self.layer, self.step = layer, step
        self.keys, self.values = (
            torch.cat((x, torch.zeros_like(x[:, :, :1])), dim=2) for x in (keys, values)
        )

    def __call__(self, x: Tensor, table: RotaryTable) -> Tensor:
        """One token through the layer, as PyTorch would be written by hand."""
        layer, step = self.layer, self.step

        def heads(y: Tensor, count: int) -> Tensor:
            return y.view(step.batch, 1, count, step.dim).transpose(1, 2)

        q = rotate(heads(layer.query(x), step.heads), table, layout="half")
        self.keys[:, :, step.held :] = rotate(
            heads(layer.key(x), step.kv_heads), table, layout="half"
        )
        self.values[:, :, step.held :] = heads(layer.value(x), step.kv_heads)
        output = fused_attention(q, self.keys, self.values, enable_gqa=True)
        joined: Tensor = layer.output(output.transpose(1, 2).flatten(2))
        return joined


def candidates(step: Step, device: str = "cpu") -> dict[str, Callable[[], Tensor]]:
    """The plain loop and the library's step, from the same cache and the same token."""
    d = step.heads * step.dim
    layer = (
        MultiHeadAttention(d, step.heads, kv_heads=step.kv_heads, bias=False, seed=0)
        .to(device)
        .float()
    )
    x = normal(step.batch, 1, d, seed=1, dtype=torch.float32).to(device)
    shape = (step.batch, step.kv_heads, step.held, step.dim)
    keys, values = (normal(*shape, seed=s, dtype=torch.float32).to(device) for s in (2, 3))
    scheme = Rotary(rotary_frequencies(step.dim), layout="half")
    # A model builds the table once for all its layers.
    placed = place(
        scheme, torch.arange(step.held + 1, device=device), torch.float32, start=step.held
    )
    table = scheme.angles(placed.q_positions, torch.float32, length=step.held + 1)
    plain = PlainLoop(layer, step, keys, values)
    # One slot more than is held: the step writes there, as in a loop that knows its length.
    start = KeyValueCache(capacity=step.held + 1).append(keys, values)

    def ours() -> Tensor:
        cache = copy.copy(start)
        if cache.room is not None:  # or the second timing would find the slot taken
            cache.room.filled = step.held
        return layer.extend(x, cache, position=placed)[0]

    return {"plain loop, enable_gqa": partial(plain, x, table), "MultiHeadAttention.extend": ours}


def decode_rows(rounds: int, *, step: Step = STEP, device: str = "cpu") -> list[Row]:
    """One step of decoding with a cache: time, and bytes written, against a plain loop."""
    both = candidates(step, device)
    floor = "plain loop, enable_gqa"
    with torch.no_grad():
        timed: dict[str, Candidate] = dict(both)
        repeats = 20 if device == "cuda" else 5
        rows = compare(timed, floor=floor, device=device, rounds=rounds, repeats=repeats)
        written = {}
        for name, form in both.items():
            with Traffic() as moved:
                form()
            written[name] = moved.written
    about = {"group": "decode", "shape": list(step), "dtype": "float32", "seed": 0}
    for row in rows:
        row |= {
            "bytes_written": written[row["candidate"]],
            "bytes_ratio": round(written[row["candidate"]] / written[floor], 3),
        }
    return [row | about for row in rows]


def decode_rows_on_a_gpu(rounds: int) -> list[Row]:
    """One step of decoding with a cache on a GPU: time, and bytes written, to a plain loop."""
    return decode_rows(rounds, step=STEP._replace(batch=64), device="cuda")

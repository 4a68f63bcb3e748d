"""The library on a CPU: rotation against copying, attention against PyTorch's fused kernel."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import torch
from torch import Tensor

from attention_to_rope import (
    attention,
    rotary_frequencies,
    rotary_table,
    rotate,
    rotation_matrix,
)
from attention_to_rope.fast import blockwise_attention
from attention_to_rope.rope import Layout, RotaryTable
from bookkit.experiments.record import Row
from bookkit.experiments.speed.measure import Candidate, compare
from bookkit.experiments.speed.peers import as_complex, rotated_half
from bookkit.randomness import normal

FEW = 8  # positions: so few that the call is what is measured
fused_attention = torch.nn.functional.scaled_dot_product_attention
Shapes = tuple[tuple[int, int, int, int], ...]
SHAPES: Shapes = ((1, 32, 2048, 128), (4, 8, 512, 64))


def _repeats(x: Tensor) -> int:
    """Small tensors are turned several times in one timing, or the clock is what is measured."""
    return max(1, min(8, 2**23 // x.numel()))


def compiled_rotation(layout: Layout, backend: str = "inductor") -> Callable[..., Tensor]:
    """`rotate`, to be compiled at its first call: for every length, if that call has marked it."""

    def rotation(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return rotate(x, RotaryTable(cos, sin), layout=layout)

    return torch.compile(rotation, backend=backend)


def with_any_length(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, marked for the compiler: their last axis but one may have any length."""
    for tensor in tensors:
        torch._dynamo.mark_dynamic(tensor, tensor.ndim - 2)
    return tensors


def form_rows(rounds: int, *, shapes: Shapes = SHAPES, compiler: str = "inductor") -> list[Row]:
    """The same rotation in several forms, float32, against copying; compiled for any length."""
    rows = []
    for shape in shapes:
        torch._dynamo.reset()  # or the second shape makes symbols of heads and head dim as well
        x = normal(*shape, seed=0, dtype=torch.float32)
        positions, frequencies = torch.arange(shape[2]), rotary_frequencies(shape[3])
        table = rotary_table(positions, frequencies)
        wide = [torch.cat((part, part), dim=-1) for part in table]
        turn = torch.complex(*table)
        matrices = rotation_matrix(positions, frequencies, layout="half").float()
        candidates: dict[str, Candidate] = {
            "clone": x.clone,
            "dense matrices": partial(torch.einsum, "bhnd,nde->bhne", x, matrices),
            "elementwise, as published": partial(rotated_half, x, *wide),
            "elementwise, ours": partial(rotate, x, table, layout="half"),
            "complex, as published": partial(as_complex, x, turn),
            "complex, ours": partial(rotate, x, table, layout="interleaved"),
        }
        for layout in get_args(Layout):
            rotation = compiled_rotation(layout, compiler)
            arguments = with_any_length(x, *table)
            candidates[f"compiled, ours, {layout}"] = partial(rotation, *arguments)
            few = [part[..., :FEW, :].contiguous() for part in (x, *table)]
            candidates[f"compiled, ours, {layout}, {FEW} positions"] = partial(rotation, *few)
        measured = compare(candidates, floor="clone", rounds=rounds, repeats=_repeats(x))
        about = {"group": "forms", "shape": list(shape), "dtype": "float32", "pass": "forward"}
        rows += [row | about for row in measured]
    return rows


def attention_rows(rounds: int, *, heads: int = 8, longest: int = 8192, dim: int = 64) -> list[Row]:
    """Attention that holds all scores, and in blocks: time against PyTorch's fused kernel."""
    rounds = min(rounds, 5)  # the naive form takes seconds
    rows = []
    for length in (longest // 8, longest // 4, longest // 2, longest):
        shape = (1, heads, length, dim)
        q, k, v = (normal(*shape, seed=seed, dtype=torch.float32) for seed in range(3))
        fused: dict[str, Candidate] = {"PyTorch's fused kernel": partial(fused_attention, q, k, v)}
        blocks: dict[str, Candidate] = {
            "blockwise_attention": partial(blockwise_attention, q, k, v)
        }
        causal = partial(blockwise_attention, q, k, v, causal=True)
        # Apart from the others: gigabytes of scores push everything else out of the caches.
        naive: dict[str, Candidate] = {"naive attention": partial(attention, q, k, v)}
        measured = compare(fused | blocks, floor="PyTorch's fused kernel", rounds=rounds)
        measured += compare(
            blocks | {"blockwise_attention, causal": causal},
            floor="blockwise_attention",
            rounds=rounds,
        )[1:]
        measured += compare(fused | naive, floor="PyTorch's fused kernel", rounds=rounds)[1:]
        rows += [
            row | {"group": "attention", "shape": list(shape), "dtype": "float32"}
            for row in measured
        ]
    return rows


PARTS: list[Callable[[int], list[Row]]] = [form_rows, attention_rows]

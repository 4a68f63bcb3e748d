"""The library on a CPU: rotation against copying, attention against PyTorch's fused kernel."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import torch
from torch import Tensor

from attention_to_rope import rotary_frequencies, rotary_table, rotate, rotation_matrix
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
    """Attention in blocks of PyTorch operations: time against PyTorch's fused kernel."""
    rounds = min(rounds, 5)  # the longest form takes seconds
    rows = []
    for length in (longest // 8, longest // 4, longest // 2, longest):
        shape = (1, heads, length, dim)
        q, k, v = (normal(*shape, seed=seed, dtype=torch.float32) for seed in range(3))
        blocks: dict[str, Candidate] = {
            "PyTorch's fused kernel": partial(fused_attention, q, k, v),
            "blockwise_attention": partial(blockwise_attention, q, k, v),
            "blockwise_attention, causal": partial(blockwise_attention, q, k, v, causal=True),
        }
        about = {"group": "attention", "shape": list(shape), "dtype": "float32"}
        measured = compare(blocks, floor="PyTorch's fused kernel", rounds=rounds)
        rows += [row | about for row in measured]
    return rows


def textbook(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Attention as chapter 1 writes it: all scores, all weights, in operations of their own."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -torch.inf)
    output: Tensor = scores.softmax(-1) @ v
    return output


def textbook_rows(rounds: int, *, heads: int = 4, longest: int = 4096, dim: int = 64) -> list[Row]:
    """The textbook form against PyTorch's fused kernel, the same pass and the same mask."""
    rows = []
    for length in (longest // 8, longest // 4, longest // 2, longest):
        shape = (1, heads, length, dim)
        for causal, backward in ((False, False), (False, True), (True, False), (True, True)):
            q, k, v = (normal(*shape, seed=seed, dtype=torch.float32) for seed in range(3))
            inputs = [x.requires_grad_(backward) for x in (q, k, v)]
            forms: dict[str, Candidate] = {
                "PyTorch's fused kernel": partial(fused_attention, q, k, v, is_causal=causal),
                "textbook": partial(textbook, q, k, v, causal),
            }
            if backward:
                forms = {name: partial(_gradients, form, inputs) for name, form in forms.items()}
            about: Row = {"group": "textbook", "shape": list(shape), "dtype": "float32"}
            about |= {"causal": causal, "pass": "forward and backward" if backward else "forward"}
            measured = compare(forms, floor="PyTorch's fused kernel", rounds=rounds)
            rows += [row | about for row in measured]
    return rows


def _gradients(form: Candidate, inputs: list[Tensor]) -> object:
    return torch.autograd.grad(form().sum(), inputs)


PARTS: list[Callable[[int], list[Row]]] = [form_rows, attention_rows, textbook_rows]

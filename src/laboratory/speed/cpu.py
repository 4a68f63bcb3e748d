"""The library on a CPU: rotation against copying, attention against PyTorch's fused kernel."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import get_args

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_to_rope import (
    rotary_frequencies,
    rotary_table,
    rotate,
    rotation_matrix,
)
from attention_to_rope.rope import Layout
from bookkit.published_forms import as_complex, rotated_half, textbook
from bookkit.randomness import normal
from bookkit.records import Row
from laboratory.speed.measure import Candidate, compare

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

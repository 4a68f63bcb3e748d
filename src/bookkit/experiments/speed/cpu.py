"""The library on a CPU: rotation and attention, against floors and peers."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import get_args

import torch
from torch import Tensor

from attention_to_rope import (
    attention,
    blockwise_attention,
    rotary_frequencies,
    rotary_table,
    rotate,
    rotation_matrix,
)
from attention_to_rope.rope import Layout, RotaryTable
from bookkit.experiments.record import Row
from bookkit.experiments.speed.measure import Candidate, compare
from bookkit.experiments.speed.peers import PEERS, Rotation, as_complex, installed, rotated_half
from bookkit.randomness import normal

FEW = 8  # positions: so few that the call is what is measured
fused_attention = torch.nn.functional.scaled_dot_product_attention
Shapes = tuple[tuple[int, int, int, int], ...]
SHAPES: Shapes = ((1, 32, 2048, 128), (4, 8, 512, 64))


def _forward_and_backward(rotation: Rotation, x: Tensor, gradient: Tensor) -> Candidate:
    x = x.detach().requires_grad_()
    return lambda: torch.autograd.grad(rotation(x), x, gradient)


def _copies(x: Tensor, backward: bool) -> tuple[str, Candidate]:
    """The floor: what moving the same bytes costs, once for each direction."""
    if backward:
        return "clone, twice", lambda: (x.clone(), x.clone())
    return "clone", lambda: x.clone()


def _repeats(x: Tensor) -> int:
    """Small tensors are turned several times in one timing, or the clock is what is measured."""
    return max(1, min(8, 2**23 // x.numel()))


def _rotations(x: Tensor) -> dict[str, tuple[Tensor, Rotation]]:
    """Ours in both layouts and every peer that is there: name → (its x, its rotation)."""
    table = rotary_table(torch.arange(x.shape[2]), rotary_frequencies(x.shape[3]), dtype=x.dtype)
    found: dict[str, tuple[Tensor, Rotation]] = {
        f"ours, {layout}": (x, partial(rotate, table=table, layout=layout))
        for layout in get_args(Layout)
    }
    for name, (package, make) in PEERS.items():
        if installed(package) is not None:
            found[name] = make(x)
    return found


def rope_rows(rounds: int, *, shapes: Shapes = SHAPES) -> list[Row]:
    """RoPE eager, forward and backward, against copying and against other libraries."""
    rows = []
    for shape in shapes:
        for dtype in (torch.float32, torch.bfloat16):
            x = normal(*shape, seed=0, dtype=dtype)
            rotations = _rotations(x)
            for backward in (False, True):
                floor, copy = _copies(x, backward)
                candidates: dict[str, Candidate] = {floor: copy}
                for name, (own_x, rotation) in rotations.items():
                    candidates[name] = (
                        _forward_and_backward(rotation, own_x, torch.ones_like(own_x))
                        if backward
                        else partial(rotation, own_x)
                    )
                repeats = _repeats(x)
                for row in compare(candidates, floor=floor, rounds=rounds, repeats=repeats):
                    rows.append(
                        row
                        | {
                            "group": "rope",
                            "shape": list(shape),
                            "dtype": str(dtype).removeprefix("torch."),
                            "pass": "forward and backward" if backward else "forward",
                        }
                    )
    return rows


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


# Run in a process of its own: what one candidate leaves behind must not count for the next.
_PEAK = """
import sys
from pathlib import Path
import torch
from attention_to_rope import attention, blockwise_attention
from bookkit.randomness import normal

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

forms = {
    "naive attention": attention,
    "blockwise_attention": blockwise_attention,
    "PyTorch's fused kernel": torch.nn.functional.scaled_dot_product_attention,
}
form = forms[sys.argv[1]]
heads, length, dim = map(int, sys.argv[2:])
q, k, v = (normal(1, heads, length, dim, seed=seed, dtype=torch.float32) for seed in range(3))
with torch.no_grad():
    form(q[:, :, :64], k[:, :, :64], v[:, :, :64])  # what a first call loads is not counted
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before = status("VmRSS")
    form(q, k, v)
    print(status("VmHWM") - before)
"""


def peak_bytes(form: str, heads: int, length: int, dim: int) -> int:
    """How far resident memory rises above the inputs during one call, in a fresh process."""
    command = [sys.executable, "-c", _PEAK, form, str(heads), str(length), str(dim)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"measuring the memory of {form} failed:\n{done.stderr}")
    return int(done.stdout)


def memory_rows(rounds: int, *, heads: int = 8, length: int = 8192, dim: int = 64) -> list[Row]:
    """Block-wise attention: its memory against attention that holds all scores (Linux)."""
    forms = ("naive attention", "blockwise_attention", "PyTorch's fused kernel")
    used = {form: peak_bytes(form, heads, length, dim) for form in forms}
    rows = []
    for form in forms:
        ratio = round(used[form] / used["naive attention"], 5)
        rows.append(
            {
                "candidate": f"{form}, memory",
                "bytes": used[form],
                "ratio": ratio,
                "ratio_quartiles": [ratio, ratio],
                "floor": "naive attention, memory",
                "group": "attention memory",
                "shape": [1, heads, length, dim],
                "dtype": "float32",
            }
        )
    return rows


PARTS: list[Callable[[int], list[Row]]] = [rope_rows, form_rows, attention_rows]
if sys.platform == "linux":
    PARTS.append(memory_rows)

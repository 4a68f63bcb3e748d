"""RoPE of queries and keys on a GPU, against copying them."""

from typing import Any

import torch
from torch import Tensor

from attention_to_rope import blockwise_attention, rotary_frequencies, rotary_table, rotate
from attention_to_rope.fast.rope_triton import rotate_queries_and_keys
from attention_to_rope.rope import RotaryTable
from bookkit.experiments.speed.measure import compare

SHAPES = [(1, 8192), (8, 4096), (1, 131072)]
HEADS, KV_HEADS, DIM = 32, 8, 128


def rotated_half(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The form of most published code: the table is as wide as x and has its dtype."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def as_complex(x: Tensor, turn: Tensor) -> Tensor:
    """The form of Meta's Llama code: pairs as complex numbers in float32."""
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * turn).flatten(-2).to(x.dtype)


def exact(x: Tensor, positions: Tensor, layout: str) -> Tensor:
    """The rotation in float64, for the error."""
    table = rotary_table(positions, rotary_frequencies(DIM, device=x.device), dtype=torch.float64)
    return rotate(x.double(), table, layout=layout)  # type: ignore[arg-type]


def rope_rows(rounds: int = 15) -> list[dict[str, Any]]:
    """All shapes, both layouts, bfloat16 in and out."""
    rows = []
    published = torch.compile(rotated_half, dynamic=False)
    ours = torch.compile(
        lambda q, k, cos, sin: (
            rotate(q, RotaryTable(cos, sin), layout="half"),
            rotate(k, RotaryTable(cos, sin), layout="half"),
        ),
        dynamic=False,
    )
    for batch, length in SHAPES:
        generator = torch.Generator("cuda").manual_seed(0)
        q, k = (
            torch.randn(
                batch, heads, length, DIM, generator=generator, device="cuda", dtype=torch.bfloat16
            )
            for heads in (HEADS, KV_HEADS)
        )
        positions = torch.arange(length, device="cuda")
        table = rotary_table(positions, rotary_frequencies(DIM, device="cuda"))
        cos, sin = table
        wide = [torch.cat((part, part), -1).to(q.dtype) for part in table]
        turn = torch.complex(cos, sin)

        def both(form: Any, *arguments: Tensor, q: Tensor = q, k: Tensor = k) -> tuple[Any, Any]:
            return form(q, *arguments), form(k, *arguments)

        candidates = {
            "clone": lambda q=q, k=k: (q.clone(), k.clone()),
            "ours, fused, half": lambda q=q, k=k, t=table: rotate_queries_and_keys(
                q, k, t, layout="half"
            ),
            "ours, fused, interleaved": lambda q=q, k=k, t=table: rotate_queries_and_keys(
                q, k, t, layout="interleaved"
            ),
            "ours, compiled": lambda q=q, k=k, c=cos, s=sin: ours(q, k, c, s),
            "ours, eager": lambda q=q, k=k, t=table: (
                rotate(q, t, layout="half"),
                rotate(k, t, layout="half"),
            ),
            "published form, bf16 table, compiled": lambda w=wide, b=both: b(published, *w),
            "published form, bf16 table, eager": lambda w=wide, b=both: b(rotated_half, *w),
            "complex form, eager": lambda t=turn, b=both: b(as_complex, t),
        }
        repeats = 20 if length <= 8192 else 5
        measured = compare(candidates, floor="clone", device="cuda", rounds=rounds, repeats=repeats)
        # The last positions have the largest angles; one head is enough to see an error.
        tail = slice(-1024, None)
        for row in measured:
            row |= {"group": "rope", "shape": [batch, HEADS + KV_HEADS, length, DIM]}
            if row["candidate"] != "clone":
                layout = "half"
                if "interleaved" in row["candidate"] or "complex" in row["candidate"]:
                    layout = "interleaved"
                result = candidates[row["candidate"]]()[1][:1, :1, tail].double()
                truth = exact(k[:1, :1, tail], positions[tail], layout)
                # One rounding to bfloat16 moves a number by at most 2⁻⁹ of the pair's length.
                row["error"] = float(f"{float((result - truth).abs().max()):.3g}")
                row["one_rounding"] = float(
                    f"{float((truth.bfloat16().double() - truth).abs().max()):.3g}"
                )
            rows.append(row)
        del q, k, wide, turn, candidates
        torch.cuda.empty_cache()
    return rows


fused = torch.nn.functional.scaled_dot_product_attention


def attention_rows(rounds: int = 15) -> list[dict[str, Any]]:
    """Causal attention, 16 heads of 128: the library's against PyTorch's fused kernel."""
    rows = []
    for length in (2048, 8192, 32768):
        generator = torch.Generator("cuda").manual_seed(0)
        q, k, v = (
            torch.randn(
                1, 16, length, 128, generator=generator, device="cuda", dtype=torch.bfloat16
            )
            for _ in range(3)
        )
        candidates = {
            "PyTorch's fused kernel": lambda q=q, k=k, v=v: fused(q, k, v, is_causal=True),
            "blockwise_attention": lambda q=q, k=k, v=v: blockwise_attention(q, k, v, causal=True),
        }
        measured = compare(
            candidates, floor="PyTorch's fused kernel", device="cuda", rounds=rounds, repeats=5
        )
        rows += [row | {"group": "attention", "shape": [1, 16, length, 128]} for row in measured]
    return rows

"""RoPE of queries and keys in one pass over GPU memory, written in Triton. Optional: CUDA only.

A rotation does almost no arithmetic, so its time is the time of moving bytes. Eager PyTorch moves
q and k several times; a compiler moves them once, but reads the table from memory again for every
head. Here an entry of the table comes from memory once: it turns the same position of all heads
while it is in registers or still in the cache.

`rotate_queries_and_keys` falls back to `rotate` where Triton or a GPU is missing, and where a
gradient is wanted.
"""

import os
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_to_rope.checks import check_choice, check_same_kind
from attention_to_rope.rope import Layout, RotaryTable, rotate
from attention_to_rope.rope_checks import LAYOUTS

try:
    import triton
    import triton.language as tl  # pragma: no cover - where Triton is, tests/peers runs the kernel
except ImportError:  # no GPU build of torch, or no Triton for this machine
    triton = None


class Tile(NamedTuple):
    """How the work is cut: each program turns `heads` heads of `rows` positions with one table.

    Programs start in this order: the rows of a stretch, then the next heads over the same stretch,
    then the next stretch. So memory is read and written in long runs, and the stretch's part of
    the table is still in the cache when the next heads ask for it.
    """

    rows: int
    heads: int
    stretch: int
    warps: int


# The best worst case of benchmarks/tune_gpu.py on an H200.
_TILE = Tile(rows=8, heads=2, stretch=4096, warps=4)

# No line of a kernel runs as Python, and without Triton none exists: tests/peers has Triton's
# interpreter run them, so they are left out of the count of tested lines.
if triton is not None:  # pragma: no cover

    @triton.jit  # type: ignore[untyped-decorator]
    def _turn(  # type: ignore[no-untyped-def]
        source,
        target,
        cos,
        sin,
        rows,
        length,
        head_step,
        row_step,
        out_head_step,
        start_head,
        heads,
        n: tl.constexpr,
        per_program: tl.constexpr,
        pairs: tl.constexpr,
        half: tl.constexpr,
    ):
        """Turn some heads of one sequence at `rows`; cos and sin stay in registers."""
        for number in range(per_program):
            head = start_head + number
            kept = rows < tl.where(head < heads, length, 0)
            start = source + head * head_step + rows * row_step
            out = target + head * out_head_step + rows * (2 * pairs)
            if half:
                pair = tl.arange(0, pairs)[None, :]
                first = tl.load(start + pair, mask=kept)
                second = tl.load(start + pairs + pair, mask=kept)
                a, b = first.to(tl.float32), second.to(tl.float32)
                turned_a = (a * cos - b * sin).to(first.dtype)
                turned_b = (a * sin + b * cos).to(first.dtype)
                tl.store(out + pair, turned_a, mask=kept)
                tl.store(out + pairs + pair, turned_b, mask=kept)
            else:
                column = tl.arange(0, 2 * pairs)[None, :]
                both = tl.load(start + column, mask=kept)
                first, second = tl.split(tl.reshape(both, (n, pairs, 2)))
                a, b = first.to(tl.float32), second.to(tl.float32)
                turned = tl.join(a * cos - b * sin, a * sin + b * cos).to(both.dtype)
                tl.store(out + column, tl.reshape(turned, (n, 2 * pairs)), mask=kept)

    @triton.jit  # type: ignore[untyped-decorator]
    def _kernel(  # type: ignore[no-untyped-def]
        q,
        k,
        q_out,
        k_out,
        cos_table,
        sin_table,
        length: tl.int64,
        q_batch,
        q_head,
        q_row,
        k_batch,
        k_head,
        k_row,
        q_heads,
        k_heads,
        n: tl.constexpr,
        per_program: tl.constexpr,
        pairs: tl.constexpr,
        half: tl.constexpr,
    ):
        tile = tl.program_id(2) * tl.num_programs(0) + tl.program_id(0)
        rows = (tile.to(tl.int64) * n + tl.arange(0, n))[:, None]
        q_groups = tl.cdiv(q_heads, per_program)
        groups = q_groups + tl.cdiv(k_heads, per_program)
        batch = (tl.program_id(1) // groups).to(tl.int64)
        own = (tl.program_id(1) % groups).to(tl.int64)
        keep = rows < length
        entry = rows * pairs + tl.arange(0, pairs)[None, :]
        cos = tl.load(cos_table + entry, mask=keep)
        sin = tl.load(sin_table + entry, mask=keep)
        size = length * 2 * pairs
        if own < q_groups:
            _turn(
                q + batch * q_batch, q_out + batch * q_heads * size, cos, sin, rows, length,
                q_head, q_row, size, own * per_program, q_heads,
                n, per_program, pairs, half,
            )  # fmt: skip
        else:
            _turn(
                k + batch * k_batch, k_out + batch * k_heads * size, cos, sin, rows, length,
                k_head, k_row, size, (own - q_groups) * per_program, k_heads,
                n, per_program, pairs, half,
            )  # fmt: skip


def is_available(x: Tensor) -> bool:
    """Whether the kernel can run on this tensor: on a GPU with Triton, or in its interpreter."""
    return triton is not None and (x.is_cuda or os.environ.get("TRITON_INTERPRET") == "1")


def rotate_queries_and_keys(
    q: Tensor, k: Tensor, table: RotaryTable, *, layout: Layout
) -> tuple[Tensor, Tensor]:
    """Turn q (B, H, N, d) and k (B, H_kv, N, d) by their positions; equal to two calls of `rotate`.

    The kernel takes a table (N, d/2) in float32 and a d that is a power of two; anything else, and
    a gradient, goes to `rotate`.
    """
    check_choice("layout", layout, LAYOUTS)
    check_same_kind("q", q, "k", k)
    cos, sin = table
    fits = (
        is_available(q)
        and not (torch.is_grad_enabled() and (q.requires_grad or k.requires_grad))
        and q.ndim == k.ndim == 4
        and q.shape[0] == k.shape[0]
        and q.shape[2:] == k.shape[2:] == (cos.shape[0], 2 * cos.shape[-1])
        and cos.ndim == 2
        and cos.dtype == torch.float32
        and q.dtype != torch.float64
        and q.shape[-1] & (q.shape[-1] - 1) == 0
        and q.stride(-1) == k.stride(-1) == 1
    )
    if not fits:
        return rotate(q, table, layout=layout), rotate(k, table, layout=layout)
    return _launch(q, k, cos.contiguous(), sin.contiguous(), layout)  # pragma: no cover


def _launch(  # pragma: no cover - see the kernels
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, layout: Layout
) -> tuple[Tensor, Tensor]:
    batches, q_heads, length, width = q.shape
    q_out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    k_out = torch.empty(k.shape, dtype=k.dtype, device=k.device)
    tiles = triton.cdiv(length, _TILE.rows)
    in_stretch = min(tiles, max(1, _TILE.stretch // _TILE.rows))
    groups = triton.cdiv(q_heads, _TILE.heads) + triton.cdiv(k.shape[1], _TILE.heads)
    grid = (in_stretch, batches * groups, triton.cdiv(tiles, in_stretch))
    kernel: Any = _kernel
    kernel[grid](
        q, k, q_out, k_out, cos, sin, length,
        *q.stride()[:3], *k.stride()[:3], q_heads, k.shape[1],
        n=_TILE.rows, per_program=_TILE.heads, pairs=width // 2, half=layout == "half",
        num_warps=_TILE.warps,
    )  # fmt: skip
    return q_out, k_out

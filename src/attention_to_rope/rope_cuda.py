"""RoPE of queries and keys in one pass over GPU memory, written in Triton. Optional: CUDA only.

A rotation does almost no arithmetic, so its time is the time of moving bytes. Eager PyTorch moves
q and k several times; a compiler moves them once, but reads the table again for every head. This
kernel reads each entry of the table once, keeps it in registers, and turns all heads with it.

`rotate_queries_and_keys` falls back to `rotate` where Triton or a GPU is missing, and where a
gradient is wanted.
"""

import os
from typing import Any

import torch
from torch import Tensor

from attention_to_rope._checks import check_choice, check_same_kind
from attention_to_rope.rope import LAYOUTS, Layout, RotaryTable, rotate

try:
    import triton
    import triton.language as tl  # pragma: no cover - where Triton is, tests/peers runs the kernel
except ImportError:  # no GPU build of torch, or no Triton for this machine
    triton = None

# A program turns this many positions, this many heads at a time: enough bytes under way to keep the
# memory busy, few enough positions that even 8192 of them occupy every multiprocessor.
_ROWS = 8
_HEADS = 2
_WARPS = 8

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
        keep,
        head_step,
        row_step,
        out_head_step,
        heads,
        n: tl.constexpr,
        group: tl.constexpr,
        pairs: tl.constexpr,
        half: tl.constexpr,
    ):
        """Turn all heads of one sequence at `rows`; cos and sin stay in registers."""
        for first_head in range(0, heads, group):
            head = first_head + tl.arange(0, group)[:, None, None]
            kept = keep & (head < heads)
            start = source + head * head_step + rows * row_step
            out = target + head * out_head_step + rows * (2 * pairs)
            # Every number is read once and written once: none deserves a place in the cache.
            if half:
                pair = tl.arange(0, pairs)[None, None, :]
                first = tl.load(start + pair, mask=kept, eviction_policy="evict_first")
                second = tl.load(start + pairs + pair, mask=kept, eviction_policy="evict_first")
                a, b = first.to(tl.float32), second.to(tl.float32)
                turned_a = (a * cos - b * sin).to(first.dtype)
                turned_b = (a * sin + b * cos).to(first.dtype)
                tl.store(out + pair, turned_a, mask=kept, eviction_policy="evict_first")
                tl.store(out + pairs + pair, turned_b, mask=kept, eviction_policy="evict_first")
            else:
                column = tl.arange(0, 2 * pairs)[None, None, :]
                both = tl.load(start + column, mask=kept, eviction_policy="evict_first")
                first, second = tl.split(tl.reshape(both, (group, n, pairs, 2)))
                a, b = first.to(tl.float32), second.to(tl.float32)
                turned = tl.join(a * cos - b * sin, a * sin + b * cos).to(both.dtype)
                turned = tl.reshape(turned, (group, n, 2 * pairs))
                tl.store(out + column, turned, mask=kept, eviction_policy="evict_first")

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
        group: tl.constexpr,
        pairs: tl.constexpr,
        half: tl.constexpr,
    ):
        rows = (tl.program_id(0) * n + tl.arange(0, n)).to(tl.int64)[None, :, None]
        batch = tl.program_id(1).to(tl.int64)
        keep = rows < length
        entry = rows * pairs + tl.arange(0, pairs)[None, None, :]
        cos = tl.load(cos_table + entry, mask=keep)
        sin = tl.load(sin_table + entry, mask=keep)
        size = length * 2 * pairs
        _turn(
            q + batch * q_batch, q_out + batch * q_heads * size, cos, sin, rows, keep,
            q_head, q_row, size, q_heads, n, group, pairs, half,
        )  # fmt: skip
        _turn(
            k + batch * k_batch, k_out + batch * k_heads * size, cos, sin, rows, keep,
            k_head, k_row, size, k_heads, n, group, pairs, half,
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
    grid = (triton.cdiv(length, _ROWS), batches)
    kernel: Any = _kernel
    kernel[grid](
        q, k, q_out, k_out, cos, sin, length,
        *q.stride()[:3], *k.stride()[:3], q_heads, k.shape[1],
        n=_ROWS, group=_HEADS, pairs=width // 2, half=layout == "half", num_warps=_WARPS,
    )  # fmt: skip
    return q_out, k_out

"""Attention as a GPU kernel, to read: the online softmax of `merge` in Triton. Forward only.

One program takes a block of queries of one head and walks over the keys, block by block. Scores,
powers and the running state live in registers; memory sees q, k, v once and the output once.
The book reads it line by line. To use attention, take `blockwise_attention`.
"""

from typing import Any

import torch
from torch import Tensor

from attention_to_rope.fast.rope_kernel import is_available

try:
    import triton
    import triton.language as tl  # pragma: no cover - where Triton is, tests/peers runs the kernel
except ImportError:  # no GPU build of torch, or no Triton for this machine
    triton = None

BLOCK = 64  # queries and keys at a time

if triton is not None:  # pragma: no cover - no line of a kernel runs as Python

    @triton.jit
    def _attend(q, k, v, out, N, scale, causal: tl.constexpr, d: tl.constexpr, b: tl.constexpr):
        head = tl.program_id(1).to(tl.int64) * N * d  # where this head's numbers begin
        rows = tl.program_id(0) * b + tl.arange(0, b)  # the positions of my queries
        columns = tl.arange(0, d)[None, :]
        mine = head + rows[:, None] * d + columns  # their addresses in memory, (b, d)
        inside = rows[:, None] < N  # the last block may hang over the end
        query = tl.load(q + mine, mask=inside, other=0.0)

        largest = tl.full((b,), float("-inf"), tl.float32)  # c: nothing seen yet
        total = tl.zeros((b,), tl.float32)  # ℓ
        output = tl.zeros((b, d), tl.float32)  # u

        # Under a causal mask nobody here sees a key behind the last of my queries.
        end = tl.minimum(N, (tl.program_id(0) + 1) * b) if causal else N
        for start in range(0, end, b):
            keys = start + tl.arange(0, b)  # the positions of this block's keys
            theirs = head + keys[:, None] * d + columns
            there = keys[:, None] < N
            key = tl.load(k + theirs, mask=there, other=0.0)
            value = tl.load(v + theirs, mask=there, other=0.0)

            # (b, b) scores, in float32, in registers
            scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
            seen = keys[None, :] < N
            if causal:
                seen = seen & (keys[None, :] <= rows[:, None])
            scores = tl.where(seen, scores, float("-inf"))

            # merge: the new largest score, and what was summed so far moved to it
            new = tl.maximum(largest, tl.max(scores, 1))
            correction = tl.exp(largest - new)
            powers = tl.exp(scores - new[:, None])
            total = correction * total + tl.sum(powers, 1)
            block = tl.dot(powers.to(value.dtype), value, input_precision="ieee")
            output = correction[:, None] * output + block
            largest = new

        # finish: divide once; every query saw at least one key
        tl.store(out + mine, (output / total[:, None]).to(out.dtype.element_ty), mask=inside)


def triton_attention(q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False) -> Tensor:
    """Attention of (B, H, N, d) tensors by the kernel above; d a power of two from 16 on."""
    if not is_available(q):
        raise RuntimeError(
            "the kernel needs a GPU and Triton, or Triton's interpreter: TRITON_INTERPRET=1 in the "
            "environment when the kernel is imported"
        )
    if q.ndim != 4 or not q.shape == k.shape == v.shape:
        raise ValueError(
            "q, k and v must have one shape (B, H, N, d), got "
            f"{tuple(q.shape)}, {tuple(k.shape)} and {tuple(v.shape)}"
        )
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        raise ValueError(
            "the kernel has no backward, and its output would have no gradient: call it under "
            "torch.no_grad(), or take blockwise_attention"
        )
    d = q.shape[-1]
    if d < 16 or d & (d - 1):
        raise ValueError(f"d must be a power of two, at least 16, got {d}")
    return launch(q.contiguous(), k.contiguous(), v.contiguous(), causal)


def launch(  # pragma: no cover - see the kernel
    q: Tensor, k: Tensor, v: Tensor, causal: bool
) -> Tensor:
    """Run the kernel on arguments that fit it."""
    B, H, N, d = q.shape
    out = torch.empty_like(q)
    kernel: Any = _attend
    grid = (triton.cdiv(N, BLOCK), B * H)  # blocks of queries, heads of all sequences
    kernel[grid](q, k, v, out, N=N, scale=d**-0.5, causal=causal, d=d, b=BLOCK)
    return out

"""RoPE of queries and keys in one pass over GPU memory, written in Triton. Optional: CUDA only.

A rotation does almost no arithmetic, so its time is the time of moving bytes. Eager PyTorch moves
q and k several times; a compiler moves them once, but reads the table from memory again for every
head. Here an entry of the table comes from memory once: it turns the same position of all heads
while it is in registers or still in the cache. The gradient is the rotation back: the same kernel.

`rotate_queries_and_keys` falls back to `rotate` where Triton or a GPU is missing, in float64, where
a gradient of the table is wanted, and inside a compiler.
"""

import os
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attention_to_rope.rope import Layout, RotaryTable, rotate

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


# The best worst case of bookkit.experiments.speed.tune_gpu on an H200: where a head's positions are
# neighbours in memory, (B, H, N, d); where a position's heads are, (B, N, H, d), and where their
# pairs do not fill the lanes of a program; and for a single position, a step of decoding.
TILES = {
    "positions": Tile(rows=8, heads=2, stretch=4096, warps=4),
    "heads": Tile(rows=32, heads=1, stretch=512, warps=8),
    "padded heads": Tile(rows=64, heads=1, stretch=512, warps=4),
    "one position": Tile(rows=1, heads=2, stretch=512, warps=1),
}


# No line of a kernel runs as Python, and without Triton none exists: tests/peers has Triton's
# interpreter run them, so they are left out of the count of tested lines.
if triton is not None:  # pragma: no cover

    @triton.jit
    def _turn(
        source,
        target,
        cos,
        sin,
        rows,
        length,
        head_step,
        row_step,
        out_head_step,
        out_row_step,
        start_head,
        heads,
        n: tl.constexpr,
        per_program: tl.constexpr,
        pairs: tl.constexpr,
        padded: tl.constexpr,
        rest: tl.constexpr,
        padded_rest: tl.constexpr,
        half: tl.constexpr,
    ):
        """Turn some heads of one sequence at `rows`; cos and sin stay in registers."""
        for number in range(per_program):
            head = start_head + number
            kept = rows < tl.where(head < heads, length, 0)
            start = source + head * head_step + rows * row_step
            out = target + head * out_head_step + rows * out_row_step
            if half:
                pair = tl.arange(0, padded)[None, :]
                inside = kept & (pair < pairs)
                first = tl.load(start + pair, mask=inside)
                second = tl.load(start + pairs + pair, mask=inside)
                a, b = first.to(tl.float32), second.to(tl.float32)
                tl.store(out + pair, (a * cos - b * sin).to(first.dtype), mask=inside)
                tl.store(out + pairs + pair, (a * sin + b * cos).to(first.dtype), mask=inside)
            else:
                column = tl.arange(0, 2 * padded)[None, :]
                inside = kept & (column < 2 * pairs)
                both = tl.load(start + column, mask=inside)
                first, second = tl.split(tl.reshape(both, (n, padded, 2)))
                a, b = first.to(tl.float32), second.to(tl.float32)
                turned = tl.join(a * cos - b * sin, a * sin + b * cos).to(both.dtype)
                tl.store(out + column, tl.reshape(turned, (n, 2 * padded)), mask=inside)
            if rest > 0:  # what is not turned is copied
                column = tl.arange(0, padded_rest)[None, :]
                inside = kept & (column < rest)
                behind = tl.load(start + 2 * pairs + column, mask=inside)
                tl.store(out + 2 * pairs + column, behind, mask=inside)

    @triton.jit
    def _kernel(
        q,
        k,
        q_out,
        k_out,
        cos_table,
        sin_table,
        length,
        q_batch,
        q_head,
        q_row,
        k_batch,
        k_head,
        k_row,
        q_out_batch,
        q_out_head,
        q_out_row,
        k_out_batch,
        k_out_head,
        k_out_row,
        table_batch,
        q_heads,
        k_heads,
        batches,
        in_stretch,
        n: tl.constexpr,
        per_program: tl.constexpr,
        pairs: tl.constexpr,
        padded: tl.constexpr,
        rest: tl.constexpr,
        padded_rest: tl.constexpr,
        half: tl.constexpr,
        back: tl.constexpr,
    ):
        # One long axis of programs: the others of a GPU's grid end at 65,535.
        program = tl.program_id(0)
        q_groups = tl.cdiv(q_heads, per_program)
        groups = q_groups + tl.cdiv(k_heads, per_program)
        outer = program // in_stretch
        own = (outer % groups).to(tl.int64)
        batch = (outer // groups % batches).to(tl.int64)
        tile = outer // groups // batches * in_stretch + program % in_stretch
        rows = (tile.to(tl.int64) * n + tl.arange(0, n))[:, None]
        pair = tl.arange(0, padded)[None, :]
        entry = batch * table_batch + rows * pairs + pair
        keep = (rows < length) & (pair < pairs)
        cos = tl.load(cos_table + entry, mask=keep)
        sin = tl.load(sin_table + entry, mask=keep)
        if back:
            sin = -sin
        if own < q_groups:
            _turn(
                q + batch * q_batch, q_out + batch * q_out_batch, cos, sin, rows, length,
                q_head, q_row, q_out_head, q_out_row, own * per_program, q_heads,
                n, per_program, pairs, padded, rest, padded_rest, half,
            )  # fmt: skip
        else:
            _turn(
                k + batch * k_batch, k_out + batch * k_out_batch, cos, sin, rows, length,
                k_head, k_row, k_out_head, k_out_row, (own - q_groups) * per_program, k_heads,
                n, per_program, pairs, padded, rest, padded_rest, half,
            )  # fmt: skip


def is_available(x: Tensor) -> bool:
    """Whether the kernel can run on this tensor: on a GPU with Triton, or in its interpreter."""
    return triton is not None and (x.is_cuda or os.environ.get("TRITON_INTERPRET") == "1")


def rotate_queries_and_keys(
    q: Float[Tensor, "b h n d"],
    k: Float[Tensor, "b g n d"],
    table: RotaryTable,
    *,
    layout: Layout,
    rotary_dim: int | None = None,
) -> tuple[Float[Tensor, "b h n d"], Float[Tensor, "b g n d"]]:
    """Rotate queries and keys by their positions; equal to two calls of `rotate`.

    The table is (N, d/2) or, with its own positions for each sequence, (B, N, d/2); `rotary_dim`
    as in `rotate`. q and k may be views, as a projection leaves them: (B, N, H, d) transposed.
    The results have the order in memory of q and k. Gradients of any order are rotations too.
    """
    if not _fits(q, k, table, layout, rotary_dim):
        return (
            rotate(q, table, layout=layout, rotary_dim=rotary_dim),
            rotate(k, table, layout=layout, rotary_dim=rotary_dim),
        )
    cos, sin = (part.contiguous() for part in table)
    turned: tuple[Tensor, Tensor] = _Rotate.apply(q, k, cos, sin, layout, False)
    return turned


def _fits(q: Tensor, k: Tensor, table: RotaryTable, layout: str, rotary_dim: int | None) -> bool:
    """Whether the kernel takes these arguments; the others, and all that are wrong, do not."""
    cos, sin = table
    return (
        is_available(q)
        and not torch.compiler.is_compiling()
        and layout in ("half", "interleaved")
        and q.ndim == k.ndim == 4
        and q.shape[0] == k.shape[0]
        and q.shape[2:] == k.shape[2:]
        and q.dtype == k.dtype != torch.float64
        and cos.shape == sin.shape
        and cos.shape in ((q.shape[2], cos.shape[-1]), (q.shape[0], q.shape[2], cos.shape[-1]))
        and 2 * cos.shape[-1] == (q.shape[-1] if rotary_dim is None else rotary_dim)
        and 0 < 2 * cos.shape[-1] <= q.shape[-1]
        and cos.dtype == sin.dtype == torch.float32
        and cos.device == sin.device == q.device
        and not (cos.requires_grad or sin.requires_grad)
    )


class _Rotate(torch.autograd.Function):
    """The kernel, with the rotation back as its gradient: nothing of q and k is kept."""

    @staticmethod
    def forward(
        q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, layout: Layout, back: bool
    ) -> tuple[Tensor, Tensor]:
        return launch(q, k, cos, sin, layout, back)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        _, _, cos, sin, ctx.layout, ctx.back = inputs
        ctx.save_for_backward(cos, sin)

    @staticmethod
    def backward(ctx: Any, grad_q: Tensor, grad_k: Tensor) -> tuple[Tensor | None, ...]:
        cos, sin = ctx.saved_tensors
        turned: tuple[Tensor, Tensor] = _Rotate.apply(
            grad_q, grad_k, cos, sin, ctx.layout, not ctx.back
        )
        return (*turned, None, None, None, None)


def tile_for(q: Tensor, pairs: int) -> str:
    """Which of `TILES` suits the order of q (B, H, N, d) in memory and its pairs."""
    if q.shape[2] == 1:
        return "one position"
    if q.stride(1) >= q.stride(2):
        return "positions"
    return "padded heads" if pairs & (pairs - 1) else "heads"


def fitted_tile(q: Tensor, pairs: int) -> Tile:
    """The tile for q; no more rows than there are positions."""
    tile = TILES[tile_for(q, pairs)]
    return tile._replace(rows=min(tile.rows, 1 << (q.shape[2] - 1).bit_length()))


def tiles_in_stretch(length: int, tile: Tile) -> int:
    """How many tiles make a stretch: at most the tile's, and alike, so that hardly one is empty."""
    tiles = -(-length // tile.rows)
    stretches = -(-tiles // max(1, tile.stretch // tile.rows))
    return -(-tiles // stretches)


def launch(  # pragma: no cover - see the kernels
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, layout: Layout, back: bool
) -> tuple[Tensor, Tensor]:
    """Run the kernel on arguments that fit it: q and k turned, or turned back."""
    q, k = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k))
    q_out, k_out = torch.empty_like(q), torch.empty_like(k)  # the order in memory of q and k
    (batches, q_heads, length, width), k_heads, pairs = q.shape, k.shape[1], cos.shape[-1]
    tile = fitted_tile(q, pairs)
    tiles = triton.cdiv(length, tile.rows)
    in_stretch = tiles_in_stretch(length, tile)
    groups = triton.cdiv(q_heads, tile.heads) + triton.cdiv(k_heads, tile.heads)
    kernel: Any = _kernel
    kernel[(in_stretch * groups * batches * triton.cdiv(tiles, in_stretch),)](
        q, k, q_out, k_out, cos, sin, length,
        *q.stride()[:3], *k.stride()[:3], *q_out.stride()[:3], *k_out.stride()[:3],
        cos.stride(0) if cos.ndim == 3 else 0, q_heads, k_heads, batches, in_stretch,
        n=tile.rows, per_program=tile.heads, pairs=pairs, padded=triton.next_power_of_2(pairs),
        rest=width - 2 * pairs, padded_rest=triton.next_power_of_2(max(width - 2 * pairs, 1)),
        half=layout == "half", back=back, num_warps=tile.warps,
    )  # fmt: skip
    return q_out, k_out

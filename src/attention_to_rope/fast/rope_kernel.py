"""The Triton kernel of `rope_triton`: how the work is cut, the programs, and their arguments.

A rotation does almost no arithmetic, so its time is the time of moving bytes. Eager PyTorch moves
q and k several times; a compiler moves them once, but reads the table from memory again for every
head. Here an entry of the table comes from memory once: it rotates the same position of all heads
while it is in registers or still in the cache.
"""

import os
from typing import NamedTuple

from torch import Tensor

try:
    import triton
    import triton.language as tl  # pragma: no cover - where Triton is, tests/peers runs the kernel
except ImportError:  # no GPU build of torch, or no Triton for this machine
    triton = None

# Triton reads this where a kernel is defined; what the variable says later changes no kernel.
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def is_available(x: Tensor) -> bool:
    """Whether the kernel can run on this tensor: on a GPU with Triton, or in its interpreter."""
    return triton is not None and (x.is_cuda or INTERPRETED)


class Tile(NamedTuple):
    """How the work is cut: each program rotates `heads` heads of `rows` positions with one table.

    Programs start in this order: the rows of a stretch, then the next heads over the same stretch,
    then the next stretch. So memory is read and written in long runs, and the stretch's part of
    the table is still in the cache when the next heads ask for it.
    """

    rows: int
    heads: int
    stretch: int
    warps: int


class Sizes(NamedTuple):
    """The arguments of the kernel behind its tensors, by their names and in their order there."""

    q_length: int
    k_length: int
    q_batch: int
    q_head: int
    q_row: int
    k_batch: int
    k_head: int
    k_row: int
    q_out_batch: int
    q_out_head: int
    q_out_row: int
    k_out_batch: int
    k_out_head: int
    k_out_row: int
    table_batch: int
    table_row: int
    q_heads: int
    k_heads: int
    batches: int
    in_stretch: int
    n: int
    per_program: int
    pairs: int
    padded: int
    rest: int
    padded_rest: int
    half: bool
    back: bool


# The best worst case of a search over tiles on an H200, which the book shows in part:
# where a head's positions are neighbours in memory, (B, H, N, d); where a position's heads
# are, (B, N, H, d), and where their pairs do not fill a program; for decoding, by heads as rows.
TILES = {
    "positions": Tile(rows=8, heads=2, stretch=4096, warps=4),
    "heads": Tile(rows=32, heads=1, stretch=512, warps=8),
    "padded heads": Tile(rows=64, heads=1, stretch=512, warps=4),
    "one position": Tile(rows=32, heads=1, stretch=512, warps=8),
}


# No line of a kernel runs as Python, and without Triton none exists: tests/peers has Triton's
# interpreter run them, so they are left out of the count of tested lines.
if triton is not None:  # pragma: no cover

    @triton.jit
    def _rotate_heads(
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
        """Rotate some heads of one sequence at `rows`; cos and sin stay in registers."""
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
                a = first.to(tl.float32)
                b = second.to(tl.float32)
                tl.store(out + pair, (a * cos - b * sin).to(first.dtype), mask=inside)
                tl.store(out + pairs + pair, (a * sin + b * cos).to(first.dtype), mask=inside)
            else:
                column = tl.arange(0, 2 * padded)[None, :]
                inside = kept & (column < 2 * pairs)
                both = tl.load(start + column, mask=inside)
                first, second = tl.split(tl.reshape(both, (n, padded, 2)))
                a = first.to(tl.float32)
                b = second.to(tl.float32)
                rotated = tl.join(a * cos - b * sin, a * sin + b * cos).to(both.dtype)
                tl.store(out + column, tl.reshape(rotated, (n, 2 * padded)), mask=inside)
            if rest > 0:  # what is not rotated is copied
                column = tl.arange(0, padded_rest)[None, :]
                inside = kept & (column < rest)
                behind = tl.load(start + 2 * pairs + column, mask=inside)
                tl.store(out + 2 * pairs + column, behind, mask=inside)

    @triton.jit
    def kernel(
        q,
        k,
        q_out,
        k_out,
        cos_table,
        sin_table,
        q_length,
        k_length,
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
        table_row,
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
        """Rotate some heads of queries or of keys, at the rows of one tile of one sequence."""
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
        entry = batch * table_batch + rows * table_row + pair
        keep = (rows < tl.maximum(q_length, k_length)) & (pair < pairs)
        cos = tl.load(cos_table + entry, mask=keep)
        sin = tl.load(sin_table + entry, mask=keep)
        if back:
            sin = -sin
        if own < q_groups:
            _rotate_heads(
                source=q + batch * q_batch,
                target=q_out + batch * q_out_batch,
                cos=cos,
                sin=sin,
                rows=rows,
                length=q_length,
                head_step=q_head,
                row_step=q_row,
                out_head_step=q_out_head,
                out_row_step=q_out_row,
                start_head=own * per_program,
                heads=q_heads,
                n=n,
                per_program=per_program,
                pairs=pairs,
                padded=padded,
                rest=rest,
                padded_rest=padded_rest,
                half=half,
            )
        else:
            _rotate_heads(
                source=k + batch * k_batch,
                target=k_out + batch * k_out_batch,
                cos=cos,
                sin=sin,
                rows=rows,
                length=k_length,
                head_step=k_head,
                row_step=k_row,
                out_head_step=k_out_head,
                out_row_step=k_out_row,
                start_head=(own - q_groups) * per_program,
                heads=k_heads,
                n=n,
                per_program=per_program,
                pairs=pairs,
                padded=padded,
                rest=rest,
                padded_rest=padded_rest,
                half=half,
            )


def tile_for(q: Tensor, pairs: int) -> Tile:
    """The tile for the order of q (B, H, N, d) in memory; no more rows than there are."""
    if q.shape[2] == 1:
        tile = TILES["one position"]
    elif q.stride(1) >= q.stride(2):
        tile = TILES["positions"]
    else:
        tile = TILES["padded heads" if pairs & (pairs - 1) else "heads"]
    last = q.shape[2] - 1 or q.shape[1] - 1
    return tile._replace(rows=min(tile.rows, 1 << last.bit_length()))


def tiles_in_stretch(length: int, tile: Tile) -> int:
    """How many tiles make a stretch: at most the tile's, and alike, so that hardly one is empty."""
    tiles = -(-length // tile.rows)
    stretches = -(-tiles // max(1, tile.stretch // tile.rows))
    return -(-tiles // stretches)


def grid_and_sizes(  # pragma: no cover - see the kernels
    q: Tensor,
    k: Tensor,
    q_out: Tensor,
    k_out: Tensor,
    cos: Tensor,
    tile: Tile,
    layout: str,
    back: bool,
) -> tuple[tuple[int, int, int], Sizes]:
    """How many programs to start, and the arguments of the kernel from `q_length` on."""
    width = q.shape[3]
    pairs = cos.shape[-1]
    rest = width - 2 * pairs
    table_batch = pairs * q.shape[2] if cos.ndim == 3 else 0  # 0: one table for all sequences
    table_row = pairs
    if q.shape[2] == 1:
        # The heads of one position take the place of positions, all with the same row of the table.
        q = q.transpose(1, 2)
        k = k.transpose(1, 2)
        q_out = q_out.transpose(1, 2)
        k_out = k_out.transpose(1, 2)
        table_row = 0
    batches, q_heads, q_length, _ = q.shape
    _, k_heads, k_length, _ = k.shape
    length = max(q_length, k_length)
    in_stretch = tiles_in_stretch(length, tile)
    stretches = triton.cdiv(triton.cdiv(length, tile.rows), in_stretch)
    groups = triton.cdiv(q_heads, tile.heads) + triton.cdiv(k_heads, tile.heads)
    grid = (in_stretch * groups * batches * stretches, 1, 1)
    q_batch, q_head, q_row, _ = q.stride()
    k_batch, k_head, k_row, _ = k.stride()
    q_out_batch, q_out_head, q_out_row, _ = q_out.stride()
    k_out_batch, k_out_head, k_out_row, _ = k_out.stride()
    sizes = Sizes(
        q_length=q_length,
        k_length=k_length,
        q_batch=q_batch,
        q_head=q_head,
        q_row=q_row,
        k_batch=k_batch,
        k_head=k_head,
        k_row=k_row,
        q_out_batch=q_out_batch,
        q_out_head=q_out_head,
        q_out_row=q_out_row,
        k_out_batch=k_out_batch,
        k_out_head=k_out_head,
        k_out_row=k_out_row,
        table_batch=table_batch,
        table_row=table_row,
        q_heads=q_heads,
        k_heads=k_heads,
        batches=batches,
        in_stretch=in_stretch,
        n=tile.rows,
        per_program=tile.heads,
        pairs=pairs,
        padded=triton.next_power_of_2(pairs),
        rest=rest,
        padded_rest=triton.next_power_of_2(max(rest, 1)),
        half=layout == "half",
        back=back,
    )
    return grid, sizes

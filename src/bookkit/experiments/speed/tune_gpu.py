"""Choose the fused kernel's tiles on a GPU: `python -m bookkit.experiments.speed.tune_gpu`.

Each row is a ratio to copying q and k in the same run. For each order in memory the tile with the
best worst case over the shapes goes into `rope_triton.py` by hand.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from attention_to_rope import RotaryTable, rotary_frequencies, rotary_table
from attention_to_rope.fast import rope_triton
from attention_to_rope.fast.rope_triton import Tile
from bookkit.experiments.speed.gpu import Shape, copies, queries_and_keys
from bookkit.experiments.speed.measure import compare, facts

LONG = (Shape(1, 32, 8, 8192, 128), Shape(8, 32, 8, 4096, 128), Shape(2, 64, 8, 16384, 128))
# The shapes that choose each tile of the kernel, and the order in memory they have.
SHAPES = {
    "positions": ("positions", LONG),
    "heads": ("heads", LONG),
    "padded heads": ("heads", (Shape(1, 32, 32, 8192, 96),)),
    "one position": ("heads", (Shape(64, 32, 8, 1, 128),)),
}
TILES = {
    "positions": [
        Tile(rows, heads, stretch, warps)
        for rows, warps in [(4, 2), (4, 4), (8, 4), (8, 8), (16, 4), (16, 8)]
        for heads in (1, 2, 4, 8)
        for stretch in (2048, 4096, 2**30)
    ],
    "heads": [
        Tile(rows, heads, rows, warps)
        for rows in (1, 2, 4, 8)
        for heads in (2, 4, 8, 16)
        for warps in (2, 4, 8)
    ],
    "padded heads": [
        Tile(rows, heads, stretch, warps)
        for rows in (8, 16, 32, 64)
        for heads in (1, 2)
        for warps in (4, 8)
        for stretch in (512, 4096)
    ],
    "one position": [
        Tile(1, heads, 512, warps) for heads in (1, 2, 4, 8, 16) for warps in (1, 2, 4)
    ],
}
RESULTS = Path(__file__).parents[1] / "results" / "speed" / "gpu-tiles.jsonl"


def with_tile(
    name: str, tile: Tile, q: Tensor, k: Tensor, table: RotaryTable
) -> Callable[[], tuple[Tensor, Tensor]]:
    """The kernel with this tile in the place of the one so named."""

    def run() -> tuple[Tensor, Tensor]:
        rope_triton.TILES[name] = tile
        return rope_triton.rotate_queries_and_keys(q, k, table, layout="half")

    return run


def main(arguments: list[str] | None = None) -> None:
    """Measure every tile on every shape and record the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args(arguments)
    about = facts("cuda", "python -m bookkit.experiments.speed.tune_gpu")
    lines = []
    for name, tiles in TILES.items():
        chosen, (order, shapes) = rope_triton.TILES[name], SHAPES[name]
        worst = dict.fromkeys(tiles, 0.0)
        for shape in shapes:
            q, k = queries_and_keys(shape, order)
            positions = torch.arange(shape.length, device="cuda")
            table = rotary_table(positions, rotary_frequencies(shape.dim, device="cuda"))
            forms = {str(tuple(tile)): with_tile(name, tile, q, k, table) for tile in tiles}
            candidates = {"clone": copies(q, k)} | forms
            rows = compare(candidates, floor="clone", device="cuda", rounds=given.rounds, repeats=5)
            for tile, row in zip(tiles, rows[1:], strict=True):
                worst[tile] = max(worst[tile], row["ratio"])
            about_shape = {"tile": name, "order": order, "shape": shape.recorded}
            lines += [json.dumps(row | about_shape | about) for row in rows]
        rope_triton.TILES[name] = chosen
        for tile in sorted(worst, key=lambda tile: worst[tile])[:8]:
            print(name, tile, f"worst {worst[tile]:.3f}", flush=True)
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

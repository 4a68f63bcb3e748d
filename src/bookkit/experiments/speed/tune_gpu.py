"""Choose the fused kernel's tile on a GPU: `python -m bookkit.experiments.speed.tune_gpu`.

Each row is a ratio to copying q and k in the same run. The tile with the best worst case over the
three shapes goes into `rope_triton.py` by hand.
"""

import json
from pathlib import Path
from typing import Any

import torch

from attention_to_rope import rotary_frequencies, rotary_table
from attention_to_rope.fast import rope_triton
from attention_to_rope.fast.rope_triton import Tile
from bookkit.experiments.speed.gpu import DIM, HEADS, KV_HEADS, SHAPES
from bookkit.experiments.speed.measure import compare, facts

TILES = [
    Tile(rows, heads, stretch, warps)
    for rows, warps in [(4, 2), (4, 4), (8, 4), (8, 8), (16, 4), (16, 8)]
    for heads in (1, 2, 4, 8, 32)
    for stretch in (2048, 4096, 8192, 2**30)
]
RESULTS = Path(__file__).parents[1] / "results" / "speed" / "gpu-tiles.jsonl"


def main() -> None:
    """Measure every tile on every shape and record the rows."""
    about = facts("cuda", "python -m bookkit.experiments.speed.tune_gpu")
    lines = []
    for batch, length in SHAPES:
        q, k = (
            torch.randn(batch, heads, length, DIM, device="cuda", dtype=torch.bfloat16)
            for heads in (HEADS, KV_HEADS)
        )
        table = rotary_table(
            torch.arange(length, device="cuda"), rotary_frequencies(DIM, device="cuda")
        )

        def with_tile(tile: Tile, layout: Any, q=q, k=k, table=table) -> Any:  # type: ignore[no-untyped-def]
            def run() -> Any:
                rope_triton._TILE = tile
                return rope_triton.rotate_queries_and_keys(q, k, table, layout=layout)

            return run

        candidates = {"clone": lambda q=q, k=k: (q.clone(), k.clone())}
        for tile in TILES:
            for layout in ("half", "interleaved"):
                candidates[f"{tuple(tile)} {layout}"] = with_tile(tile, layout)
        repeats = 10 if length <= 8192 else 4
        for row in compare(candidates, floor="clone", device="cuda", rounds=11, repeats=repeats):
            lines.append(
                json.dumps(row | {"shape": [batch, HEADS + KV_HEADS, length, DIM]} | about)
            )
            print(batch, length, row["candidate"], row["ratio"], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Run the benchmarks and record them: `python -m laboratory.speed.run --help`."""

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import torch

from bookkit.records import RESULTS, Row
from laboratory.record import origin, write
from laboratory.speed import cpu, gpu

COMMAND = "python -m laboratory.speed.run"
Part = Callable[[int], Iterable[Row]]
GROUPS: dict[str, list[Part]] = {
    "cpu": [cpu.form_rows, cpu.textbook_rows],
    "gpu": [gpu.rope_rows],
    "gpu-attention": [gpu.attention_rows],
    "gpu-calls": [gpu.call_rows],
    "gpu-block": [gpu.block_rows],
    "gpu-tiles": [gpu.tile_rows],
}


def measured(parts: list[Part], rounds: int) -> Iterator[Row]:
    """The rows of all parts, each printed as it comes."""
    for number, part in enumerate(parts, start=1):
        print(f"[{number}/{len(parts)}] {(part.__doc__ or '').partition('.')[0]}", flush=True)
        for row in part(rounds):
            shape = "x".join(str(size) for size in row["shape"])
            low, high = row["ratio_quartiles"]
            print(
                f"  {row['candidate']:42} {shape:18} {row['ratio']:7.2f} x {row['floor']}"
                f"  ({low:.2f} to {high:.2f})",
                flush=True,
            )
            yield row


def main(arguments: list[str] | None = None) -> None:
    """Measure the chosen group; print and record each row."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--group", choices=GROUPS, default="cpu")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path, help="(default: results/speed/GROUP.jsonl)")
    given = parser.parse_args(arguments)
    device = "cuda" if given.group.startswith("gpu") else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("no CUDA device found; run it with --group cpu")
    out = given.out or RESULTS / "speed" / f"{given.group}.jsonl"
    about = origin(f"{COMMAND} --group {given.group}", device)
    write(out, measured(GROUPS[given.group], given.rounds), about)
    print(f"recorded in {out}")


if __name__ == "__main__":
    main()

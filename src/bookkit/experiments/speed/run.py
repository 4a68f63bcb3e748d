"""Run the benchmarks and record them: `python -m bookkit.experiments.speed.run --help`."""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from bookkit.experiments.speed.measure import facts

Part = Callable[[int], Iterable[dict[str, Any]]]
COMMAND = "python -m bookkit.experiments.speed.run"
RESULTS = Path(__file__).parents[1] / "results" / "speed"


def recorded(name: str, **wanted: Any) -> list[dict[str, Any]]:
    """The rows of a file of results with these values: recorded("cpu.jsonl", group="rope")."""
    rows = [json.loads(line) for line in (RESULTS / name).read_text(encoding="utf-8").splitlines()]
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    if not found:
        raise ValueError(f"no row of {name} has {wanted}; its file has {len(rows)} rows")
    return found


def main(arguments: list[str] | None = None) -> None:
    """Measure the chosen groups; print and record each row."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument(
        "--group", choices=["cpu", "gpu"], default=None, help="default: what is there"
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help="the parts whose first line has this word")
    parser.add_argument(
        "--quick", action="store_true", help="toy sizes, to see that it runs; CPU only"
    )
    parser.add_argument("--out", type=Path, help="file of results (default results/GROUP.jsonl)")
    given = parser.parse_args(arguments)
    group = given.group or ("gpu" if torch.cuda.is_available() else "cpu")
    if group == "gpu" and not torch.cuda.is_available():
        raise SystemExit("no CUDA device found; run it with --group cpu")
    if given.quick and (group == "gpu" or given.out is None):
        raise SystemExit("--quick is for --group cpu and needs --out: its numbers mean nothing")
    if group == "gpu":
        from bookkit.experiments.speed.decode import decode_rows_on_a_gpu
        from bookkit.experiments.speed.gpu import attention_rows, rope_rows

        parts: Sequence[Part] = [rope_rows, attention_rows, decode_rows_on_a_gpu]
    else:
        from bookkit.experiments.speed.cpu import PARTS, QUICK_PARTS

        parts = QUICK_PARTS if given.quick else PARTS
    if given.only is not None:
        parts = [part for part in parts if given.only in (part.__doc__ or "")]
    about = facts(
        "cuda" if group == "gpu" else "cpu",
        f"{COMMAND} --group {group}",
    )
    out = given.out or RESULTS / f"{group}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f"{out.name}.part")  # a run that breaks off leaves its rows here
    with unfinished.open("w", encoding="utf-8") as file:
        for number, part in enumerate(parts, start=1):
            print(f"[{number}/{len(parts)}] {(part.__doc__ or '').splitlines()[0]}", flush=True)
            for row in part(given.rounds):
                print(json.dumps(row | about), file=file, flush=True)
                shape = "x".join(str(size) for size in row.get("shape", []))
                low, high = row["ratio_quartiles"]
                print(
                    f"  {row['candidate']:42} {shape:18} {row['ratio']:7.2f} x {row['floor']}"
                    f"  ({low:.2f} to {high:.2f})",
                    flush=True,
                )
    unfinished.replace(out)
    print(f"recorded in {out}")


if __name__ == "__main__":
    main()

"""Record the experiments again and compare: are the new means in the recorded intervals?

python -m bookkit.experiments.training.reproduce --size full --processes 4   # a GPU, under an hour
python -m bookkit.experiments.training.reproduce --size small                # a laptop, minutes

Trains exactly the models that have recorded rows, into a file of its own. Each number of a scheme,
averaged over its seeds, is compared with Student's 95 % interval of the recorded seeds. The seeds
start from the same weights and see the same batches, so other digits come from other hardware.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bookkit.experiments.training.comparison import Interval, interval
from bookkit.experiments.training.fleet import SCHEMES
from bookkit.experiments.training.studies import RESULTS, Job, Row, read_rows, run

ROUNDING = 1e-4  # rows keep four digits


class Repeated(NamedTuple):
    """One number of one scheme at one rate: the recorded interval and the new mean."""

    name: str
    recorded: Interval
    again: float

    @property
    def inside(self) -> bool:
        """Whether the new mean lies in the recorded interval."""
        return abs(self.again - self.recorded.mean) <= self.recorded.half + ROUNDING


def recorded_jobs(rows: Iterable[Row]) -> list[Job]:
    """The fleets that hold all models of these rows."""
    seeds: dict[tuple[str, str | None, str], set[int]] = {}
    for row in rows:
        kind = SCHEMES[row["scheme"]].kind
        seeds.setdefault((row["study"], row.get("task"), kind), set()).add(row["seed"])
    return [Job(*key, tuple(sorted(own))) for key, own in seeds.items()]


def _numbers(row: Row) -> dict[str, float]:
    """What is compared: the validation loss, and the mean of what was tested."""
    tested: Any = row["loss"] if "loss" in row else list(row["accuracy"].values())
    return {"validation": row["validation"], "test": float(np.mean(tested))}


def compare_runs(recorded: Iterable[Row], again: Iterable[Row]) -> list[Repeated]:
    """Every number that has two seeds or more in both, by study, task, scheme and rate."""
    both: list[dict[tuple[Any, ...], dict[int, dict[str, float]]]] = [{}, {}]
    for group, rows in zip(both, (recorded, again), strict=True):
        for row in rows:
            keys = ("study", "task", "scheme", "rate", "position_rate")
            group.setdefault(tuple(row.get(key) for key in keys), {})[row["seed"]] = _numbers(row)
    found = []
    for key, old in both[0].items():
        new = both[1].get(key, {})
        shared = sorted(old.keys() & new.keys())
        if len(shared) < 2:
            continue
        for number in ("validation", "test"):
            spread = interval([old[seed][number] for seed in shared])
            mean = float(np.mean([new[seed][number] for seed in shared]))
            found.append(Repeated(f"{number} of {key}", spread, mean))
    return found


def main(arguments: list[str] | None = None) -> None:
    """Train again what was recorded, then say which numbers left their intervals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=["full", "laptop", "small"], default="small")
    parser.add_argument("--study", nargs="*", help="some studies only (default: all recorded)")
    parser.add_argument("--kinds", nargs="*", help="some kinds of schemes only")
    parser.add_argument("--processes", type=int, default=1, help="fleets at a time (default 1)")
    parser.add_argument("--device", help="cpu or cuda (default: cuda where there is one)")
    parser.add_argument("--recorded", type=Path, help="the rows to compare with")
    parser.add_argument("--out", type=Path, help="new rows (default: again-SIZE.jsonl, here)")
    given = parser.parse_args(arguments)
    recorded = read_rows(given.recorded or RESULTS / f"studies-{given.size}.jsonl")
    jobs = [
        job
        for job in recorded_jobs(recorded)
        if (not given.study or job.study in given.study)
        and (not given.kinds or job.kind in given.kinds)
    ]
    out = given.out or Path(f"again-{given.size}.jsonl")
    run(jobs, given.size, out, device=given.device, processes=given.processes)
    found = compare_runs(recorded, read_rows(out))
    outside = [one for one in found if not one.inside]
    for one in outside:
        print(f"{one.name}: {one.again:.4f}, recorded {one.recorded}")
    print(f"{len(found) - len(outside)} of {len(found)} numbers inside their recorded intervals")
    if outside or not found:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

"""Record the experiments again and compare: are the new means in the recorded intervals?

python -m bookkit.experiments.training.reproduce --size full --processes 4   # a GPU, a quarter hour
python -m bookkit.experiments.training.reproduce --size small                # a laptop, minutes

Trains the recorded models that have two seeds or more, into a file of its own; what has rows there
is not trained again. Each number of a scheme, averaged over its seeds, is compared with Student's
95 % interval of the recorded seeds. The seeds start from the same weights and see the same batches,
so other digits come from other hardware and from sums in another order.
"""

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bookkit.experiments.training.comparison import Interval, interval
from bookkit.experiments.training.fleet import SCHEMES
from bookkit.experiments.training.studies import RESULTS, Job, Row, add_choices, read_rows, run

COMMAND = "python -m bookkit.experiments.training.reproduce"
ROUNDING = 1e-4  # rows keep four digits
ABOUT = ("size", "device", "torch", "python", "date")


class Repeated(NamedTuple):
    """One number of one scheme at one rate: the recorded interval and the new mean."""

    study: str
    task: str | None
    scheme: str
    rate: float
    position_rate: float
    number: str
    seeds: tuple[int, ...]
    recorded: Interval
    again: float

    @property
    def name(self) -> str:
        """What was compared, in words."""
        place = " ".join(filter(None, (self.study, self.task, self.scheme)))
        own = f", own rate ×{self.position_rate:g}" if self.position_rate != 1 else ""
        return f"{self.number} of {place}, rate {self.rate:g}{own}"

    @property
    def inside(self) -> bool:
        """Whether the new mean lies in the recorded interval."""
        return abs(self.again - self.recorded.mean) <= self.recorded.half + ROUNDING


def fleet_of(row: Row | Repeated) -> tuple[str, str | None, str]:
    """Study, task and kind: what is trained together."""
    if isinstance(row, Repeated):
        return row.study, row.task, SCHEMES[row.scheme].kind
    return row["study"], row.get("task"), SCHEMES[row["scheme"]].kind


def recorded_jobs(rows: Iterable[Row]) -> list[Job]:
    """The fleets that hold all models of these rows; the slowest first, so that none ends alone."""
    seeds: dict[tuple[str, str | None, str], set[int]] = {}
    seconds: dict[tuple[str, str | None, str], float] = {}
    for row in rows:
        key = fleet_of(row)
        seeds.setdefault(key, set()).add(row["seed"])
        seconds[key] = seconds.get(key, 0.0) + row["seconds"]
    slowest_first = sorted(seeds, key=lambda key: -seconds[key])
    return [Job(*key, tuple(sorted(seeds[key]))) for key in slowest_first]


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
        shared = tuple(sorted(old.keys() & new.keys()))
        if len(shared) < 2:
            continue
        study, task, scheme, rate, own = key
        for number in ("validation", "test"):
            spread = interval([old[seed][number] for seed in shared])
            mean = float(np.mean([new[seed][number] for seed in shared]))
            found.append(Repeated(study, task, scheme, rate, own, number, shared, spread, mean))
    return found


def report(jobs: Iterable[Job], found: Iterable[Repeated]) -> list[str]:
    """Every recorded fleet: how many of its numbers came out, or why none was compared."""
    by_fleet: dict[tuple[str, str | None, str], list[Repeated]] = {}
    for one in found:
        by_fleet.setdefault(fleet_of(one), []).append(one)
    lines = []
    for job in jobs:
        name = " ".join(filter(None, (job.study, job.task, job.kind)))
        own = by_fleet.get((job.study, job.task, job.kind), [])
        if own:
            told = f"{sum(one.inside for one in own)} of {len(own)} numbers inside"
        elif len(job.seeds) < 2:
            told = "NOT compared, one seed has no interval"
        else:
            told = "NOT compared, not trained again"
        lines.append(f"{name}: {told}")
    return lines


def record(found: Iterable[Repeated], again: Iterable[Row], path: Path) -> None:
    """Write every number that was compared, recorded and again, with what trained it again."""
    about = {fleet_of(row): {key: row[key] for key in ABOUT} for row in again}
    rows = [
        {
            **{key: value for key, value in one._asdict().items() if value is not None},
            "recorded": round(one.recorded.mean, 5),
            "half": round(one.recorded.half, 5),
            "again": round(one.again, 5),
            "inside": one.inside,
            **about[fleet_of(one)],
            "command": f"{COMMAND} --size {about[fleet_of(one)]['size']}",
        }
        for one in found
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Train again what was recorded, then say which numbers left their intervals."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").splitlines()[0])
    add_choices(parser)
    parser.add_argument("--recorded", type=Path, help="the rows to compare with")
    parser.add_argument("--out", type=Path, help="new rows (default: again-SIZE.jsonl, here)")
    parser.add_argument("--record", type=Path, help="write every compared number to this file")
    given = parser.parse_args(arguments)
    deadline = time.time() + 60 * given.minutes
    recorded = read_rows(given.recorded or RESULTS / f"studies-{given.size}.jsonl")
    jobs = recorded_jobs(recorded)
    wanted = [
        job
        for job in jobs
        if len(job.seeds) > 1
        and (not given.study or job.study in given.study)
        and (not given.kinds or job.kind in given.kinds)
        and (not given.tasks or job.task is None or job.task in given.tasks)
    ]
    out = given.out or Path(f"again-{given.size}.jsonl")
    run(
        wanted,
        given.size,
        out,
        device=given.device,
        file=given.corpus,
        processes=given.processes,
        deadline=deadline,
    )
    again = read_rows(out)
    found = compare_runs(recorded, again)
    print(*report(jobs, found), sep="\n")
    if given.record:
        record(found, again, given.record)
    outside = [one for one in found if not one.inside]
    for one in outside:
        print(f"outside: {one.name}: {one.again:.4f}, recorded {one.recorded}")
    print(f"{len(found) - len(outside)} of {len(found)} numbers inside their recorded intervals")
    if outside or not found:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

"""Loss and copying along the training, for every positional encoding of `bookkit.trained.schemes`.

    python -m laboratory.curves FOLDER --processes 12 --keep FOLDER     # one GPU
    python -m laboratory.curves FOLDER --steps 2 --rates 1e-3 --grid 1 --seeds 1 --tests 2 \
        --schemes RoPE ALiBi                                            # tries it on a CPU
    python -m laboratory.curves FOLDER --processes 15 --steps 7200 --every 600 --grid 1 \
        --schemes RoPE ALiBi 'hybrid, last'      # the record curves-twice.jsonl

The models, their training and its rates are those of `laboratory.schemes`, in the long training.
Where its record has the grid of rates of a scheme, the best rate is taken from there; the other
schemes get the same grid first. A seed draws the initial weights and all batches. The windows of
held-out text are the same for all runs, so that texts can be told from seeds: each run has the loss
of each of its test windows. No test window shares a byte with a window that chooses the rate.

Every run is one row of FOLDER/curves.jsonl. The program continues where it was stopped: what is in
this file is not trained again. Several processes, each with one run at a time, share one GPU.
"""

import argparse
import itertools
import math
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from attention_to_rope import Decoder
from bookkit.records import Row, recorded
from bookkit.trained import encodings
from bookkit.trained import schemes as setup
from bookkit.trained.text import START
from laboratory import text as texts
from laboratory.record import write
from laboratory.schemes import all_losses, best_rate, cut, repeated, train
from laboratory.text import Text, command

# The most wanted first: a training that is stopped early has whole schemes.
SCHEMES = (
    "RoPE", "ALiBi", "T5, fast table", "none", "RoPE, a quarter", "p-RoPE", *setup.BASES,
    "query bias", setup.ROPE_NOPE, "sinusoidal", "RoPE, half",
)  # fmt: skip
STEPS = 3600
EVERY = 300
RATES = (5e-4, 1e-3, 2e-3, 4e-3, 8e-3)
NAME = "curves.jsonl"


class Run(NamedTuple):
    """One training. Part: "grid" chooses a rate, "best" is what the chapter shows."""

    scheme: str
    rate: float
    seed: int
    part: str


class Windows(NamedTuple):
    """Texts that choose the rate and texts of the test: (count, TIMES · LENGTH + 1) each."""

    validation: Tensor
    test: Tensor


def held_out_windows(text: Tensor, count: int) -> Windows:
    """Pieces of a text, drawn at random, of which no two share a byte."""
    length = setup.TIMES * setup.LENGTH + 1
    pieces = len(text) // length
    if pieces < 2 * count:
        raise ValueError(f"{len(text)} bytes have {pieces} pieces of {length}, not {2 * count}")
    draw = torch.Generator().manual_seed(8_000_000)  # on the CPU: the same on every device
    first = torch.randperm(pieces, generator=draw)[: 2 * count] * length
    places = first[:, None] + torch.arange(length)  # (2 count, length)
    tokens = text[places.to(text.device)].long()
    tokens[:, 0] = START
    return Windows(tokens[:count], tokens[count:])


def rounded(values: Tensor, digits: int = 4) -> list[float | None]:
    """Numbers for a record; None for what is not finite, because the training broke up."""
    numbers: list[float] = values.tolist()
    return [round(one, digits) if math.isfinite(one) else None for one in numbers]


def short_losses(model: Decoder, tokens: Tensor) -> Tensor:
    """The mean loss of each window, of its end, as long as the texts of the training: (count)."""
    return all_losses(model, cut(tokens, setup.TIMES * setup.LENGTH)).mean(1)


def gains(model: Decoder, tokens: Tensor) -> Tensor:
    """What the end of each short window gains if it came before: (distances, count)."""
    asked = setup.PASSAGE - setup.KNOWN
    shorter = cut(tokens, setup.TIMES * setup.LENGTH)
    control = all_losses(model, shorter)[:, -asked:].mean(1)
    found = []
    for distance in setup.FARTHER[setup.LENGTH]:
        twice = all_losses(model, repeated(shorter, distance))[:, -asked:].mean(1)
        found.append(control - twice)
    return torch.stack(found)


class Curve:
    """What is measured of a model before the first step and then after every few."""

    def __init__(self, model: Decoder, windows: Windows, part: str, every: int) -> None:
        self.model = model
        self.windows = windows
        self.tested = part == "best"
        self.every = every
        self.steps: list[int] = []
        self.validation: list[Tensor] = []
        self.test: list[Tensor] = []  # a number for each window
        self.gains: list[Tensor] = []  # a row for each distance, a number for each window

    def look(self, step: int) -> None:
        """Measure, if it is time."""
        if step % self.every:
            return
        self.steps.append(step)
        self.validation.append(short_losses(self.model, self.windows.validation).mean())
        if self.tested:
            self.test.append(short_losses(self.model, self.windows.test))
            self.gains.append(gains(self.model, self.windows.test))

    def row(self) -> Row:
        """The curves by step; of the last step also each window, and longer texts by position."""
        found: Row = {"at": self.steps, "validation": rounded(torch.stack(self.validation))}
        if not self.tested:
            return found
        means = torch.stack([one.mean(1) for one in self.gains], dim=1)  # (distances, steps)
        by_position = all_losses(self.model, self.windows.test).mean(0)
        return found | {
            "test": rounded(torch.stack(self.test).mean(1)),
            "distances": list(setup.FARTHER[setup.LENGTH]),
            "copy": [rounded(one) for one in means],
            "test_windows": rounded(self.test[-1], 3),
            "copy_windows": [rounded(one, 3) for one in self.gains[-1]],
            "longer": rounded(by_position.view(setup.BINS, -1).mean(1)),
        }


def run_once(run: Run, given: argparse.Namespace, text: Text) -> Row:
    """Train and measure one model; keep it if it is one of those that readers get."""
    began = time.monotonic()
    windows = held_out_windows(text.held_out, given.tests)
    model = setup.build(run.scheme, run.seed).to(text.train.device)
    curve = Curve(model, windows, run.part, given.every)
    curve.look(0)
    capture = given.capture and run.scheme != "sinusoidal"  # which copies its base to the GPU
    train(model, run.rate, given.steps, text.train, run.seed, curve.look, capture=capture)
    row = run._asdict() | {"steps": given.steps} | curve.row()
    names = {scheme: name for name, scheme in encodings.ENCODINGS.items()}
    first = run.part == "best" and run.seed == given.grid
    if given.keep is not None and first and run.scheme in names:
        encodings.store(model, names[run.scheme], given.keep)
        stored = encodings.as_stored(model, run.scheme)
        row["test_of_8_bits"] = rounded(short_losses(stored, windows.test).mean()[None])[0]
    return row | {"seconds": round(time.monotonic() - began, 1)}


def grid_of(scheme: str, rows: Sequence[Row], given: argparse.Namespace) -> dict[Run, Row]:
    """The runs of a scheme's grid that are known, from this record or from `laboratory.schemes`."""
    before = recorded("trained/schemes.jsonl", part="grid")
    found = {}
    for row in [*before, *rows]:
        run = Run(row["scheme"], row["rate"], row["seed"], row["part"])
        wanted = run.rate in given.rates and run.seed < given.grid and run.part == "grid"
        if wanted and run.scheme == scheme and row["steps"] == given.steps:
            found[run] = row
    return found


def last_validation(row: Row) -> Row:
    """The rate of a row of a grid with its loss at the end of the training."""
    value = row["validation"]
    return {"rate": row["rate"], "validation": value[-1] if isinstance(value, list) else value}


def wanted_runs(scheme: str, rows: Sequence[Row], given: argparse.Namespace) -> list[Run]:
    """What is still to be trained of a scheme: its grid, or if this is known its best rate."""
    known = grid_of(scheme, rows, given)
    cases = itertools.product(given.rates, range(given.grid))
    missing = [Run(scheme, rate, seed, "grid") for rate, seed in cases]
    missing = [run for run in missing if run not in known]
    if missing:
        return missing
    rate = best_rate([last_validation(row) for row in known.values()])
    seeds = range(given.grid, given.grid + given.seeds)
    done = {(row["seed"], row["part"]) for row in rows if row["scheme"] == scheme}
    return [Run(scheme, rate, seed, "best") for seed in seeds if (seed, "best") not in done]


def next_run(
    rows: Sequence[Row], begun: Sequence[Run], given: argparse.Namespace
) -> tuple[Run | None, int]:
    """The first run that nobody has begun, and how many are still to be begun or finished."""
    found = None
    left = 0
    for scheme in given.schemes:
        wanted = wanted_runs(scheme, rows, given)
        left += len(wanted)
        if wanted and wanted[0].part == "grid":
            left += given.seeds
        free = [run for run in wanted if run not in begun]
        if found is None and free:
            found = free[0]
    return found, left


class Clock:
    """Whether there is time for another run, and what to tell about those that are done."""

    def __init__(self, minutes: float, processes: int) -> None:
        self.began = time.monotonic()
        self.minutes = minutes
        self.processes = processes
        self.seconds: list[float] = []  # of each finished run

    def has_time(self) -> bool:
        """Whether a run that takes as long as the longest so far would end in time."""
        passed = time.monotonic() - self.began
        return passed + max(self.seconds, default=0.0) <= 60 * self.minutes

    def tell(self, row: Row, left: int) -> None:
        """Print what a run gave, how long it took, and how long the others will take."""
        self.seconds.append(row["seconds"])
        mean = sum(self.seconds) / len(self.seconds)
        minutes = left * mean / self.processes / 60
        passed = time.monotonic() - self.began
        name = f"{row['scheme']}, rate {row['rate']:g}, seed {row['seed']} ({row['part']})"
        print(
            f"{passed:4.0f} s: {name}: validation {row['validation'][-1]} in {row['seconds']:.0f} s"
            f"; {left} runs left, about {minutes:.1f} minutes",
            flush=True,
        )


def inside(run: Run, rates: Sequence[float]) -> Row:
    """For the best rate: whether it has a lower and a higher one beside it in the grid."""
    return {"rate_inside": min(rates) < run.rate < max(rates)} if run.part == "best" else {}


_read: Text | None = None  # the text of a process of the pool


def begin_process(file: Path | None, device: str) -> None:
    """Read the text once, for all runs of this process."""
    global _read  # a process of a pool has no other memory between two runs
    torch.set_num_threads(1)
    found = texts.installed() if file is None else texts.packed(file)
    _read = Text(found.train.to(device), found.held_out.to(device), found.sha256)


def run_in_process(run: Run, given: argparse.Namespace) -> Row:
    """`run_once`, with the text that this process has read."""
    assert _read is not None
    return run_once(run, given, _read)


def rows_of_one(known: list[Row], given: argparse.Namespace, text: Text) -> Iterator[Row]:
    """All runs, one after the other, in this process."""
    clock = Clock(given.minutes, 1)
    while clock.has_time():
        run, _ = next_run(known, [], given)
        if run is None:
            return
        row = run_once(run, given, text) | inside(run, given.rates)
        known.append(row)
        clock.tell(row, next_run(known, [], given)[1])
        yield row


def rows_of_many(known: list[Row], given: argparse.Namespace, device: str) -> Iterator[Row]:
    """All runs, as many at a time as there are processes; one that fails stops no other."""
    clock = Clock(given.minutes, given.processes)
    failed: list[Run] = []
    begun: dict[Future[Row], Run] = {}
    with ProcessPoolExecutor(
        given.processes,
        mp_context=multiprocessing.get_context("spawn"),  # CUDA cannot be forked
        initializer=begin_process,
        initargs=(given.text, device),
    ) as pool:
        while True:
            run, _ = next_run(known, [*begun.values(), *failed], given)
            if run is not None and len(begun) < given.processes and clock.has_time():
                begun[pool.submit(run_in_process, run, given)] = run
                continue
            if not begun:
                break
            for future in wait(begun, return_when=FIRST_COMPLETED).done:
                run = begun.pop(future)
                error = future.exception()
                if error is not None:
                    print(f"{run} failed: {error!r}", flush=True)
                    failed.append(run)
                    continue
                row = future.result() | inside(run, given.rates)
                known.append(row)
                clock.tell(row, next_run(known, [], given)[1])
                yield row
    if failed:
        raise RuntimeError(f"{len(failed)} runs failed: {failed}")


def main(arguments: list[str]) -> None:
    """Train what is missing in the record, until all is done or the time is over."""
    parser = argparse.ArgumentParser(prog="python -m laboratory.curves", description=__doc__)
    parser.add_argument("--schemes", nargs="*", default=SCHEMES)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--every", type=int, default=EVERY, help="steps between two measurements")
    parser.add_argument("--rates", type=float, nargs="*", default=RATES)
    parser.add_argument("--grid", type=int, default=2, help="seeds at every rate, from 0")
    parser.add_argument("--seeds", type=int, default=5, help="other seeds at the best rate")
    parser.add_argument("--tests", type=int, default=128, help="windows of held-out text")
    parser.add_argument("--processes", type=int, default=1, help="that train at the same time")
    parser.add_argument("--capture", action="store_true", help="gradients by a CUDA graph")
    parser.add_argument("--minutes", type=float, default=math.inf, help="when no run may end later")
    parser.add_argument("--keep", type=Path, help="where the weights of the first seed are stored")
    given, text, about = command(parser, arguments)
    if given.steps % given.every:
        raise ValueError(f"--every {given.every} must divide --steps {given.steps}")
    file = given.folder / NAME
    known = list(recorded(file)) if file.exists() and file.stat().st_size else []
    if given.processes == 1:
        found = rows_of_one(known, given, text)
    else:
        found = rows_of_many(known, given, text.train.device.type)
    write(file, found, about, append=True)


if __name__ == "__main__":
    main(sys.argv[1:])

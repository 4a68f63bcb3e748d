r"""Mutation test of the mathematics: would a misprint in a formula be noticed?

Each equation is changed in one place (``texcheck.misprints``) and its check runs on the
changed text, which is then refuted (a relation does not hold), refused (it means nothing), or it
has survived; an error of the interpreter itself is counted apart and fails the run. Survivors that
are truly equivalent (or true as well) stand with their reason in a file for each chapter,
``tests/equations/equivalent/01-attention.json``: ``{label: {change: reason}}``. Any other survivor
shows a check that is not sharp.

    python -m bookcheck.equations.mutate                 every mutant
    python -m bookcheck.equations.mutate --sample 200    some; --seed N for others
    python -m bookcheck.equations.mutate 01-attention    one chapter

Equations are shared out to two processes (``--jobs``). A sample is the same on every machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bookcheck.equations.checks import Check, inputs_of, load_checks, run
from bookcheck.equations.scan import Equation, collect
from bookcheck.paths import CHECKS
from texcheck.formulas import Fate, Trial, matrix_symbols
from texcheck.misprints import Misprint, misprints

EQUIVALENT = CHECKS / "equivalent"
BAR = 0.99
SAMPLED_EACH = 4
JOBS = 2
FEW = 30


@dataclass
class Verdict:
    """What happened to one misprint; ``said`` is the complaint that noticed it."""

    label: str
    mutant: Misprint
    fate: Fate
    said: str = ""

    @property
    def caught(self) -> bool:
        """Whether the check noticed the misprint."""
        return self.fate in (Fate.REFUTED, Fate.REFUSED)


def by_hand_fate(item: Check, text: str) -> tuple[Fate, str]:
    """A check by hand reads no formula; it is tied to the text that it was written for."""
    try:
        run(item, text)
    except AssertionError as error:
        return Fate.REFUTED, str(error)
    return Fate.SURVIVED, ""


def verdicts_of(
    item: Check, printed_equation: Equation, chosen: Callable[[list[Misprint]], list[Misprint]]
) -> list[Verdict]:
    """Try the chosen misprints of one equation."""
    if item.reason is not None:
        return [
            Verdict(item.label, mutant, *by_hand_fate(item, mutant.text))
            for mutant in chosen(misprints(printed_equation.text))
        ]
    try:
        inputs = list(inputs_of(item))
    except Exception as error:  # a check that fails by itself catches nothing
        whole = Misprint("no misprint: the check's own function fails", printed_equation.text)
        return [Verdict(item.label, whole, Fate.INTERNAL, f"{type(error).__name__}: {error}")]
    names = matrix_symbols(inputs[0])
    trial = Trial(inputs, item.options, item.loose)
    # Tried first: what it evaluates serves all misprints, and a check that fails catches nothing.
    fate, said = trial.fate(printed_equation.text)
    if fate is not Fate.SURVIVED:
        whole = Misprint("no misprint: the printed text fails", printed_equation.text)
        return [Verdict(item.label, whole, Fate.INTERNAL, said)]
    return [
        Verdict(item.label, mutant, *trial.fate(mutant.text))
        for mutant in chosen(misprints(printed_equation.text, names))
    ]


def chooser(label: str, seed: int | None) -> Callable[[list[Misprint]], list[Misprint]]:
    """All mutants of an equation, or the few that a sample takes; the same in every process."""
    if seed is None:
        return lambda tried: tried
    choose = random.Random(f"{seed} {label}")
    return lambda tried: choose.sample(tried, min(len(tried), SAMPLED_EACH))


def verdicts(
    checks: Sequence[Check],
    printed: Mapping[str, Equation],
    sample: int | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> list[Verdict]:
    """Try the mutants of all executed equations, or a sample of them.

    A sample takes equations in random order and a few mutants of each, so that a small sample
    reaches many equations without drawing the inputs of all.
    """
    items = {item.label: item for item in checks if item.label in printed}
    labels = list(items)
    if sample is not None:
        random.Random(seed).shuffle(labels)
    tasks = [(label, None if sample is None else seed) for label in labels]
    # A few equations take less time than the start of another process.
    jobs = jobs if len(tasks) > FEW else 1
    found: list[Verdict] = []
    with contextlib.ExitStack() as stack:
        if jobs > 1:
            # Not a fork: PyTorch's threads do not survive one.
            context = multiprocessing.get_context("spawn")
            pool = stack.enter_context(context.Pool(jobs, start_worker))
            results: Iterable[list[Verdict]] = pool.imap(try_label, tasks)
        else:
            results = (verdicts_of(items[t[0]], printed[t[0]], chooser(*t)) for t in tasks)
        for done, result in enumerate(results, start=1):
            found += result
            say_progress(done, len(tasks), found)
            if sample is not None and len(found) >= sample:
                return found[:sample]
    return found


WORKER: dict[str, tuple[Check, Equation]] = {}


def start_worker() -> None:
    """Read the book and its checks once in each process, with one thread for each."""
    import torch

    torch.set_num_threads(1)
    printed = {item.label: item for item in collect() if item.label}
    WORKER.update({c.label: (c, printed[c.label]) for c in load_checks() if c.label in printed})


def try_label(task: tuple[str, int | None]) -> list[Verdict]:
    """The misprints of one equation, in a process of the pool."""
    item, printed_equation = WORKER[task[0]]
    return verdicts_of(item, printed_equation, chooser(*task))


def say_progress(done: int, total: int, found: Sequence[Verdict]) -> None:
    """Say now and then how far the run is."""
    if done % 20 == 0:
        survivors = sum(not verdict.caught for verdict in found)
        line = f"{done} of {total} equations, {len(found)} misprints, {survivors} not caught"
        print(line, file=sys.stderr, flush=True)


def read_reasons(folder: Path = EQUIVALENT) -> dict[str, dict[str, str]]:
    """Why some mutants may survive: from one file for each chapter."""
    reasons: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*.json")):
        reasons |= json.loads(path.read_text(encoding="utf-8"))
    return reasons


def report(
    found: Sequence[Verdict],
    reasons: Mapping[str, Mapping[str, str]],
    complete: bool,
    seconds: float = 0.0,
) -> tuple[str, bool]:
    """The summary, and whether the bar is reached and every reason still has its survivor."""
    survivors = [v for v in found if v.fate is Fate.SURVIVED]
    internal = [v for v in found if v.fate is Fate.INTERNAL]
    explained = [v for v in survivors if v.mutant.change in reasons.get(v.label, {})]
    open_ones = [v for v in survivors if v.mutant.change not in reasons.get(v.label, {})]
    lines = [f"survived: {v.label}: {v.mutant.change}" for v in open_ones]
    lines += [f"internal error: {v.label}: {v.mutant.change}: {v.said}" for v in internal]
    lines += [
        f"equivalent: {v.label}: {v.mutant.change}: {reasons[v.label][v.mutant.change]}"
        for v in explained
    ]
    stale = stale_reasons(survivors, reasons) if complete else []
    lines += [f"no longer a survivor, remove its reason: {s}" for s in stale]
    counts = Counter(verdict.fate for verdict in found)
    caught = counts[Fate.REFUTED] + counts[Fate.REFUSED]
    counted = len(found) - len(explained)
    rate = caught / counted if counted else 1.0
    lines.append(
        f"{len(found)} misprints of {len({v.label for v in found})} equations in {seconds:.0f} s: "
        f"{counts[Fate.REFUTED]} refuted, {counts[Fate.REFUSED]} refused as not meaningful, "
        f"{len(internal)} internal errors, {len(explained)} equivalent, "
        f"{len(open_ones)} survived; refuted or refused of those that are not equivalent "
        f"{100 * rate:.2f} % (at least {100 * BAR:.0f} % needed)"
    )
    return "\n".join(lines), rate >= BAR and not stale and not internal


def stale_reasons(
    survivors: Sequence[Verdict], reasons: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """Reasons whose misprint is noticed by now, or is planted no more."""
    alive = {(verdict.label, verdict.mutant.change) for verdict in survivors}
    return [
        f"{label}: {change}"
        for label, changes in reasons.items()
        for change in changes
        if (label, change) not in alive
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant misprints in the printed formulas and count those that the checks notice."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("chapters", nargs="*", help="names of chapters, such as 01-attention")
    parser.add_argument("--sample", type=int, help="try only this many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument(
        "--jobs", type=int, default=min(JOBS, os.cpu_count() or 1), help="how many processes"
    )
    options = parser.parse_args(arguments)
    printed = {
        item.label: item
        for item in collect()
        if item.label and (not options.chapters or item.page in options.chapters)
    }
    if not printed:
        print(f"no equations in {options.chapters or 'chapters/'}", file=sys.stderr)
        return 1
    started = time.monotonic()
    found = verdicts(load_checks(), printed, options.sample, options.seed, options.jobs)
    reasons = read_reasons()
    if options.chapters:
        reasons = {label: given for label, given in reasons.items() if label in printed}
    complete = options.sample is None
    text, passed = report(found, reasons, complete, time.monotonic() - started)
    print(text)
    return 0 if passed else 1


if __name__ == "__main__":
    # The worker processes import this module by its name; run that one.
    from bookcheck.equations.mutate import main as run_main

    sys.exit(run_main())

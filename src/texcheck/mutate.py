r"""Mutation test of the mathematics: would a misprint in a formula be noticed?

Each formula is changed in one place (``texcheck.misprints``) and its check runs on the changed
text, which is then refuted (a relation does not hold, or the values could not have refuted it),
refused (it means nothing), or it has survived; an error of the interpreter itself is counted apart
and fails the run. A survivor that is equivalent, or true as well, stands with its reason beside the
check: ``equivalent={change: reason}``. Any other survivor shows a check that is not sharp.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from texcheck.formulas import Check
from texcheck.misprints import Misprint, misprints
from texcheck.trial import Fate, kinds_of, transposable

BAR = 0.99
# Fewer formulas take less time than the start of another process.
FEW = 30

# A check with the text that it is for, by the check's name.
Bound = Mapping[str, tuple[Check, str]]


@dataclass
class Verdict:
    """What happened to one misprint; ``said`` is the complaint that noticed it."""

    name: str
    mutant: Misprint
    fate: Fate
    said: str = ""

    @property
    def caught(self) -> bool:
        """Whether the check noticed the misprint."""
        return self.fate in (Fate.REFUTED, Fate.REFUSED)


def verdicts_of(check: Check, text: str) -> list[Verdict]:
    """Try all misprints of one formula."""
    try:
        inputs = check.inputs()
    except Exception as error:  # a check that fails by itself catches nothing
        whole = Misprint("no misprint: the check's own function fails", text)
        return [Verdict(check.name, whole, Fate.INTERNAL, f"{type(error).__name__}: {error}")]
    trial = check.trial(inputs)
    # Tried first: what it evaluates serves all misprints, and a check that fails catches nothing.
    fate, said = trial.fate(text)
    if fate is not Fate.SURVIVED:
        whole = Misprint("no misprint: the printed text fails", text)
        return [Verdict(check.name, whole, Fate.INTERNAL, said)]
    tried = misprints(text, transposable(inputs), kinds_of(inputs))
    return [Verdict(check.name, mutant, *trial.fate(mutant.text)) for mutant in tried]


def verdicts(load: Callable[[], Bound], names: Sequence[str], jobs: int = 1) -> list[Verdict]:
    """Try the misprints of the named formulas; ``load`` gives their checks in each process."""
    found: list[Verdict] = []
    with contextlib.ExitStack() as stack:
        if jobs > 1 and len(names) > FEW:
            # Not a fork: threads of numerical libraries do not survive one.
            context = multiprocessing.get_context("spawn")
            pool = stack.enter_context(context.Pool(jobs, start_worker, (load,)))
            results: Iterable[list[Verdict]] = pool.imap(try_name, names)
        else:
            start_worker(load)
            results = map(try_name, names)
        for done, result in enumerate(results, start=1):
            found += result
            if done % 50 == 0:
                alive = sum(not verdict.caught for verdict in found)
                line = f"{done} of {len(names)} formulas, {len(found)} misprints, {alive} alive"
                print(line, file=sys.stderr, flush=True)
    return found


WORKER: dict[str, tuple[Check, str]] = {}


def start_worker(load: Callable[[], Bound]) -> None:
    """Load the book and its checks once in each process."""
    WORKER.clear()
    WORKER.update(load())


def try_name(name: str) -> list[Verdict]:
    """The misprints of one formula, in a process of the pool."""
    return verdicts_of(*WORKER[name])


def report(
    found: Sequence[Verdict],
    reasons: Mapping[str, Mapping[str, str]],
    seconds: float = 0.0,
) -> tuple[str, bool]:
    """The summary, and whether the bar is reached and every reason still has its survivor."""
    survivors = [v for v in found if v.fate is Fate.SURVIVED]
    internal = [v for v in found if v.fate is Fate.INTERNAL]
    explained = [v for v in survivors if v.mutant.change in reasons.get(v.name, {})]
    open_ones = [v for v in survivors if v.mutant.change not in reasons.get(v.name, {})]
    lines = [f"survived: {v.name}: {v.mutant.change}" for v in open_ones]
    lines += [f"internal error: {v.name}: {v.mutant.change}: {v.said}" for v in internal]
    alive = {(v.name, v.mutant.change) for v in survivors}
    stale = [
        f"{name}: {change}"
        for name, changes in reasons.items()
        for change in changes
        if (name, change) not in alive
    ]
    lines += [f"no longer a survivor, remove its reason: {line}" for line in stale]
    counts = Counter(verdict.fate for verdict in found)
    caught = counts[Fate.REFUTED] + counts[Fate.REFUSED]
    counted = len(found) - len(explained)
    rate = caught / counted if counted else 1.0
    lines.append(
        f"{len(found)} misprints of {len({v.name for v in found})} formulas in {seconds:.0f} s: "
        f"{counts[Fate.REFUTED]} refuted, {counts[Fate.REFUSED]} refused as not meaningful, "
        f"{len(internal)} internal errors, {len(explained)} equivalent, "
        f"{len(open_ones)} survived; refuted or refused of those that are not equivalent "
        f"{100 * rate:.2f} % (at least {100 * BAR:.0f} % needed)"
    )
    return "\n".join(lines), rate >= BAR and not stale and not internal

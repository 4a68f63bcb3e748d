r"""Mutation test of the mathematics: would a misprint in a formula be noticed?

Each formula is changed in one place (``texcheck.misprints``) and its check runs on the changed
text, which is then refuted (a relation does not hold, or the values could not have refuted it),
refused (it means nothing), or it has survived; an error of the interpreter itself is counted apart
and fails the run. A survivor that is equivalent, or true as well, has its reason beside the
check: ``equivalent={change: reason}``. Any other survivor shows a check that is not sharp.

``everywhere`` plants instead the misprints that are made in all places of a symbol at once. One of
these survives where no side of a formula is bound to what the formula is about. One that changes
the value of no side, such as two factors exchanged, or only the sign of both, is none. A statement
that holds whatever its symbols are is an error there; so is a letter that may have any value in one
without a side that names a value, and an excuse for a change of such a statement
(``texcheck.anything``), unless ``identity={1: "why"}`` of the
check says why its first statement has none.

``others`` are the texts of other formulas, which ``everywhere`` tries in the place of this one:
where its check accepts one of them, their names could be exchanged.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from texcheck.anything import loose_letters, of_anything, unnamed
from texcheck.formulas import Check
from texcheck.misprints import Misprint, misprints, misprints_everywhere
from texcheck.trial import Fate, Trial, Values, kinds_of, transposable
from texcheck.unchanged import says_the_same, statements_of

# The checks of a part of a book, each with the text that it is for.
Load = Callable[[str], Iterable[tuple[Check, str]]]

# The texts of other formulas, by their names, that could be printed in the place of one.
Others = Callable[[Check], Mapping[str, str]]

# What the names of misprints in all places at once have in common, and those of other texts.
EVERYWHERE = " everywhere: "
TEXT_OF = "text of "
# What an author does with a statement that no value binds.
BIND = (
    "bind it to the value that it is about, from the library: "
    'names={{{number}: "S"}} in its check executes "S = …"; or say there why nothing has this '
    'value: identity={{{number}: "why"}}'
)


@dataclass
class Verdict:
    """What happened to one misprint; ``said`` is the complaint that noticed it.

    ``excuse``: why one that is not noticed is true as well.
    """

    name: str
    mutant: Misprint
    fate: Fate
    said: str = ""
    excuse: str = ""

    @property
    def caught(self) -> bool:
        """Whether the check noticed the misprint."""
        return self.fate in (Fate.REFUTED, Fate.REFUSED)


def verdicts_of(
    check: Check, text: str, everywhere: bool = False, others: Mapping[str, str] | None = None
) -> list[Verdict]:
    """Try all misprints of one formula; a check that fails by itself catches nothing."""

    def broken(change: str, said: str) -> Verdict:
        return Verdict(check.name, Misprint(change, text), Fate.INTERNAL, said=said)

    try:
        inputs = check.inputs()
    except Exception as error:
        return [broken("the check's own function fails", f"{type(error).__name__}: {error}")]
    trial = check.trial(inputs)
    # Tried first: what it evaluates serves all misprints.
    fate, said = trial.fate(text)
    if fate is not Fate.SURVIVED:
        return [broken("the printed text fails", said)]
    found = []
    for mutant in planted(text, inputs, everywhere):
        excuse = check.equivalent.get(mutant.change, "")
        fate, said = trial.fate(mutant.text, hasty=True)
        if everywhere and fate is Fate.SURVIVED and says_the_same(trial, text, mutant.text):
            continue
        found.append(Verdict(check.name, mutant, fate, said=said, excuse=excuse))
    for name, other in (others or {}).items():
        change = f"{TEXT_OF}{name}"
        fate, said = trial.fate(other, hasty=True)
        excuse = check.equivalent.get(change, "")
        found.append(Verdict(check.name, Misprint(change, other), fate, said=said, excuse=excuse))
    alive = {verdict.mutant.change for verdict in found if not verdict.caught}
    tried = {EVERYWHERE if everywhere else ""}
    if others is not None:
        tried.add(TEXT_OF)
    excused = [change for change in check.equivalent if family_of(change) in tried]
    stale = [change for change in excused if change not in alive]
    found += [broken(change, "no survivor; remove it from equivalent=") for change in stale]
    if everywhere:
        excuses = [verdict.mutant for verdict in found if verdict.excuse and not verdict.caught]
        excuses = [mutant for mutant in excuses if family_of(mutant.change) == EVERYWHERE]
        found += [broken(change, said) for change, said in unbound(check, trial, text, excuses)]
    return found


def unbound(
    check: Check, trial: Trial, text: str, excuses: Sequence[Misprint]
) -> Iterator[tuple[str, str]]:
    """The statements that no value binds, with what to do: those that hold whatever their symbols
    are, and those without a side that names a value in which a letter may have any value, or of
    which a change is excused.
    """
    needed = set()
    for number, printed in of_anything(trial, text):
        needed.add(number)
        if number not in check.identity:
            yield (
                printed,
                f"statement {number} holds whatever its symbols are, so that it could be another "
                f"identity: {BIND.format(number=number)}",
            )
    for number, letter in loose_letters(trial, text):
        if number not in check.identity and number not in needed:
            yield (
                f"any value of {letter}",
                f"{letter} may have any value in statement {number}, which has no side that names "
                f"a value: {BIND.format(number=number)}",
            )
        needed.add(number)
    nameless = unnamed(trial, text)
    before = statements_of(text)
    for excuse in excuses:
        after = statements_of(excuse.text)
        for number, (old, new) in enumerate(zip(before, after, strict=True), start=1):
            if old == new or number not in nameless:
                continue
            needed.add(number)
            if number not in check.identity:
                yield (
                    excuse.change,
                    f"equivalent= excuses a change of statement {number}, which has no side that "
                    f"names a value: {BIND.format(number=number)}",
                )
    for number in check.identity:
        if number not in needed:
            yield f"identity={{{number}: …}}", "this statement is bound; remove it from identity="


def family_of(change: str) -> str:
    """What the name of a misprint has of its kind; empty where it is made in one place."""
    if change.startswith(TEXT_OF):
        return TEXT_OF
    return EVERYWHERE if EVERYWHERE in change else ""


def planted(text: str, inputs: Sequence[Values], everywhere: bool) -> list[Misprint]:
    """The misprints of one formula: those in one place, or those in all places at once."""
    kinds = kinds_of(inputs)
    if everywhere:
        return misprints_everywhere(text, kinds)
    return misprints(text, transposable(inputs), kinds)


def verdicts_of_part(
    load: Load, everywhere: bool, others: Others | None, part: str
) -> list[Verdict]:
    """Try the misprints of a part of a book."""
    return [
        verdict
        for check, text in load(part)
        for verdict in verdicts_of(check, text, everywhere, others(check) if others else None)
    ]


def verdicts(
    load: Load,
    parts: Sequence[str],
    jobs: int = 1,
    everywhere: bool = False,
    others: Others | None = None,
) -> list[Verdict]:
    """Try the misprints of some parts of a book; the functions run in each process."""
    work = functools.partial(verdicts_of_part, load, everywhere, others)
    with contextlib.ExitStack() as stack:
        results: Iterable[list[Verdict]] = map(work, parts)
        if jobs > 1 and len(parts) > 1:
            # Not a fork: threads of numerical libraries do not survive one.
            pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(jobs))
            results = pool.imap(work, parts)
        return [verdict for result in results for verdict in result]


def report(found: Sequence[Verdict], seconds: float = 0.0) -> tuple[str, bool]:
    """The summary, and whether no misprint survived without an excuse and none was an error."""
    survivors = [v for v in found if v.fate is Fate.SURVIVED and not v.excuse]
    internal = [v for v in found if v.fate is Fate.INTERNAL]
    lines = [f"survived: {v.name}: {v.mutant.change}" for v in survivors]
    lines += [f"error: {v.name}: {v.mutant.change}: {v.said}" for v in internal]
    if survivors:
        lines.append("Sharpen the check, or say why one is true: equivalent={change: reason}.")
    counts = Counter(v.fate for v in found)
    excused = sum(bool(v.excuse) for v in found)
    lines.append(
        f"{len(found)} misprints of {len({v.name for v in found})} formulas in {seconds:.0f} s: "
        f"{counts[Fate.REFUTED]} refuted, {counts[Fate.REFUSED]} refused as not meaningful, "
        f"{len(internal)} errors, {excused} equivalent, {len(survivors)} survived"
    )
    return "\n".join(lines), not (survivors or internal)

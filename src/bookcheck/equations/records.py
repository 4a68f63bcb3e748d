"""The records of the checks, and whether they are still true of what is printed now."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bookcheck.cache import write_whole
from bookcheck.equations.files import files_of
from bookcheck.equations.scan import Equation, InlineFormula, collect, inline_relations
from bookcheck.paths import CHAPTERS, CHECK_ROOMS, RECORDS, ROOT, SOURCES

# Beside the records: the state of everything when all checks last held.
PASSED = "passed"
INLINE = "inline.counts"
CODE = (".py", ".lark")


@dataclass
class Outcome:
    """What a check did: the row of the ledger."""

    label: str
    chapter: str
    text: str
    executed: bool
    reason: str | None
    library: list[str]
    inputs: int
    relations: int
    deviation: float
    file: str
    fingerprint: str = ""


def relative(path: Path) -> str:
    """A path as the ledger names it."""
    return path.resolve().relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


@functools.cache
def sources_digest() -> str:
    """Changes with the code on which a check can depend: not with that of the site or its gates."""
    digest = hashlib.sha256(platform.python_version().encode())
    digest.update((ROOT / "requirements.txt").read_bytes())
    files = [path for room in CHECK_ROOMS for path in room.rglob("*") if path.suffix in CODE]
    for path in sorted(files):
        digest.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def fingerprint(check_file: Path, printed_equation: Equation) -> str:
    """Changes when the formula, its check or any code changes."""
    digest = hashlib.sha256(sources_digest().encode())
    for path in files_of(check_file):
        digest.update(path.read_bytes())
    digest.update(f"{printed_equation.chapter}\0{printed_equation.text}".encode())
    return digest.hexdigest()


def read_records(records: Path = RECORDS) -> dict[str, Outcome]:
    """The outcomes on record, by label; whether they are still true is not asked here."""
    found: dict[str, Outcome] = {}
    for path in sorted(records.glob("*.json")):
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue  # A check that runs at the same time has failed and taken its record away.
        try:
            outcome = Outcome(**json.loads(text))
        except TypeError:
            continue  # Of another edition of this code, with other facts.
        found[outcome.label] = outcome
    return found


@dataclass(frozen=True)
class InlineCounts:
    """The relations inside sentences: all, those executed, those that only define."""

    relations: int = 0
    executed: int = 0
    definitions: int = 0


@dataclass
class Status:
    """The equations of the book in order, with what is on record for each."""

    equations: list[Equation]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    inline: InlineCounts = InlineCounts()

    @property
    def labelled(self) -> list[Equation]:
        """The equations that a check can name."""
        return [item for item in self.equations if item.label]

    @property
    def checked(self) -> int:
        """How many have a record of their present text."""
        return sum(item.label in self.outcomes for item in self.labelled)

    @property
    def executed(self) -> int:
        """How many of these were executed from their text."""
        found = [self.outcomes.get(item.label or "") for item in self.labelled]
        return sum(outcome is not None and outcome.executed for outcome in found)


def status(folder: Path = CHAPTERS, records: Path = RECORDS) -> Status:
    """What the ledger shows: only records of the text as it is printed now."""
    equations = collect(folder)
    texts = {item.label: item.text for item in equations}
    outcomes = {
        label: outcome
        for label, outcome in read_records(records).items()
        if texts.get(label) == outcome.text
    }
    return Status(equations, outcomes, read_inline(records, folder))


def write_inline(counts: InlineCounts, records: Path) -> None:
    """Put the counts of inline relations on record."""
    records.mkdir(parents=True, exist_ok=True)
    write_whole(records / INLINE, json.dumps(asdict(counts)))


def read_inline(records: Path, folder: Path) -> InlineCounts:
    """The counts on record; without one, nothing is known to be executed."""
    path = records / INLINE
    if path.is_file():
        return InlineCounts(**json.loads(path.read_text(encoding="utf-8")))
    return InlineCounts(sum(map(len, inline_relations(folder).values())))


Inline = Mapping[str, Sequence[InlineFormula]]


def state_of(equations: Sequence[Equation], inline: Inline, checks: Path) -> str:
    """Changes with any printed formula, any file of checks and any code."""
    digest = hashlib.sha256(sources_digest().encode())
    for path in sorted(checks.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for item in equations:
        digest.update(f"\0{item.chapter}\0{item.label}\0{item.text}".encode())
    for page, formulas in inline.items():
        digest.update(f"\0{page}\0{[formula.text for formula in formulas]}".encode())
    return digest.hexdigest()


def all_hold(equations: Sequence[Equation], inline: Inline, checks: Path, records: Path) -> bool:
    """Whether everything held at the last run, and nothing has changed since."""
    passed = records / PASSED
    state = state_of(equations, inline, checks)
    if not passed.is_file() or passed.read_text(encoding="utf-8") != state:
        return False
    recorded = read_records(records)
    return all(
        (known := recorded.get(item.label or ""))
        and known.fingerprint == fingerprint(checks / Path(known.file).name, item)
        for item in equations
    )

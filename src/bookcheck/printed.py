"""The displayed equations that the book prints, and the records of their checks.

``python -m bookcheck.printed`` runs the checks whose chapter, check or code changed, and says what
fails. This module only reads; what a check does is in ``bookcheck.equations``, which takes seconds
to import and is needed only where something has changed.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = ROOT / "chapters"
CHECKS = ROOT / "tests" / "equations"
SOURCES = ROOT / "src"
RECORDS = ROOT / "_build" / "equations"
# Beside the records: the state of everything when all checks last held.
PASSED = "passed"

FENCE = re.compile(r"^[ >\t]*(?P<marks>`{3,}|~{3,}|:{3,})\s*(?:\{(?P<name>[^}]*)\})?(?P<rest>.*)$")
LITERAL = {"", "code", "code-block", "code-cell", "sourcecode", "literalinclude", "raw", "mermaid"}
OPTION = re.compile(r"\s*:\w+:")
LABEL = re.compile(r"[ \t]*\(([^()\s]+)\)")
BARE_DISPLAY = re.compile(
    r"^[ >\t]*\\begin\{(equation|align|gather|multline|eqnarray|alignat|flalign)\*?\}"
)


@dataclass(frozen=True)
class Equation:
    """A displayed equation: its text and the place where it is printed."""

    label: str | None
    text: str
    chapter: str
    cell: int | None
    line: int

    @property
    def place(self) -> str:
        cell = "" if self.cell is None else f"cell {self.cell}, "
        return f"chapters/{self.chapter}, {cell}line {self.line}"


def equations_of_markdown(text: str, chapter: str, cell: int | None = None) -> list[Equation]:
    """The displayed equations of one markdown text, in order."""
    return list(MarkdownScanner(text, chapter, cell).run())


def closes(line: str, marks: str) -> bool:
    """Whether a line is a fence that closes the fence ``marks``."""
    return len(line) >= len(marks) and line == marks[0] * len(line)


class MarkdownScanner:
    """Finds displays in MyST text; code is not looked into, other directives are."""

    def __init__(self, text: str, chapter: str, cell: int | None) -> None:
        self.lines = text.split("\n")
        self.chapter = chapter
        self.cell = cell
        self.row = 0
        self.open_directives: list[str] = []

    def found(self, label: str | None, text: str, row: int) -> Equation:
        return Equation(label, text.strip(), self.chapter, self.cell, row + 1)

    def run(self) -> Iterator[Equation]:
        while self.row < len(self.lines):
            line = self.lines[self.row]
            fence = FENCE.match(line)
            if fence:
                self.row += 1
                yield from self.fence(fence["marks"], fence["name"], fence["rest"].strip())
                continue
            if BARE_DISPLAY.match(line):
                yield self.found(None, line, self.row)
                self.row += 1
                continue
            visible = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda m: " " * len(m.group()), line)
            start = visible.find("$$")
            if start < 0:
                self.row += 1
                continue
            yield self.display(start)

    def fence(self, marks: str, name: str | None, rest: str) -> Iterator[Equation]:
        """Leave a directive, or skip code, read a ``{math}`` directive, enter any other."""
        if (
            name is None
            and not rest
            and self.open_directives
            and closes(marks, self.open_directives[-1])
        ):
            self.open_directives.pop()
            return
        if name is not None and name.strip() not in {*LITERAL, "math"}:
            self.open_directives.append(marks)
            return
        start = self.row - 1
        body: list[str] = []
        while self.row < len(self.lines) and not closes(self.lines[self.row].strip(" >\t"), marks):
            body.append(self.lines[self.row])
            self.row += 1
        self.row += 1
        if name == "math":
            options = [line.strip() for line in body if OPTION.match(line)]
            labels = [option[7:].strip() for option in options if option.startswith(":label:")]
            text = "\n".join(line for line in body if not OPTION.match(line))
            yield self.found(labels[0] if labels else None, text, start)

    def display(self, start: int) -> Equation:
        first = self.row
        rest = self.lines[self.row][start + 2 :]
        pieces: list[str] = []
        while "$$" not in rest:
            pieces.append(rest)
            self.row += 1
            if self.row >= len(self.lines):
                where = self.found(None, "", first).place
                raise ValueError(f"{where}: a display is opened with $$ and never closed")
            rest = re.sub(r"^[ >\t]*(?=\S)", "", self.lines[self.row])
        content, after = rest.split("$$", 1)
        pieces.append(content)
        label = LABEL.match(after)
        remaining = after[label.end() :] if label else after
        # What follows on the same line may hold another display.
        self.lines[self.row] = remaining
        return self.found(label.group(1) if label else None, "\n".join(pieces), first)


def collect(folder: Path = CHAPTERS) -> list[Equation]:
    """All displayed equations of the notebooks and pages of a folder, in order."""
    found: list[Equation] = []
    for path in sorted([*folder.glob("*.ipynb"), *folder.glob("*.md")]):
        if path.suffix == ".md":
            found += equations_of_markdown(path.read_text(encoding="utf-8"), path.name)
            continue
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for number, cell in enumerate(notebook["cells"], start=1):
            if cell["cell_type"] == "markdown":
                source = cell["source"]
                text = source if isinstance(source, str) else "".join(source)
                found += equations_of_markdown(text, path.name, number)
    return found


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
    line: int
    fingerprint: str = ""


def relative(path: Path) -> str:
    return path.resolve().relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


@functools.cache
def sources_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted([*SOURCES.rglob("*.py"), *SOURCES.rglob("*.lark")]):
        digest.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def fingerprint(check_file: Path, printed_equation: Equation) -> str:
    """Changes when the formula, its check or any code changes."""
    digest = hashlib.sha256(sources_digest().encode())
    digest.update(check_file.read_bytes())
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
        outcome = Outcome(**json.loads(text))
        found[outcome.label] = outcome
    return found


@dataclass
class Status:
    """The equations of the book in order, with what is on record for each."""

    equations: list[Equation]
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def labelled(self) -> list[Equation]:
        return [item for item in self.equations if item.label]

    @property
    def checked(self) -> int:
        return sum(item.label in self.outcomes for item in self.labelled)

    @property
    def executed(self) -> int:
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
    return Status(equations, outcomes)


def state_of(equations: Sequence[Equation], checks: Path) -> str:
    """Changes with any printed equation, any file of checks and any code."""
    digest = hashlib.sha256(sources_digest().encode())
    for path in sorted(checks.glob("test_*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for item in equations:
        digest.update(f"\0{item.chapter}\0{item.label}\0{item.text}".encode())
    return digest.hexdigest()


def all_hold(equations: Sequence[Equation], checks: Path, records: Path) -> bool:
    """Whether everything held at the last run, and nothing has changed since."""
    passed = records / PASSED
    if not passed.is_file() or passed.read_text() != state_of(equations, checks):
        return False
    recorded = read_records(records)
    return all(
        (known := recorded.get(item.label or ""))
        and known.fingerprint == fingerprint(checks / Path(known.file).name, item)
        for item in equations
    )


def main(
    arguments: Sequence[str] | None = None,
    chapters: Path = CHAPTERS,
    checks: Path = CHECKS,
    records: Path = RECORDS,
) -> int:
    """Run the checks that are not on record; say what fails; 0 when everything holds."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--all", action="store_true", help="run every check again")
    options = parser.parse_args(arguments)
    equations = collect(chapters)
    fresh = len(equations)
    problems: list[str] = []
    if options.all or not all_hold(equations, checks, records):
        # Seconds of imports (torch, SciPy) that an unchanged book does not need.
        from bookcheck.equations import check_again

        (records / PASSED).unlink(missing_ok=True)
        problems, fresh = check_again(equations, checks, records, everything=options.all)
    for problem in problems:
        print(problem, file=sys.stderr)
    total = sum(item.label is not None for item in equations)
    if problems:
        print(f"{len(problems)} problems in {total} displayed equations", file=sys.stderr)
        return 1
    records.mkdir(parents=True, exist_ok=True)
    (records / PASSED).write_text(state_of(equations, checks))
    executed = sum(outcome.executed for outcome in read_records(records).values())
    print(
        f"{total} displayed equations: {executed} executed, {total - executed} by hand, "
        f"{fresh} unchanged since their last check"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

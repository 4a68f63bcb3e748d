"""What the command says about the displays of a file: which are read, which symbols they need."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from texcheck.check import check
from texcheck.errors import LatexError, RefutedError
from texcheck.guess import Guess, guessed_symbols
from texcheck.sources import Display, Printed, displays_of, formulas_in
from texcheck.values import UNFILLED

# How a symbol of a kind could be drawn.
DRAWS = {
    "number": "rng.uniform(1, 2)",
    "array": "rng.normal(size=3)",
    "vector": "rng.normal(size=3)",
    "matrix": "rng.normal(size=(3, 3))",
    "array of vectors": "rng.normal(size=(3, 3))",
    "array of matrices": "rng.normal(size=(3, 3, 3))",
    "function": "lambda *arguments: ...",
    "index": "range(1, 4)",
    "set": "{1, 2, 3}",
}
# What the reader says of an expression without a relation.
NOTHING = "without a relation states nothing"
HEAD = '''"""Checks of the formulas of {name}, from texcheck symbols.

Say for each formula what its symbols are: a value, or how it is drawn. Where ... stands, compute it
from the others, as the text says. A formula that you leave out is not checked.
Then: texcheck check {name} {file}
"""

from texcheck import Formulas
from texcheck.sources import formulas_in

BOOK = Formulas(formulas_in("{path}"), vectors="{vectors}")
'''


@dataclass
class Reading:
    """One display with the guesses for its symbols, or with the reason why it is not read."""

    display: Display
    guesses: dict[str, Guess] = field(default_factory=dict)
    complaint: str = ""


def readings_of(path: str | Path) -> list[Reading]:
    """All displays of a file, each by itself."""
    return [reading_of(display) for display in displays_of(path)]


def reading_of(display: Display) -> Reading:
    """One display, read with guessed symbols."""
    try:
        return Reading(display, guessed_symbols(display.formula.text))
    except LatexError as error:
        return Reading(display, complaint=display.complaint(error))


def symbols_said(path: str | Path) -> Iterator[str]:
    """The unknown symbols of a file with their kinds and places, a line each; what is not read."""
    readings = readings_of(path)
    places: dict[str, list[str]] = {}
    kinds: dict[str, set[str]] = {}
    for reading in readings:
        for guess in reading.guesses.values():
            places.setdefault(guess.key, []).append(str(reading.display.line))
            kinds.setdefault(guess.key, set()).add(guess.kind)
    width = max((len(name) for name in places), default=0)
    for name in sorted(places):
        lines = ", ".join(places[name][:6]) + (", …" if len(places[name]) > 6 else "")
        yield f"{name:<{width}}  {' or '.join(sorted(kinds[name]))}  (lines {lines})"
    for reading in readings:
        if reading.complaint:
            yield f"not read: {reading.complaint}"
    read = sum(not reading.complaint for reading in readings)
    yield f"{read} of {len(readings)} displays are read; {len(places)} symbols are unknown"


def skeleton_of(path: str | Path, file: str, vectors: str) -> str:
    """A file of checks to be filled: one function for each display that is read."""
    path = Path(path)
    parts = [HEAD.format(name=path.name, file=file, path=path.as_posix(), vectors=vectors)]
    for number, reading in enumerate(readings_of(path), start=1):
        if reading.complaint:
            parts.append("# not read: " + " ".join(reading.complaint.split()) + "\n")
        else:
            parts.append(skeleton_function(reading, number))
    return "\n\n".join(parts)


def skeleton_function(reading: Reading, number: int) -> str:
    """The function of one display."""
    display = reading.display
    cell = display.page.name.partition(", ")[2]
    line = f"{cell}, line {display.line}" if cell else f"line {display.line}"
    text = " ".join(display.formula.text.split())
    left = text.partition("=")[0].replace(" ", "").replace("{", "").replace("}", "").strip("&")
    lines = [f"# {text[:110]}", f"@BOOK.test({json.dumps(display.label or line)})"]
    lines += [f"def test_display_{number}(rng):", "    return {"]
    for guess in reading.guesses.values():
        plain = guess.name.replace("{", "").replace("}", "").replace(" ", "")
        value = "..." if plain == left else DRAWS[guess.kind]
        lines.append(f"        {json.dumps(guess.key)}: {value},  # {guess.kind}")
    return "\n".join([*lines, "    }", ""])


@dataclass
class Said:
    """What one check said."""

    place: str
    word: str
    reason: str = ""
    text: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.word}" + (f": {self.reason}" if self.reason else "")


def checked_alone(path: str | Path) -> Iterator[Said]:
    """Each display of a file without any values: evaluated where it has no unknown symbol."""
    for reading in readings_of(path):
        place = reading.display.place
        if reading.complaint:
            where, _, reason = reading.complaint.partition(": ")
            yield Said(where, "not read", reason)
        elif reading.guesses:
            yield Said(
                place,
                "read",
                f"symbols {', '.join(sorted(guess.key for guess in reading.guesses.values()))}",
            )
        else:
            yield evaluated(reading.display)


def evaluated(display: Display) -> Said:
    """A display of numbers alone."""
    try:
        relations = check(display.formula.text, {})
    except LatexError as error:
        if NOTHING in error.message:
            return Said(display.place, "states nothing", "it is an expression without a relation")
        where, _, reason = display.complaint(error).partition(": ")
        return Said(where, "refused", reason)
    failing = [str(relation) for relation in relations if not relation.holds]
    return Said(display.place, "fails" if failing else "holds", "; ".join(failing))


def still_unfilled(place: str, error: Exception) -> Said | None:
    """What to say where a check has the ... of its skeleton."""
    found = re.search(rf"('[^']+') {re.escape(UNFILLED)}", str(error))
    return Said(place, "not filled in", f"say in the check what {found[1]} is") if found else None


def checked_with(path: str | Path, tests: Iterable[Callable[[], None]]) -> Iterator[Said]:
    """The tests of a file of checks that are for a display of this file, and what has none."""
    named = {name: text for name, text in formulas_in(path).items() if isinstance(text, Printed)}
    found: dict[str, Printed] = {}
    for test in tests:
        formula, _ = test.formula  # type: ignore[attr-defined]  # Formulas puts it there
        text = named.get(formula.name)
        place = text.place if text is not None else f"{Path(path).name}, {formula.name}"
        if text is None:
            yield Said(place, "missing", "the file has no display of this label or line")
            continue
        found[text.place] = text
        try:
            test()
        except (RefutedError, LatexError) as error:
            if unfilled := still_unfilled(place, error):
                yield unfilled
                continue
            word = "fails" if isinstance(error, RefutedError) else "refused"
            if NOTHING in str(error):
                word = "states nothing"
            yield Said(place, word, str(error))
        except Exception as error:
            if unfilled := still_unfilled(place, error):
                yield unfilled
                continue
            yield Said(place, "refused", f"the check itself fails: {type(error).__name__}: {error}")
        else:
            yield Said(place, "holds", text=text)
    for display in displays_of(path):
        if display.place not in found:
            yield Said(display.place, "no check")

r"""Executable formulas for any book: a test that checks a printed formula and its misprints.

A book gives its formulas by name, from wherever it keeps them; each test binds the symbols::

    BOOK = Formulas({"eq-pythagoras": r"c^2 = a^2 + b^2"})


    @BOOK.test("eq-pythagoras")
    def test_pythagoras(rng):
        a, b = rng.uniform(1, 2, size=2)
        return {"a": a, "b": b, "c": math.hypot(a, b)}

pytest collects the decorated functions. Each runs its formula on some draws and then plants every
misprint of ``texcheck.misprints``: one that still passes fails the test, unless it stands
in ``equivalent={change: reason}``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from texcheck.check import Memory, Options, relations_of
from texcheck.comparison import Relation
from texcheck.errors import LatexError, RefutedError
from texcheck.misprints import misprints
from texcheck.reader import canonical_name, symbol_table
from texcheck.values import declared_values

# How near, as a share of the larger side, an inequality must come to equality on some input.
NEAR = 0.02
WEAK = ("<=", ">=")

Values = Mapping[str, Any]
Binding = Callable[[np.random.Generator], Values]


class Fate(Enum):
    """What a check says to a misprint; only the first two notice it."""

    REFUTED = "refuted"
    REFUSED = "refused"
    INTERNAL = "internal error"
    SURVIVED = "survived"


class Silent(dict[str, Any]):
    """Values for which a display states nothing: what holds there claims too much.

    The derivative of |x| is 1 for x > 0 and -1 for x < 0; with x = 0 this must be refused.
    """


def claims_too_much(text: str, table: Values, options: Options) -> str:
    """What is wrong with a text that says something where it should not; else empty."""
    try:
        relations_of(text, table, options)
    except LatexError:
        return ""
    return "states something for values of which it should say nothing"


class Trial:
    """One text after another on the same values; a misprint is another text.

    Every text must hold on all inputs. Its inequalities must also come near to equality on some,
    and weak ones reach it: a bound that is printed too loose is true and misleads.
    ``loose={2: "why"}`` says that the display's second relation is not meant to be near.
    """

    def __init__(
        self,
        inputs: Sequence[Values],
        options: Mapping[str, Any],
        loose: Mapping[int, str] | None = None,
    ) -> None:
        telling = [values for values in inputs if not isinstance(values, Silent)]
        self.tables = [symbol_table(declared_values(values)) for values in telling]
        self.memories = [Memory() for _ in telling]
        silent = [values for values in inputs if isinstance(values, Silent)]
        self.silent = [symbol_table(declared_values(values)) for values in silent]
        self.options = Options(**options)
        self.loose = loose or {}

    def complaint(self, text: str) -> str:
        """Why a text is refuted; empty where it is not."""
        near: list[Nearness] = []
        found: list[Relation] = []
        for table, memory in zip(self.tables, self.memories, strict=True):
            found = relations_of(text, table, self.options, memory)
            for relation in found:
                if not relation.holds:
                    return str(relation)
            near = nearest(near, found)
        too_much = (claims_too_much(text, table, self.options) for table in self.silent)
        return next(filter(None, too_much), "") or looseness(found, near, self.loose)

    def fate(self, text: str) -> tuple[Fate, str]:
        """Whether a text is refuted, refused, breaks the interpreter, or passes; what was said."""
        try:
            complaint = self.complaint(text)
        except LatexError as error:
            return Fate.REFUSED, str(error)
        except Exception as error:  # a fault of the interpreter: counted apart, never as caught
            return Fate.INTERNAL, f"{type(error).__name__}: {error}"
        return (Fate.REFUTED, complaint) if complaint else (Fate.SURVIVED, "")


class Nearness(NamedTuple):
    """How near the sides of a relation come over several inputs, and whether they meet."""

    slack: float
    attained: bool


def nearest(known: Sequence[Nearness], relations: Sequence[Relation]) -> list[Nearness]:
    """The nearness of each relation, of the inputs before and of this one."""
    here = [Nearness(relation.slack, relation.attained) for relation in relations]
    return [
        Nearness(min(one.slack, other.slack), one.attained or other.attained)
        for one, other in zip(known or here, here, strict=True)
    ]


def looseness(
    relations: Sequence[Relation], near: Sequence[Nearness], loose: Mapping[int, str]
) -> str:
    """Which inequality could be printed sharper, or is said not to come near and does; else empty.

    A bound must come near to equality on some input; one with ``\\le`` must reach it, since ``<``
    would hold as well where it never does.
    """
    for number, (relation, (slack, attained)) in enumerate(
        zip(relations, near, strict=True), start=1
    ):
        shown = f"relation {number}, {relation.left_text} {relation.sign} {relation.right_text},"
        if number in loose and slack <= NEAR:
            return f"{shown} comes near to equality: take it out of loose="
        if number not in loose and slack > NEAR:
            return (
                f"{shown} never comes nearer to equality than {slack:.0%} of the larger side, so "
                f"that a sharper bound would hold as well; draw values where it comes within "
                f'{NEAR:.0%}, or say why not: loose={{{number}: "…"}}'
            )
        if number not in loose and relation.relation in WEAK and not attained:
            return (
                f"{shown} is never an equality, so that {relation.relation[0]} would hold as well; "
                "draw values where both sides are equal, or print it strictly"
            )
    return ""


def matrix_symbols(values: Values) -> list[str]:
    """The symbols, printed without scripts, that stand for matrices."""
    matrices = [name for name, value in values.items() if getattr(value, "ndim", 0) == 2]
    return [name for name in matrices if canonical_name(name) == name]


@dataclass(frozen=True)
class Formulas:
    """The formulas of a book, by name."""

    texts: Mapping[str, str]

    def test(
        self,
        name: str,
        *,
        draws: int = 4,
        equivalent: Mapping[str, str] | None = None,
        loose: Mapping[int, str] | None = None,
        **options: Any,
    ) -> Callable[[Binding], Callable[[], None]]:
        """Make a test of a function that binds a formula's symbols; options as of ``check``."""

        def decorate(binding: Binding) -> Callable[[], None]:
            # Not functools.wraps: pytest would read the signature of the function as fixtures.
            def run() -> None:
                seed = zlib.crc32(name.encode())
                inputs = [binding(np.random.default_rng([seed, draw])) for draw in range(draws)]
                self.run(name, inputs, Trial(inputs, options, loose), equivalent or {})

            run.__name__, run.__doc__ = binding.__name__, binding.__doc__
            return run

        return decorate

    def run(
        self, name: str, inputs: Sequence[Values], trial: Trial, equivalent: Mapping[str, str]
    ) -> None:
        """Check a formula on all inputs, then all its misprints."""
        text = self.texts[name]
        if complaint := trial.complaint(text):
            raise RefutedError(f"{name}: {complaint}")
        alive = []
        for misprint in misprints(text, matrix_symbols(inputs[0])):
            fate, said = trial.fate(misprint.text)
            if fate is Fate.INTERNAL:
                raise AssertionError(f"{name}: {misprint.change}: {said}")
            if fate is Fate.SURVIVED and misprint.change not in equivalent:
                alive.append(misprint.change)
        if alive:
            raise AssertionError(f"{name}: these misprints are not noticed: {'; '.join(alive)}")

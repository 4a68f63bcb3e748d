r"""Does a statement hold whatever its symbols are? Then it is said of nothing that is computed.

``(a + b) c = a c + b c`` holds for any a, b and c, so it may be changed into another identity,
``(a - b) c = a c - b c``, and no check notices. All symbols of a statement are therefore drawn
anew, each apart from the others: numbers, arrays, and also functions, which become others of the
same kind. What still holds needs a side that is bound to a value (``texcheck.named``).

So it is where one letter alone may have any value, as c in ``x k + c \le |x| |k| + c``, unless a
side names what the letter is an argument of, as in ``f(c) = c^2``.
"""

from __future__ import annotations

import bisect
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.anew import other_whole_numbers, size_of
from texcheck.check import (
    Options,
    check_statement,
    comparison_of,
    evaluator_for,
    instances,
    limits,
)
from texcheck.errors import LatexError
from texcheck.misprints.change import start_of
from texcheck.named import chains_in, with_names
from texcheck.nodes import Node
from texcheck.reading.statements import Statement, read_display
from texcheck.trial import Trial
from texcheck.values import Array, Depends, Random, is_number, plain

# How numbers are drawn: some texts mean something only for positive ones, some for whole ones, and
# some only near the values that were drawn.
REAL = "real"
POSITIVE = "positive"
NEAR = "near"
WHOLE = "whole"
KINDS = (REAL, POSITIVE, NEAR, WHOLE)
# At most so many values of the indices are tried.
MOST_CASES = 60
NO_INDEX = Fraction(1)


class Anew:
    """Draws values of the kind of given ones, always the same for the same seed."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind = kind
        self.seed = seed

    def table(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Other values for all symbols; a number that is the size of another one stays."""
        found = {}
        for name, value in table.items():
            others = [other for other in table if other != name]
            stays = isinstance(value, int) and size_of(value, others, table)
            found[name] = value if stays else self.value(value, name)
        return found

    def value(self, value: Any, name: str) -> Any:
        """Another value of one symbol; a range and a set stay."""
        rng = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
        if isinstance(value, Depends):
            return Depends(value.names, self.function(value.function, name))
        if isinstance(value, Random):
            outcomes = [self.array(np.asarray(one, dtype=float), rng) for one in value.outcomes]
            weights = rng.uniform(0.5, 1, size=len(outcomes))
            shares = list(weights / weights.sum())
            return Random([plain(one) for one in outcomes], shares, value.shape)
        if isinstance(value, range | set | frozenset):
            return value
        if callable(value):
            return self.function(value, name)
        if isinstance(value, np.ndarray):
            return self.array(value, rng)
        return self.number(value, rng)

    def number(self, value: Any, rng: np.random.Generator) -> Any:
        """Another number: whole, a fraction, complex or real, as it is one itself."""
        if isinstance(value, int):
            near = sorted(other_whole_numbers(value, lowest=1))
            larger = [number for number in near if number > value]
            return int(rng.choice(larger if self.kind == REAL else near))
        if isinstance(value, Fraction):
            return (value or NO_INDEX) * Fraction(int(rng.integers(2, 9)), int(rng.integers(2, 9)))
        return self.array(np.asarray(value), rng).item()

    def array(self, array: Array, rng: np.random.Generator) -> Array:
        """Another array of the same shape and about the same size."""
        size = float(np.sqrt(np.mean(np.abs(array) ** 2))) or 1.0
        real = rng.normal(size=array.shape)
        found: Any
        if np.iscomplexobj(array):
            found = size * (real + 1j * rng.normal(size=array.shape))
        elif self.kind == REAL:
            found = size * real
        elif self.kind == NEAR:
            found = array * rng.uniform(0.7, 1.4, size=array.shape)
        elif self.kind == WHOLE:
            found = rng.integers(1, 4, size=array.shape).astype(np.float64)
        else:
            found = size * rng.uniform(0.2, 1.8, size=array.shape)
        return np.asarray(found)

    def function(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Another function: its results have the same shape, and it is smooth."""

        def another(*arguments: Any, given: Sequence[Any] = ()) -> Any:
            known = plain(function(*arguments, **({"given": given} if given else {})))
            if not (is_number(known) or isinstance(known, np.ndarray)):
                return known
            shape = np.shape(known)
            wave = self.wave([*arguments, *given], f"{name}{shape}", shape)
            if isinstance(known, int):
                return round(3 * float(wave))
            if np.iscomplexobj(known):
                turn = self.wave([*arguments, *given], f"turn of {name}{shape}", shape)
                wave = wave * np.exp(1j * turn)
            return wave if shape else wave.item()

        return another

    def wave(self, arguments: Sequence[Any], name: str, shape: tuple[int, ...]) -> Array:
        """An array of positive numbers that all numbers among the arguments change."""
        known = [np.asarray(one) for one in arguments]
        parts = [part.ravel() for one in known for part in (one.real, one.imag)]
        inside = np.concatenate([np.zeros(1), *parts]).astype(np.float64)
        rng = np.random.default_rng([self.seed, zlib.crc32(f"{name}{len(inside)}".encode())])
        slopes = rng.normal(size=(*shape, len(inside))) / np.sqrt(len(inside))
        offsets = rng.uniform(0, 6, size=shape)
        sizes = rng.uniform(0.5, 1.5, size=shape)
        return np.asarray(sizes * (1.6 + np.sin(slopes @ inside + offsets)))


def of_anything(trial: Trial, text: str) -> Iterator[tuple[int, str]]:
    """The statements of a display that hold whatever their symbols are, by number and text."""
    text = with_names(text, trial.names)
    for number, statement in numbered(text, trial.tables[0]):
        if is_limit(statement):
            continue
        answers = (
            holds(statement, text, Anew(kind, seed).table(table), trial.options)
            for seed, table in enumerate(trial.tables)
            for kind in KINDS
        )
        if holds_whenever_told(answers):
            yield number, printed(statement)


def loose_letters(trial: Trial, text: str) -> Iterator[tuple[int, str]]:
    """The letters that may have any value, in statements none of whose sides names one.

    Each is told once, with the number of the statement. A function is no letter, nor is what
    follows another one.
    """
    nameless = unnamed(trial, text)
    text = with_names(text, trial.names)
    for number, statement in numbered(text, trial.tables[0]):
        if number not in nameless or is_limit(statement):
            continue
        evaluator = evaluator_for(text, trial.tables[0], trial.options)
        for name in sorted(evaluator.reached(statement.free_names())):
            if not isinstance(trial.tables[0].get(name), np.ndarray | int | float | complex):
                continue
            answers = (
                holds(statement, text, {**table, name: other}, trial.options)
                for table, other in others(trial, name)
            )
            if holds_whenever_told(answers):
                yield number, name


def others(trial: Trial, name: str) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Other values of one symbol, each with the values of the input that it is for."""
    for seed, table in enumerate(trial.tables):
        for kind in KINDS:
            other = Anew(kind, seed).table(table)[name]
            if other is not table[name]:
                yield table, other


def numbered(text: str, table: Mapping[str, Any]) -> Iterator[tuple[int, Statement]]:
    """The statements of a display with their numbers, as ``names=`` counts them."""
    starts = [start_of(text, chain) for chain in chains_in(text)]
    for statement in read_display(text, table):
        yield bisect.bisect(starts, min(statement.node.places)), statement


def holds_whenever_told(answers: Iterator[bool | None]) -> bool:
    """Whether some answer is yes and none is no; asks no further than the first no."""
    told = False
    for answer in answers:
        if answer is False:
            return False
        told = told or answer is True
    return told


def is_limit(statement: Statement) -> bool:
    """Whether a statement says only which values a symbol has: ``0 \\le i < n``."""
    node = statement.node
    return statement.premise is None and any(limits(node, name) for name in node.free_names)


def holds(
    statement: Statement, text: str, table: Mapping[str, Any], options: Options
) -> bool | None:
    """Whether a statement holds for other values; None where it means nothing for them."""
    comparison = comparison_of(text, table, options)
    evaluator = evaluator_for(text, table, options)
    try:
        with np.errstate(all="ignore"):
            cases = instances([statement], evaluator)
            found = check_statement(
                statement,
                cases=cases[:: 1 + len(cases) // MOST_CASES],
                evaluator=evaluator,
                comparison=comparison,
                hurried=True,
            )
    except (LatexError, AssertionError, np.linalg.LinAlgError):
        return None
    outcomes = found[0].seen.outcomes
    if outcomes and not any(given for given, _ in outcomes):
        return None  # its premise is never true
    return all(relation.holds for relation in found)


def printed(statement: Statement) -> str:
    """The sides and signs of a statement, in one line."""
    node = statement.node
    pieces = [node.texts[0]]
    for relation, side in zip(node.relations, node.texts[1:], strict=True):
        pieces += [relation, side]
    return " ".join(" ".join(pieces).split())


def unnamed(trial: Trial, text: str) -> set[int]:
    """The numbers of the statements none of whose sides names a value, or prints one."""
    statements = numbered(with_names(text, trial.names), trial.tables[0])
    return {
        number
        for number, statement in statements
        if not any(is_name(side) or not side.free_names for side in statement.node.sides)
    }


def is_name(side: Node) -> bool:
    """Whether a side is a symbol, an entry of one, or a declared function at its arguments.

    So is the ratio of two such sides: both of them have a value.
    """
    if isinstance(side, nodes.Product) and side.operator == "/":
        return is_name(side.left) and is_name(side.right)
    while isinstance(side, nodes.Transpose | nodes.Index):
        side = side.inner if isinstance(side, nodes.Transpose) else side.base
    return isinstance(side, nodes.Symbol | nodes.Call)

r"""Chance: is a number, on every input, a simple expression in the others?

If E is k + 3 wherever a check looks, E may be printed as ``k + 3``. So each number that the inputs
vary is compared with the expressions of a small vocabulary in one or two of the other numbers:
multiples, sums with a constant, powers, factorials, roundings, logarithms, and the sum, product,
quotient, power and maximum of two. A number that has two different values only is always an
expression of this kind, and of any other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from texcheck.values import Array, is_number

# So many different values a number needs: through two points there is a line, and k! is k at 1, 2.
FEWEST = 3
# Equal up to rounding; the second is for what cancels in a sum with a constant.
ALIKE = 1e-9
CANCELLED = 1e-14
LARGEST = 1e300
MOST_FACTORIAL = 20

One = Callable[[Array], Any]
Two = Callable[[Array, Array], Any]


def factorials(x: Array) -> Array:
    """x! where x is a whole number, and not a number elsewhere."""
    whole = (x == np.floor(x)) & (x >= 0) & (x <= MOST_FACTORIAL)
    return np.array(
        [math.factorial(int(n)) if ok else np.nan for n, ok in zip(x, whole, strict=True)],
        dtype=np.float64,
    )


# What may be done to one number, and how it is printed.
PLAIN, TIMES, PLUS, LINE = "exactly", "times a constant", "plus a constant", "a line"
SINGLES: tuple[tuple[str, One, tuple[str, ...]], ...] = (
    ("{0}", lambda x: x, (PLAIN, TIMES, PLUS, LINE)),
    ("1/{0}", lambda x: 1 / x, (PLAIN, TIMES)),
    ("{0}^2", lambda x: x**2, (PLAIN, TIMES, PLUS)),
    ("{0}^3", lambda x: x**3, (PLAIN, TIMES)),
    ("\\sqrt{{{0}}}", np.sqrt, (PLAIN, TIMES)),
    ("2^{0}", np.exp2, (PLAIN, TIMES, PLUS)),
    ("{0}!", factorials, (PLAIN, TIMES)),
    ("{0} ({0} + 1)", lambda x: x * (x + 1), (PLAIN, TIMES)),
    ("{0} ({0} - 1)", lambda x: x * (x - 1), (PLAIN, TIMES)),
    ("\\log {0}", np.log, (TIMES, LINE)),
    # Never told itself: where the half is whole, its roundings below are the same again.
    ("{0} / 2", lambda x: x / 2, ()),
    ("|{0}|", np.abs, (PLAIN,)),
    ("\\lfloor {0} \\rfloor", np.floor, (PLAIN,)),
    ("\\lceil {0} \\rceil", np.ceil, (PLAIN,)),
    ("\\lfloor {0} / 2 \\rfloor", lambda x: np.floor(x / 2), (PLAIN,)),
    ("\\lceil {0} / 2 \\rceil", lambda x: np.ceil(x / 2), (PLAIN,)),
)
PAIRS: tuple[tuple[str, Two, tuple[str, ...]], ...] = (
    ("{0} + {1}", lambda x, y: x + y, (PLAIN, TIMES, PLUS)),
    ("{0} - {1}", lambda x, y: x - y, (PLAIN, TIMES, PLUS)),
    ("{0} {1}", lambda x, y: x * y, (PLAIN, TIMES, PLUS)),
    ("{0} / {1}", lambda x, y: x / y, (PLAIN, TIMES)),
    ("{1} / {0}", lambda x, y: y / x, (PLAIN, TIMES)),
    ("{0}^{1}", lambda x, y: x**y, (PLAIN,)),
    ("{1}^{0}", lambda x, y: y**x, (PLAIN,)),
    ("\\max({0}, {1})", np.maximum, (PLAIN,)),
    ("\\min({0}, {1})", np.minimum, (PLAIN,)),
)


@dataclass(frozen=True)
class Chance:
    """A number that an expression in others gives on every input."""

    name: str
    others: tuple[str, ...]
    # How the expression is printed without its constant, and how the constant stands to it.
    template: str
    form: str
    constant: float = 0.0

    @property
    def key(self) -> tuple[str, tuple[str, ...], str, str]:
        """The same for other inputs, on which another constant may fit."""
        return (self.name, self.others, self.template, self.form)

    def __str__(self) -> str:
        inner = self.template.format(*self.others)
        if self.form == TIMES:
            inner = f"{self.constant:.7g} {inner}"
        elif self.form == PLUS:
            inner = f"{inner} {'+' if self.constant > 0 else '-'} {abs(self.constant):.7g}"
        elif self.form == LINE:
            inner = f"{self.constant:.7g} {inner} and a constant"
        return f"{self.name} = {inner}"


def varied(tables: Sequence[Mapping[str, Any]]) -> dict[str, Array]:
    """The real numbers that the inputs vary, one for each input."""
    found = {}
    for name in sorted(tables[0]) if tables else ():
        values: list[Any] = [table.get(name) for table in tables]
        if not all(is_number(value) and not isinstance(value, complex) for value in values):
            continue
        if len({*values}) > 1 and all(abs(value) < LARGEST for value in values):
            found[name] = np.array([float(value) for value in values])
    return found


def too_few(numbers: Mapping[str, Array]) -> list[str]:
    """The numbers that have two different values only."""
    return [name for name, values in numbers.items() if len({*values.tolist()}) < FEWEST]


def chances(numbers: Mapping[str, Array]) -> Iterator[Chance]:
    """All numbers that one or two of the others give on every input, the simplest first."""
    names = [name for name in numbers if len({*numbers[name].tolist()}) >= FEWEST]
    if len(names) < 2:
        return
    targets = np.array([numbers[name] for name in names])
    with np.errstate(all="ignore"):
        yield from among(names, targets, list(singles(names, numbers)))
        yield from among(names, targets, list(pairs(names, numbers)))


Candidate = tuple[tuple[str, ...], str, tuple[str, ...], Array]


def singles(names: Sequence[str], numbers: Mapping[str, Array]) -> Iterator[Candidate]:
    """The expressions in one number."""
    for name in names:
        known: list[Array] = []
        for template, function, forms in SINGLES:
            values = function(numbers[name])
            # What is whole is not changed by rounding it.
            if not any(np.array_equal(values, one) for one in known):
                known.append(values)
                yield (name,), template, forms, values


def pairs(names: Sequence[str], numbers: Mapping[str, Array]) -> Iterator[Candidate]:
    """The expressions in two numbers."""
    for both in itertools.combinations(names, 2):
        one = numbers[both[0]]
        other = numbers[both[1]]
        for template, function, forms in PAIRS:
            values = function(one, other)
            # A maximum that is always the same one of the two says nothing of the other.
            if not (np.array_equal(values, one) or np.array_equal(values, other)):
                yield both, template, forms, values


def among(
    names: Sequence[str], targets: Array, candidates: Sequence[Candidate]
) -> Iterator[Chance]:
    """The numbers that a candidate gives, exactly or with a constant that fits."""
    if not candidates:
        return
    values = np.array([candidate[-1] for candidate in candidates])
    finite = np.isfinite(values).all(1) & (np.abs(values).max(1) < LARGEST)
    for form in (PLAIN, TIMES, PLUS, LINE):
        places = [n for n, one in enumerate(candidates) if form in one[2] and finite[n]]
        if not places:
            continue
        hits, constants = fits(form, targets[:, None, :], values[places][None, :, :])
        for target, place in zip(*np.nonzero(hits), strict=True):
            others, template, _, _ = candidates[places[place]]
            if names[target] not in others:
                yield Chance(names[target], others, template, form, constants[target, place])


def fits(form: str, targets: Array, values: Array) -> tuple[Array, Array]:
    """Where values give the targets by a form, along the last axis, and with which constant."""
    constants = np.zeros(np.broadcast_shapes(targets.shape, values.shape)[:-1])
    given: Array = np.broadcast_to(values, (*constants.shape, values.shape[-1]))
    room = ALIKE * np.abs(targets)
    if form == TIMES:
        largest = np.abs(given).argmax(-1)[..., None]
        at = np.take_along_axis(given, largest, -1)
        goal = np.take_along_axis(np.broadcast_to(targets, given.shape), largest, -1)
        constants = (goal / at)[..., 0]
        given = given * constants[..., None]
    elif form in (PLUS, LINE):
        room = room + CANCELLED * (np.abs(given) + np.abs(targets[..., :1]))
        if form == LINE:
            low = given.argmin(-1)[..., None]
            high = given.argmax(-1)[..., None]
            goals = np.broadcast_to(targets, given.shape)
            rise = np.take_along_axis(goals, high, -1) - np.take_along_axis(goals, low, -1)
            run = np.take_along_axis(given, high, -1) - np.take_along_axis(given, low, -1)
            constants = (rise / run)[..., 0]
            given = given * constants[..., None]
        shift = targets[..., :1] - given[..., :1]
        given = given + shift
        constants = shift[..., 0] if form == PLUS else constants
        spread = targets.max(-1, keepdims=True) - targets.min(-1, keepdims=True)
        room = np.where(room < spread / 1000, room, -1.0)
    hits = (np.abs(given - targets) <= room).all(-1)
    if form in (TIMES, LINE):
        hits &= (constants != 0) & np.isfinite(constants)
    if form == TIMES:
        hits &= constants != 1
    if form == PLUS:
        hits &= constants != 0
    return hits, constants

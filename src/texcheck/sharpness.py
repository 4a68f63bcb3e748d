r"""Bounds are the best with their digits: no printed number one last digit away gives a nearer one.

``x < 4.75`` is refused where ``x < 4.74`` holds on all draws as well. So each number of a bound is
moved by one last digit, up and down; what then holds and comes nearer to equality could be printed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from texcheck.check import Options, relations_of
from texcheck.decimals import Decimal, decimal_at, is_excused
from texcheck.errors import LatexError
from texcheck.evaluation.memory import Memory
from texcheck.nodes import Number
from texcheck.reading.statements import read_display
from texcheck.relation import ORDER, Seen

WHOLE = re.compile(r"\d+(?:(?:\{,\}|,|\\,)\d{3})*")
# How much nearer, as a share of how near the printed bound comes, another one must be.
NEARER = 1e-6


def blunt_number(
    text: str,
    tables: Sequence[Mapping[str, Any]],
    options: Options,
    memories: Sequence[Memory],
    seen: Sequence[Seen],
    excused: Collection[str],
) -> str:
    """Which number of a bound could have another last digit and be sharper; empty where none could.

    ``seen``: what the inputs have shown of each relation; ``excused``: misprints that are true as
    well, by their names.
    """
    for place, printed, moved in numbers_of_bounds(text, tables[0]):
        name = f"{'last digit' if '.' in printed else 'off by one'}: {printed} → {moved}"
        if is_excused(name, excused):
            continue
        changed = f"{text[:place]}{moved}{text[place + len(printed) :]}"
        if comes_nearer(changed, tables, options, memories, seen):
            return (
                f"holds with {moved.strip('{}')} in place of {printed} as well, and is sharper; "
                "print it, draw values that exclude it, or say why not: "
                f'equivalent={{"{name}": "why"}}'
            )
    return ""


def numbers_of_bounds(text: str, table: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Where a number stands in a chain with an inequality, and what it could be; 0 is no digit."""
    chains = [
        chain
        for statement in read_display(text, table)
        for chain in statement.chains
        if any(relation in ORDER for relation in chain.relations)
    ]
    parts = (part for chain in chains for side in chain.sides for part in side.walk())
    numbers = {part.position: part for part in parts if isinstance(part, Number)}
    for place, number in sorted(numbers.items()):
        printed = printed_at(text, number)
        for moved in moves(printed) if printed else ():
            if moved.strip("{}0."):
                yield place, printed, moved


def printed_at(text: str, number: Number) -> str:
    """A number as it is printed; empty where something else is printed at its place."""
    decimal = decimal_at(text, number)
    if decimal is not None:
        return decimal.printed
    match = WHOLE.match(text, number.position)
    return match[0] if match and int(re.sub(r"\D", "", match[0])) == number.value else ""


def moves(printed: str) -> Iterator[str]:
    """A printed number with its last digit one higher and one lower, not below 0."""
    if "." in printed:
        decimal = Decimal(0, 0.0, 1.0, printed)
        yield from (moved for units in (1, -1) if (moved := decimal.moved(units)))
        return
    whole = int(re.sub(r"\D", "", printed))
    for other in (whole + 1, whole - 1):
        if other >= 0:
            # Several digits must not fall apart after ``^`` or ``\frac``.
            yield str(other) if other < 10 else f"{{{other}}}"


def comes_nearer(
    text: str,
    tables: Sequence[Mapping[str, Any]],
    options: Options,
    memories: Sequence[Memory],
    seen: Sequence[Seen],
) -> bool:
    """Whether all relations of a text hold on all inputs, and an inequality is nearer than seen."""
    nearest = [float("inf")] * len(seen)
    for table, memory in zip(tables, memories, strict=True):
        try:
            found = relations_of(text, table, options, memory, True)
        except LatexError:
            return False
        if len(found) != len(seen) or not all(relation.holds for relation in found):
            return False
        nearest = [min(a, one.seen.slack) for a, one in zip(nearest, found, strict=True)]
    return any(
        relation.relation in ORDER and slack < (1 - NEARER) * before.slack
        for relation, slack, before in zip(found, nearest, seen, strict=True)
    )

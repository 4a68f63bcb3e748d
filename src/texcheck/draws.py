r"""Could the values of a check tell one text from another? What is the same on every draw cannot.

A number that no draw varies may be printed in place of its symbol, and two symbols that are always
equal may stand for each other. Such a symbol needs other values, or a reason:
``fixed={"d": "why"}``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from texcheck.nodes import Chain, Number, Symbol
from texcheck.values import is_number

Table = Mapping[str, Any]

SAME = "equal on every input, so that one could be printed for the other; draw them apart"


def sameness(chains: Sequence[Chain], tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """The symbols that are too much alike on all inputs, each with what is alike."""
    names = sorted(set[str]().union(*(chain.free_names for chain in chains)))
    values = {name: [table.get(name) for table in tables] for name in names}
    numbers = {name: found for name, found in values.items() if all(map(is_number, found))}
    constant = {name for name, found in numbers.items() if len({*found}) == 1}
    for name in sorted(constant):
        if not stated(name, chains, constant):
            yield (
                name,
                f"{name} is {numbers[name][0]:.7g} on every input, so that the number could be "
                f"printed in its place; draw {name} too",
            )
    yield from equals(chains, tables)


def equals(chains: Sequence[Chain], tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """Symbols that could stand for each other on all inputs, and arrays of one number."""
    names = sorted(set[str]().union(*(chain.free_names for chain in chains)))
    values = {name: [table.get(name) for table in tables] for name in names}
    numbers = {name: found for name, found in values.items() if all(map(is_number, found))}
    arrays: dict[str, list[Any]] = {
        name: found
        for name, found in values.items()
        if all(isinstance(value, np.ndarray) for value in found)
    }
    for one, other in itertools.combinations(numbers, 2):
        if numbers[one] == numbers[other] and not equated(one, other, chains):
            yield other, f"{one} and {other} are {SAME}"
    for one, other in itertools.combinations(arrays, 2):
        if not equated(one, other, chains) and all(
            np.array_equal(a, b) for a, b in zip(arrays[one], arrays[other], strict=True)
        ):
            yield other, f"{one} and {other} are {SAME}"
    for name, found in arrays.items():
        if special := kind_of(found):
            yield name, f"{name} is {special} on every input; draw one that is not"


def coincidences(chains: Sequence[Chain], tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """The symbols that equal, on every input, a whole number that is printed beside them."""
    parts = [part for chain in chains for part in chain.walk()]
    printed = {
        part.value for part in parts if isinstance(part, Number) and isinstance(part.value, int)
    }
    for name in sorted({part.name for part in parts if isinstance(part, Symbol)}):
        values = [table.get(name) for table in tables]
        if not all(is_number(value) for value in values) or len({*values}) != 1:
            continue
        if values[0] in printed and not any(equates(chain, name, values[0]) for chain in chains):
            yield (
                name,
                f"{name} is {values[0]} on every input, and {values[0]} is printed beside it: "
                f"the one could stand for the other; give {name} another value",
            )


def on_one_input(chains: Sequence[Chain], table: Table) -> Iterator[tuple[str, str]]:
    """The symbols whose values on a single input could hide a misprint, each with the reason."""
    yield from coincidences(chains, [table])
    yield from equals(chains, [table])


def equates(chain: Chain, name: str, value: int) -> bool:
    """Whether a chain itself says that a symbol is this number."""
    return Symbol(name) in chain.sides and Number(value) in chain.sides


def stated(name: str, chains: Sequence[Chain], constant: set[str]) -> bool:
    """Whether the text itself says what number a symbol is, or computes one from it."""
    for chain in chains:
        if name not in chain.free_names or not {*chain.relations} & {"=", "approx"}:
            continue
        closed = any(not side.free_names for side in chain.sides)
        if closed and (Symbol(name) in chain.sides or chain.free_names <= constant):
            return True
    return False


def equated(one: str, other: str, chains: Sequence[Chain]) -> bool:
    """Whether the text itself says that two symbols are equal."""
    return any(
        Symbol(one) in chain.sides and Symbol(other) in chain.sides and "=" in chain.relations
        for chain in chains
    )


def kind_of(arrays: Sequence[np.ndarray[Any, Any]]) -> str:
    """What is special about an array on all inputs; empty where nothing is."""
    if all(array.size > 1 and np.all(array == array.flat[0]) for array in arrays):
        return "an array of equal numbers"
    return ""

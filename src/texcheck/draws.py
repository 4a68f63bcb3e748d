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

from texcheck.nodes import Chain, Symbol
from texcheck.values import is_number

Table = Mapping[str, Any]


def sameness(chains: Sequence[Chain], tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """The symbols that are too much alike on all inputs, each with what is alike."""
    names = sorted(set[str]().union(*(chain.free_names for chain in chains)))
    values = {name: [table.get(name) for table in tables] for name in names}
    numbers = {name: found for name, found in values.items() if all(map(is_number, found))}
    arrays: dict[str, list[Any]] = {
        name: found
        for name, found in values.items()
        if all(isinstance(value, np.ndarray) for value in found)
    }
    constant = {name for name, found in numbers.items() if len({*found}) == 1}
    for name in sorted(constant):
        if not stated(name, chains, constant):
            yield (
                name,
                f"{name} is {numbers[name][0]:.7g} on every input, so that the number could be "
                f"printed in its place; draw {name} too",
            )
    for one, other in itertools.combinations(numbers, 2):
        if numbers[one] == numbers[other] and not equated(one, other, chains):
            yield (
                other,
                f"{one} and {other} are equal on every input, so that one could be printed for "
                "the other; draw them apart",
            )
    for one, other in itertools.combinations(arrays, 2):
        if not equated(one, other, chains) and all(
            np.array_equal(a, b) for a, b in zip(arrays[one], arrays[other], strict=True)
        ):
            yield (
                other,
                f"{one} and {other} are equal on every input, so that one could be printed for "
                "the other; draw them apart",
            )
    for name, found in arrays.items():
        if special := kind_of(found):
            yield name, f"{name} is {special} on every input; draw one that is not"


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

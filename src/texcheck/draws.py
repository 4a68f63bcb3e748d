r"""Could the values of a check tell one text from another? What is the same on every draw cannot.

A number that no draw varies may be printed in place of its symbol, and two symbols that are always
equal may stand for each other. Such a symbol needs other values, or a reason:
``fixed={"d": "why"}``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from texcheck.chance import LINE, PLAIN, PLUS, Chance, chances, too_few, varied
from texcheck.nodes import Chain, Index, Node, Number, Symbol, Transpose
from texcheck.values import Array, Random, is_number

Table = Mapping[str, Any]

IDENTITY = "the identity"
# What is special about square matrices: a product of them, or their transpose, tells less.
KINDS: dict[str, Callable[[Array], bool]] = {
    IDENTITY: lambda array: np.array_equal(array, np.eye(len(array))),
    "diagonal": lambda array: np.array_equal(array, np.diag(np.diag(array))),
    "symmetric": lambda array: np.array_equal(array, array.T),
    "its own inverse": lambda array: np.allclose(array @ array, np.eye(len(array))),
}
# Masks that leave out one side of the diagonal: a sum up to it gives the same as one over all.
TRIANGLES: dict[str, Callable[[Array], Array]] = {
    "a mask with nothing above its diagonal": np.tril,
    "a mask with nothing below its diagonal": np.triu,
}
# The names of the identity.
UNITS = {"I", "\\mathbf{I}", "\\delta"}

SAME = "equal on every input, so that one could be printed for the other; draw them apart"


def sameness(
    chains: Sequence[Chain], tables: Sequence[Table], excused: Collection[str] = frozenset()
) -> Iterator[tuple[str, str]]:
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
    yield from by_chance(chains, tables, excused)
    yield from multiples(chains, tables[0], constant & {*excused})


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
        special = kind_of(found)
        if special and not defined(name, chains) and not (special == IDENTITY and name in UNITS):
            yield name, f"{name} is {special} on every input; draw one that is not"
    for name, found in values.items():
        if all(isinstance(value, Random) and of_one_size(value) for value in found):
            yield (
                name,
                f"the outcomes of {name} have the same square, so that {name}^3 could be printed "
                f"for {name}; draw outcomes of different sizes",
            )


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


def multiples(
    chains: Sequence[Chain], table: Table, constant: set[str]
) -> Iterator[tuple[str, str]]:
    """The printed numbers that are a multiple of one that is excused for being always the same."""
    printed = {
        part.value
        for chain in chains
        for part in chain.walk()
        if isinstance(part, Number) and isinstance(part.value, int)
    }
    for name in sorted(constant):
        value = table[name]
        if isinstance(value, complex) or value != round(value) or value < 2:
            continue
        for number in sorted(printed):
            if number > value and number % value == 0:
                yield (
                    f"{number}",
                    f"{number} is printed, and is {number // value:.7g} times {name}, which is "
                    f"{value:.7g} on every input: the one could stand for the other; draw {name}",
                )


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


def defined(name: str, chains: Sequence[Chain]) -> bool:
    """Whether the text itself says what a symbol is, by others or by its own transpose."""
    own = Symbol(name)
    return any(
        any(side == own or (isinstance(side, Index) and side.base == own) for side in chain.sides)
        and "=" in chain.relations
        and any(name not in side.free_names or is_transpose(side, own) for side in chain.sides)
        for chain in chains
    )


def is_transpose(side: Node, symbol: Symbol) -> bool:
    """Whether a side is the transpose of a symbol."""
    return isinstance(side, Transpose) and side.inner == symbol


def kind_of(arrays: Sequence[Array]) -> str:
    """What is special about an array on all inputs; empty where nothing is."""
    if all(array.size > 1 and np.all(array == array.flat[0]) for array in arrays):
        return "an array of equal numbers"
    if all(array.ndim > 1 and len(array) > 1 and np.all(array == array[:1]) for array in arrays):
        return "an array of equal rows"
    if all(array.ndim == 1 and array.size > 1 and np.count_nonzero(array) == 1 for array in arrays):
        return "a vector with one entry that is not 0"
    if all(array.ndim == 2 and array.shape[0] == array.shape[1] > 1 for array in arrays):
        for kind, test in KINDS.items():
            if all(test(array) for array in arrays):
                return kind
    if all(is_mask(array) for array in arrays):
        for kind, part in TRIANGLES.items():
            if all(np.array_equal(array, part(array)) for array in arrays):
                return kind
    return ""


def is_mask(array: Array) -> bool:
    """Whether an array is a matrix of 0 and 1."""
    return array.ndim == 2 and min(array.shape) > 1 and bool(np.isin(array, (0, 1)).all())


def of_one_size(value: Random) -> bool:
    """Whether all outcomes of a random variable have one square, as 1 and -1."""
    outcomes = [np.asarray(outcome) for outcome in value.outcomes]
    return len({float(size) for one in outcomes for size in np.abs(one).flat}) == 1


def twofold(chains: Sequence[Chain], tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """The numbers that have two values only, and that no text computes."""
    printed = set[str]().union(*(chain.free_names for chain in chains))
    numbers = varied(tables)
    for name in too_few(numbers):
        if name in printed and not defined(name, chains):
            values = " and ".join(f"{value:.7g}" for value in sorted({*numbers[name].tolist()}))
            yield (
                name,
                f"{name} is {values} and nothing else on the inputs, and many expressions have "
                f"these two values; draw a third value of {name}",
            )


def by_chance(
    chains: Sequence[Chain], tables: Sequence[Table], excused: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Numbers that an expression in others gives on all inputs."""
    printed = set[str]().union(*(chain.free_names for chain in chains))
    numbers = varied(tables)
    found: dict[frozenset[str], list[Chance]] = {}
    for chance in chances(numbers):
        names = frozenset((chance.name, *chance.others))
        if seen_in(chance, printed, chains) and not linked((*names,), chains):
            found.setdefault(names, []).append(chance)
    for several in found.values():
        first = several[0]
        if {chance.name for chance in several}.isdisjoint(excused):
            yield (
                first.name,
                f"on every input {first}, so that the one could be printed for the other; "
                "draw them apart",
            )


def seen_in(chance: Chance, printed: set[str], chains: Sequence[Chain]) -> bool:
    """Whether a text has the numbers that are alike, so that one could be printed for another."""
    names = {chance.name, *chance.others}
    alone = len(names) == 2 and chance.form in (PLUS, LINE)
    if alone and compared(chance.name, chance.others[0], chains):
        return False
    if printed.issuperset(names):
        return True
    if chance.template != "{0} {1}" or chance.form != PLAIN:
        return False
    # Another name of what a text defines is seen beside the other factor.
    return printed.issuperset(chance.others) or (
        chance.name in printed and not defined(chance.name, chains)
    )


def compared(one: str, other: str, chains: Sequence[Chain]) -> bool:
    """Whether the text says which of two symbols is larger: whole numbers are near at 1 apart."""
    return any(Symbol(one) in chain.sides and Symbol(other) in chain.sides for chain in chains)


def linked(names: tuple[str, ...], chains: Sequence[Chain]) -> bool:
    """Whether the text itself says what one of some symbols is, by the others.

    So it does where it computes each of them, or has an equation in these symbols alone.
    """
    for chain in chains:
        if not {*chain.relations} & {"=", "approx"}:
            continue
        for one, other in itertools.pairwise(chain.sides):
            if (
                one.free_names
                and other.free_names
                and one.free_names | other.free_names == {*names}
            ):
                return True
        alone = [name for name in names if Symbol(name) in chain.sides]
        for name in alone:
            others = {*names} - {name}
            if any(side != Symbol(name) and others <= side.free_names for side in chain.sides):
                return True
    return all(defined(name, chains) for name in names)

r"""Other values of one symbol: what stands behind ``\forall`` is drawn alone, anew."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.values import Array, Depends, Random, is_exact, is_number

# A real number is replaced by these multiples of it, and by 0; where it is 0, by themselves.
MULTIPLES = (0.37, 0.9, 1.1, 2.3, -1.0, -1.7)
TURNS = (0.37 + 0.8j, -1.7 + 0.4j)
# So many whole numbers above and below are tried, and so many arrays of each kind.
NEIGHBOURS = 4
ARRAYS = 3


def undrawable(value: Any, name: str) -> str:
    """Why nothing can draw a declared value anew; empty where something can."""
    if callable(value):
        return f"{name} is a function"
    if isinstance(value, Depends):
        return f"{name} follows {', '.join(value.names)}; say it of that"
    if isinstance(value, Random):
        return f"{name} is a random variable"
    if isinstance(value, range | np.ndarray) or is_number(value):
        return ""
    return f"{name} is a set"


def other_values(value: Any, name: str, lowest: int) -> Iterator[Any]:
    """Other values of the same kind, always the same ones; whole numbers from ``lowest`` on.

    Of an index that is declared as a ``range`` all values in it are tried anyway: the others are
    those beside its ends.
    """
    if isinstance(value, range):
        yield from beside(value, lowest)
    elif isinstance(value, np.ndarray):
        yield from other_arrays(value, np.random.default_rng(zlib.crc32(name.encode())))
    elif isinstance(value, int):
        yield from other_whole_numbers(value, lowest)
    elif isinstance(value, Fraction):
        for multiple in MULTIPLES:
            share = Fraction(str(multiple))
            yield value * share if value else share
    elif isinstance(value, complex):
        for turn in (*TURNS, *MULTIPLES):
            yield value * turn if value else complex(turn)
    else:
        for multiple in MULTIPLES:
            yield value * multiple if value else multiple
        if value:
            yield 0.0


def beside(indices: range, lowest: int) -> Iterator[int]:
    """The whole numbers beside both ends of a range, and those that it leaves out."""
    if not indices:
        return
    first = min(indices)
    last = max(indices)
    for number in range(first - 1, last + 2):
        if number not in indices and number >= lowest:
            yield number


def other_whole_numbers(value: int, lowest: int) -> Iterator[int]:
    """The neighbours of a whole number, and smaller and larger ones; negative ones beside such."""
    near = [value + step for k in range(1, NEIGHBOURS + 1) for step in (k, -k)]
    far = [2 * value, value // 2, 4 * value, value // 4, 1]
    for number in dict.fromkeys([*near, *far]):
        if number != value and (number >= lowest or value < lowest):
            yield number


def other_arrays(array: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Arrays of the same shape: of 0 and 1, of whole, real or complex numbers, as it is one."""
    shape: tuple[int, ...] = array.shape
    size = float(np.sqrt(np.mean(np.abs(array) ** 2))) or 1.0
    if np.iscomplexobj(array):
        for _ in range(ARRAYS):
            real = rng.normal(size=shape)
            imaginary = rng.normal(size=shape)
            yield size * (real + 1j * imaginary)
        return
    whole = bool(np.all(array == np.round(array)))
    lowest = int(np.min(array)) if whole else 0
    highest = int(np.max(array)) if whole else 0
    for _ in range(ARRAYS):
        if whole and lowest >= 0 and highest == 1:
            yield rng.integers(0, 2, size=shape).astype(np.float64)
        elif whole:
            low = lowest - 2 if lowest < 0 else 0
            yield rng.integers(low, highest + 3, size=shape).astype(np.float64)
        else:
            yield size * rng.normal(size=shape)
            # Some texts mean something only where all entries are positive.
            yield size * rng.uniform(0.2, 1.8, size=shape)
    if lowest <= 0:
        yield np.zeros(shape)


def is_index(name: str, parts: Iterable[Node]) -> bool:
    """Whether a symbol is printed as the index of an array."""
    return any(
        isinstance(part, nodes.Index) and name in nodes.names_in_all(part.indices) for part in parts
    )


def size_of(value: Any, names: Sequence[str], table: Mapping[str, Any]) -> str:
    """The symbol among some that has a number as its size; empty where none has."""
    if not is_exact(value):
        return ""
    for name in sorted(names):
        other = table.get(name)
        if isinstance(other, np.ndarray) and value in other.shape:
            return name
        if isinstance(other, range) and value in (len(other), other.stop, other.stop - 1):
            return name
    return ""

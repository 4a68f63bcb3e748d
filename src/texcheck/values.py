"""What a symbol may be bound to.

A 1-D array is a vector whose orientation is the formula's convention (row or column); its
transpose is a ``Crossed`` vector. Operations that the printed mathematics does not define
(a number plus a matrix, a product of two rows) are errors, not NumPy broadcasts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# A number (int, float, complex, Fraction), an Array or a Crossed one; what a symbol is
# declared as may also be a function, a range, a set, Random or Depends. is_number and isinstance
# tell them apart. Any, since a union of these gives 96 errors: no type checker follows the rules of
# `arithmetic`, which decide what may meet what, and say so in an error with its place.
Value = Any


@dataclass(frozen=True)
class Depends:
    """A symbol computed from other symbols each time it is read: ``p = softmax(x)``."""

    names: tuple[str, ...]
    function: Callable[..., Any]


def depends(*arguments: Any) -> Depends:
    """Bind a symbol to a function of other symbols: ``"p": depends("x", softmax)``.

    Needed wherever the formula differentiates the symbol or takes its expectation.
    """
    *names, function = arguments
    if not names or not callable(function) or not all(isinstance(name, str) for name in names):
        raise TypeError('depends needs symbol names and then a function: depends("x", softmax)')
    return Depends(tuple(names), function)


class Random:
    """A random variable with finitely many outcomes, or an array of independent copies of it.

    ``\\mathbb{E}`` and ``\\operatorname{Var}`` enumerate all outcomes, so moments are exact.
    The same object under two symbols is the same random variable.
    """

    def __init__(
        self,
        outcomes: Sequence[Any],
        probabilities: Sequence[float] | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        if len(outcomes) == 0:
            raise ValueError("a random variable needs at least one outcome")
        weights = probabilities
        if weights is None:
            weights = [1 / len(outcomes)] * len(outcomes)
        if len(weights) != len(outcomes) or abs(sum(weights) - 1) > 1e-9:
            raise ValueError(
                f"need one probability for each of {len(outcomes)} outcomes, summing to 1, "
                f"got {list(weights)}"
            )
        self.outcomes = list(outcomes)
        self.probabilities = list(weights)
        self.shape = shape

    def count(self) -> int:
        """How many joint outcomes there are."""
        return int(len(self.outcomes) ** (1 if self.shape is None else math.prod(self.shape)))

    def joint(self) -> Iterator[tuple[Any, float]]:
        """All joint outcomes with their probabilities."""
        pairs = list(zip(self.outcomes, self.probabilities, strict=True))
        if self.shape is None:
            yield from pairs
            return
        for chosen in itertools.product(pairs, repeat=math.prod(self.shape)):
            array = np.array([value for value, _ in chosen]).reshape(self.shape)
            yield array, float(np.prod([weight for _, weight in chosen]))


@dataclass(frozen=True)
class Crossed:
    """A vector turned against the convention of the formula: the transpose of a 1-D array."""

    array: Array


# What is said of the ... that a skeleton of checks has where a value is to be computed.
UNFILLED = "is still to be filled in: write what it is in place of ..."


def plain(value: Any) -> Any:
    """Turn a declared number, tensor or nested list into a float64 or complex value."""
    if value is ...:
        raise TypeError(f"it {UNFILLED}")
    if isinstance(value, (Random, Depends, range, set, frozenset, Crossed)):
        return value
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, Fraction, float, complex)):
        return value
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if callable(value):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"a symbol must be a number, an array or a callable, got {value!r}")
    if array.ndim == 0:
        return array.item()
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64)


# Whole numbers stay exact up to this many bits (4,214 digits: Python writes no longer ones);
# beyond, a float says whether they are finite.
MOST_BITS = 14_000

# Looked at first: most values are one of these, and abstract number types are slow to test.
COMMON_NUMBERS = {int, float, complex}
EXACT_NUMBERS = {int, Fraction}


def is_number(value: Any) -> bool:
    """Whether a value is one number."""
    return type(value) in COMMON_NUMBERS or isinstance(
        value, (int, float, complex, Fraction, np.number)
    )


def is_exact(value: Any) -> bool:
    """Whether a value has no rounding."""
    return type(value) in EXACT_NUMBERS


def is_real(array: Array) -> bool:
    """Whether no entry has an imaginary part beyond rounding: z times its conjugate is real."""
    return not np.iscomplexobj(array) or bool(np.all(np.abs(array.imag) <= 1e-12 * np.abs(array)))


def as_array(value: Any) -> Array:
    """The entries of a value, without its orientation."""
    if isinstance(value, Crossed):
        return value.array
    if isinstance(value, np.ndarray):
        return value
    large = isinstance(value, int) and value.bit_length() > 63
    return np.asarray(float(value) if large or type(value) is Fraction else value)


def describe(value: Any) -> str:
    """A value in words, for errors."""
    if is_number(value):
        return (
            f"the number {float(value):.6g}" if not isinstance(value, complex) else f"{value:.6g}"
        )
    if isinstance(value, Crossed):
        return f"a transposed vector of length {len(value.array)}"
    if isinstance(value, np.ndarray):
        if value.ndim == 1:
            return f"a vector of length {len(value)}"
        return f"an array of shape {value.shape}"
    return f"a {type(value).__name__}"


def unify(left: Any, right: Any) -> tuple[Any, Any]:
    """Leave two exact numbers exact; else turn fractions and big integers into floats."""
    if type(left) is float and type(right) is float:
        return left, right
    if is_exact(left) and is_exact(right):
        return left, right

    def loosen(value: Any) -> Any:
        if type(value) is Fraction:
            return float(value)
        if isinstance(value, int) and abs(value) > 2**53:
            return float(value)
        return value

    return loosen(left), loosen(right)


def mapped(value: Value, function: Callable[[Any], Any]) -> Value:
    """Apply a function to every entry and keep the direction of a vector."""
    if isinstance(value, Crossed):
        return Crossed(function(value.array))
    if isinstance(value, np.ndarray):
        return np.asarray(function(value))
    number = float(value) if isinstance(value, (int, Fraction)) else value
    return np.asarray(function(number)).item()


def bits(value: int | Fraction) -> int:
    """The length of an exact number."""
    return max(abs(value.numerator), value.denominator).bit_length()


def declared_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a check declares, in the evaluator's own kinds."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        if value is ...:
            raise TypeError(f"the value of {name!r} {UNFILLED}")
        try:
            result[name] = plain(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the value of {name!r} cannot be used: {error}") from None
    return result

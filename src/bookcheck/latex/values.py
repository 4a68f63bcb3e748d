"""What a symbol may be bound to, and how such values are added and multiplied.

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

from bookcheck.latex.errors import ShapeError


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
        if not outcomes:
            raise ValueError("a random variable needs at least one outcome")
        weights = probabilities or [1 / len(outcomes)] * len(outcomes)
        if len(weights) != len(outcomes) or abs(sum(weights) - 1) > 1e-9:
            raise ValueError(
                f"need one probability for each of {len(outcomes)} outcomes, summing to 1, "
                f"got {list(weights)}"
            )
        self.outcomes = list(outcomes)
        self.probabilities = list(weights)
        self.shape = shape

    @classmethod
    def normal(
        cls,
        mean: float = 0.0,
        std: float = 1.0,
        points: int = 8,
        shape: tuple[int, ...] | None = None,
    ) -> Random:
        """A normal variable by Gauss-Hermite points: moments up to degree 2·points−1 are exact."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(points)
        weights = weights / weights.sum()
        return cls(list(mean + std * nodes), list(weights), shape)

    def count(self) -> int:
        return int(len(self.outcomes) ** (1 if self.shape is None else math.prod(self.shape)))

    def joint(self) -> Iterator[tuple[Any, float]]:
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

    array: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Dotted:
    """A matrix of which only the printed entries are known; dots stand for the rest.

    ``entries[r][c]`` is the printed entry; ``row_gap`` and ``column_gap`` count the printed rows
    and columns before the dots (``None``: no dots along that axis).
    """

    entries: np.ndarray[Any, Any]
    row_gap: int | None
    column_gap: int | None


def plain(value: Any) -> Any:
    """Turn a declared number, tensor or nested list into a float64 or complex value."""
    if isinstance(value, (Random, Depends, range, set, frozenset, Crossed, Dotted)):
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
    if array.dtype == object and all(is_number(entry) for entry in array.flat):
        return array if array.ndim else array.item()
    if array.dtype.kind not in "biufc":
        raise TypeError(f"a symbol must be a number, an array or a callable, got {value!r}")
    if array.ndim == 0:
        return array.item()
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64)


# Looked at first: most values are one of these, and abstract number types are slow to test.
COMMON_NUMBERS = {int, float, complex}


def is_number(value: Any) -> bool:
    return type(value) in COMMON_NUMBERS or isinstance(
        value, (int, float, complex, Fraction, np.number)
    )


def is_exact(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.dtype == object)
    return isinstance(value, (int, Fraction)) and not isinstance(value, bool)


def is_real(array: np.ndarray[Any, Any]) -> bool:
    """Whether no entry has an imaginary part: z times its conjugate is real."""
    return not np.iscomplexobj(array) or not np.any(array.imag)


def is_undefined(value: Any) -> bool:
    """Whether a value has an entry that is not a number."""
    if not (is_number(value) or isinstance(value, (np.ndarray, Crossed))):
        return False
    array = as_array(value)
    return array.dtype.kind in "fc" and bool(np.any(np.isnan(array)))


def as_array(value: Any) -> np.ndarray[Any, Any]:
    """The entries of a value, without its orientation."""
    if isinstance(value, Crossed):
        return value.array
    if isinstance(value, Dotted):
        return value.entries
    if isinstance(value, np.ndarray):
        return value
    return np.asarray(float(value) if isinstance(value, Fraction) else value)


def describe(value: Any) -> str:
    if is_number(value):
        return (
            f"the number {float(value):.6g}" if not isinstance(value, complex) else f"{value:.6g}"
        )
    if isinstance(value, Crossed):
        return f"a transposed vector of length {len(value.array)}"
    if isinstance(value, Dotted):
        return "a matrix with dots whose pattern is not complete"
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
        if isinstance(value, Fraction):
            return float(value)
        if isinstance(value, int) and abs(value) > 2**53:
            return float(value)
        if isinstance(value, np.ndarray) and value.dtype == object:
            return value.astype(np.float64)
        return value

    return loosen(left), loosen(right)


class Arithmetic:
    """Sums and products of values under one convention for 1-D arrays."""

    def __init__(
        self, convention: str, fail: Callable[[str, int], ShapeError], broadcast: bool = False
    ) -> None:
        self.convention = convention
        self.fail = fail
        self.broadcast = broadcast
        self.orientation_used = False
        self.outer_products = 0

    def orientation(self, value: Any) -> str:
        self.orientation_used = True
        crossed = {"row": "column", "column": "row"}
        return crossed[self.convention] if isinstance(value, Crossed) else self.convention

    def vector(self, array: np.ndarray[Any, Any], orientation: str) -> Any:
        return array if orientation == self.convention else Crossed(array)

    def is_vector(self, value: Any) -> bool:
        return isinstance(value, Crossed) or (isinstance(value, np.ndarray) and value.ndim == 1)

    def grid(self, value: Any) -> np.ndarray[Any, Any]:
        """The value as the 2-D matrix that would be printed for it."""
        if self.is_vector(value):
            array = as_array(value)
            return array[None, :] if self.orientation(value) == "row" else array[:, None]
        array = as_array(value)
        return array.reshape(1, 1) if array.ndim == 0 else array

    def transpose(self, value: Any, position: int) -> Any:
        if isinstance(value, Crossed):
            return value.array
        if isinstance(value, Dotted):
            return Dotted(value.entries.T, value.column_gap, value.row_gap)
        if isinstance(value, np.ndarray) and value.ndim == 1:
            self.orientation_used = True
            return Crossed(value)
        if isinstance(value, np.ndarray) and value.ndim == 2:
            return value.T
        raise self.fail(f"{describe(value)} cannot be transposed", position)

    def elementwise(
        self, name: str, function: Callable[[Any, Any], Any], left: Any, right: Any, position: int
    ) -> Any:
        """Combine entry by entry; vectors must have the same direction."""
        left, right = unify(left, right)
        if isinstance(left, Dotted) or isinstance(right, Dotted):
            return self.dotted(name, function, left, right, position)
        if is_number(left) and is_number(right):
            return function(left, right)
        if is_number(left) or is_number(right):
            other = right if is_number(left) else left
            self.require_broadcast(f"{name} {describe(left)} and {describe(right)}", position)
            if isinstance(other, np.ndarray) and other.ndim >= 2:
                raise self.fail(
                    f"cannot {name} a number and {describe(other)}; "
                    "write the number times a declared matrix of ones",
                    position,
                )
            if isinstance(other, Crossed):
                return Crossed(function(as_array(left), as_array(right)))
            return function(left, right)
        if self.is_vector(left) and self.is_vector(right):
            crossed = isinstance(left, Crossed)
            if crossed != isinstance(right, Crossed):
                raise self.fail(f"cannot {name} a row and a column", position)
            a, b = as_array(left), as_array(right)
            self.same_shape(name, left, right, a.shape, b.shape, position)
            return Crossed(function(a, b)) if crossed else function(a, b)
        if self.is_vector(left) or self.is_vector(right):
            return self.vector_with_matrix(name, function, left, right, position)
        self.same_shape(name, left, right, left.shape, right.shape, position)
        return function(left, right)

    def require_broadcast(self, what: str, position: int) -> None:
        """Shapes that differ fit each other only where the check says so."""
        if not self.broadcast:
            raise self.fail(
                f"cannot {what}: their shapes differ; print a vector or matrix of ones, "
                "or let the check say broadcast=True",
                position,
            )

    def vector_with_matrix(
        self, name: str, function: Callable[[Any, Any], Any], left: Any, right: Any, position: int
    ) -> Any:
        vector = left if self.is_vector(left) else right
        a, b = self.grid(left), self.grid(right)
        if a.shape == b.shape:
            result = function(a, b).reshape(-1)
            return Crossed(result) if isinstance(vector, Crossed) else result
        matrix = b if vector is left else a
        if (
            self.orientation(vector) == "row"
            and matrix.ndim == 2
            and matrix.shape[1] == as_array(vector).shape[0]
        ):
            self.require_broadcast(f"{name} {describe(left)} and {describe(right)}", position)
            return function(a, b)
        raise self.fail(f"cannot {name} {describe(left)} and {describe(right)}", position)

    def same_shape(self, name: str, left: Any, right: Any, a: Any, b: Any, position: int) -> None:
        if a != b:
            raise self.fail(f"cannot {name} {describe(left)} and {describe(right)}", position)

    def dotted(
        self, name: str, function: Callable[[Any, Any], Any], left: Any, right: Any, position: int
    ) -> Any:
        pattern = left if isinstance(left, Dotted) else right
        sides = []
        for side in (left, right):
            if isinstance(side, Dotted):
                if (side.row_gap, side.column_gap, side.entries.shape) != (
                    pattern.row_gap,
                    pattern.column_gap,
                    pattern.entries.shape,
                ):
                    raise self.fail(f"cannot {name} matrices whose dots stand elsewhere", position)
                sides.append(side.entries)
            elif is_number(side):
                raise self.fail(f"cannot {name} a number and a matrix with dots", position)
            else:
                sides.append(self.printed_part(side, pattern, position))
        return Dotted(function(*sides), pattern.row_gap, pattern.column_gap)

    def printed_part(self, value: Any, pattern: Dotted, position: int) -> np.ndarray[Any, Any]:
        """The entries of a complete value at the places a dotted matrix prints."""
        grid = self.grid(value)
        if grid.ndim != 2:
            raise self.fail(f"{describe(value)} does not fit a matrix with dots", position)
        for axis, gap in ((0, pattern.row_gap), (1, pattern.column_gap)):
            printed, size = pattern.entries.shape[axis], grid.shape[axis]
            if (gap is None and printed != size) or printed > size:
                raise self.fail(
                    f"{describe(value)} does not fit a matrix with {printed} printed "
                    f"{'rows' if axis == 0 else 'columns'}",
                    position,
                )
            if gap is not None:
                kept = [*range(gap), *range(size - printed + gap, size)]
                grid = np.take(grid, kept, axis=axis)
        return grid

    def add(self, left: Any, right: Any, position: int) -> Any:
        return self.elementwise("add", lambda a, b: a + b, left, right, position)

    def subtract(self, left: Any, right: Any, position: int) -> Any:
        return self.elementwise("subtract", lambda a, b: a - b, left, right, position)

    def scale(self, value: Any, factor: Any) -> Any:
        if isinstance(value, Crossed):
            return Crossed(self.scale(value.array, factor))
        if isinstance(value, Dotted):
            factor = float(factor) if isinstance(factor, Fraction) else factor
            return Dotted(value.entries * factor, value.row_gap, value.column_gap)
        value, factor = unify(value, factor)
        return value * factor

    def hadamard(self, left: Any, right: Any, position: int) -> Any:
        if is_number(left) or is_number(right):
            raise self.fail(r"\odot needs two arrays; a number multiplies without it", position)
        return self.elementwise("multiply", lambda a, b: a * b, left, right, position)

    def dot(self, left: Any, right: Any, position: int) -> Any:
        """A product printed with a dot: the inner product when both sides are vectors."""
        if self.is_vector(left) and self.is_vector(right):
            a, b = unify(as_array(left), as_array(right))
            if isinstance(left, Crossed) != isinstance(right, Crossed):
                raise self.fail("a dot product of a row and a column; drop the transpose", position)
            if a.shape != b.shape:
                raise self.fail(f"a dot product of lengths {len(a)} and {len(b)}", position)
            return (a @ b).item() if a.dtype != object else sum(a * b)
        return self.multiply(left, right, position)

    def multiply(self, left: Any, right: Any, position: int) -> Any:
        if is_number(left):
            return self.scale(right, left)
        if is_number(right):
            return self.scale(left, right)
        for side in (left, right):
            if isinstance(side, Dotted):
                raise self.fail(
                    "a product needs every entry of the matrix, and its dots show no pattern",
                    position,
                )
            if isinstance(side, np.ndarray) and side.ndim > 2:
                raise self.fail(f"a product with {describe(side)}; index it first", position)
        left, right = unify(left, right)
        if self.is_vector(left) and self.is_vector(right):
            return self.multiply_vectors(left, right, position)
        if self.is_vector(left) or self.is_vector(right):
            vector = left if self.is_vector(left) else right
            needed = "row" if vector is left else "column"
            a, b = self.grid(left), self.grid(right)
            if a.shape[1] != b.shape[0]:
                raise self.fail(
                    f"cannot multiply {describe(left)} by {describe(right)} "
                    f"with vectors as {self.convention}s",
                    position,
                )
            product = a @ b
            if self.orientation(vector) != needed:
                self.outer_products += 1
                return product
            return self.vector(product.reshape(-1), needed)
        if left.shape[1] != right.shape[0]:
            raise self.fail(f"cannot multiply {describe(left)} by {describe(right)}", position)
        return left @ right

    def multiply_vectors(self, left: Any, right: Any, position: int) -> Any:
        a, b = as_array(left), as_array(right)
        directions = (self.orientation(left), self.orientation(right))
        if directions == ("row", "column"):
            if a.shape != b.shape:
                raise self.fail(f"an inner product of lengths {len(a)} and {len(b)}", position)
            return (a @ b).item() if a.dtype != object else sum(a * b)
        if directions == ("column", "row"):
            self.outer_products += 1
            return np.outer(a, b)
        raise self.fail(
            f"a product of two {directions[0]}s is not defined; "
            r"write \odot, \cdot or a transpose",
            position,
        )


def declared_values(values: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in values.items():
        try:
            result[name] = plain(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the value of {name!r} cannot be used: {error}") from None
    return result

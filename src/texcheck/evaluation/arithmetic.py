"""How values are added and multiplied: as the printed mathematics says, not as NumPy does."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from texcheck.errors import ShapeError
from texcheck.values import Array, Crossed, Value, as_array, describe, is_number, unify


class Arithmetic:
    """Sums and products of values under one convention for 1-D arrays."""

    def __init__(
        self, convention: str, fail: Callable[[str, int], ShapeError], broadcast: bool = False
    ) -> None:
        self.convention = convention
        self.fail = fail
        self.broadcast = broadcast

    def orientation(self, value: Value) -> str:
        """Whether a vector is a row or a column."""
        crossed = {"row": "column", "column": "row"}
        return crossed[self.convention] if isinstance(value, Crossed) else self.convention

    def vector(self, array: Array, orientation: str) -> Value:
        """An array as a vector of this orientation."""
        return array if orientation == self.convention else Crossed(array)

    def is_vector(self, value: Value) -> bool:
        """Whether a value is a vector, transposed or not."""
        return isinstance(value, Crossed) or (isinstance(value, np.ndarray) and value.ndim == 1)

    def grid(self, value: Value) -> Array:
        """The value as the 2-D matrix that would be printed for it."""
        if self.is_vector(value):
            entries = as_array(value)
            return entries[None, :] if self.orientation(value) == "row" else entries[:, None]
        array = as_array(value)
        return array.reshape(1, 1) if array.ndim == 0 else array

    def transpose(self, value: Value, position: int) -> Value:
        """The transpose of a vector or a matrix."""
        if isinstance(value, Crossed):
            return value.array
        if isinstance(value, np.ndarray) and value.ndim == 1:
            return Crossed(value)
        if isinstance(value, np.ndarray) and value.ndim == 2:
            return value.T
        raise self.fail(f"{describe(value)} cannot be transposed", position)

    def elementwise(
        self,
        name: str,
        function: Callable[[Any, Any], Any],
        left: Value,
        right: Value,
        position: int,
    ) -> Value:
        """Combine entry by entry; vectors must have the same direction."""
        left, right = unify(left, right)
        if is_number(left) and is_number(right):
            return function(left, right)
        if is_number(left) or is_number(right):
            raise self.fail(
                f"cannot {name} {describe(left)} and {describe(right)}: their shapes differ; "
                "print the number times a vector or matrix of ones",
                position,
            )
        if self.is_vector(left) and self.is_vector(right):
            crossed = isinstance(left, Crossed)
            if crossed != isinstance(right, Crossed):
                raise self.fail(
                    f"cannot {name} a row and a column; transpose one of them", position
                )
            self.same_shape(name, left, right, position)
            result = function(as_array(left), as_array(right))
            return Crossed(result) if crossed else result
        if self.is_vector(left) or self.is_vector(right):
            return self.vector_with_matrix(name, function, left, right, position)
        self.same_shape(name, left, right, position)
        return function(left, right)

    def vector_with_matrix(
        self,
        name: str,
        function: Callable[[Any, Any], Any],
        left: Value,
        right: Value,
        position: int,
    ) -> Value:
        """Combine a vector entry by entry with a matrix.

        The matrix must be one line of the vector's shape, unless broadcasting is declared.
        """
        vector = left if self.is_vector(left) else right
        a = self.grid(left)
        b = self.grid(right)
        if a.shape == b.shape:
            result = function(a, b).reshape(-1)
            return Crossed(result) if isinstance(vector, Crossed) else result
        matrix = b if vector is left else a
        if (
            self.broadcast
            and self.orientation(vector) == "row"
            and matrix.ndim == 2
            and matrix.shape[1] == as_array(vector).shape[0]
        ):
            return function(a, b)
        raise self.fail(
            f"cannot {name} {describe(left)} and {describe(right)}; a row beside a matrix needs "
            "broadcast=True",
            position,
        )

    def same_shape(self, name: str, left: Value, right: Value, position: int) -> None:
        """Refuse two values whose shapes differ."""
        if as_array(left).shape != as_array(right).shape:
            raise self.fail(
                f"cannot {name} {describe(left)} and {describe(right)}: their shapes differ",
                position,
            )

    def add(self, left: Value, right: Value, position: int) -> Value:
        """The sum of two values of one shape."""
        return self.elementwise("add", operator.add, left, right, position)

    def subtract(self, left: Value, right: Value, position: int) -> Value:
        """The difference of two values of one shape."""
        return self.elementwise("subtract", operator.sub, left, right, position)

    def scale(self, value: Value, factor: Any) -> Value:
        """A number times a value."""
        if isinstance(value, Crossed):
            return Crossed(self.scale(value.array, factor))
        value, factor = unify(value, factor)
        return value * factor

    def hadamard(self, left: Value, right: Value, position: int) -> Value:
        """The product entry by entry."""
        if is_number(left) or is_number(right):
            raise self.fail(r"\odot needs two arrays; a number multiplies without it", position)
        return self.elementwise("multiply", operator.mul, left, right, position)

    def dot(self, left: Value, right: Value, position: int) -> Value:
        """A product printed with a dot: the inner product when both sides are vectors."""
        if self.is_vector(left) and self.is_vector(right):
            a = as_array(left)
            b = as_array(right)
            if isinstance(left, Crossed) != isinstance(right, Crossed):
                raise self.fail(
                    "a dot product needs two rows or two columns; drop the transpose", position
                )
            if a.shape != b.shape:
                raise self.fail(
                    f"a dot product needs vectors of one length, got {len(a)} and {len(b)}",
                    position,
                )
            return (a @ b).item()
        return self.multiply(left, right, position)

    def multiply(self, left: Value, right: Value, position: int) -> Value:
        """The product as it is printed side by side."""
        if is_number(left):
            return self.scale(right, left)
        if is_number(right):
            return self.scale(left, right)
        for side in (left, right):
            if isinstance(side, np.ndarray) and side.ndim > 2:
                raise self.fail(
                    f"{describe(side)} cannot be a factor of a matrix product; index it first",
                    position,
                )
        left, right = unify(left, right)
        if self.is_vector(left) and self.is_vector(right):
            return self.multiply_vectors(left, right, position)
        if self.is_vector(left) or self.is_vector(right):
            vector = left if self.is_vector(left) else right
            needed = "row" if vector is left else "column"
            a = self.grid(left)
            b = self.grid(right)
            if a.shape[1] != b.shape[0]:
                raise self.fail(
                    f"cannot multiply {describe(left)} by {describe(right)} "
                    f"with vectors as {self.convention}s",
                    position,
                )
            product = a @ b
            if self.orientation(vector) != needed:
                return product
            return self.vector(product.reshape(-1), needed)
        if left.shape[1] != right.shape[0]:
            raise self.fail(
                f"cannot multiply {describe(left)} by {describe(right)}: their inner sizes differ",
                position,
            )
        return left @ right

    def multiply_vectors(self, left: Value, right: Value, position: int) -> Value:
        """A row times a column is a number, a column times a row a matrix."""
        a = as_array(left)
        b = as_array(right)
        directions = (self.orientation(left), self.orientation(right))
        if directions == ("row", "column"):
            if a.shape != b.shape:
                raise self.fail(
                    f"an inner product needs vectors of one length, got {len(a)} and {len(b)}",
                    position,
                )
            return (a @ b).item()
        if directions == ("column", "row"):
            return np.outer(a, b)
        raise self.fail(
            f"a product of two {directions[0]}s is not defined; "
            r"write \odot, \cdot or a transpose",
            position,
        )

"""Transposes, conjugates and indices."""

from __future__ import annotations

import numpy as np

from texcheck.evaluation.core import Core
from texcheck.nodes import (
    Bar,
    Conjugate,
    Hermitian,
    Index,
    Node,
    Nodes,
    Number,
    RunTogether,
    Slice,
    Star,
    Symbol,
    Transpose,
)
from texcheck.values import (
    Array,
    Crossed,
    Value,
    as_array,
    describe,
    is_number,
)


class Turning(Core):
    """Transposes, conjugates and indices."""

    def eval_transpose(self, node: Transpose) -> Value:
        """A transpose; of one entry it is refused."""
        if node.indexed and self.indexes_matrix(node.inner):
            value = self.evaluate(node.inner)
            if is_number(value):
                raise self.fail("write (A^\\top)_{ij}", node)
            return self.arithmetic.transpose(value, node.position)
        return self.arithmetic.transpose(self.evaluate(node.inner), node.position)

    def eval_conjugate(self, node: Conjugate) -> Value:
        """The conjugate under a long bar."""
        return self.conjugated(self.evaluate(node.inner), node)

    def conjugated(self, value: Value, node: Node) -> Value:
        """A conjugate; of a real value it is refused."""
        if not np.iscomplexobj(as_array(value)):
            raise self.fail("the conjugate of a real value does nothing", node)
        return self.mapped(value, np.conj)

    def eval_bar(self, node: Bar) -> Value:
        """A bar over a complex symbol is its conjugate."""
        value = self.evaluate(node.inner)
        if not np.iscomplexobj(as_array(value)):
            raise self.fail(
                "\\bar over a real symbol: declare the whole symbol (\\bar{x}), "
                "or write \\overline for a conjugate",
                node,
            )
        return self.mapped(value, np.conj)

    def eval_star(self, node: Star) -> Value:
        """A star on a number or a vector is its conjugate."""
        value = self.evaluate(node.inner)
        if isinstance(value, np.ndarray) and value.ndim > 1:
            raise self.fail("^* of a matrix: write \\overline{A} or A^\\dagger", node)
        return self.conjugated(value, node)

    def eval_hermitian(self, node: Hermitian) -> Value:
        """The conjugate transpose."""
        if self.indexes_matrix(node.inner):
            raise self.fail("write (A^\\dagger)_{ij}", node)
        value = self.conjugated(self.evaluate(node.inner), node)
        return value if is_number(value) else self.arithmetic.transpose(value, node.position)

    def eval_index(self, node: Index) -> Value:
        """An entry, a row or a part of an array."""
        # The noise of a declared array is put on the entry, not on all entries for each of them.
        with self.with_noise(None if isinstance(node.base, Symbol) else self.noise):
            value = self.evaluate(node.base)
        if isinstance(value, Crossed):
            value = value.array
        if not isinstance(value, np.ndarray):
            raise self.fail(f"an index on {describe(value)}", node)
        indices = self.split_indices(value, node.indices, node)
        if len(indices) > value.ndim:
            raise self.fail(f"{len(indices)} indices on {describe(value)}", node)
        keys = tuple(
            self.index_key(index, value.shape[axis], node) for axis, index in enumerate(indices)
        )
        result = value[keys]
        return result.item() if isinstance(result, np.generic) else result

    def split_indices(
        self,
        value: Array,
        indices: Nodes,
        node: Node,
        *,
        mixed: bool = False,
    ) -> Nodes:
        """The indices of an array; ``mixed`` lets ``a_{1n}`` be two of them, not a product."""
        if len(indices) != 1 or not isinstance(indices[0], RunTogether):
            return indices
        items, product = indices[0].items, indices[0].whole
        if value.ndim == 1:
            if product is None:
                raise self.fail("this index is not a product", node)
            return (product,)
        symbols = all(isinstance(item, (Symbol, Index)) for item in items)
        digits = all(isinstance(item, Number) for item in items) and max(value.shape) <= 9
        if len(items) == value.ndim and (symbols or digits or mixed or product is None):
            return tuple(items)
        raise self.fail(
            f"these indices on {describe(value)} are ambiguous; write commas between them", node
        )

    def index_key(self, index: Node, size: int, node: Node) -> Value:
        """One index as NumPy takes it."""
        if isinstance(index, Slice):
            start = 0 if index.low is None else self.place(index.low, size, node)
            stop = size if index.high is None else self.place(index.high, size, node) + 1
            return slice(start, stop)
        return self.place(index, size, node)

    def place(self, index: Node, size: int, node: Node) -> int:
        """Where an index leads, counted from the formula's first index."""
        number = self.whole(self.evaluate(index), index)
        place = number - self.first_index
        if not 0 <= place < size:
            raise self.fail(
                f"index {number} is outside {self.first_index}…{self.first_index + size - 1}", node
            )
        return place

"""Lists and matrices, with or without dots."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from texcheck import patterns
from texcheck.errors import LatexError
from texcheck.evaluation.core import Core
from texcheck.nodes import (
    Dots,
    DottedList,
    DottedProduct,
    DottedSum,
    Empty,
    Index,
    Matrix,
    Node,
    Nodes,
    Number,
    TupleOf,
    names_in,
)
from texcheck.values import (
    Array,
    Dotted,
    Value,
    as_array,
    is_number,
)


class Lists(Core):
    """Lists and matrices, with or without dots."""

    def eval_dotted_sum(self, node: DottedSum) -> Value:
        """A sum with dots, all its terms written out."""
        terms = self.expanded_list(node.entries, node)
        return self.total(terms, node)

    def eval_dotted_product(self, node: DottedProduct) -> Value:
        """A product with dots, all its factors written out."""
        factors = self.expanded_list(node.entries, node)
        if not all(is_number(value) for value in factors):
            raise self.fail("a product of arrays with dots; write \\prod", node)
        return math.prod(factors)

    def expanded_list(self, entries: tuple[Node | None, ...], node: Node) -> list[Value]:
        """The values of a list whose dots are filled by its pattern."""
        gap = entries.index(None)
        printed = self.with_separate_indices([entry for entry in entries if entry is not None])
        expanded = patterns.expand(printed[:gap], printed[gap:], self.whole_or_none)
        if expanded is None:
            raise self.fail("the entries beside the dots show no pattern", node)
        return [self.evaluate(entry) for entry in expanded]

    def with_separate_indices(self, entries: list[Node]) -> list[Node]:
        """``a_{1n}`` as ``a_{1,n}`` beside ``a_{11}``, so that entries beside dots compare."""
        arrays: dict[Node, Array] = {}
        for part in (part for entry in entries for part in entry.walk()):
            if isinstance(part, Index) and names_in(part.base) <= set(self.values):
                array = as_array(self.evaluate(part.base))
                with contextlib.suppress(LatexError):
                    if len(self.split_indices(array, part.indices, part)) > 1:
                        arrays[part.base] = array

        def separated(part: Any) -> Value:
            if isinstance(part, tuple):
                return tuple(separated(item) for item in part)
            if not isinstance(part, Node):
                return part
            if isinstance(part, Index) and part.base in arrays:
                indices = self.split_indices(arrays[part.base], part.indices, part, mixed=True)
                return replace(part, indices=indices)
            return part.rebuilt(separated(part.parts))

        return [separated(entry) for entry in entries]

    def whole_or_none(self, node: Any) -> int | None:
        """A node's value where it is a whole number."""
        if not isinstance(node, Node):
            return None
        try:
            return self.whole(self.evaluate(node), node)
        except LatexError:
            return None

    def eval_tuple(self, node: TupleOf) -> Value:
        """A vector written as a list of numbers."""
        first = node.items[0]
        if isinstance(first, DottedList):
            return self.dotted_tuple(first, node)
        values = self.arguments(node.items)
        if not all(is_number(value) for value in values):
            raise self.shape_error(
                "a list of numbers is needed between these brackets", node.position
            )
        return np.array([float(v) if not isinstance(v, complex) else v for v in values])

    def dotted_tuple(self, entries: DottedList, node: Node) -> Value:
        """A list with dots: filled by its pattern, else known at its printed entries only."""
        row = tuple(Dots() if entry is None else entry for entry in entries.entries)
        value = self.eval_matrix(Matrix((row,), position=node.position))
        return value if isinstance(value, Dotted) else value.reshape(-1)

    def eval_matrix(self, node: Matrix) -> Value:
        """A matrix written out; dots are filled where they show a pattern."""
        rows = node.rows
        if not any(isinstance(cell, (Dots, Empty)) for row in rows for cell in row):
            return self.assembled([[self.evaluate(cell) for cell in row] for row in rows], node)
        row_gap, column_gap, grid = self.printed_grid(rows, node)
        expanded = None
        if row_gap is not None and row_gap == column_gap:
            expanded = patterns.expand_block_diagonal(grid, row_gap, self.whole_or_none)
        if expanded is None:
            expanded = patterns.expand_dense(grid, row_gap, column_gap, self.whole_or_none)
        if expanded is not None:
            return self.assembled([[self.evaluate(cell) for cell in row] for row in expanded], node)
        entries = [[self.evaluate(cell) for cell in row] for row in grid]
        if not all(is_number(value) for row in entries for value in row):
            raise self.fail("the dots of this block matrix show no pattern", node)
        loose = [[float(v) if isinstance(v, Fraction) else v for v in row] for row in entries]
        return Dotted(np.array(loose), row_gap, column_gap)

    def printed_grid(
        self, rows: tuple[Nodes, ...], node: Node
    ) -> tuple[int | None, int | None, list[list[Node]]]:
        """Where the dots stand, and the printed entries without them."""

        def only_dots(line: Nodes) -> bool:
            unfilled = all(isinstance(cell, (Dots, Empty)) for cell in line)
            return unfilled and any(isinstance(cell, Dots) for cell in line)

        row_gaps = [r for r, row in enumerate(rows) if only_dots(row)]
        columns = list(zip(*rows, strict=True))
        column_gaps = [c for c, column in enumerate(columns) if only_dots(column)]
        if len(columns) == 1:
            column_gaps = []
        if len(rows) == 1:
            row_gaps, column_gaps = [], [c for c, col in enumerate(columns) if only_dots(col)]
        if len(row_gaps) > 1 or len(column_gaps) > 1:
            raise self.fail("a matrix with more than one row or column of dots", node)
        zero = Number(0, position=node.position)
        grid: list[list[Node]] = []
        for r, row in enumerate(rows):
            if r in row_gaps:
                continue
            cells: list[Node] = []
            for c, cell in enumerate(row):
                if c in column_gaps:
                    continue
                if isinstance(cell, Dots):
                    raise self.fail("dots that do not fill a row or a column of the matrix", node)
                if isinstance(cell, Empty) and not (row_gaps and column_gaps):
                    raise self.fail("an empty entry of a matrix", node)
                cells.append(zero if isinstance(cell, Empty) else cell)
            grid.append(cells)
        if not row_gaps and not column_gaps:
            raise self.fail("an empty entry of a matrix", node)
        row_gap = row_gaps[0] if row_gaps else None
        column_gap = column_gaps[0] if column_gaps else None
        if row_gap in (0, len(rows) - 1) or column_gap in (0, len(columns) - 1):
            raise self.fail("dots need entries before and after them", node)
        flat = iter(self.with_separate_indices([cell for row in grid for cell in row]))
        return row_gap, column_gap, [[next(flat) for _ in row] for row in grid]

    def assembled(self, rows: list[list[Value]], node: Node) -> Value:
        """A matrix of numbers and blocks."""
        flat = [value for row in rows for value in row]
        if all(is_number(value) for value in flat):
            if any(isinstance(value, Fraction) for value in flat):
                rows = [[float(v) if isinstance(v, Fraction) else v for v in row] for row in rows]
            array: Array = np.array(rows)
            return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        if any(isinstance(value, Dotted) for value in flat):
            raise self.fail("a matrix with dots inside a matrix", node)
        grids = [[v if is_number(v) else self.arithmetic.grid(v) for v in row] for row in rows]
        heights = [self.block_size(row, 0, node) for row in grids]
        widths = [self.block_size(list(col), 1, node) for col in zip(*grids, strict=True)]
        blocks = []
        for row, height in zip(grids, heights, strict=True):
            line = []
            for value, width in zip(row, widths, strict=True):
                if is_number(value):
                    if value != 0 and (height, width) != (1, 1):
                        raise self.shape_error("a number in place of a block", node.position)
                    value = np.full((height, width), float(value))
                if value.shape != (height, width):
                    raise self.shape_error("blocks of different sizes", node.position)
                line.append(value)
            blocks.append(line)
        return np.block(blocks)

    def block_size(self, values: list[Value], axis: int, node: Node) -> int:
        """The one size of a line of blocks."""
        sizes = {value.shape[axis] for value in values if not is_number(value)}
        if len(sizes) > 1:
            raise self.shape_error("blocks of different sizes", node.position)
        return sizes.pop() if sizes else 1

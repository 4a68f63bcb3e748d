"""Matrices by their entries or blocks, with or without dots."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from texcheck import nodes
from texcheck.evaluation import patterns
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.lists import whole_or_none
from texcheck.nodes import Node
from texcheck.values import Array, Value, is_number


def evaluate_matrix(evaluator: Evaluator, node: nodes.Matrix) -> Value:
    """A matrix written out; dots are filled by the pattern that the other entries show."""
    rows: Sequence[Sequence[Node]] = node.rows
    if any(isinstance(cell, nodes.Dots) for row in rows for cell in row):
        rows = without_dots(evaluator, node)
    return assembled(evaluator, [[evaluator.evaluate(cell) for cell in row] for row in rows], node)


def without_dots(evaluator: Evaluator, node: nodes.Matrix) -> Sequence[Sequence[Node]]:
    """A block-diagonal matrix with dots, all of it."""
    rows = node.rows
    gaps = [k for k, row in enumerate(rows) if all(isinstance(c, nodes.Dots) for c in row)]
    if len(gaps) != 1 or gaps[0] in (0, len(rows) - 1):
        raise evaluator.fail("a matrix with dots must have one row and one column of them", node)
    gap = gaps[0]
    grid = [
        [cell for c, cell in enumerate(row) if c != gap] for r, row in enumerate(rows) if r != gap
    ]
    if any(isinstance(cell, nodes.Dots) for row in grid for cell in row):
        raise evaluator.fail("the dots must fill one row and one column of the matrix", node)
    expanded = patterns.expand_diagonal(grid, gap, functools.partial(whole_or_none, evaluator))
    if expanded is None:
        raise evaluator.fail("the diagonal of this matrix shows no pattern", node)
    return expanded


def assembled(evaluator: Evaluator, rows: list[list[Value]], node: Node) -> Value:
    """A matrix of numbers and blocks."""
    flat = [value for row in rows for value in row]
    if all(is_number(value) for value in flat):
        if any(isinstance(value, Fraction) for value in flat):
            rows = [[float(v) if isinstance(v, Fraction) else v for v in row] for row in rows]
        array: Array = np.array(rows)
        return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    grids = [[v if is_number(v) else evaluator.arithmetic.grid(v) for v in row] for row in rows]
    heights = [block_size(evaluator, row, 0, node) for row in grids]
    widths = [block_size(evaluator, list(col), 1, node) for col in zip(*grids, strict=True)]
    blocks = []
    for row, height in zip(grids, heights, strict=True):
        line = []
        for value, width in zip(row, widths, strict=True):
            if is_number(value):
                if value != 0 and (height, width) != (1, 1):
                    raise evaluator.shape_error(
                        "a number other than 0 is in place of a block", node.position
                    )
                value = np.full((height, width), float(value))
            if value.shape != (height, width):
                raise evaluator.shape_error(
                    "the blocks of one row or column differ in size", node.position
                )
            line.append(value)
        blocks.append(line)
    return np.block(blocks)


def block_size(evaluator: Evaluator, values: list[Value], axis: int, node: Node) -> int:
    """The one size of a line of blocks."""
    sizes = {value.shape[axis] for value in values if not is_number(value)}
    if len(sizes) > 1:
        raise evaluator.shape_error("the blocks of one row or column differ in size", node.position)
    return sizes.pop() if sizes else 1

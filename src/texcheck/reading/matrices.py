"""Matrices by their rows."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import position_of, tree_of
from texcheck.reading.parts import is_dots
from texcheck.reading.reader import Reader


def read_matrix(reader: Reader, tree: Tree[Token]) -> Node:
    """Read a matrix."""
    rows = []
    for row in tree.children[1:-1]:
        if isinstance(row, Token):
            continue
        cells: list[Node] = []
        for cell in row.children:
            if isinstance(cell, Token):
                continue
            if is_dots(cell):
                cells.append(nodes.Dots(position=position_of(cell)))
            else:
                cells.append(reader.expression(tree_of(cell.children[0])))
        rows.append(tuple(cells))
    width = max(len(row) for row in rows)
    if any(len(row) != width for row in rows):
        lengths = ", ".join(str(len(row)) for row in rows)
        raise reader.fail(f"the rows of the matrix must have one length, got {lengths}", tree)
    return nodes.Matrix(tuple(rows), position=position_of(tree))

"""Lists between brackets, in which dots may be."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Part, canonical, position_of, read_factor, tree_of
from texcheck.reading.parts import entries_in, is_dots
from texcheck.reading.reader import Reader


def read_list(reader: Reader, chains: list[Tree[Token]]) -> list[Node]:
    """Read a list, in which dots may be."""
    gaps = [k for k, chain in enumerate(chains) if is_dots(chain)]
    forbid_vertical_dots(reader, chains)
    if not gaps:
        return [reader.only_expression(chain) for chain in chains]
    between = [after - before for before, after in itertools.pairwise(gaps)]
    if between and all(count == 3 for count in between):
        # x_1, …, x_n, y_1, …, y_n are two lists with dots.
        end = gaps[0] + 2
        return [*read_list(reader, chains[:end]), *read_list(reader, chains[end:])]
    if len(gaps) > 1 or gaps[0] in (0, len(chains) - 1):
        raise reader.fail("dots need entries before and after them", chains[gaps[0]])
    found = tuple(
        None if k == gaps[0] else reader.only_expression(chain) for k, chain in enumerate(chains)
    )
    return [nodes.DottedList(found, position=position_of(chains[0]))]


def read_arguments(reader: Reader, part: Part) -> list[Node]:
    """The arguments between brackets; ``x_1, \\ldots, x_n`` stays a pattern."""
    tree = tree_of(read_factor(part, reader.text).base)
    return read_list(reader, entries_in(tree, reader.text))


def read_given(reader: Reader, part: Part) -> tuple[list[Node], list[Node]]:
    """The arguments between brackets, and those behind a bar."""
    tree = tree_of(read_factor(part, reader.text).base)
    marks = [
        k for k, one in enumerate(tree.children) if isinstance(one, Token) and one.type == "MID"
    ]
    if not marks:
        return read_arguments(reader, part), []
    before = Tree("bracket", [*tree.children[: marks[0]], tree.children[-1]])
    behind = Tree("bracket", [tree.children[0], *tree.children[marks[0] + 1 :]])
    return (
        read_list(reader, entries_in(before, reader.text)),
        read_list(reader, entries_in(behind, reader.text)),
    )


def forbid_vertical_dots(reader: Reader, parts: Sequence[Part]) -> None:
    """Refuse dots that only a matrix can hold."""
    for part in parts:
        if is_dots(part) and canonical(part) in ("\\vdots", "\\ddots"):
            raise reader.fail(f"{canonical(part)} can be printed only in a matrix", part)

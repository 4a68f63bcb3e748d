"""Lists between brackets, in which dots may be."""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Part, canonical, position_of, read_factor, tree_of
from texcheck.reading.parts import is_dots, trees_in
from texcheck.reading.reader import Reader


def read_list(reader: Reader, chains: list[Tree[Token]]) -> list[Node]:
    """Read a list, in which dots may be."""
    gaps = [k for k, chain in enumerate(chains) if is_dots(chain)]
    forbid_vertical_dots(reader, chains)
    if not gaps:
        return [reader.only_expression(chain) for chain in chains]
    if len(gaps) > 1 or gaps[0] in (0, len(chains) - 1):
        raise reader.fail("dots need entries before and after them", chains[gaps[0]])
    found = tuple(
        None if k == gaps[0] else reader.only_expression(chain) for k, chain in enumerate(chains)
    )
    return [nodes.DottedList(found, position=position_of(chains[0]))]


def read_arguments(reader: Reader, part: Part) -> list[Node]:
    """The arguments between brackets; ``x_1, \\ldots, x_n`` stays a pattern."""
    tree = tree_of(read_factor(part, reader.text).base)
    return read_list(reader, trees_in(tree.children[1:-1]))


def forbid_vertical_dots(reader: Reader, parts: Sequence[Part]) -> None:
    """Refuse dots that only a matrix can hold."""
    for part in parts:
        if is_dots(part) and canonical(part) in ("\\vdots", "\\ddots"):
            raise reader.fail(f"{canonical(part)} can be printed only in a matrix", part)

"""What depends on conditions: cases and indicators."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Part, position_of, read_factor, tree_of
from texcheck.reading.reader import Reader
from texcheck.reading.relations import read_chain
from texcheck.reading.scripts import with_scripts


def read_cases(reader: Reader, tree: Tree[Token]) -> Node:
    """Read cases."""
    rows = []
    for case in tree.children[1:-1]:
        if isinstance(case, Token):
            continue
        value = reader.expression(tree_of(case.children[0]))
        chains = [child for child in case.children[2:] if isinstance(child, Tree)]
        tests = tuple(read_chain(reader, chain) for chain in chains)
        rows.append(nodes.Case(value, tests, position=value.position))
    return nodes.Cases(tuple(rows), position=position_of(tree))


def read_indicator(reader: Reader, parts: list[Part], place: int) -> tuple[Node, int]:
    """Read an indicator with its conditions."""
    scripts = read_factor(parts[place + 1], reader.text)
    tree = tree_of(scripts.base)
    chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
    tests = tuple(read_chain(reader, chain) for chain in chains)
    node = nodes.Indicator(tests, position=scripts.position)
    return with_scripts(reader, node, scripts.sub, scripts.sup, scripts), place + 2

"""What depends on conditions: cases and indicators."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Chain, Node
from texcheck.parser import Factor, Part, position_of, read_factor, tree_of
from texcheck.reading.parts import entries_in, trees_in
from texcheck.reading.reader import Reader
from texcheck.reading.relations import read_chain
from texcheck.reading.scripts import separate_indices, with_scripts_of


def read_cases(reader: Reader, tree: Tree[Token]) -> Node:
    """Read cases."""
    rows = []
    for case in tree.children[1:-1]:
        if isinstance(case, Token):
            continue
        value = reader.expression(tree_of(case.children[0]))
        tests = tuple(read_chain(reader, chain) for chain in trees_in(case.children[2:]))
        rows.append(nodes.Case(value, tests, position=value.position))
    return nodes.Cases(tuple(rows), position=position_of(tree))


def read_indicator(reader: Reader, parts: list[Part], place: int) -> tuple[Node, int]:
    """Read an indicator with its conditions."""
    scripts = read_factor(parts[place + 1], reader.text)
    tree = tree_of(scripts.base)
    tests = tuple(read_chain(reader, chain) for chain in entries_in(tree, reader.text))
    node = nodes.Indicator(tests, position=scripts.position)
    return with_scripts_of(reader, node, scripts), place + 2


def read_kronecker_delta(reader: Reader, factor: Factor, sub: Part) -> Node:
    """Read ``\\delta_{mn}``: whether its two indices are equal."""
    indices = separate_indices(reader, sub)
    if len(indices) != 2:
        raise reader.fail("the Kronecker delta needs two indices", factor.position)
    equal = Chain(
        sides=tuple(indices),
        relations=("=",),
        places=(factor.position,),
        texts=("the first index", "the second"),
    )
    return nodes.Indicator((equal,), position=factor.position)

"""Expectations and variances."""

from __future__ import annotations

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, read_factor, tree_of
from texcheck.reading.parts import lone_symbol, next_bracket, trees_in
from texcheck.reading.ranges import index_chains
from texcheck.reading.reader import Reader
from texcheck.reading.scripts import with_scripts_of


def read_moment(
    reader: Reader, kind: str, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read an expectation or a variance."""
    if next_bracket(parts, place, reader.text) not in ("LPAR", "LBRACK"):
        raise reader.fail(f"{factor.name} needs its argument in brackets", factor.position)
    over: tuple[str, ...] = ()
    if factor.sub is not None:
        over = tuple(lone_symbol(chain, reader.text) for chain in index_chains(reader, factor.sub))
        if not all(over):
            raise reader.fail("the variables below an expectation must be symbols", factor.sub)
    if factor.sup is not None:
        raise reader.fail(f"write the power of {factor.name} behind its brackets", factor.position)
    scripts = read_factor(parts[place + 1], reader.text)
    tree = tree_of(scripts.base)
    chains = trees_in(tree.children[1:-1])
    if len(chains) != 1:
        raise reader.fail(f"{factor.name} takes one argument", factor.position)
    inner = reader.only_expression(chains[0])
    node = nodes.Moment(kind, over, inner, position=factor.position)
    return with_scripts_of(reader, node, scripts), place + 2

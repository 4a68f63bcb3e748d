"""Expectations and variances."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, read_factor, tree_of
from texcheck.reading.parts import entries_in, lone_symbol, next_bracket
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
    node: Node
    if factor.sub is not None:
        below = index_chains(reader, factor.sub)
        over = tuple(lone_symbol(variable_of(chain), reader.text) for chain in below)
        if not all(over):
            raise reader.fail("the variables below an expectation must be symbols", factor.sub)
    if factor.sup is not None:
        raise reader.fail(f"write the power of {factor.name} behind its brackets", factor.position)
    scripts = read_factor(parts[place + 1], reader.text)
    tree = tree_of(scripts.base)
    chains = entries_in(tree, reader.text)
    if kind == "covariance" and len(chains) == 2:
        node = covariance_of(reader, over, chains, factor.position)
        return with_scripts_of(reader, node, scripts), place + 2
    if len(chains) != 1:
        raise reader.fail(f"{factor.name} takes one argument", factor.position)
    inner = reader.only_expression(chains[0])
    if kind == "covariance":
        raise reader.fail(f"{factor.name} takes two arguments", factor.position)
    node = nodes.Moment(kind, over, inner, position=factor.position)
    return with_scripts_of(reader, node, scripts), place + 2


def variable_of(chain: Tree[Token]) -> Part:
    """The variable of ``x \\sim P`` below an expectation; how it is distributed is declared."""
    marks = [child.value for child in chain.children if isinstance(child, Token)]
    return chain.children[0] if marks == ["sim"] else chain


def covariance_of(
    reader: Reader, over: tuple[str, ...], chains: list[Tree[Token]], position: int
) -> Node:
    """The expectation of a product less the product of the expectations."""
    sides = [reader.only_expression(chain) for chain in chains]
    means = [nodes.Moment("expectation", over, side, position=position) for side in sides]
    both = nodes.Product("dot", sides[0], sides[1], position=position)
    product = nodes.Product("dot", means[0], means[1], position=position)
    mean = nodes.Moment("expectation", over, both, position=position)
    return nodes.SumOf((("+", mean), ("-", product)), position=position)

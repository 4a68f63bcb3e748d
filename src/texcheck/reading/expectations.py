"""Expectations and variances."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, read_factor, tree_of
from texcheck.reading.parts import entries_in, lone_symbol, next_bracket, term_parts
from texcheck.reading.ranges import index_chains
from texcheck.reading.reader import Reader
from texcheck.reading.scripts import with_scripts_of


def read_moment(
    reader: Reader, kind: str, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read an expectation or a variance."""
    over: tuple[str, ...] = ()
    node: Node
    if factor.sub is not None:
        below = index_chains(reader, factor.sub)
        over = tuple(name for chain in below for name in variables_of(chain, reader.text))
        if not all(over):
            raise reader.fail("the variables below an expectation must be symbols", factor.sub)
    if factor.sup is not None:
        raise reader.fail(f"write the power of {factor.name} behind its brackets", factor.position)
    if next_bracket(parts, place, reader.text) not in ("LPAR", "LBRACK"):
        node, end = read_moment_of_a_factor(reader, kind, over, parts, place)
        return node, end
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
        node = covariance_matrix_of(over, inner, factor.position)
        return with_scripts_of(reader, node, scripts), place + 2
    node = nodes.Moment(kind, over, inner, position=factor.position)
    return with_scripts_of(reader, node, scripts), place + 2


def read_moment_of_a_factor(
    reader: Reader, kind: str, over: tuple[str, ...], parts: list[Part], place: int
) -> tuple[Node, int]:
    """``\\mathbb{E}_i f_i(x)``: without brackets, of what is the last factor of its product."""
    factor = read_factor(parts[place], reader.text)
    if place + 1 < len(parts) and kind != "covariance" and isinstance(parts[place + 1], Tree):
        inner, end = reader.operand(parts, place + 1)
        if end == len(parts):
            return nodes.Moment(kind, over, inner, position=factor.position), end
    raise reader.fail(f"{factor.name} needs its argument in brackets", factor.position)


def variables_of(chain: Tree[Token], text: str) -> list[str]:
    """The variables of ``(x, y) \\sim P`` below an expectation; an empty name is no symbol.

    How they are distributed is declared.
    """
    marks = [child.value for child in chain.children if isinstance(child, Token)]
    part = chain.children[0] if marks == ["sim"] else chain
    factors = term_parts(part)
    if marks == ["sim"] and len(factors) == 1 and isinstance(factors[0], Tree):
        factor = read_factor(factors[0], text)
        if factor.bracket == "LPAR" and factor.sub is None and factor.sup is None:
            return [lone_symbol(entry, text) for entry in entries_in(tree_of(factor.base), text)]
    return [lone_symbol(part, text)]


def covariance_matrix_of(over: tuple[str, ...], inner: Node, position: int) -> Node:
    """The covariances of the entries of one vector."""
    mean = nodes.Moment("expectation", over, inner, position=position)
    products = nodes.Product("outer", inner, inner, position=position)
    of_products = nodes.Moment("expectation", over, products, position=position)
    of_means = nodes.Product("outer", mean, mean, position=position)
    return nodes.SumOf((("+", of_products), ("-", of_means)), position=position)


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

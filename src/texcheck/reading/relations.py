"""Chains of relations, and the sets after ``\\in``."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Chain, Node
from texcheck.parser import Factor, Part, bare_name, end_of, position_of, read_factor
from texcheck.reading.parts import term_parts, trees_in
from texcheck.reading.reader import Reader
from texcheck.vocabulary import NUMBER_SETS


def read_chain(reader: Reader, tree: Tree[Token]) -> Chain:
    """``a < b = c`` as a node; a chain without a relation is an error."""
    sides = trees_in(tree.children)
    relations = [child for child in tree.children if isinstance(child, Token)]
    if not relations:
        raise reader.fail("a relation such as = or < is missing here", tree)
    found: list[Node] = []
    for k, side in enumerate(sides):
        member = k > 0 and relations[k - 1].value == "in"
        found.append(read_set(reader, side) if member else reader.expression(side))
    return Chain(
        sides=tuple(found),
        relations=tuple(relation.value for relation in relations),
        places=tuple(relation.start_pos or 0 for relation in relations),
        texts=tuple(printed(reader, side) for side in sides),
        position=position_of(tree),
    )


def printed(reader: Reader, tree: Part) -> str:
    """The source of a piece, on one line."""
    return " ".join(reader.text[position_of(tree) : end_of(tree)].split())


def read_set(reader: Reader, tree: Tree[Token]) -> Node:
    """What comes after ``\\in``: shapes, listed sets, declared sets."""
    parts = term_parts(tree)
    position = position_of(tree)
    if len(parts) == 1 and isinstance(parts[0], Tree):
        factor = read_factor(parts[0], reader.text)
        if factor.is_symbol and factor.name in NUMBER_SETS:
            return read_number_set(reader, factor)
    node = reader.expression(tree)
    return nodes.DeclaredSet(node, position=position)


def read_number_set(reader: Reader, factor: Factor) -> Node:
    """Read a set such as ℝ^{n×d}."""
    if factor.sub is not None:
        raise reader.fail("a number set with a subscript is not known", factor.position)
    groups: list[list[Part]] = [[]]
    for part in term_parts(factor.sup) if factor.sup is not None else ():
        if isinstance(part, Token) and part.value == "times":
            groups.append([])
        else:
            groups[-1].append(part)
    if factor.sup is not None and not all(groups):
        raise reader.fail("this shape is not understood", factor.sup)
    shape = tuple(reader.product(group) for group in groups if group)
    return nodes.NumberSet(bare_name(factor.name), shape, position=factor.position)

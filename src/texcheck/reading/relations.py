"""Chains of relations, and the sets after ``\\in``."""

from __future__ import annotations

from typing import Any

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Chain, Node, Symbol
from texcheck.parser import (
    Factor,
    Part,
    bare_name,
    end_of,
    new_value,
    position_of,
    read_factor,
    tree_of,
)
from texcheck.reading.lists import read_list
from texcheck.reading.parts import entries_in, term_parts, trees_in
from texcheck.reading.reader import Reader, Unknown
from texcheck.vocabulary import NUMBER_SETS, OPEN_RELATIONS


def read_chain(reader: Reader, tree: Tree[Token]) -> Chain:
    """``a < b = c`` as a node; a chain without a relation is an error."""
    sides = trees_in(tree.children)
    relations = [child for child in tree.children if isinstance(child, Token)]
    if not relations:
        raise reader.fail("a relation such as = or < is missing here", tree)
    if len(relations) == 1 and relations[0].value in OPEN_RELATIONS:
        return read_open_relation(reader, tree, relations[0])
    found: list[Node] = []
    for k, side in enumerate(sides):
        member = k > 0 and relations[k - 1].value in ("in", "notin")
        found.append(read_set(reader, side) if member else reader.expression(side))
    if any(relation.value == "becomes" for relation in relations):
        found[0] = read_new_value(reader, found, relations)
    return Chain(
        sides=tuple(found),
        relations=tuple("=" if one.value == "becomes" else one.value for one in relations),
        places=tuple(relation.start_pos or 0 for relation in relations),
        texts=tuple(printed(reader, side) for side in sides),
        position=position_of(tree),
    )


def read_open_relation(reader: Reader, tree: Tree[Token], relation: Token) -> Chain:
    """``a \\gg b`` for a declared ``\\gg``: a function of both sides, which is 1 where it holds."""
    name = relation.value
    position = relation.start_pos or 0
    left, right = trees_in(tree.children)
    if not reader.scope.is_function(name):
        factor = Factor(relation, None, None, "", position)
        message = f"{OPEN_RELATIONS[name]}; or declare it as a function of both sides"
        raise reader.unknown(message, Unknown(factor, [], 0, (), declare=(name, True)))
    arguments = (reader.expression(left), reader.expression(right))
    call = nodes.Call(name, arguments, position=position)
    return Chain(
        sides=(call, nodes.Number(1, position=position)),
        relations=("=",),
        places=(position,),
        texts=(printed(reader, tree), "true"),
        position=position_of(tree),
    )


def links_of(tree: Tree[Token]) -> list[Tree[Token]]:
    """``a \\gg b = c`` as ``a \\gg b`` and ``b = c``: a declared relation is no part of a chain."""
    children = tree.children
    links: list[list[Any]] = [[children[0]]]
    for k in range(1, len(children) - 1, 2):
        opened = any(str(one) in OPEN_RELATIONS for one in links[-1][1::2])
        relation = children[k]
        if len(links[-1]) > 1 and (opened or str(relation) in OPEN_RELATIONS):
            links.append([children[k - 1]])
        links[-1] += [relation, children[k + 1]]
    return [Tree("chain", link) for link in links]


def read_new_value(reader: Reader, sides: list[Node], relations: list[Token]) -> Node:
    """``x \\leftarrow x - g``: the new value of x, which is declared as ``x \\leftarrow``."""
    if len(relations) != 1:
        raise reader.fail("\\leftarrow cannot be in a chain", relations[0])
    left, right = sides
    if left not in set(right.walk()):
        return left
    if not isinstance(left, Symbol) or not reader.scope.knows(new_value(left.name)):
        message = (
            "what is left of \\leftarrow is on its right as well: declare the new value, "
            "as x \\leftarrow"
        )
        if not isinstance(left, Symbol):
            raise reader.fail(message, relations[0])
        factor = Factor(relations[0], None, None, "", relations[0].start_pos or 0)
        name = new_value(left.name)
        raise reader.unknown(message, Unknown(factor, [], 0, (), declare=(name, False)))
    return Symbol(new_value(left.name), position=left.position)


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
        if isinstance(factor.base, Tree) and factor.base.data == "interval":
            return read_interval(reader, factor)
        if factor.bracket == "LSET":
            members = entries_in(tree_of(factor.base), reader.text)
            return nodes.ListedSet(tuple(read_list(reader, members)), position=position)
    node = reader.expression(tree)
    return nodes.DeclaredSet(node, position=position)


def read_interval(reader: Reader, factor: Factor) -> Node:
    """Read an interval with its ends."""
    opening, low, _, high, closing = tree_of(factor.base).children
    if factor.sub is not None or factor.sup is not None:
        raise reader.fail("the scripts of an interval are not understood", factor.position)
    return nodes.Interval(
        reader.expression(tree_of(low)),
        reader.expression(tree_of(high)),
        with_low=opening == "[",
        with_high=closing == "]",
        position=factor.position,
    )


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

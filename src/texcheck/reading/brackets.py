"""What is between brackets: expressions, vectors, absolute values, norms, rounding."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, bare_name, canonical, tree_of
from texcheck.reading.lists import read_list
from texcheck.reading.parts import entries_in, holds_one_factor
from texcheck.reading.reader import Reader
from texcheck.vocabulary import INNER, NORMS

# The functions that are printed as brackets.
BRACKETS = {"LFLOOR": "floor", "LCEIL": "ceil", "LBAR": "abs"}


def read_bracket(reader: Reader, factor: Factor) -> Node:
    """Read what is between brackets."""
    tree = tree_of(factor.base)
    kind = factor.bracket
    chains = entries_in(tree, reader.text)
    position = factor.position
    if kind == "LANGLE":
        return read_inner_product(reader, chains, factor)
    if kind in ("LPAR", "LBRACK") and len(chains) > 1:
        return nodes.TupleOf(tuple(read_list(reader, chains)), position=position)
    if kind == "LSET" and holds_one_factor(tree):
        raise reader.fail("are these braces brackets or a set? write ( ) or [ ]", tree)
    if len(chains) != 1:
        raise reader.fail("brackets with several entries cannot stand here", tree)
    inner = reader.only_expression(chains[0])
    if kind == "LBAR" and factor.sub is not None:
        raise reader.fail("an absolute value takes no subscript", factor.sub)
    if kind in BRACKETS:
        return nodes.KnownCall(BRACKETS[kind], (inner,), position=position)
    if kind == "LNORM":
        return read_norm(reader, inner, factor)
    return inner


def read_norm(reader: Reader, inner: Node, factor: Factor) -> Node:
    """A norm by its subscript: one that is known, or a number that is declared."""
    if factor.sub is None:
        return nodes.Norm("", inner, position=factor.position)
    name = canonical(factor.sub)
    if name not in NORMS:
        name = bare_name(name)
    if name in NORMS:
        return nodes.Norm(name, inner, position=factor.position)
    order = reader.single(factor.sub)
    return nodes.Norm("p", inner, order=order, position=factor.position)


def read_inner_product(reader: Reader, chains: list[Tree[Token]], factor: Factor) -> Node:
    """``\\langle a, b \\rangle``: the declared one, else that of real vectors."""
    arguments = tuple(read_list(reader, chains))
    if len(arguments) != 2:
        raise reader.fail("only an inner product of two is read between angles", factor.position)
    if reader.scope.is_function(INNER):
        return nodes.Call(INNER, arguments, position=factor.position)
    return nodes.KnownCall("inner", arguments, position=factor.position)

"""Factors: what is printed on the line, with its scripts and with what it takes as its argument."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, long_argument, position_of, read_factor, tree_of
from texcheck.reading.brackets import read_bracket
from texcheck.reading.conditions import read_cases
from texcheck.reading.derivatives import read_derivative
from texcheck.reading.matrices import read_matrix
from texcheck.reading.partials import forbid_open_end
from texcheck.reading.parts import next_bracket, trees_in
from texcheck.reading.reader import Reader
from texcheck.reading.scripts import with_scripts_of
from texcheck.reading.symbols import read_symbol


def read_operand(reader: Reader, parts: list[Part], place: int) -> tuple[Node, int]:
    """Read the factor at ``place`` with what it takes as its argument."""
    factor = read_factor(parts[place], reader.text)
    if factor.is_symbol:
        return read_symbol(reader, factor, parts, place)
    node = read_base(reader, factor)
    if isinstance(node, nodes.Derivative) and node.body is None:
        if place + 1 >= len(parts):
            raise reader.fail("a derivative needs an expression after it", factor.position)
        forbid_open_end(reader, parts[place + 1 :], factor.position)
        body = reader.product(parts[place + 1 :])
        return replace(node, body=body), len(parts)
    if isinstance(node, nodes.Derivative) and next_bracket(parts, place, reader.text) == "LPAR":
        return node, place + 1 + taken_there(reader, node, parts[place + 1])
    if factor.bracket in ("LNORM", "LBAR"):
        # A subscript of these is no index: it says which norm.
        factor = replace(factor, sub=None)
    return with_scripts_of(reader, node, factor), place + 1


def taken_there(reader: Reader, node: nodes.Derivative, bracket: Part) -> bool:
    """Whether the bracket behind a derivative says where: at x in ``\\frac{df}{dx}(x)``.

    A product with a printed sign, or another derivative, is a factor; all else could be both.
    """
    factor = read_factor(bracket, reader.text)
    chains = trees_in(tree_of(factor.base).children)
    inside = reader.only_expression(chains[0]) if len(chains) == 1 else None
    if inside == node.variable and factor.sub is None and factor.sup is None:
        return True
    if isinstance(inside, nodes.Derivative):
        return False
    if isinstance(inside, nodes.Product) and inside.operator in ("dot", "times"):
        return False
    raise reader.fail(
        "is this derivative taken there, or multiplied by it? print a sign between them, or "
        "declare the derivative as a function",
        bracket,
    )


def read_base(reader: Reader, factor: Factor) -> Node:
    """Read what carries the scripts of a factor."""
    base = factor.base
    if isinstance(base, Token):
        if base.type == "NUMBER":
            return nodes.Number(number_of(base.value), position=factor.position)
        raise reader.fail(f"{base.value} cannot stand here", base)
    readers = {
        "fraction": read_fraction,
        "root": read_root,
        "binomial": read_binomial,
        "matrix": read_matrix,
        "cases": read_cases,
        "group": Reader.group,
    }
    if base.data == "interval":
        raise reader.fail("an interval can stand only after \\in", factor.position)
    if base.data in readers:
        return readers[base.data](reader, base)
    return read_bracket(reader, factor)


def read_fraction(reader: Reader, tree: Tree[Token]) -> Node:
    """Read a fraction, which may be a derivative."""
    _, top, bottom = tree.children
    if isinstance(bottom, Token) and bottom.type == "NUMBER" and len(bottom) > 1:
        raise long_argument(bottom, reader.text)
    derivative = read_derivative(reader, top, bottom)
    if derivative is not None:
        return derivative
    position = position_of(tree)
    return nodes.Product("/", reader.single(top), reader.single(bottom), position=position)


def number_of(printed: str) -> int | float:
    """A printed number; a whole one stays exact, also 2e3."""
    if printed.isdigit():
        return int(printed)
    exact = Decimal(printed)
    whole = "e" in printed and exact == exact.to_integral_value()
    return int(exact) if whole else float(printed)


def read_binomial(reader: Reader, tree: Tree[Token]) -> Node:
    """Read a binomial coefficient."""
    _, top, bottom = tree.children
    arguments = (reader.single(top), reader.single(bottom))
    return nodes.KnownCall("binom", arguments, position=position_of(tree))


def read_root(reader: Reader, tree: Tree[Token]) -> Node:
    """Read a root, of a degree where one is printed."""
    inner = reader.single(tree.children[-1])
    if len(tree.children) > 2:
        degree = reader.expression(tree_of(tree.children[2]))
        one = nodes.Number(1, position=position_of(tree))
        share = nodes.Product("/", one, degree, position=position_of(tree))
        return nodes.Power(inner, share, position=position_of(tree))
    return nodes.KnownCall("sqrt", (inner,), position=position_of(tree))

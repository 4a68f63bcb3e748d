"""Fractions that are derivatives."""

from __future__ import annotations

from dataclasses import replace

from lark import Token

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Part, canonical, position_of, read_factor
from texcheck.reading.parts import lone_symbol, term_parts
from texcheck.reading.reader import Reader
from texcheck.reading.scripts import forbid_scripts
from texcheck.reading.symbols import read_symbol
from texcheck.vocabulary import DIFFERENTIALS


def read_derivative(reader: Reader, top: Part, bottom: Part) -> Node | None:
    """Read a fraction as a derivative; None where it is none."""
    above = term_parts(top)
    below = term_parts(bottom)
    if not above or isinstance(above[0], Token):
        return None
    if len(below) < 2 or any(isinstance(part, Token) for part in below):
        return None
    upper = read_factor(above[0], reader.text)
    lower = read_factor(below[0], reader.text)
    plain = upper.name == "d" and not reader.scope.knows("d")
    if not (plain or upper.name in DIFFERENTIALS) or lower.name != upper.name:
        return None
    forbid_scripts(reader, lower)
    order = upper.sup
    variable = read_factor(below[1], reader.text)
    if plain and reader.scope.knows(f"d {variable.name}"):
        raise reader.fail(
            f"is this a derivative, or a quotient by the declared d {variable.name}? declare one",
            bottom,
        )
    if len(below) > 2 and upper.sub is None:
        return read_mixed_derivative(reader, order, above[1:], below, bottom)
    if len(below) != 2 or upper.sub is not None or not same_order(order, variable.sup):
        raise reader.fail(
            "this derivative is not understood; print one variable, and one order above and below",
            bottom,
        )
    by, _ = read_symbol(reader, replace(variable, sup=None), [below[1]], 0)
    body = read_derivative_body(reader, above[1:], by) if len(above) > 1 else None
    times = 1 if order is None else int(canonical(order))
    return nodes.Derivative(body, variable=by, order=times, position=position_of(top))


def read_mixed_derivative(
    reader: Reader, order: Part | None, above: list[Part], below: list[Part], bottom: Part
) -> Node:
    """``\\frac{\\partial^2 f(x, y)}{\\partial x \\partial y}``: one derivative in the other."""
    signs = [read_factor(part, reader.text) for part in below[::2]]
    variables = [read_factor(part, reader.text) for part in below[1::2]]
    alike = {sign.name for sign in signs} == {signs[0].name} and len(signs) == len(variables)
    counted = order is not None and canonical(order) == str(len(variables))
    if not (alike and counted) or any(one.sup is not None for one in variables):
        raise reader.fail(
            "this derivative is not understood; print as many variables below as its order says",
            bottom,
        )
    for sign in signs:
        forbid_scripts(reader, sign)
    name = lone_symbol(above[0], reader.text) if len(above) == 1 else ""
    if not above or reader.scope.is_function(name):
        raise reader.fail("a mixed derivative needs above what it is of, as f(x, y)", bottom)
    node = reader.product(above)
    for variable, part in reversed(list(zip(variables, below[1::2], strict=True))):
        by, _ = read_symbol(reader, variable, [part], 0)
        node = nodes.Derivative(node, variable=by, position=position_of(bottom))
    return node


def read_derivative_body(reader: Reader, parts: list[Part], variable: Node) -> Node:
    """What is differentiated; a function without its argument is one of the variable."""
    name = lone_symbol(parts[0], reader.text)
    if len(parts) == 1 and reader.scope.is_function(name) and isinstance(variable, nodes.Symbol):
        return nodes.Call(name, (variable,), position=position_of(parts[0]))
    return reader.product(parts)


def same_order(upper: Part | None, lower: Part | None) -> bool:
    """Whether the order of a derivative is the same number above and below, or nowhere."""
    above = "" if upper is None else canonical(upper)
    below = "" if lower is None else canonical(lower)
    return above == below and (not above or above.isdigit())

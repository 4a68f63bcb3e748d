"""The sign of a partial derivative before what it acts on."""

from __future__ import annotations

from lark import Token

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, Part
from texcheck.reading.reader import Reader


def read_partial(reader: Reader, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
    """``\\partial_w (…)``: the derivative by what is below the sign of all that follows it."""
    assert factor.sub is not None
    variable = reader.single(factor.sub)
    inside = parts[place + 1 :]
    if not inside:
        raise reader.fail("a derivative needs an expression after it", factor.position)
    forbid_open_end(reader, inside, factor.position)
    body = reader.product(inside)
    indexed = [one.base for one in body.walk() if isinstance(one, nodes.Index)]
    if variable in indexed:
        raise reader.fail("which of these is differentiated by? print its index", factor.position)
    return nodes.Derivative(body, variable=variable, position=factor.position), len(parts)


def forbid_open_end(reader: Reader, parts: list[Part], position: int) -> None:
    """Refuse ``\\frac{d}{dx} f(x) \\cdot g(x)``, where what is differentiated could end early."""
    if any(isinstance(part, Token) for part in parts):
        raise reader.fail(
            "where does the expression end that is differentiated? put it in brackets", position
        )

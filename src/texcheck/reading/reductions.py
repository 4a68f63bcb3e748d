"""Sums, products, maxima and minima over running indices."""

from __future__ import annotations

from lark import Token

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, read_factor
from texcheck.reading.lists import read_arguments
from texcheck.reading.parts import next_bracket
from texcheck.reading.ranges import forbid_own_index, index_chains, read_ranges
from texcheck.reading.reader import Reader
from texcheck.reading.relations import read_chain
from texcheck.reading.scripts import forbid_scripts, with_scripts_of
from texcheck.vocabulary import EXTREMES


def read_reduction(
    reader: Reader, kind: str, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read a sum, product, maximum or minimum with its range."""
    if factor.sub is None:
        if kind not in EXTREMES:
            raise reader.fail(
                f"{factor.name} is printed without an index below it", factor.position
            )
        return read_extreme(reader, kind, factor, parts, place)
    below = read_ranges(reader, index_chains(reader, factor.sub), factor)
    names = below.names
    rest = parts[place + 1 :]
    if not rest or isinstance(rest[0], Token):
        raise reader.fail(f"{factor.name} has nothing to act on", factor.position)
    if kind != "sum" and any(isinstance(part, Token) and part == "/" for part in rest):
        raise reader.fail(
            f"a/b after {factor.name} is ambiguous; write \\frac or brackets", factor.position
        )
    forbid_own_index(reader, below, factor)
    with reader.scope.binding(names):
        tests = tuple(read_chain(reader, chain) for chain in below.conditions)
        body = reader.product(rest)
    if kind not in ("sum", "product") and not set(names) & nodes.names_in(body):
        raise reader.fail(f"{factor.name} over {', '.join(names)} does nothing", factor.position)
    if kind != "sum":
        forbid_loose_factor(reader, names, body, factor)
    node = nodes.Reduction(
        kind,
        names=tuple(names),
        ranges=tuple(below.ranges),
        tests=tests,
        body=body,
        position=factor.position,
    )
    return node, len(parts)


def forbid_loose_factor(reader: Reader, names: list[str], body: Node, factor: Factor) -> None:
    """Refuse ``\\prod_i a_i b``, where b may stand behind the product."""
    if not isinstance(body, nodes.Product) or body.operator == "/":
        return
    inside, last = nodes.names_in(body.left), nodes.names_in(body.right)
    if set(names) & inside and not set(names) & last:
        raise reader.fail(
            f"does the last factor belong to {factor.name}? print it before the sign, or brackets",
            body.right.position,
        )


def read_extreme(
    reader: Reader, kind: str, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read a maximum or minimum of listed numbers, as in ``\\max(a, b)``."""
    if next_bracket(parts, place, reader.text) not in ("LPAR", "LBRACK", "LSET"):
        raise reader.fail(f"{factor.name} needs an index below it or brackets", factor.position)
    forbid_scripts(reader, factor)
    scripts = read_factor(parts[place + 1], reader.text)
    arguments = read_arguments(reader, parts[place + 1])
    node = nodes.KnownCall(kind, tuple(arguments), position=factor.position)
    return with_scripts_of(reader, node, scripts), place + 2

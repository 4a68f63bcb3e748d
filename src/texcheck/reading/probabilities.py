"""Probabilities of events: a relation between random variables, or several."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Chain, Node
from texcheck.parser import Factor, Part, read_factor, tree_of
from texcheck.reading.parts import trees_in
from texcheck.reading.reader import Reader, Unknown
from texcheck.reading.relations import read_chain
from texcheck.reading.scripts import forbid_scripts, with_scripts_of
from texcheck.vocabulary import BARS


def read_probability(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """``P(X = 1, Y \\le y)``, or with ``\\mid`` the share of it among what is given."""
    forbid_scripts(reader, factor)
    scripts = read_factor(parts[place + 1], reader.text)
    events, given = events_in(reader, tree_of(scripts.base), factor)
    node = probability_of((*events, *given), factor)
    if given:
        known = probability_of(given, factor)
        node = nodes.Product("/", node, known, position=factor.position)
    return with_scripts_of(reader, node, scripts), place + 2


def events_in(
    reader: Reader, tree: Tree[Token], factor: Factor
) -> tuple[tuple[Chain, ...], tuple[Chain, ...]]:
    """The events between the brackets, and those behind the bar."""
    marks = [
        k for k, part in enumerate(tree.children) if isinstance(part, Token) and part.type == "MID"
    ]
    end = marks[0] if marks else len(tree.children)
    if marks and BARS.get(str(tree.children[end]), ("", ""))[0] == "LNORM":
        raise reader.fail("is this a condition? write \\mid", tree.children[end])
    for chain in trees_in(tree.children):
        if len(chain.children) == 1:
            raise reader.unknown(
                f"{factor.name} of what event? print one, as {factor.name}(X = x), "
                f"or declare {factor.name} as a function",
                Unknown(factor, [], 0, (), declare=(factor.name, True)),
            )
    before = tuple(read_chain(reader, chain) for chain in trees_in(tree.children[:end]))
    behind = tuple(read_chain(reader, chain) for chain in trees_in(tree.children[end:]))
    return before, behind


def probability_of(events: tuple[Chain, ...], factor: Factor) -> Node:
    """The expectation of what is 1 where all events happen."""
    both = nodes.Indicator(events, position=factor.position)
    return nodes.Moment("expectation", (), both, position=factor.position)

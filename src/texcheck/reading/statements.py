"""What is read as a whole: the statements of a display, or one expression."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lark import Token, Tree

from texcheck import nodes
from texcheck.errors import LatexError
from texcheck.nodes import Chain, Node, Nodes
from texcheck.parser import parse, position_of
from texcheck.reading.factors import read_operand
from texcheck.reading.lists import read_list
from texcheck.reading.parts import lone_symbol, trees_in
from texcheck.reading.reader import Reader
from texcheck.reading.relations import read_chain
from texcheck.vocabulary import CONDITIONS, IMPLICATIONS


@dataclass
class Statement:
    """One chain of relations of a display, and what it is said to follow from.

    ``both``: premise and conclusion are said to be equivalent.
    """

    node: Chain
    premise: Chain | None = None
    both: bool = False

    @property
    def chains(self) -> tuple[Chain, ...]:
        """All relations that are printed in it."""
        return (self.node,) if self.premise is None else (self.premise, self.node)

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this statement from another, wherever it is printed."""
        return (*self.chains, self.both)

    def free_names(self) -> set[str]:
        """The symbols whose values it needs."""
        return set().union(*(chain.free_names for chain in self.chains))


def read_expression(text: str, table: Mapping[str, Any]) -> Node:
    """The one expression that a text is."""
    chains = trees_in(parse(text).children)
    if len(chains) != 1:
        raise LatexError("one expression is needed, not a list", position_of(chains[1]), text)
    symbols = {name: callable(value) for name, value in table.items()}
    return Reader(text, symbols, read_operand).only_expression(chains[0])


def read_display(text: str, table: Mapping[str, Any]) -> list[Statement]:
    """The statements of a display, all of which must hold."""
    return read_with(text, frozenset((name, callable(value)) for name, value in table.items()))


def read_any(text: str, symbols: Mapping[str, bool]) -> None:
    """Read a display, or where it has no relation an expression, by the names of its symbols."""
    chains = trees_in(parse(text).children)
    if len(chains) == 1 and len(chains[0].children) == 1:
        Reader(text, symbols, read_operand).only_expression(chains[0])
    else:
        read_with(text, frozenset(symbols.items()))


@functools.lru_cache(maxsize=64)
def read_with(text: str, symbols: frozenset[tuple[str, bool]]) -> list[Statement]:
    """Read a display by the names of the declared symbols, and whether they are functions."""
    reader = Reader(text, dict(symbols), read_operand)
    claims: list[tuple[str, list[Tree[Token]]]] = []
    separator = ","
    for child in parse(text).children:
        if isinstance(child, Token):
            separator = child.value
        # Only commas hold a list of values together, as in i = 0, 1, 2.
        elif len(child.children) == 1 and claims and separator == ",":
            claims[-1][1].append(child)
        else:
            claims.append((separator, [child]))
            separator = ","
    statements: list[Statement] = []
    for number, (word, group) in enumerate(claims):
        chain = group[0]
        if len(chain.children) == 1:
            reader.only_expression(chain)  # an unknown symbol in it is the better complaint
            raise reader.fail("an expression without a relation states nothing", chain)
        node = read_chain(reader, chain)
        for left, right, relation, place in zip(
            node.sides, node.sides[1:], node.relations, node.places, strict=False
        ):
            if left == right and relation == "=":
                raise reader.fail("both sides are printed alike, which states nothing", place)
        if len(group) > 1:
            if not lone_symbol(chain.children[0], text):
                raise reader.fail(
                    "a list of values needs a symbol before it, and this is not one symbol", chain
                )
            node = membership(node, listed_after(group, reader), reader)
        if word in CONDITIONS and number > 0:
            if (number > 1 and claims[number - 1][0] == ",") or statements[-1].premise is not None:
                raise reader.fail("what holds on this condition? print one statement", chain)
            concluded = statements.pop()
            statements.append(Statement(concluded.node, node))
        elif word in IMPLICATIONS and number > 0:
            if number > 1 and claims[number - 1][0] == ",":
                raise reader.fail("what does this follow from? join the premises by a word", chain)
            premise = statements[-1]
            if premise.premise is None:
                statements.pop()
            statements.append(Statement(node, premise.node, both=word == "\\iff"))
        else:
            statements.append(Statement(node))
    return statements


def listed_after(group: list[Tree[Token]], reader: Reader) -> Nodes:
    """The values in ``i = 0, 1, \\ldots, n``, of which the parser sees separate pieces."""
    first = Tree("chain", [group[0].children[-1]])
    return tuple(read_list(reader, [first, *group[1:]]))


def membership(first: Chain, items: Nodes, reader: Reader) -> Chain:
    """``i = 0, 1, 2`` for a declared i: i is one of these."""
    if first.relations != ("=",):
        raise reader.fail("a list of values can follow only =", first.position)
    listed = nodes.ListedSet(items, position=first.position)
    texts = (first.texts[0], first.texts[1] + ", …")
    return replace(first, sides=(first.sides[0], listed), relations=("in",), texts=texts)


def conditions_of(text: str, table: Mapping[str, Any]) -> Iterator[Chain]:
    """The conditions in a display's ``cases`` and indicators."""
    for statement in read_display(text, table):
        for part in statement.node.walk():
            if isinstance(part, (nodes.Case, nodes.Indicator)):
                yield from part.tests

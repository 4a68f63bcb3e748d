"""What is read as a whole: the statements of a display, or one expression."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lark import Token, Tree

from texcheck import nodes
from texcheck.errors import LatexError
from texcheck.nodes import Chain, Node, Nodes
from texcheck.parser import canonical_name, end_of, parse, position_of
from texcheck.reading.factors import read_operand
from texcheck.reading.lists import read_list
from texcheck.reading.parts import lone_symbol, trees_in
from texcheck.reading.reader import Reader
from texcheck.reading.relations import links_of, read_chain
from texcheck.vocabulary import CONDITIONS, IMPLICATIONS, QUANTIFIERS

# What joins the parts of one statement that is read as several.
WITH = "with both"
# What joins several symbols behind "for all", and what joins a condition to them.
LISTING = {",", "and", WITH}
LIMITING = {"with", "where"}
# Relations that a, b ∈ X states of each.
SHARED = {"in", "notin", "<", "<=", ">", ">="}


@dataclass
class Statement:
    """One chain of relations of a display, and what it is said to follow from.

    ``both``: premise and conclusion are said to be equivalent; ``given``: the premise stands behind
    an "if", so that more conditions may follow.
    """

    node: Chain
    premise: Chain | None = None
    both: bool = False
    given: bool = False
    # The number of the last relation of the display that it is, or concludes.
    number: int = 0

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


@dataclass(frozen=True)
class Every:
    """A symbol behind "for all": the statements before it, and what limits it behind the word."""

    name: str
    position: int
    about: tuple[Statement, ...]
    conditions: tuple[Chain, ...]


@dataclass(frozen=True)
class Display:
    """The statements of a display, and the symbols for all values of which they are said."""

    statements: list[Statement]
    every: list[Every]


@dataclass(frozen=True)
class Quantified:
    """What is printed behind "for all": a symbol alone, or a relation, which is a claim as well.

    ``before``: how many claims stand before it; ``claim``: the number of the one that it is;
    ``named``: whether it is behind the word, and not behind a comma; ``words``: of which "for all".
    """

    chain: Tree[Token]
    before: int
    claim: int | None
    named: bool
    words: int


def read_expression(text: str, table: Mapping[str, Any]) -> Node:
    """The one expression that a text is."""
    chains = trees_in(parse(text).children)
    if len(chains) != 1:
        raise LatexError("one expression is needed, not a list", position_of(chains[1]), text)
    symbols = {name: callable(value) for name, value in table.items()}
    return Reader(text, symbols, read_operand).only_expression(chains[0])


def read_display(text: str, table: Mapping[str, Any]) -> list[Statement]:
    """The statements of a display, all of which must hold."""
    return read_with(text, named_kinds(table)).statements


def read_every(text: str, table: Mapping[str, Any]) -> list[Every]:
    """The symbols of a display for all values of which something is said."""
    return read_with(text, named_kinds(table)).every


def named_kinds(table: Mapping[str, Any]) -> frozenset[tuple[str, bool]]:
    """The names of the declared symbols, and whether they are functions."""
    return frozenset((name, callable(value)) for name, value in table.items())


def read_any(text: str, symbols: Mapping[str, bool]) -> None:
    """Read a display, or where it has no relation an expression, by the names of its symbols."""
    chains = trees_in(parse(text).children)
    if len(chains) == 1 and len(chains[0].children) == 1:
        Reader(text, symbols, read_operand).only_expression(chains[0])
    else:
        read_with(text, frozenset(symbols.items()))


@functools.lru_cache(maxsize=64)
def read_with(text: str, symbols: frozenset[tuple[str, bool]]) -> Display:
    """Read a display by the names of the declared symbols, and whether they are functions."""
    reader = Reader(text, dict(symbols), read_operand)
    claims: list[tuple[str, list[Tree[Token]]]] = []
    separator = ","
    # Whether what is read next is behind "for all", and whether it may limit what is.
    quantified = False
    limiting = False
    words = 0
    quantifiers: list[Quantified] = []
    limits: dict[int, list[int]] = {}
    for child in each_alone(parse(text).children):
        if isinstance(child, Token):
            separator = child.value
            if separator in QUANTIFIERS:
                quantified = True
                limiting = True
                words += 1
                limits[words] = []
            elif separator not in LISTING:
                quantified = False
                limiting = limiting and separator in LIMITING
        elif quantified and len(child.children) == 1:
            quantifiers.append(
                Quantified(child, len(claims), None, separator in QUANTIFIERS, words)
            )
        # Only commas hold a list of values together, as in i = 0, 1, 2.
        elif len(child.children) == 1 and claims and separator == ",":
            claims[-1][1].append(child)
        else:
            claim = len(claims)
            if quantified:
                # What a comma joins to i = 0 is the next value of i.
                quantified = child.children[1] != "="
                quantifiers.append(Quantified(child, claim, claim, separator in QUANTIFIERS, words))
            elif limiting and separator in LIMITING | LISTING:
                limits[words].append(claim)
            for link in links_of(child):
                claims.append((separator, [link]))
                separator = WITH
            separator = ","
    statements: list[Statement] = []
    read: list[Chain] = []
    for number, (word, group) in enumerate(claims):
        chain = group[0]
        if len(chain.children) == 1:
            reader.only_expression(chain)  # an unknown symbol in it is the better complaint
            raise reader.fail("an expression without a relation states nothing", chain)
        node = read_chain(reader, chain)
        forbid_implied_sums(reader, node)
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
        read.append(node)
        following = claims[number + 1][0] if number + 1 < len(claims) else ""
        joins = word == WITH or (word == "and" and following not in CONDITIONS)
        if word == WITH and statements and statements[-1].premise and not statements[-1].given:
            statements.append(replace(statements[-1], node=node, number=number))
        elif joins and statements and statements[-1].given:
            # A if B and C: both are conditions.
            before = statements.pop()
            assert before.premise is not None
            both = nodes.Indicator((*conditions_in(before.premise), node), position=node.position)
            statements.append(replace(before, premise=certain(both, before.premise)))
        elif word in CONDITIONS and number > 0:
            if (number > 1 and claims[number - 1][0] == ",") or statements[-1].premise is not None:
                raise reader.fail("what holds on this condition? print one statement", chain)
            concluded = statements.pop()
            statements.append(Statement(concluded.node, node, given=True, number=concluded.number))
        elif word in IMPLICATIONS and number > 0:
            if number > 1 and claims[number - 1][0] == ",":
                raise reader.fail("what does this follow from? join the premises by a word", chain)
            premise = statements[-1]
            if premise.premise is None:
                statements.pop()
            if claims[number - 1][0] == WITH:
                # a ≫ b = c was read as two statements, and is one premise.
                others = statements.pop()
                parts = (*conditions_in(others.node), premise.node)
                both = nodes.Indicator(parts, position=others.node.position)
                premise = Statement(certain(both, others.node))
            both_ways = word == "\\iff"
            statements.append(Statement(node, premise.node, both=both_ways, number=number))
        else:
            statements.append(Statement(node, number=number))
    every = read_quantifiers(reader, quantifiers, limits, statements, read)
    return Display(statements, every)


def read_quantifiers(
    reader: Reader,
    quantifiers: Sequence[Quantified],
    limits: Mapping[int, list[int]],
    statements: Sequence[Statement],
    claims: Sequence[Chain],
) -> list[Every]:
    """The symbols behind "for all", each with the statements before it in which it is free.

    What limits it are the relations behind the word that are about such a symbol, and those behind
    a "with" or "where" that follows.
    """
    found: list[tuple[Quantified, str, tuple[Statement, ...]]] = []
    limiting = {words: list(numbers) for words, numbers in limits.items()}
    for one in quantifiers:
        claim = None if one.claim is None else claims[one.claim]
        if claim is not None and claim.relations == ("=",):
            continue  # for all n = N/2: there is one value
        name = quantified_name(reader, one) if claim is None else limited_name(claim)
        earlier = [statement for statement in statements if statement.number < one.before]
        about = tuple(statement for statement in earlier if name in statement.free_names())
        if not about and claim is not None and not one.named:
            continue  # a statement of its own behind a comma
        if not about:
            raise reader.fail("of what is this for all? print a symbol of the statement", one.chain)
        if any(one.words == other.words and name == named for other, named, _ in found):
            raise reader.fail(f"{name} stands twice behind these words", one.chain)
        found.append((one, name, about))
        if one.claim is not None:
            limiting[one.words].append(one.claim)
    return [
        Every(
            name,
            position_of(one.chain),
            about,
            conditions=tuple(claims[number] for number in limiting[one.words]),
        )
        for one, name, about in found
    ]


def quantified_name(reader: Reader, one: Quantified) -> str:
    """The symbol that stands alone behind "for all", or whose entries do; else empty."""
    printed = reader.text[position_of(one.chain) : end_of(one.chain)]
    try:
        name = canonical_name(printed)
    except LatexError:
        name = ""
    if reader.scope.is_function(name):
        raise reader.fail(
            f"nothing draws {printed.strip()} anew, which is a function: leave the words out, "
            "and give several functions in several draws",
            one.chain,
        )
    node = reader.only_expression(one.chain)
    if isinstance(node, nodes.Index):
        node = node.base
    return node.name if isinstance(node, nodes.Symbol) else ""


def limited_name(claim: Chain) -> str:
    """The symbol of which ``0 < x < 1``, ``x > 0`` or ``x \\in X`` says something; else empty."""
    sides = claim.sides[1:2] if len(claim.sides) == 3 else claim.sides
    for side in sides:
        base = side.base if isinstance(side, nodes.Index) else side
        if isinstance(base, nodes.Symbol):
            return base.name
    names = sorted(claim.free_names)
    return names[0] if len(names) == 1 else ""


def forbid_implied_sums(reader: Reader, chain: Chain) -> None:
    """Refuse ``y_i = a_{ij} x_j``, where the sum over j is not printed."""
    first = chain.sides[0]
    known = nodes.names_in(first)
    if isinstance(first, nodes.Index):
        known = nodes.names_in_all(first.indices)
    for side in chain.sides[1:]:
        inner = side.body if isinstance(side, nodes.Derivative) else None
        factors = list(factors_of(inner or side))
        counts = Counter(name for factor in factors for name in index_names(factor))
        repeated = sorted(name for name, count in counts.items() if count > 1 and name not in known)
        if repeated:
            raise reader.fail(
                f"is there a sum over {repeated[0]}, which is no index on the left? print \\sum",
                side.position,
            )


def factors_of(node: Node) -> Iterator[Node]:
    """The factors of a product, or the one that a node is."""
    if isinstance(node, nodes.Product) and node.operator in ("juxtaposed", "dot"):
        yield from factors_of(node.left)
        yield from factors_of(node.right)
    else:
        yield node


def index_names(node: Node) -> set[str]:
    """The symbols that stand alone as an index of an entry; none where it is no entry."""
    if not isinstance(node, nodes.Index):
        return set()
    indices = [
        item
        for index in node.indices
        for item in (index.items if isinstance(index, nodes.RunTogether) else (index,))
    ]
    return {item.name for item in indices if isinstance(item, nodes.Symbol)}


def each_alone(parts: Sequence[Any]) -> Iterator[Any]:
    """``a, b \\in X`` as ``a \\in X, b \\in X``, at the start of a display or behind a word."""
    waiting: list[Any] = []
    separator = ""
    for part in parts:
        if isinstance(part, Token):
            separator = part.value
            if not waiting or separator != ",":
                yield from waiting
                waiting = []
                yield part
        elif len(part.children) == 1 and (waiting or separator != ","):
            waiting.append(part)
        else:
            shared = [str(one) for one in part.children[1::2]]
            members = waiting if len(shared) == 1 and shared[0] in SHARED else []
            for place, one in enumerate(waiting):
                relation = part.children[1:] if members else []
                yield Tree("chain", [*one.children, *relation])
                yield Token("SEP", WITH if members else ",", start_pos=place)
            waiting = []
            yield part
    for place, one in enumerate(waiting):
        if place:
            yield Token("SEP", ",")
        yield one


def conditions_in(premise: Chain) -> tuple[Chain, ...]:
    """The conditions of which a premise consists."""
    first = premise.sides[0]
    return (
        first.tests
        if isinstance(first, nodes.Indicator) and premise.texts[1] == "true"
        else (premise,)
    )


def certain(indicator: nodes.Indicator, premise: Chain) -> Chain:
    """The statement that all conditions of an indicator hold."""
    one = nodes.Number(1, position=premise.position)
    texts = (f"{premise.texts[0]} …", "true")
    return Chain((indicator, one), ("=",), premise.places[:1], texts, position=premise.position)


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

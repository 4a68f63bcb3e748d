"""What is printed below a sum: indices, their bounds and conditions."""

from __future__ import annotations

from dataclasses import dataclass, field

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Bounds
from texcheck.parser import Factor, Part, tokens_of
from texcheck.reading.parts import lone_symbol, term_parts, trees_in
from texcheck.reading.reader import Reader
from texcheck.vocabulary import CONSTANTS


@dataclass
class Below:
    """What is printed below a sum: its indices, and the conditions on them.

    ``ranges`` has an entry for each index: its bounds, or None where they are not stated.
    """

    names: list[str] = field(default_factory=list)
    ranges: list[Bounds | None] = field(default_factory=list)
    conditions: list[Tree[Token]] = field(default_factory=list)

    def add(self, name: str, stated: Bounds | None = None) -> None:
        """Add an index."""
        self.names.append(name)
        self.ranges.append(stated)


def index_chains(reader: Reader, sub: Part) -> list[Tree[Token]]:
    """The conditions below a sum."""
    if isinstance(sub, Token):
        return [Tree("chain", [Tree("expr", [Tree("term", [Tree("factor", [sub])])])])]
    forbid_divisors(reader, sub)
    chains = []
    for piece in trees_in(sub.children):
        inner = trees_in(piece.children)
        if piece.data == "piece" and len(inner) == 1 and len(piece.children) == 1:
            chains.append(inner[0])
        else:
            raise reader.fail("this index range is not understood", piece)
    if not chains:
        raise reader.fail("this index range is not understood", sub)
    return chains


def forbid_divisors(reader: Reader, sub: Tree[Token]) -> None:
    """What follows ``\\mid`` or a colon is a condition; in ``d \\mid n`` d divides n."""
    marks = [
        k for k, one in enumerate(sub.children) if isinstance(one, Token) and one.type == "MID"
    ]
    for piece in trees_in(sub.children[marks[0] :]) if marks else []:
        if not any(len(chain.children) > 1 for chain in trees_in(piece.children)):
            sign = sub.children[marks[0]]
            raise reader.fail(
                f"does {sign} mean 'divides' or 'such that'? print a relation behind it, such as "
                "n \\bmod d = 0",
                piece,
            )


def read_ranges(reader: Reader, chains: list[Tree[Token]], factor: Factor) -> Below:
    """Read what is printed below a sum, and the upper end that is printed above it."""
    below = Below()
    upper = None if factor.sup is None else reader.single(factor.sup)
    for chain in split_indices(chains, reader.text):
        sides = trees_in(chain.children)
        if any(isinstance(part, Token) and part == "notin" for part in chain.children):
            raise reader.fail("\\notin below a sum cannot be read; declare the set", chain)
        symbols = [lone_symbol(side, reader.text) for side in sides]
        if len(sides) == 1:
            if not symbols[0]:
                raise reader.fail("an index below a sum must be a symbol", chain)
            below.add(symbols[0])
            continue
        relation = chain.children[1]
        assert isinstance(relation, Token)
        if len(sides) == 2 and relation.value == "=" and symbols[0]:
            if upper is None:
                raise reader.fail("the upper end of the range is missing", chain)
            stated = (reader.expression(sides[1]), upper)
            if not below.conditions and set(below.ranges) == {None}:
                # i, j = 1 below a sum: the bounds of j are those of i as well.
                below.ranges = [stated] * len(below.names)
            below.add(symbols[0], stated=stated)
            upper = None
            continue
        for name in fresh_indices(reader, symbols, below, chain):
            below.add(name)
        below.conditions.append(chain)
    if upper is not None:
        raise reader.fail("an upper end needs an index that starts below it", factor.position)
    return below


def split_indices(chains: list[Tree[Token]], text: str) -> list[Tree[Token]]:
    """Indices that are printed side by side below a sum, as in ``\\sum_{ij}``, one by one."""
    if len(chains) != 1 or len(chains[0].children) != 1:
        return chains
    factors = term_parts(chains[0])
    letters = [lone_symbol(one, text) if isinstance(one, Tree) else "" for one in factors]
    if len(letters) < 2 or not all(len(name) == 1 for name in letters):
        return chains
    return [Tree("chain", [Tree("expr", [Tree("term", [factor])])]) for factor in factors]


def fresh_indices(
    reader: Reader, symbols: list[str], below: Below, chain: Tree[Token]
) -> list[str]:
    """The indices that a condition binds, of the sides of it that are symbols."""
    relations = [child for child in chain.children if isinstance(child, Token)]
    fresh = []
    for k, name in enumerate(symbols):
        known = reader.scope.knows(name) or name in CONSTANTS or name in below.names
        # What follows \in is a set, which must be declared.
        is_set = k > 0 and relations[k - 1] == "in"
        # In -m <= j <= m the index is j.
        others = [side for n, side in enumerate(trees_in(chain.children)) if n != k]
        bounds = any(name == token for side in others for token in tokens_of(side))
        if name and not known and not is_set and not bounds:
            fresh.append(name)
    if fresh or set(symbols) & set(below.names):
        return fresh
    if {token.value for token in tokens_of(chain)} & set(below.names):
        return []
    if not symbols[0]:
        raise reader.fail("no index is bound by this condition", chain)
    return [symbols[0]]


def forbid_own_index(reader: Reader, below: Below, factor: Factor) -> None:
    """``\\sum_{n=0}^{n} n``: an index in its own bounds, or one that already runs."""
    used: set[str] = set()
    for stated in below.ranges:
        if stated is not None:
            used |= nodes.names_in_all(stated)
    for name in below.names:
        if name in used:
            raise reader.fail(f"the index {name} is used in its own bounds", factor.position)
        if name in reader.scope.running:
            raise reader.fail(f"the index {name} is running already", factor.position)
    if len(set(below.names)) < len(below.names):
        raise reader.fail(f"one index is printed twice below {factor.name}", factor.position)

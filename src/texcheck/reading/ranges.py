"""What is printed below a sum: indices, their bounds and conditions."""

from __future__ import annotations

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Bounds
from texcheck.parser import Factor, Part
from texcheck.reading.parts import lone_symbol
from texcheck.reading.reader import Reader
from texcheck.vocabulary import CONSTANTS


def index_chains(reader: Reader, sub: Part) -> list[Tree[Token]]:
    """The conditions below a sum."""
    if isinstance(sub, Token):
        return [Tree("chain", [Tree("expr", [Tree("term", [Tree("factor", [sub])])])])]
    pieces = [child for child in sub.children if isinstance(child, Tree)]
    chains = []
    for piece in pieces:
        inner = [child for child in piece.children if isinstance(child, Tree)]
        if piece.data == "piece" and len(inner) == 1 and len(piece.children) == 1:
            chains.append(inner[0])
        else:
            raise reader.fail("this index range is not understood", piece)
    if not chains:
        raise reader.fail("this index range is not understood", sub)
    return chains


def index_bounds(
    reader: Reader, chains: list[Tree[Token]], factor: Factor
) -> tuple[list[str], list[Bounds | None], list[Tree[Token]]]:
    """The indices bound under a sum, their stated ranges, and further conditions."""
    names: list[str] = []
    ranges: list[Bounds | None] = []
    conditions: list[Tree[Token]] = []
    upper = None if factor.sup is None else reader.single(factor.sup)
    for chain in chains:
        sides = [child for child in chain.children if isinstance(child, Tree)]
        symbols = [lone_symbol(side, reader.text) for side in sides]
        if len(sides) == 1:
            if not symbols[0]:
                raise reader.fail("an index below a sum must be a symbol", chain)
            names.append(symbols[0])
            ranges.append(None)
            continue
        relation = chain.children[1]
        assert isinstance(relation, Token)
        if len(sides) == 2 and relation.value == "=" and symbols[0]:
            if upper is None:
                raise reader.fail("the upper end of the range is missing", chain)
            names.append(symbols[0])
            ranges.append((reader.expression(sides[1]), upper))
            upper = None
            continue
        fresh = [s for s in symbols if s and not reader.scope.knows(s) and s not in CONSTANTS]
        fresh = [s for s in fresh if s not in names]
        if not fresh and not set(symbols) & set(names):
            if symbols[0]:
                fresh = [symbols[0]]
            else:
                raise reader.fail("no index is bound by this condition", chain)
        names.extend(fresh)
        ranges.extend([None] * len(fresh))
        conditions.append(chain)
    if upper is not None:
        raise reader.fail("an upper end without an index that starts below", factor.position)
    return names, ranges, conditions


def forbid_own_index(
    reader: Reader, names: list[str], ranges: list[Bounds | None], factor: Factor
) -> None:
    """``\\sum_{n=0}^{n} n``: an index in its own bounds, or one that already runs."""
    used = {name for stated in ranges if stated for end in stated for name in nodes.names_in(end)}
    for name in names:
        if name in used:
            raise reader.fail(f"the index {name} stands in its own bounds", factor.position)
        if name in reader.scope.running:
            raise reader.fail(f"the index {name} is running already", factor.position)
    if len(set(names)) < len(names):
        raise reader.fail(f"one index twice below {factor.name}", factor.position)

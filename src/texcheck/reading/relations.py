"""Chains of relations, and the sets after ``\\in``."""

from __future__ import annotations

from lark import Token, Tree

from texcheck.nodes import (
    Chain,
    DeclaredSet,
    Interval,
    ListedSet,
    Node,
    NumberSet,
    Parity,
)
from texcheck.parser import position_of, tokens_of
from texcheck.reading.core import Core
from texcheck.reading.factors import (
    Factor,
    Part,
    read_factor,
    tree_of,
)
from texcheck.tokens import DECLARED_RELATIONS
from texcheck.vocabulary import (
    NUMBER_SETS,
    PARITIES,
)


class Relations(Core):
    """Reads relations and sets."""

    def bracketed_relations(self, chain: Tree[Token]) -> list[Tree[Token]]:
        """The statements inside ``(0 \\le i < n)``, a side condition in brackets; else nothing."""
        parts = self.term_parts(chain)
        if len(chain.children) != 1 or len(parts) != 1 or isinstance(parts[0], Token):
            return []
        factor = read_factor(parts[0], self.text)
        if factor.bracket != "LPAR" or factor.sub or factor.sup or factor.factorials:
            return []
        inner = [child for child in tree_of(factor.base).children if isinstance(child, Tree)]
        return inner if any(len(piece.children) > 1 for piece in inner) else []

    def relation_chain(self, tree: Tree[Token]) -> Chain:
        """``a < b = c`` as a node; a chain without a relation is an error."""
        sides = [child for child in tree.children if isinstance(child, Tree)]
        relations = [child for child in tree.children if isinstance(child, Token)]
        if not relations:
            raise self.fail("a relation such as = or < is missing here", tree)
        nodes: list[Node] = []
        for k, side in enumerate(sides):
            member = k > 0 and relations[k - 1].value in ("in", "notin")
            nodes.append(self.set_of(side) if member else self.expression(side))
        symbols = tuple(relation.value for relation in relations)
        places = tuple(relation.start_pos or 0 for relation in relations)
        if "to" in symbols:
            raise self.fail("a limit cannot be evaluated", places[symbols.index("to")])
        for symbol, place in zip(symbols, places, strict=True):
            if symbol in DECLARED_RELATIONS and not callable(self.table.get(symbol)):
                raise self.fail(
                    f"{symbol} has no one meaning; declare it as a function of both sides, "
                    "or check the display by hand",
                    place,
                )
        texts = tuple(self.printed(side) for side in sides)
        return Chain(tuple(nodes), symbols, places, texts, position=position_of(tree))

    def printed(self, tree: Part) -> str:
        """The source of a piece, on one line."""
        tokens = list(tokens_of(tree))
        piece = self.text[tokens[0].start_pos : tokens[-1].end_pos]
        return " ".join(piece.split())

    def set_of(self, tree: Tree[Token]) -> Node:
        """What stands after ``\\in``: shapes, intervals, listed sets, declared sets."""
        parts = self.term_parts(tree)
        position = position_of(tree)
        if len(parts) == 1 and isinstance(parts[0], Tree):
            factor = read_factor(parts[0], self.text)
            if factor.factorials:
                raise self.fail("a factorial of a set", factor.position)
            if factor.is_symbol and factor.name in NUMBER_SETS:
                return self.number_set(factor)
            if factor.is_symbol and factor.name in PARITIES:
                self.forbid_scripts(factor)
                return Parity(PARITIES[factor.name], position=position)
            if not factor.sub and factor.bracket in ("LSET", "LPAR", "LBRACK"):
                return self.bracketed_set(factor)
        node = self.expression(tree)
        return DeclaredSet(node, position=position)

    def number_set(self, factor: Factor) -> Node:
        """Read a set such as ℝ^{n×d}."""
        shape: list[Node] = []
        if factor.sup is not None:
            if isinstance(factor.sup, Tree) and factor.sup.data == "group":
                piece = [child for child in factor.sup.children if isinstance(child, Tree)]
                parts = self.term_parts(factor.sup)
                groups: list[list[Part]] = [[]]
                for part in parts:
                    if isinstance(part, Token) and part.value == "times":
                        groups.append([])
                    else:
                        groups[-1].append(part)
                if parts and all(groups):
                    shape = [self.product(group) for group in groups]
                else:
                    shape = [self.only_expression(piece[0])]
            else:
                shape = [self.single(factor.sup)]
        if factor.sub is not None:
            raise self.fail("a number set with a subscript is not known", factor.position)
        return NumberSet(factor.name[8:-1], tuple(shape), position=factor.position)

    def bracketed_set(self, factor: Factor) -> Node:
        """Read a listed set or an interval."""
        tree = tree_of(factor.base)
        closer = tree.children[-1]
        assert isinstance(closer, Token)
        chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
        if factor.bracket == "LSET":
            exponent = None if factor.sup is None else self.single(factor.sup)
            return ListedSet(tuple(self.listed(chains)), exponent, position=factor.position)
        if len(chains) != 2 or factor.sup is not None:
            raise self.fail("an interval needs two ends", tree)
        low, high = (self.only_expression(chain) for chain in chains)
        closed = (factor.bracket == "LBRACK", closer.type == "RBRACK")
        return Interval(low, high, closed, position=factor.position)

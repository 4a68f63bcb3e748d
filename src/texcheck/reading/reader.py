"""Expressions: sums of products of factors, and groups of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lark import Token, Tree

from texcheck import nodes
from texcheck.errors import LatexError, UnknownSymbolError
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, canonical, position_of, read_factor, tree_of
from texcheck.reading.parts import is_dots, trees_in
from texcheck.reading.scope import Scope

# How a factor is read, with what it takes as its argument: the node, and the next place.
ReadOperand = Callable[["Reader", list[Part], int], tuple[Node, int]]


@dataclass(frozen=True)
class Unknown:
    """A symbol without a meaning, the factors of its product, and which of them it is.

    ``running`` are the names that are bound there; ``declare`` is what to declare where that is
    clear: a name, and whether it is a function.
    """

    factor: Factor
    parts: list[Part]
    place: int
    running: tuple[str, ...]
    declare: tuple[str, bool] | None = None


class Reader:
    """Reads expressions: terms, their factors, and groups of them.

    What a factor means is for ``read_operand`` to say, which calls the reader for what is inside.
    """

    def __init__(self, text: str, table: Mapping[str, bool], read_operand: ReadOperand) -> None:
        self.text = text
        self.scope = Scope(table)
        self.read_operand = read_operand

    def fail(self, message: str, where: Part | int) -> LatexError:
        """The error of this formula at a part."""
        position = where if isinstance(where, int) else position_of(where)
        return LatexError(message, position, self.text)

    def unknown(self, message: str, context: Unknown) -> UnknownSymbolError:
        """The error of a symbol without a meaning."""
        return UnknownSymbolError(message, context.factor.position, self.text, context)

    def only_expression(self, chain: Part) -> Node:
        """Read a part that must be one expression."""
        tree = tree_of(chain)
        if tree.data == "piece":
            if not isinstance(tree.children[0], Tree):
                raise self.fail(f"{canonical(tree)} cannot stand here", tree)
            tree = tree.children[0]
        if tree.data == "chain":
            if len(tree.children) > 1:
                raise self.fail("a relation cannot stand here", tree.children[1])
            tree = tree_of(tree.children[0])
        return self.expression(tree)

    def single(self, part: Part) -> Node:
        """An argument: one token or a group."""
        if isinstance(part, Token):
            if part.type not in ("SYMBOL", "NUMBER"):
                raise self.fail(f"{part.value} cannot stand here", part)
            return self.operand([Tree("factor", [part])], 0)[0]
        if part.data == "group":
            return self.group(part)
        return self.operand([Tree("factor", [part])], 0)[0]

    def group(self, tree: Tree[Token]) -> Node:
        """Read what is between braces."""
        pieces = trees_in(tree.children)
        if len(pieces) != 1 or len(tree.children) != 3:
            raise self.fail("this group is not one expression", tree)
        return self.only_expression(pieces[0])

    def expression(self, tree: Tree[Token]) -> Node:
        """Read terms with their signs."""
        position = position_of(tree)
        sign = "+"
        terms: list[tuple[str, Tree[Token]]] = []
        for child in tree.children:
            if isinstance(child, Token):
                sign = child.value
            else:
                terms.append((sign, child))
                sign = "+"
        if len(tree.children) > 1:
            for _, term in terms:
                self.forbid_remainder(term)
        for _, term in terms:
            if is_dots(term):
                raise self.fail("dots in a sum cannot be read; write \\sum", term)
            factors = list(term.children)
            if len(factors) == 1 and read_factor(factors[0], self.text).bracket == "LSET":
                raise self.fail(
                    "a set by its members cannot be read here; declare it under a name", term
                )
        found = [(sign, self.product(list(term.children))) for sign, term in terms]
        if len(found) == 1 and found[0][0] == "+":
            return found[0][1]
        return nodes.SumOf(tuple(found), position=position)

    def forbid_remainder(self, term: Tree[Token]) -> None:
        """``-1 \\bmod 3`` is 2 to one reader and -1 to another."""
        for part in term.children:
            if isinstance(part, Token) and part.value == "mod":
                raise self.fail("\\bmod beside a sign is ambiguous; write brackets", part)

    def product(self, parts: list[Part]) -> Node:
        """Factors side by side bind more tightly than printed operators: A ⊙ x W is A ⊙ (x W)."""
        self.forbid_ambiguous_signs(parts)
        result, place = self.side_by_side(parts, 0, after_slash=False)
        while place < len(parts):
            operator = parts[place]
            assert isinstance(operator, Token)
            right, place = self.side_by_side(parts, place + 1, after_slash=operator == "/")
            result = nodes.Product(operator.value, result, right, position=position_of(operator))
        return result

    def side_by_side(self, parts: list[Part], place: int, *, after_slash: bool) -> tuple[Node, int]:
        """Read factors as one product, up to the next printed operator."""
        result, place = self.operand(parts, place)
        while place < len(parts) and isinstance(parts[place], Tree):
            part = parts[place]
            self.forbid_side_by_side(part, after_slash=after_slash)
            node, place = self.operand(parts, place)
            result = nodes.Product("juxtaposed", result, node, position=position_of(part))
        return result, place

    def forbid_ambiguous_signs(self, parts: list[Part]) -> None:
        """Refuse an operator without a factor beside it, dots, and a remainder of a product."""
        for end in (parts[0], parts[-1]):
            if isinstance(end, Token):
                raise self.fail(f"the operator {end.value!r} needs a factor on both sides", end)
        for part in parts:
            if is_dots(part):
                raise self.fail("dots in a product cannot be read; write \\prod", part)
        operators = [part for part in parts if isinstance(part, Token)]
        for sign in operators:
            if sign.value == "mod" and (len(operators) > 1 or sign is not parts[-2]):
                raise self.fail("\\bmod beside another product is ambiguous; write brackets", sign)

    def operand(self, parts: list[Part], place: int) -> tuple[Node, int]:
        """Read the factor at ``place`` with what it takes as its argument."""
        return self.read_operand(self, parts, place)

    def forbid_side_by_side(self, part: Part, *, after_slash: bool) -> None:
        """Refuse neighbours whose product is ambiguous."""
        if read_factor(part, self.text).is_number:
            raise self.fail("a number after a factor needs an operator between them", part)
        if after_slash:
            raise self.fail(
                "what is divided by? a/b c is ambiguous; write \\frac or brackets", part
            )

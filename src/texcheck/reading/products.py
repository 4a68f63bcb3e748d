"""Sums and products: which factors belong together, and where a sign reaches."""

from __future__ import annotations

from dataclasses import replace

from lark import Token, Tree

from texcheck.nodes import (
    Derivative,
    DottedProduct,
    DottedSum,
    Node,
    Product,
    SumOf,
)
from texcheck.parser import position_of
from texcheck.reading.core import Core
from texcheck.reading.factors import (
    Part,
    read_factor,
)


class Products(Core):
    """Reads sums and products."""

    def expression(self, tree: Tree[Token]) -> Node:
        """Read terms with their signs."""
        position = position_of(tree)
        sign, terms = "+", []
        for child in tree.children:
            if isinstance(child, Token):
                sign = child.value
            else:
                terms.append((sign, child))
                sign = "+"
        if len(tree.children) > 1:
            for _, term in terms:
                self.forbid_remainder(term)
        if any(self.is_dots(term) for _, term in terms):
            return self.dotted_sum(terms, position)
        nodes = [(sign, self.product(list(term.children))) for sign, term in terms]
        if len(nodes) == 1 and nodes[0][0] == "+":
            return nodes[0][1]
        return SumOf(tuple(nodes), position=position)

    def forbid_remainder(self, term: Tree[Token]) -> None:
        """``-1 \\bmod 3`` is 2 to one reader and -1 to another."""
        for part in term.children:
            if isinstance(part, Token) and part.value == "mod":
                raise self.fail("\\bmod beside a sign is ambiguous; write brackets", part)

    def dotted_sum(self, terms: list[tuple[str, Tree[Token]]], position: int) -> Node:
        """Read a sum with dots."""
        gap = [k for k, (_, term) in enumerate(terms) if self.is_dots(term)]
        self.forbid_vertical_dots([term for _, term in terms])
        if len(gap) != 1 or gap[0] in (0, len(terms) - 1):
            raise self.fail("dots need terms before and after them", position)
        nodes: list[Node | None] = []
        for k, (sign, term) in enumerate(terms):
            if k == gap[0]:
                nodes.append(None)
                continue
            node = self.product(list(term.children))
            nodes.append(node if sign == "+" else SumOf((("-", node),), position=node.position))
        return DottedSum(tuple(nodes), position=position)

    def product(self, parts: list[Part]) -> Node:
        """Factors side by side bind more tightly than printed operators: A ⊙ x W is A ⊙ (x W)."""
        for end in (parts[0], parts[-1]):
            if isinstance(end, Token):
                raise self.fail(f"the operator {end.value!r} needs a factor on both sides", end)
        if any(self.is_dots(part) for part in parts):
            return self.dotted_product(parts)
        operators = [part for part in parts if isinstance(part, Token)]
        for sign in operators:
            if sign.value == "mod" and (len(operators) > 1 or sign is not parts[-2]):
                raise self.fail("\\bmod beside another product is ambiguous; write brackets", sign)
        result: Node | None = None
        run: Node | None = None
        operator: Token | None = None
        pending: Token | None = None
        place = 0
        while place < len(parts):
            part = parts[place]
            if isinstance(part, Token):
                pending = part
                place += 1
                continue
            if pending is None and run is not None:
                self.forbid_side_by_side(part, operator is not None and operator == "/")
            node, place = self.operand(parts, place)
            if pending is not None:
                result, run = self.joined(result, operator, run), None
                operator, pending = pending, None
            run = (
                node
                if run is None
                else Product("juxtaposed", run, node, position=position_of(part))
            )
        return self.joined(result, operator, run)

    def dotted_product(self, parts: list[Part]) -> Node:
        """``x_1 x_2 \\cdots x_n``: every factor stands in the pattern, with or without \\cdot."""
        nodes: list[Node | None] = []
        place = 0
        self.forbid_vertical_dots(parts)
        while place < len(parts):
            part = parts[place]
            if isinstance(part, Token):
                if part.value not in ("dot", "times"):
                    raise self.fail("dots beside this operator", part)
                place += 1
            elif self.is_dots(part):
                nodes.append(None)
                place += 1
            else:
                if self.takes_argument(part):
                    raise self.fail("dots need factors in brackets", part)
                node, place = self.operand(parts, place)
                nodes.append(node)
        if nodes.count(None) != 1 or nodes[0] is None or nodes[-1] is None:
            raise self.fail("dots need factors before and after them", parts[0])
        return DottedProduct(tuple(nodes), position=position_of(parts[0]))

    def joined(self, left: Node | None, operator: Token | None, right: Node | None) -> Node:
        """Two factors with the operator between them."""
        assert right is not None
        if left is None or operator is None:
            return right
        return Product(operator.value, left, right, position=position_of(operator))

    def forbid_side_by_side(self, part: Part, after_slash: bool) -> None:
        """Refuse neighbours whose product is ambiguous."""
        factor = read_factor(part, self.text)
        if isinstance(factor.base, Token) and factor.base.type == "NUMBER":
            raise self.fail("a number after a factor needs an operator between them", part)
        if after_slash:
            raise self.fail(
                "what is divided by? a/b c is ambiguous; write \\frac or brackets", part
            )

    def operand(self, parts: list[Part], place: int) -> tuple[Node, int]:
        """Read the factor at ``place`` with what it takes as its argument."""
        factor = read_factor(parts[place], self.text)
        if factor.is_symbol:
            return self.symbol(factor, parts, place)
        node = self.base(factor)
        if isinstance(node, Derivative) and node.body is None:
            if place + 1 >= len(parts):
                raise self.fail("a derivative of nothing", factor.position)
            body = self.product(parts[place + 1 :])
            return replace(node, body=body), len(parts)
        if factor.bracket in ("LNORM", "LBAR"):
            return self.with_scripts(node, None, factor.sup, factor), place + 1
        return self.with_scripts(node, factor.sub, factor.sup, factor), place + 1

"""Expressions: sums of products of factors, and groups of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lark import Token, Tree

from texcheck import nodes
from texcheck.errors import LatexError, UnknownSymbolError
from texcheck.nodes import Node
from texcheck.parser import Factor, Part, canonical, end_of, position_of, read_factor, tree_of
from texcheck.reading.parts import is_dots, lone_symbol, term_parts, trees_in
from texcheck.reading.scope import Scope
from texcheck.vocabulary import OPERATORS

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
        terms = self.with_signs_in_sums(terms)
        if any(is_dots(term) for _, term in terms):
            return self.dotted_sum(terms, position)
        for _, term in terms:
            factors = list(term.children)
            if len(factors) == 1 and read_factor(factors[0], self.text).bracket == "LSET":
                raise self.fail(
                    "a set by its members cannot be read here; declare it under a name", term
                )
        found = [(sign, self.product(list(term.children))) for sign, term in terms]
        if len(found) == 1 and found[0][0] == "+":
            return found[0][1]
        self.forbid_indices_behind_sums([node for _, node in found])
        return nodes.SumOf(tuple(found), position=position)

    def with_signs_in_sums(
        self, terms: list[tuple[str, Tree[Token]]]
    ) -> list[tuple[str, Tree[Token]]]:
        """``\\sum_i -x_i`` has nothing but the next term to act on."""
        result: list[tuple[str, Tree[Token]]] = []
        for sign, term in terms:
            before = result[-1][1].children if result else []
            if before and sign == "-" and ends_with_sum(before[-1], self.text):
                place = position_of(term)
                negative: Tree[Token] = Tree("expr", [Token("ADDOP", "-", start_pos=place), term])
                inside: Tree[Token] = Tree("chain", [negative])
                opening = Token("LPAR", "(", start_pos=place)
                closing = Token("RPAR", ")", start_pos=place, end_pos=end_of(term))
                bracket: Tree[Token] = Tree("bracket", [opening, inside, closing])
                first, _ = result[-1]
                result[-1] = (first, Tree("term", [*before, Tree("factor", [bracket])]))
            else:
                result.append((sign, term))
        return result

    def dotted_sum(self, terms: list[tuple[str, Tree[Token]]], position: int) -> Node:
        """``x_1 + \\ldots + x_n``: one sum, whose terms follow a pattern."""
        gaps = [k for k, (_, term) in enumerate(terms) if is_dots(term)]
        clear = len(gaps) == 1 and 0 < gaps[0] < len(terms) - 1
        if not clear or any(sign != "+" for sign, _ in terms):
            raise self.fail("these dots in a sum cannot be read; write \\sum", terms[gaps[0]][1])
        if canonical(terms[gaps[0]][1]) in ("\\vdots", "\\ddots"):
            raise self.fail("these dots can be printed only in a matrix", terms[gaps[0]][1])
        entries = [
            None if is_dots(term) else self.product(list(term.children)) for _, term in terms
        ]
        return nodes.Dotted("sum", tuple(entries), position=position)

    def forbid_indices_behind_sums(self, terms: list[Node]) -> None:
        """Refuse ``\\sum_i x_i + y_i``, where the second term seems to belong to the sum."""
        for place, term in enumerate(terms):
            last = term
            while isinstance(last, nodes.Product):
                last = last.right
            if not isinstance(last, nodes.Reduction) or last.kind not in ("sum", "product"):
                continue
            for other in terms[place + 1 : place + 2]:
                both = sorted(set(last.names) & other.free_names)
                if both:
                    raise self.fail(
                        f"does this term with {both[0]} belong to the sum? put brackets around "
                        "what does, or use another index",
                        other.position,
                    )

    def forbid_remainder(self, term: Tree[Token]) -> None:
        """``-1 \\bmod 3`` is 2 to one reader and -1 to another."""
        for part in term.children:
            if isinstance(part, Token) and part.value == "mod":
                raise self.fail("\\bmod beside a sign is ambiguous; write brackets", part)

    def product(self, parts: list[Part]) -> Node:
        """Factors side by side bind more tightly than printed operators: A ⊙ x W is A ⊙ (x W)."""
        parts = [without_braces(part, self.text) for part in parts]
        self.forbid_ambiguous_signs(parts)
        if any(is_dots(part) for part in parts):
            return self.dotted_product(parts)
        result, place = self.side_by_side(parts, 0, after_slash=False)
        while place < len(parts):
            operator = parts[place]
            assert isinstance(operator, Token)
            right, place = self.side_by_side(parts, place + 1, after_slash=operator == "/")
            result = self.joined(operator, result, right)
        return result

    def joined(self, operator: Token, left: Node, right: Node) -> Node:
        """Two factors with the operator between them, which may be a declared one."""
        position = position_of(operator)
        if operator.value in OPERATORS.values() or operator == "/":
            return nodes.Product(operator.value, left, right, position=position)
        if not self.scope.is_function(operator.value):
            factor = Factor(operator, None, None, "", position)
            message = f"{operator.value} has no one meaning; declare it as a function of both sides"
            declared = (operator.value, True)
            raise self.unknown(message, Unknown(factor, [], 0, (), declare=declared))
        return nodes.Call(operator.value, (left, right), position=position)

    def dotted_product(self, parts: list[Part]) -> Node:
        """``x_1 \\cdots x_n``: factors with dots among them, and one kind of sign between them."""
        signs = {part.value for part in parts if isinstance(part, Token)}
        trees = trees_in(parts)
        gaps = [k for k, part in enumerate(trees) if is_dots(part)]
        if len(gaps) != 1 or gaps[0] in (0, len(trees) - 1) or not signs <= {"dot", "times"}:
            raise self.fail("these dots in a product cannot be read; write \\prod", trees[gaps[0]])
        if canonical(trees[gaps[0]]) in ("\\vdots", "\\ddots"):
            raise self.fail("these dots can be printed only in a matrix", trees[gaps[0]])
        entries: list[Node | None] = []
        place = 0
        while place < len(trees):
            if is_dots(trees[place]):
                entries.append(None)
                place += 1
            else:
                node, place = self.operand(list(trees), place)
                entries.append(node)
        return nodes.Dotted("product", tuple(entries), position=position_of(trees[0]))

    def side_by_side(self, parts: list[Part], place: int, *, after_slash: bool) -> tuple[Node, int]:
        """Read factors as one product, up to the next printed operator."""
        result, place = self.operand(parts, place)
        while place < len(parts) and isinstance(parts[place], Tree):
            part = parts[place]
            self.forbid_side_by_side(part, after_slash=after_slash)
            if is_remark(part, parts[place - 1], self.text):
                raise self.fail(
                    f"is {canonical(part)} a factor, or a remark on the number? print it without "
                    "brackets, or leave it out",
                    part,
                )
            if is_bare_matrix(part) and is_bare_matrix(parts[place - 1]):
                raise self.fail("are these two matrices blocks of one? write one matrix", part)
            node, place = self.operand(parts, place)
            result = nodes.Product("juxtaposed", result, node, position=position_of(part))
        return result, place

    def forbid_ambiguous_signs(self, parts: list[Part]) -> None:
        """Refuse an operator without a factor beside it, dots, and a remainder of a product."""
        for end in (parts[0], parts[-1]):
            if isinstance(end, Token):
                raise self.fail(f"the operator {end.value!r} needs a factor on both sides", end)
        operators = [part for part in parts if isinstance(part, Token)]
        declared = [sign for sign in operators if sign.value not in (*OPERATORS.values(), "/")]
        if declared and len({str(sign).partition("_")[0] for sign in operators}) > 1:
            raise self.fail(
                f"{declared[0].value} beside another operator is ambiguous; write brackets",
                declared[0],
            )
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


def is_remark(part: Part, before: Part, text: str) -> bool:
    """Whether ``40 (K)`` stands here: nobody needs brackets to multiply by one symbol."""
    if not isinstance(before, Tree) or not read_factor(before, text).is_number:
        return False
    factor = read_factor(part, text)
    if factor.bracket != "LPAR" or factor.sub is not None or factor.sup is not None:
        return False
    inside = tree_of(factor.base).children[1:-1]
    return len(inside) == 1 and bool(lone_symbol(inside[0], text))


def is_bare_matrix(part: Part) -> bool:
    """Whether a factor is a matrix without brackets of its own."""
    base = part.children[0] if isinstance(part, Tree) else part
    return (
        isinstance(base, Tree)
        and base.data == "matrix"
        and canonical(base.children[0]) in ("matrix", "smallmatrix", "array")
    )


def without_braces(part: Part, text: str) -> Part:
    """``{\\sum_j}`` as ``\\sum_j``, which acts on what follows the braces."""
    if isinstance(part, Token) or len(part.children) != 1:
        return part
    group = part.children[0]
    if isinstance(group, Token) or group.data != "group":
        return part
    inner = term_parts(group)
    return inner[0] if len(inner) == 1 and ends_with_sum(inner[0], text) else part


def ends_with_sum(part: Part, text: str) -> bool:
    """Whether a factor is a sign such as ``\\sum_j``, which has nothing to act on yet."""
    if isinstance(part, Token):
        return False
    factor = read_factor(part, text)
    return factor.sub is not None and factor.name in ("\\sum", "\\prod")

"""Subscripts and superscripts: indices, powers, transposes."""

from __future__ import annotations

from lark import Token, Tree

from texcheck.nodes import (
    ElementwisePower,
    Factorial,
    Hermitian,
    Index,
    Node,
    Number,
    Power,
    RunTogether,
    Slice,
    Star,
    Transpose,
    TupleOf,
)
from texcheck.parser import canonical, position_of
from texcheck.reading.core import Core
from texcheck.reading.factors import (
    Factor,
    Part,
    read_factor,
)
from texcheck.vocabulary import (
    HERMITIAN,
    TRANSPOSES,
)


class Scripts(Core):
    """Reads what stands below and above a factor."""

    def with_scripts(self, node: Node, sub: Part | None, sup: Part | None, factor: Factor) -> Node:
        """A node with its indices, power and factorials."""
        if sub is not None:
            indices = tuple(self.indices(sub))
            node = Index(node, indices, sup is not None, position=factor.position)
        if sup is not None:
            node = self.superscript(node, sup, sub is not None)
        for _ in range(factor.factorials):
            node = Factorial(node, position=factor.position)
        return node

    def indices(self, sub: Part) -> list[Node]:
        """Read a subscript as indices."""
        if isinstance(sub, Token):
            if sub.type == "MULOP":
                return [Slice(None, None, position=position_of(sub))]
            return [self.single(sub)]
        if sub.data != "group":
            return [self.single(sub)]
        pieces = [child for child in sub.children if isinstance(child, Tree)]
        if len(sub.children) != 2 * len(pieces) + 1 or any(p.data != "piece" for p in pieces):
            raise self.fail(f"the index {canonical(sub)} is not understood", sub)
        if len(pieces) == 1 and len(pieces[0].children) == 1:
            run = self.run_together(pieces[0])
            if run is not None:
                return [run]
        found = [self.index_piece(piece) for piece in pieces]
        if len(found) == 1 and isinstance(found[0], TupleOf):
            return list(found[0].items)  # PE_{(m, 2i)}
        return found

    def index_piece(self, piece: Tree[Token]) -> Node:
        """Read one index or a slice."""
        ends = [child for child in piece.children if isinstance(child, Tree)]
        if any(isinstance(child, Token) for child in piece.children):
            sides: list[Node | None] = [self.only_expression(end) for end in ends]
            sides += [None] * (2 - len(sides))
            return Slice(*sides, position=position_of(piece))
        return self.only_expression(piece)

    def run_together(self, piece: Tree[Token]) -> Node | None:
        """``ij``: two indices of a matrix or a product; the array's dimension decides later."""
        parts = self.term_parts(piece)
        position = position_of(piece)
        if len(parts) == 1 and isinstance(parts[0], Tree):
            base = parts[0].children[0]
            if (
                len(parts[0].children) == 1
                and isinstance(base, Token)
                and base.type == "NUMBER"
                and len(base.value) > 1
                and base.value.isdigit()
            ):
                digits = tuple(Number(int(c), position=position) for c in base.value)
                return RunTogether(digits, self.only_expression(piece), position=position)
        if len(parts) < 2 or any(isinstance(part, Token) for part in parts):
            return None
        factors = [read_factor(part, self.text) for part in parts]
        if any(f.bracket or self.takes_argument(p) for f, p in zip(factors, parts, strict=True)):
            return None
        if any(f.is_symbol and self.is_function(f.name) for f in factors):
            return None
        if not all(
            f.is_symbol or (isinstance(f.base, Token) and f.base.type == "NUMBER") for f in factors
        ):
            return None
        items = tuple(self.operand([part], 0)[0] for part in parts)
        numbered = any(isinstance(f.base, Token) and f.base.type == "NUMBER" for f in factors[1:])
        whole = None if numbered else self.product(parts)
        return RunTogether(items, whole, position=position)

    def separate_indices(self, sub: Part) -> list[Node]:
        """The indices of a subscript, also where no comma separates them."""
        indices = self.indices(sub)
        if len(indices) == 1 and isinstance(indices[0], RunTogether):
            return list(indices[0].items)
        return indices

    def superscript(self, node: Node, sup: Part, indexed: bool) -> Node:
        """Read a superscript: a power, a transpose or a conjugate."""
        name = canonical(sup)
        position = position_of(sup)
        if name in TRANSPOSES or name == "T":
            if name == "T" and self.known("T"):
                raise self.fail("T is declared; write \\top for a transpose", sup)
            return Transpose(node, indexed, position=position)
        if name == "star":
            return Star(node, position=position)
        if name in HERMITIAN:
            return Hermitian(node, position=position)
        if name in ("-\\top", "-T"):
            inverse = Power(node, Number(-1, position=position), position=position)
            return Transpose(inverse, indexed, position=position)
        if isinstance(sup, Tree) and sup.data == "group":
            second = sup.children[1]
            if isinstance(second, Token) and second.type == "MULOP":
                if second.value not in ("hadamard", "circ") or len(sup.children) != 4:
                    raise self.fail(f"the superscript {name} is not understood", sup)
                exponent = self.only_expression(sup.children[2])
                return ElementwisePower(node, exponent, position=position)
            if self.is_parenthesised(sup):
                raise self.fail(
                    f"the superscript {name} is not a declared name; a power needs no brackets",
                    sup,
                )
        if isinstance(sup, Token) and sup.type not in ("SYMBOL", "NUMBER"):
            raise self.fail(f"the superscript {name} is not a declared name", sup)
        return Power(node, self.single(sup), indexed, position=position)

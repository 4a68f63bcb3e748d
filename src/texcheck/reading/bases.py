"""What stands on the line and is no symbol: brackets, fractions, roots, matrices, cases."""

from __future__ import annotations

from lark import Token, Tree

from texcheck.nodes import (
    Absolute,
    Binomial,
    Call,
    Case,
    Cases,
    Ceiling,
    Derivative,
    Dots,
    Empty,
    Floor,
    Indicator,
    Inner,
    KnownCall,
    Matrix,
    Node,
    Norm,
    Number,
    Quotient,
    Root,
    Symbol,
    TupleOf,
)
from texcheck.parser import canonical, position_of
from texcheck.reading.core import Core
from texcheck.reading.factors import (
    Factor,
    Part,
    read_factor,
    tree_of,
)
from texcheck.vocabulary import (
    DIFFERENTIALS,
    NORMS,
)


class Bases(Core):
    """Reads brackets, fractions, derivatives, roots, matrices and cases."""

    def base(self, factor: Factor) -> Node:
        """Read what carries the scripts of a factor."""
        base = factor.base
        if isinstance(base, Token):
            if base.type == "NUMBER":
                text = base.value
                return Number(float(text) if "." in text else int(text), position=factor.position)
            raise self.fail(f"{base.value} cannot stand here", base)
        readers = {
            "fraction": self.fraction,
            "binomial": self.binomial,
            "root": self.root,
            "matrix": self.matrix,
            "cases": self.cases,
            "group": self.group,
        }
        if base.data in readers:
            return readers[base.data](base)
        return self.bracket(factor)

    def bracket(self, factor: Factor) -> Node:
        """Read what stands between brackets."""
        tree = tree_of(factor.base)
        kind = factor.bracket
        closer = tree.children[-1]
        assert isinstance(closer, Token)
        chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
        if {kind, closer.type} in ({"LPAR", "RBRACK"}, {"LBRACK", "RPAR"}):
            raise self.fail("an interval can stand only after \\in", tree)
        position = factor.position
        if kind == "LBRACK" and len(chains) == 1 and len(chains[0].children) > 1:
            return Indicator((self.relation_chain(chains[0]),), position=position)
        if kind in ("LPAR", "LBRACK") and len(chains) > 1:
            separators = {child.type for child in tree.children[1:-1] if isinstance(child, Token)}
            if separators != {"COMMA"}:
                raise self.fail("entries must be separated by commas", tree)
            return TupleOf(tuple(self.listed(chains)), position=position)
        if kind == "LSET":
            raise self.fail("a set can stand only after \\in", tree)
        if kind == "LANGLE":
            if len(chains) != 2:
                raise self.fail("an inner product needs two arguments", tree)
            left, right = (self.only_expression(chain) for chain in chains)
            return Inner(left, right, position=position)
        if len(chains) != 1:
            raise self.fail("brackets with several entries cannot stand here", tree)
        inner = self.only_expression(chains[0])
        if kind == "LFLOOR" or kind == "LCEIL":
            return (Floor if kind == "LFLOOR" else Ceiling)(inner, position=position)
        if kind == "LBAR":
            if factor.sub is not None:
                raise self.fail("an absolute value takes no subscript", factor.sub)
            return Absolute(inner, position=position)
        if kind == "LNORM":
            name = "" if factor.sub is None else canonical(factor.sub)
            if name and name not in NORMS:
                raise self.fail(f"the norm with subscript {name} is not known", tree)
            return Norm(NORMS.get(name, ""), inner, position=position)
        return inner

    def fraction(self, tree: Tree[Token]) -> Node:
        """Read a fraction, which may be a derivative."""
        top, bottom = tree.children[1], tree.children[2]
        derivative = self.derivative(top, bottom)
        if derivative is not None:
            return derivative
        return Quotient(self.single(top), self.single(bottom), position=position_of(tree))

    def derivative(self, top: Part, bottom: Part) -> Node | None:
        """Read a fraction as a derivative; None where it is none."""
        above, below = self.term_parts(top), self.term_parts(bottom)
        if (
            not above
            or len(below) < 2
            or isinstance(above[0], Token)
            or any(isinstance(part, Token) for part in below)
        ):
            return None
        first, lower = read_factor(above[0], self.text), read_factor(below[0], self.text)
        marker = first.name
        if marker in DIFFERENTIALS and first.factorials:
            raise self.fail("a factorial inside a derivative; write brackets", top)
        if marker not in DIFFERENTIALS or lower.name != marker or lower.sub or lower.sup:
            return None
        if first.sub is not None:
            return None
        if marker == "d" and self.known("d"):
            raise self.fail(
                "d is a declared symbol, so this may be a fraction or a derivative; "
                "write \\mathrm{d} for the derivative",
                top,
            )
        order = self.order(first.sup)
        variables: list[Node] = []
        place = 0
        while place < len(below):
            sign = read_factor(below[place], self.text)
            if sign.name != marker or place + 1 >= len(below):
                raise self.fail("the lower side of a derivative is not understood", bottom)
            variable = read_factor(below[place + 1], self.text)
            count = self.order(variable.sup)
            if sign.factorials or variable.factorials:
                raise self.fail("a factorial inside a derivative; write brackets", bottom)
            variable.sup = None
            node = self.symbol(variable, [below[place + 1]], 0)[0]
            variables += [node] * count
            place += 2
        if len(variables) != order:
            raise self.fail(f"a derivative of order {order} by {len(variables)} variables", bottom)
        body = self.derivative_body(above[1:], variables[0]) if len(above) > 1 else None
        return Derivative(body, tuple(variables), position=position_of(top))

    def derivative_body(self, parts: list[Part], variable: Node) -> Node:
        """What is differentiated; a function without its argument is one of the variable."""
        if len(parts) == 1 and isinstance(parts[0], Tree):
            factor = read_factor(parts[0], self.text)
            plain_symbol = factor.is_symbol and factor.sub is None and factor.sup is None
            if plain_symbol and self.is_function(factor.name) and isinstance(variable, Symbol):
                return Call(factor.name, (variable,), position=factor.position)
        return self.product(parts)

    def order(self, sup: Part | None) -> int:
        """How often a derivative is taken: the number above the sign."""
        if sup is None:
            return 1
        if not canonical(sup).isdigit():
            raise self.fail(f"a derivative of order {canonical(sup)}", sup)
        return int(canonical(sup))

    def binomial(self, tree: Tree[Token]) -> Node:
        """Read a binomial coefficient."""
        upper, lower = self.single(tree.children[1]), self.single(tree.children[2])
        return Binomial(upper, lower, position=position_of(tree))

    def root(self, tree: Tree[Token]) -> Node:
        """Read a root."""
        inner = self.single(tree.children[-1])
        if len(tree.children) == 2:
            return Root(inner, None, position=position_of(tree))
        degree = self.expression(tree_of(tree.children[2]))
        return Root(inner, degree, position=position_of(tree))

    def matrix(self, tree: Tree[Token]) -> Node:
        """Read a matrix."""
        kind = canonical(tree.children[0])
        rows = []
        for row in tree.children[1:-1]:
            if isinstance(row, Token):
                continue
            cells: list[Node] = []
            for cell in row.children:
                if isinstance(cell, Token):
                    continue
                if not cell.children:
                    cells.append(Empty(position=position_of(tree)))
                elif self.is_dots(cell):
                    cells.append(Dots(position=position_of(cell)))
                else:
                    cells.append(self.expression(tree_of(cell.children[0])))
            rows.append(tuple(cells))
        width = max(len(row) for row in rows)
        if any(len(row) != width for row in rows):
            raise self.fail(f"the rows of the matrix have {[len(r) for r in rows]} entries", tree)
        node = Matrix(tuple(rows), position=position_of(tree))
        if kind == "vmatrix":
            return KnownCall("det", (node,), position=position_of(tree))
        return node

    def cases(self, tree: Tree[Token]) -> Node:
        """Read cases."""
        rows = []
        for case in tree.children[1:-1]:
            if isinstance(case, Token):
                continue
            value = self.expression(tree_of(case.children[0]))
            chains = [child for child in case.children[2:] if isinstance(child, Tree)]
            tests = tuple(self.relation_chain(chain) for chain in chains)
            rows.append(Case(value, tests, position=value.position))
        return Cases(tuple(rows), position=position_of(tree))

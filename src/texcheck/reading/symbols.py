"""Symbols: declared names, calls of functions, known constructs."""

from __future__ import annotations

from lark import Token, Tree

from texcheck.nodes import (
    Bar,
    Call,
    Conjugate,
    Constant,
    KnownCall,
    Kronecker,
    Node,
    Number,
    Power,
    Product,
    RunTogether,
    Symbol,
)
from texcheck.parser import canonical
from texcheck.reading.core import Core
from texcheck.reading.factors import (
    Factor,
    Part,
    full_name,
    joined_difference,
    read_factor,
    tree_of,
)
from texcheck.vocabulary import (
    ARGUMENT_EXTREMES,
    CONSTANTS,
    DIFFERENCE,
    INDICATORS,
    LOOSE_FUNCTIONS,
    LOOSE_NAMES,
    MOMENTS,
    NAMED_FUNCTIONS,
    NUMBER_SETS,
    REDUCTIONS,
    bare_name,
)


class Symbols(Core):
    """Reads a symbol with what it takes as its argument."""

    def symbol(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        """Read a symbol: declared, or known to every book."""
        found = self.match(factor)
        plain = not (factor.sub or factor.sup or factor.factorials)
        if found is None and plain and factor.name == DIFFERENCE and self.next_name(parts, place):
            joined = joined_difference(read_factor(parts[place + 1], self.text), factor.position)
            found = self.match(joined)
            if found is not None:
                factor, place = joined, place + 1
        if found is not None:
            name, sub, sup = found
            if self.is_function(name):
                return self.declared_call(name, sub, sup, factor, parts, place)
            node: Node = Symbol(name, position=factor.position)
            return self.with_scripts(node, sub, sup, factor), place + 1
        return self.known_construct(factor, parts, place)

    def known_construct(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        """Read what needs no declaration."""
        name, bare = factor.name, bare_name(factor.name)
        if isinstance(factor.base, Tree):
            return self.accented(factor), place + 1
        if name in CONSTANTS:
            node = Constant(CONSTANTS[name], position=factor.position)
            return self.with_scripts(node, factor.sub, factor.sup, factor), place + 1
        if factor.factorials:
            raise self.fail(f"a factorial on {name}; write brackets", factor.position)
        if name in REDUCTIONS:
            return self.reduction(REDUCTIONS[name], factor, parts, place)
        if name == "\\arg" and self.next_name(parts, place) in ("\\max", "\\min"):
            self.forbid_scripts(factor)
            following = read_factor(parts[place + 1], self.text)
            kind = "argmax" if following.name == "\\max" else "argmin"
            return self.reduction(kind, following, parts, place + 1)
        if bare in ARGUMENT_EXTREMES and name != bare:
            return self.reduction(bare, factor, parts, place)
        if name == "\\int":
            return self.integral(factor, parts, place)
        if bare in MOMENTS and (name != bare) and name != "\\P":
            return self.moment(MOMENTS[bare], factor, parts, place)
        if name in INDICATORS and self.next_bracket(parts, place):
            self.forbid_scripts(factor)
            return self.indicator(parts, place)
        if name == "\\delta" and factor.sub is not None and factor.sup is None:
            indices = self.separate_indices(factor.sub)
            if len(indices) != 2:
                raise self.fail("the Kronecker delta needs two indices", factor.position)
            return Kronecker(*indices, position=factor.position), place + 1
        if name == "\\nabla":
            return self.gradient(factor, parts, place)
        if name in LOOSE_FUNCTIONS or (bare in NAMED_FUNCTIONS and name.startswith("\\")):
            return self.known_call(bare, factor, parts, place)
        if name in NUMBER_SETS:
            raise self.fail(f"{name} can stand only after \\in", factor.position)
        raise self.fail(
            f"unknown symbol {full_name(name, factor.sub, factor.sup)}: "
            "it is not declared and not a known function",
            factor.position,
        )

    def accented(self, factor: Factor) -> Node:
        """Read a bar over an expression."""
        base = tree_of(factor.base)
        accent = canonical(base.children[0])
        if accent not in ("\\overline", "\\bar"):
            raise self.fail(f"unknown symbol {factor.name}: it is not declared", factor.position)
        inner = self.single(base.children[1])
        kind = Conjugate if accent == "\\overline" else Bar
        node = kind(inner, position=factor.position)
        return self.with_scripts(node, factor.sub, factor.sup, factor)

    def declared_call(
        self,
        name: str,
        sub: Part | None,
        sup: Part | None,
        factor: Factor,
        parts: list[Part],
        place: int,
    ) -> tuple[Node, int]:
        """Read a declared function with its arguments."""
        arguments: list[Node] = []
        leftover = sup
        if factor.factorials:
            raise self.fail(f"a factorial on the function {name}; write brackets", factor.position)
        if sub is not None:
            arguments += self.call_indices(sub)
        if sup is not None and self.is_parenthesised(sup):
            arguments.append(self.superscript_content(sup))
            leftover = None
        following = self.next_bracket(parts, place)
        scripts: Factor | None = None
        if following in ("LPAR", "LBRACK") and (leftover is None or not arguments):
            if leftover is not None:
                raise self.fail(
                    f"{name} is a function; write {name}(…)^… for a power of its value",
                    factor.position,
                )
            scripts = read_factor(parts[place + 1], self.text)
            arguments += self.bracket_arguments(parts[place + 1])
            place += 1
        if not arguments:
            raise self.fail(f"{name} is a function and needs an argument", factor.position)
        node: Node = Call(name, tuple(arguments), position=factor.position)
        if leftover is not None:
            node = self.with_scripts(node, None, leftover, factor)
        if scripts is not None:
            node = self.with_scripts(node, scripts.sub, scripts.sup, scripts)
        return node, place + 1

    def call_indices(self, sub: Part) -> list[Node]:
        """Read a subscript as arguments of a function."""
        index = self.indices(sub)
        first = index[0]
        if len(index) == 1 and isinstance(first, RunTogether):
            if first.whole is None or all(isinstance(item, Symbol) for item in first.items):
                raise self.fail("write a comma between the indices of a function", sub)
            return [first.whole]
        return index

    def superscript_content(self, sup: Part) -> Node:
        """Read a superscript as one expression."""
        pieces = [child for child in tree_of(sup).children if isinstance(child, Tree)]
        if len(pieces) != 1:
            raise self.fail("a superscript with several parts", sup)
        return self.only_expression(pieces[0])

    def known_call(
        self, name: str, factor: Factor, parts: list[Part], place: int
    ) -> tuple[Node, int]:
        """A known function with brackets, or (``\\sin m\\theta``) with the factors after it."""
        loose = factor.name in LOOSE_FUNCTIONS or name in LOOSE_NAMES
        base: Node | None = None
        if factor.sub is not None:
            if name != "log":
                raise self.fail(f"{factor.name} takes no subscript", factor.position)
            base = self.single(factor.sub)
        power = None
        if factor.sup is not None:
            power = self.single(factor.sup)
            if not isinstance(power, Number) or power.value < 2:
                raise self.fail(
                    f"{factor.name} to the power {canonical(factor.sup)} is ambiguous",
                    factor.position,
                )
        scripts: Factor | None = None
        if self.next_bracket(parts, place) in ("LPAR", "LBRACK", "LSET"):
            scripts = read_factor(parts[place + 1], self.text)
            arguments = self.bracket_arguments(parts[place + 1])
            place += 2
        elif loose:
            argument, place = self.loose_argument(factor, parts, place + 1)
            arguments = [argument]
        else:
            raise self.fail(f"{factor.name} needs its argument in brackets", factor.position)
        node: Node = KnownCall(name, tuple(arguments), base, position=factor.position)
        if power is not None:
            node = Power(node, power, position=factor.position)
        if scripts is not None:
            node = self.with_scripts(node, scripts.sub, scripts.sup, scripts)
        return node, place

    def loose_argument(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        """Read an argument without brackets, as in `sin x`."""
        start, result = place, None
        while place < len(parts) and isinstance(parts[place], Tree):
            first = place == start
            if not first and self.takes_argument(parts[place]):
                break
            following = read_factor(parts[place], self.text)
            called = following.is_symbol and self.is_function(following.name)
            if not first and (called or following.bracket in ("LPAR", "LBRACK")):
                raise self.fail(f"where does the argument of {factor.name} end?", parts[place])
            if not first:
                self.forbid_side_by_side(parts[place], False)
            nested = self.takes_argument(parts[place])
            node, place = self.operand(parts, place)
            result = (
                node
                if result is None
                else Product("juxtaposed", result, node, position=node.position)
            )
            if nested:
                break
        if result is None:
            raise self.fail(f"{factor.name} has no argument", factor.position)
        if place < len(parts) and isinstance(parts[place], Token) and parts[place] == "/":
            raise self.fail(
                f"{factor.name} a/b is ambiguous; put the argument in brackets", parts[place]
            )
        return result, place

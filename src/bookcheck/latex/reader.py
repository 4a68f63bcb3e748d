"""Give the parsed structure its meaning, by the declared symbols alone.

Whether ``f(x)`` calls or multiplies, whether ``x_i`` is an index or part of a name, whether
``W^Q`` is a power: the table of declared symbols decides. A symbol that is neither declared,
nor bound by the formula, nor one of the known functions is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from lark import Token, Tree

from bookcheck.latex.errors import LatexError
from bookcheck.latex.lexer import DECLARED_RELATIONS, OPERATORS
from bookcheck.latex.nodes import Node, names_in
from bookcheck.latex.parser import canonical, parse, position_of, tokens_of

CONSTANTS = {
    "\\pi": "pi",
    "e": "e",
    "\\mathrm{e}": "e",
    "\\infty": "infinity",
    "\\mathrm{i}": "imaginary unit",
}
LOOSE_FUNCTIONS = {
    *("\\sin", "\\cos", "\\tan", "\\cot", "\\sinh", "\\cosh", "\\tanh", "\\exp", "\\log", "\\ln"),
    *("\\arcsin", "\\arccos", "\\arctan", "\\Re", "\\Im", "\\det", "\\arg"),
}
NAMED_FUNCTIONS = {
    *("softmax", "erf", "tr", "trace", "diag", "sign", "sgn", "ReLU", "relu", "rank", "Re", "Im"),
    *("exp", "log", "ln", "sin", "cos", "tan", "tanh", "atan2", "sigmoid", "det", "round", "arg"),
}
# Those of the above that are printed without brackets as well: \\operatorname{tr} A.
LOOSE_NAMES = {"tr", "trace", "rank", "det", "sign", "sgn", "Re", "Im", "arg", "erf"}
REDUCTIONS = {"\\sum": "sum", "\\prod": "product", "\\max": "max", "\\min": "min"}
REDUCTIONS |= {"\\sup": "max", "\\inf": "min"}
EXTREMES = {"max", "min"}
ARGUMENT_EXTREMES = {"argmax": "argmax", "argmin": "argmin"}
MOMENTS = {"E": "expectation", "Var": "variance", "Cov": "covariance", "Pr": "probability"}
MOMENTS |= {"P": "probability"}
TRANSPOSES = {"\\top", "\\intercal", "\\mathsf{T}", "\\mathrm{T}", "\\mathtt{T}", "\\text{T}"}
HERMITIAN = {"\\dagger", "\\mathsf{H}", "\\mathrm{H}"}
NORMS = {"2": "2", "F": "F", "\\mathrm{F}": "F", "\\text{F}": "F", "1": "1", "\\infty": "inf"}
DIFFERENCE = "\\Delta"
DIFFERENTIALS = {"\\partial", "d", "\\mathrm{d}"}
INDICATORS = {"\\mathbb{1}", "\\mathbf{1}", "\\mathbf{I}", "\\mathbb{I}"}
UPRIGHT = re.compile(r"\\(?:operatorname|mathrm|text|textrm)\{(\w{2,})\}")
WRAPPED = re.compile(r"\\(?:operatorname|mathrm|text|mathsf|mathbb|textrm|mathbf)\{(\w+)\}")

Part = Tree[Token] | Token


def bare_name(name: str) -> str:
    """``softmax`` for ``\\operatorname{softmax}``, ``\\mathrm{softmax}``, ``\\text{softmax}``."""
    match = WRAPPED.fullmatch(name)
    return match.group(1) if match else name.removeprefix("\\")


def upright(name: str) -> str:
    """One spelling for words that are printed alike: ``\\text{PE}`` and ``\\mathrm{PE}``."""
    return UPRIGHT.sub(r"\\operatorname{\1}", name)


def tree_of(part: Any) -> Tree[Token]:
    assert isinstance(part, Tree)
    return part


@dataclass
class Factor:
    """One printed factor: what stands on the line, and its scripts."""

    base: Part
    sub: Part | None
    sup: Part | None
    primes: str
    factorials: int
    position: int

    @property
    def is_symbol(self) -> bool:
        if isinstance(self.base, Token):
            return self.base.type == "SYMBOL"
        return self.base.data == "accent"

    @property
    def name(self) -> str:
        return canonical(self.base) + self.primes

    @property
    def bracket(self) -> str:
        """The kind of the opening bracket, or an empty text."""
        if isinstance(self.base, Tree) and self.base.data == "bracket":
            first = self.base.children[0]
            assert isinstance(first, Token)
            return first.type
        return ""


def read_factor(tree: Part, text: str) -> Factor:
    tree = tree_of(tree)
    base, *scripts = tree.children
    found: dict[str, Part] = {}
    primes, factorials = "", 0
    for script in scripts:
        if isinstance(script, Token):
            if "sup" in found or factorials:
                raise LatexError(
                    f"{script.value} after a power or a factorial is ambiguous; write brackets",
                    position_of(script),
                    text,
                )
            primes += "'" if script.type == "PRIME" else ""
            factorials += script.type == "BANG"
            continue
        if script.data in found:
            raise LatexError(f"two {script.data}scripts on one symbol", position_of(script), text)
        if factorials:
            raise LatexError(
                "a script after a factorial is ambiguous; write brackets", position_of(script), text
            )
        found[script.data] = script.children[1]
    factor = Factor(base, found.get("sub"), found.get("sup"), primes, factorials, position_of(tree))
    if primes and not factor.is_symbol:
        raise LatexError("a prime on something that is not a symbol", factor.position, text)
    return factor


def full_name(base: str, sub: Part | None, sup: Part | None) -> str:
    name = base
    if sub is not None:
        name += "_" + canonical(sub)
    if sup is not None:
        name += "^" + canonical(sup)
    return name


def canonical_name(printed: str) -> str:
    """The name under which a declared symbol is found in formulas."""
    if printed in OPERATORS:
        return operator_name(OPERATORS[printed])
    if printed in DECLARED_RELATIONS:
        return printed
    if re.fullmatch(r"[A-Za-z]{2,}", printed):
        return f"\\operatorname{{{printed}}}"
    top = parse(printed)
    while top.data != "term" and len(top.children) == 1:
        top = tree_of(top.children[0])
    factors = [read_factor(child, printed) for child in top.children if isinstance(child, Tree)]
    if top.data == "term" and len(factors) == 2 == len(top.children):
        first, factor = factors
        if first.name == DIFFERENCE and not (first.sub or first.sup) and factor.is_symbol:
            factors = [joined_difference(factor, 0)]
    if top.data != "term" or len(factors) != 1 or len(top.children) > 2:
        raise LatexError(f"{printed!r} is not a symbol that can be declared", 0, printed)
    factor = factors[0]
    if not factor.is_symbol and factor.bracket not in ("LNORM", "LBAR"):
        raise LatexError(f"{printed!r} is not a symbol that can be declared", 0, printed)
    return full_name(factor.name, factor.sub, factor.sup)


def joined_difference(factor: Factor, position: int) -> Factor:
    """``\\Delta w`` as one symbol: a difference is declared together with its letter."""
    base = Token("SYMBOL", f"{DIFFERENCE} {canonical(factor.base)}", start_pos=position)
    return replace(factor, base=base, position=position)


def operator_name(operator: str) -> str:
    """The name under which an operator such as ``\\otimes`` is declared."""
    return f"operator {operator}"


def symbol_table(values: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for printed, value in values.items():
        name = canonical_name(printed)
        if name in table:
            raise LatexError(f"{printed!r} is declared twice", 0, printed)
        table[name] = value
    return table


class Reader:
    """Reads the parts of one formula into nodes."""

    def __init__(self, text: str, table: Mapping[str, Any]) -> None:
        self.text = text
        self.table = table
        self.bound: list[str] = []
        self.running: list[str] = []
        self.spellings: dict[str, set[str]] = {}
        for name in table:
            self.spellings.setdefault(upright(name), set()).add(name)

    def fail(self, message: str, where: Part | int) -> LatexError:
        position = where if isinstance(where, int) else position_of(where)
        return LatexError(message, position, self.text)

    @contextmanager
    def binding(self, names: list[str]) -> Iterator[None]:
        self.bound.extend(names)
        self.running.extend(names)
        yield
        del self.bound[len(self.bound) - len(names) :]
        del self.running[len(self.running) - len(names) :]

    def known(self, name: str) -> bool:
        return name in self.bound or name in self.table

    def declared(self, name: str) -> str | None:
        """The declared name that a printed one stands for."""
        if self.known(name):
            return name
        spelled = self.spellings.get(upright(name), set())
        return next(iter(spelled)) if len(spelled) == 1 else None

    def is_function(self, name: str) -> bool:
        return name not in self.bound and callable(self.table.get(name))

    # -- expressions -------------------------------------------------------------------------

    def only_expression(self, chain: Part) -> Node:
        tree = tree_of(chain)
        if tree.data == "piece":
            if len(tree.children) != 1 or not isinstance(tree.children[0], Tree):
                raise self.fail("a slice cannot stand here", tree)
            tree = tree.children[0]
        if tree.data == "chain":
            if len(tree.children) > 1:
                raise self.fail("a relation cannot stand here", tree.children[1])
            tree = tree_of(tree.children[0])
        return self.expression(tree)

    def expression(self, tree: Tree[Token]) -> Node:
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
        return Node("sum_of", tuple(nodes), position)

    def forbid_remainder(self, term: Tree[Token]) -> None:
        """``-1 \\bmod 3`` is 2 to one reader and -1 to another."""
        for part in term.children:
            if isinstance(part, Token) and part.value == "mod":
                raise self.fail("\\bmod beside a sign is ambiguous; write brackets", part)

    def is_dots(self, tree: Part) -> bool:
        """Whether an expression, a term or a cell consists of dots alone."""
        while isinstance(tree, Tree) and len(tree.children) == 1:
            tree = tree.children[0]
        return isinstance(tree, Token) and tree.type == "DOTS"

    def forbid_vertical_dots(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if self.is_dots(part) and canonical(part) in ("\\vdots", "\\ddots"):
                raise self.fail(f"{canonical(part)} outside a matrix", part)

    def dotted_sum(self, terms: list[tuple[str, Tree[Token]]], position: int) -> Node:
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
            nodes.append(node if sign == "+" else Node("sum_of", (("-", node),), node.position))
        return Node("dotted_sum", (tuple(nodes),), position)

    def product(self, parts: list[Part]) -> Node:
        """Factors side by side bind more tightly than printed operators: A ⊙ x W is A ⊙ (x W)."""
        for end in (parts[0], parts[-1]):
            if isinstance(end, Token):
                raise self.fail(f"the operator {end.value!r} needs a factor on both sides", end)
        if any(self.is_dots(part) for part in parts):
            return self.dotted_product(parts)
        operators = [part for part in parts if isinstance(part, Token)]
        for part in operators:
            if part.value == "mod" and (len(operators) > 1 or part is not parts[-2]):
                raise self.fail("\\bmod beside another product is ambiguous; write brackets", part)
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
                else Node("product", ("juxtaposed", run, node), position_of(part))
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
        return Node("dotted_product", (tuple(nodes),), position_of(parts[0]))

    def joined(self, left: Node | None, operator: Token | None, right: Node | None) -> Node:
        assert right is not None
        if left is None or operator is None:
            return right
        return Node("product", (operator.value, left, right), position_of(operator))

    def forbid_side_by_side(self, part: Part, after_slash: bool) -> None:
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
        if node.kind == "derivative" and node.parts[0] is None:
            if place + 1 >= len(parts):
                raise self.fail("a derivative of nothing", factor.position)
            body = self.product(parts[place + 1 :])
            return node.rebuilt((body, node.parts[1])), len(parts)
        if factor.bracket in ("LNORM", "LBAR"):
            return self.with_scripts(node, None, factor.sup, factor), place + 1
        return self.with_scripts(node, factor.sub, factor.sup, factor), place + 1

    # -- symbols -----------------------------------------------------------------------------

    def match(self, factor: Factor) -> tuple[str, Part | None, Part | None] | None:
        """The longest declared name in a symbol with its scripts, and the scripts left over."""
        name, sub, sup = factor.name, factor.sub, factor.sup
        if sub is not None and sup is not None:
            both = self.declared(full_name(name, sub, sup))
            if both is not None:
                return both, None, None
            lower = self.declared(full_name(name, sub, None))
            upper = self.declared(full_name(name, None, sup))
            if lower is not None and upper is not None:
                raise self.fail(
                    f"{lower} and {upper} are both declared, "
                    f"so {full_name(name, sub, sup)} is ambiguous",
                    factor.position,
                )
            if lower is not None:
                return lower, None, sup
            if upper is not None:
                return upper, sub, None
        elif sub is not None or sup is not None:
            whole = self.declared(full_name(name, sub, sup))
            if whole is not None:
                return whole, None, None
        bare = self.declared(name)
        return None if bare is None else (bare, sub, sup)

    def symbol(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
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
            node = Node("symbol", (name,), factor.position)
            return self.with_scripts(node, sub, sup, factor), place + 1
        return self.known_construct(factor, parts, place)

    def known_construct(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        name, bare = factor.name, bare_name(factor.name)
        if isinstance(factor.base, Tree):
            return self.accented(factor), place + 1
        if name in CONSTANTS:
            node = Node("constant", (CONSTANTS[name],), factor.position)
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
            return Node("kronecker", tuple(indices), factor.position), place + 1
        if name == "\\nabla":
            return self.gradient(factor, parts, place)
        if name in LOOSE_FUNCTIONS or (bare in NAMED_FUNCTIONS and name.startswith("\\")):
            return self.known_call(bare, factor, parts, place)
        if name in ("\\mathbb{R}", "\\mathbb{C}", "\\mathbb{Z}", "\\mathbb{N}"):
            raise self.fail(f"{name} can stand only after \\in", factor.position)
        raise self.fail(
            f"unknown symbol {full_name(name, factor.sub, factor.sup)}: "
            "it is not declared and not a known function",
            factor.position,
        )

    def forbid_scripts(self, factor: Factor) -> None:
        if factor.sub is not None or factor.sup is not None:
            printed = full_name(factor.name, factor.sub, factor.sup)
            raise self.fail(f"the scripts of {printed} are not understood", factor.position)

    def next_name(self, parts: list[Part], place: int) -> str:
        if place + 1 < len(parts) and isinstance(parts[place + 1], Tree):
            following = read_factor(parts[place + 1], self.text)
            return following.name if following.is_symbol else ""
        return ""

    def next_bracket(self, parts: list[Part], place: int) -> str:
        if place + 1 < len(parts) and isinstance(parts[place + 1], Tree):
            return read_factor(parts[place + 1], self.text).bracket
        return ""

    def accented(self, factor: Factor) -> Node:
        base = tree_of(factor.base)
        accent = canonical(base.children[0])
        if accent not in ("\\overline", "\\bar"):
            raise self.fail(f"unknown symbol {factor.name}: it is not declared", factor.position)
        inner = self.single(base.children[1])
        kind = "conjugate" if accent == "\\overline" else "bar"
        node = Node(kind, (inner,), factor.position)
        return self.with_scripts(node, factor.sub, factor.sup, factor)

    def bracket_arguments(self, part: Part) -> list[Node]:
        """The arguments between brackets; ``x_1, \\ldots, x_n`` stays a pattern."""
        tree = tree_of(read_factor(part, self.text).base)
        chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
        return self.listed(chains)

    def listed(self, chains: list[Tree[Token]]) -> list[Node]:
        gaps = [k for k, chain in enumerate(chains) if self.is_dots(chain)]
        self.forbid_vertical_dots(chains)
        if not gaps:
            return [self.only_expression(chain) for chain in chains]
        if len(gaps) > 1 or gaps[0] in (0, len(chains) - 1):
            raise self.fail("dots need entries before and after them", chains[gaps[0]])
        nodes = tuple(
            None if k == gaps[0] else self.only_expression(chain) for k, chain in enumerate(chains)
        )
        return [Node("dotted_list", (nodes,), position_of(chains[0]))]

    def declared_call(
        self,
        name: str,
        sub: Part | None,
        sup: Part | None,
        factor: Factor,
        parts: list[Part],
        place: int,
    ) -> tuple[Node, int]:
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
        node = Node("call", (name, tuple(arguments)), factor.position)
        if leftover is not None:
            node = self.with_scripts(node, None, leftover, factor)
        if scripts is not None:
            node = self.with_scripts(node, scripts.sub, scripts.sup, scripts)
        return node, place + 1

    def call_indices(self, sub: Part) -> list[Node]:
        index = self.indices(sub)
        if len(index) == 1 and index[0].kind == "run_together":
            items, product = index[0].parts
            if product is None or all(item.kind == "symbol" for item in items):
                raise self.fail("write a comma between the indices of a function", sub)
            return [product]
        return index

    def is_parenthesised(self, sup: Part) -> bool:
        return bool(re.fullmatch(r"\([^()]*\)", canonical(sup)))

    def superscript_content(self, sup: Part) -> Node:
        pieces = [child for child in tree_of(sup).children if isinstance(child, Tree)]
        if len(pieces) != 1:
            raise self.fail("a superscript with several parts", sup)
        return self.only_expression(pieces[0])

    def known_call(
        self, name: str, factor: Factor, parts: list[Part], place: int
    ) -> tuple[Node, int]:
        """A known function with brackets, or (``\\sin m\\theta``) with the factors after it."""
        loose = factor.name in LOOSE_FUNCTIONS or name in LOOSE_NAMES
        base: tuple[Node, ...] = ()
        if factor.sub is not None:
            if name != "log":
                raise self.fail(f"{factor.name} takes no subscript", factor.position)
            base = (self.single(factor.sub),)
        power = None
        if factor.sup is not None:
            power = self.single(factor.sup)
            if power.kind != "number" or power.parts[0] < 2:
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
        node = Node("known", (name, tuple(arguments), base), factor.position)
        if power is not None:
            node = Node("power", (node, power), factor.position)
        if scripts is not None:
            node = self.with_scripts(node, scripts.sub, scripts.sup, scripts)
        return node, place

    def takes_argument(self, part: Part) -> bool:
        factor = read_factor(part, self.text)
        if not factor.is_symbol or self.match(factor) is not None:
            return False
        name = factor.name
        named = name.startswith("\\") and bare_name(name) in {*NAMED_FUNCTIONS, *MOMENTS}
        return named or name in LOOSE_FUNCTIONS or name in REDUCTIONS or name == "\\int"

    def loose_argument(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
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
                else Node("product", ("juxtaposed", result, node), node.position)
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

    # -- sums, integrals, moments ------------------------------------------------------------

    def reduction(
        self, kind: str, factor: Factor, parts: list[Part], place: int
    ) -> tuple[Node, int]:
        if factor.sub is None:
            if kind not in EXTREMES:
                raise self.fail(f"{factor.name} without an index below it", factor.position)
            if self.next_bracket(parts, place) not in ("LPAR", "LBRACK", "LSET"):
                raise self.fail(
                    f"{factor.name} needs an index below it or brackets", factor.position
                )
            self.forbid_scripts(factor)
            scripts = read_factor(parts[place + 1], self.text)
            arguments = self.bracket_arguments(parts[place + 1])
            node = Node("known", (kind, tuple(arguments), ()), factor.position)
            return self.with_scripts(node, scripts.sub, scripts.sup, scripts), place + 2
        pieces = self.index_chains(factor.sub)
        names, ranges, conditions = self.index_bounds(pieces, factor)
        rest = parts[place + 1 :]
        if not rest or isinstance(rest[0], Token):
            raise self.fail(f"{factor.name} has nothing to act on", factor.position)
        if kind != "sum" and any(isinstance(part, Token) and part == "/" for part in rest):
            raise self.fail(
                f"a/b after {factor.name} is ambiguous; write \\frac or brackets", factor.position
            )
        self.forbid_own_index(names, ranges, factor)
        with self.binding(names):
            tests = tuple(self.relation_chain(chain) for chain in conditions)
            body = self.product(rest)
        if kind not in ("sum", "product") and not set(names) & names_in(body):
            raise self.fail(f"{factor.name} over {', '.join(names)} does nothing", factor.position)
        node = Node("reduction", (kind, tuple(names), tuple(ranges), tests, body), factor.position)
        return node, len(parts)

    def forbid_own_index(self, names: list[str], ranges: list[Any], factor: Factor) -> None:
        """``\\sum_{n=0}^{n} n``: an index in its own bounds, or one that already runs."""
        used = {name for stated in ranges if stated for end in stated for name in names_in(end)}
        for name in names:
            if name in used:
                raise self.fail(f"the index {name} stands in its own bounds", factor.position)
            if name in self.running:
                raise self.fail(f"the index {name} is running already", factor.position)
        if len(set(names)) < len(names):
            raise self.fail(f"one index twice below {factor.name}", factor.position)

    def index_chains(self, sub: Part) -> list[Tree[Token]]:
        if isinstance(sub, Token):
            return list(parse_token_chain(sub))
        pieces = [child for child in sub.children if isinstance(child, Tree)]
        chains = []
        for piece in pieces:
            inner = [child for child in piece.children if isinstance(child, Tree)]
            if piece.data == "piece" and len(inner) == 1 and len(piece.children) == 1:
                chains.append(inner[0])
            else:
                raise self.fail("this index range is not understood", piece)
        if not chains:
            raise self.fail("this index range is not understood", sub)
        return chains

    def lone_symbol(self, tree: Part) -> str:
        """The name of an expression that is one symbol without scripts, or an empty text."""
        while isinstance(tree, Tree) and tree.data != "factor" and len(tree.children) == 1:
            tree = tree.children[0]
        if isinstance(tree, Tree) and tree.data == "factor":
            factor = read_factor(tree, self.text)
            if factor.is_symbol and not (factor.sub or factor.sup or factor.factorials):
                return factor.name
        return ""

    def index_bounds(
        self, chains: list[Tree[Token]], factor: Factor
    ) -> tuple[list[str], list[Any], list[Tree[Token]]]:
        """The indices bound under a sum, their stated ranges, and further conditions."""
        names: list[str] = []
        ranges: list[Any] = []
        conditions: list[Tree[Token]] = []
        upper = None if factor.sup is None else self.single(factor.sup)
        for chain in chains:
            sides = [child for child in chain.children if isinstance(child, Tree)]
            symbols = [self.lone_symbol(side) for side in sides]
            if len(sides) == 1:
                if not symbols[0]:
                    raise self.fail("an index below a sum must be a symbol", chain)
                names.append(symbols[0])
                ranges.append(None)
                continue
            relation = chain.children[1]
            assert isinstance(relation, Token)
            if len(sides) == 2 and relation.value == "=" and symbols[0]:
                if upper is None:
                    raise self.fail("the upper end of the range is missing", chain)
                names.append(symbols[0])
                ranges.append((self.expression(sides[1]), upper))
                upper = None
                continue
            fresh = [s for s in symbols if s and not self.known(s) and s not in CONSTANTS]
            fresh = [s for s in fresh if s not in names]
            if not fresh and not set(symbols) & set(names):
                if symbols[0]:
                    fresh = [symbols[0]]
                else:
                    raise self.fail("no index is bound by this condition", chain)
            names.extend(fresh)
            ranges.extend([None] * len(fresh))
            conditions.append(chain)
        if upper is not None:
            raise self.fail("an upper end without an index that starts below", factor.position)
        return names, ranges, conditions

    def integral(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        if factor.sub is None or factor.sup is None:
            raise self.fail("an integral needs both bounds", factor.position)
        low, high = self.single(factor.sub), self.single(factor.sup)
        inner = 0
        for end in range(place + 1, len(parts) - 1):
            first, second = parts[end], parts[end + 1]
            if isinstance(first, Token) or isinstance(second, Token):
                continue
            marker, variable = read_factor(first, self.text), read_factor(second, self.text)
            inner += marker.name == "\\int"
            if marker.name not in ("d", "\\mathrm{d}") or marker.sub or marker.sup:
                continue
            if not variable.is_symbol or variable.sub or variable.sup or variable.factorials:
                continue
            if marker.name == "d" and variable.name in self.table and "d" in self.table:
                continue
            if inner:  # this differential belongs to an integral further inside
                inner -= 1
                continue
            inside = parts[place + 1 : end]
            if inside and isinstance(inside[-1], Token) and inside[-1] == "dot":
                inside.pop()  # f(t) \\cdot dt
            if variable.name in names_in(low) | names_in(high) | set(self.running):
                raise self.fail(
                    f"{variable.name} is bound by the integral and used outside it", second
                )
            with self.binding([variable.name]):
                body = self.product(inside) if inside else Node("number", (1,), factor.position)
            node = Node("integral", (variable.name, low, high, body), factor.position)
            return node, end + 2
        raise self.fail(
            "an integral without its differential, such as \\mathrm{d}t", factor.position
        )

    def moment(self, kind: str, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        if self.next_bracket(parts, place) not in ("LPAR", "LBRACK", "LSET"):
            raise self.fail(f"{factor.name} needs its argument in brackets", factor.position)
        over: tuple[str, ...] = ()
        if factor.sub is not None:
            over = tuple(self.lone_symbol(chain) for chain in self.index_chains(factor.sub))
            if not all(over):
                raise self.fail("the variables below an expectation must be symbols", factor.sub)
        if factor.sup is not None:
            raise self.fail(
                f"write the power of {factor.name} behind its brackets", factor.position
            )
        scripts = read_factor(parts[place + 1], self.text)
        tree = tree_of(scripts.base)
        chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
        chains, given = self.split_at_condition(chains)
        if kind == "probability":
            arguments = [self.relation_chain(chain) for chain in chains]
        else:
            arguments = [self.only_expression(chain) for chain in chains]
            if len(arguments) != (2 if kind == "covariance" else 1):
                raise self.fail(f"wrong number of arguments for {factor.name}", factor.position)
        tests = tuple(self.relation_chain(chain) for chain in given)
        node = Node("moment", (kind, over, tuple(arguments), tests), factor.position)
        return self.with_scripts(node, scripts.sub, scripts.sup, scripts), place + 2

    def split_at_condition(
        self, chains: list[Tree[Token]]
    ) -> tuple[list[Tree[Token]], list[Tree[Token]]]:
        """What stands before and after ``\\mid`` between the brackets of a moment."""
        for k, chain in enumerate(chains):
            values = [child.value if isinstance(child, Token) else "" for child in chain.children]
            if "divides" in values:
                gap = values.index("divides")
                left: Tree[Token] = Tree("chain", chain.children[:gap])
                right: Tree[Token] = Tree("chain", chain.children[gap + 1 :])
                return [*chains[:k], left], [right, *chains[k + 1 :]]
        return chains, []

    def indicator(self, parts: list[Part], place: int) -> tuple[Node, int]:
        scripts = read_factor(parts[place + 1], self.text)
        tree = tree_of(scripts.base)
        chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
        tests = tuple(self.relation_chain(chain) for chain in chains)
        node = Node("indicator", tests, scripts.position)
        return self.with_scripts(node, scripts.sub, scripts.sup, scripts), place + 2

    def gradient(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        if factor.sub is None:
            raise self.fail("\\nabla needs the variable below it: \\nabla_x", factor.position)
        if factor.sup is not None or place + 1 >= len(parts):
            raise self.fail("\\nabla_x needs an expression behind it", factor.position)
        variable = self.single(factor.sub)
        body = self.product(parts[place + 1 :])
        return Node("derivative", (body, (variable,)), factor.position), len(parts)

    # -- bases -------------------------------------------------------------------------------

    def base(self, factor: Factor) -> Node:
        base = factor.base
        if isinstance(base, Token):
            if base.type == "NUMBER":
                text = base.value
                return Node("number", (float(text) if "." in text else int(text),), factor.position)
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

    def group(self, tree: Tree[Token]) -> Node:
        pieces = [child for child in tree.children if isinstance(child, Tree)]
        if len(pieces) != 1 or len(tree.children) != 3:
            raise self.fail("this group is not one expression", tree)
        return self.only_expression(pieces[0])

    def single(self, part: Part) -> Node:
        """An argument: one token or a group."""
        if isinstance(part, Token):
            if part.type not in ("SYMBOL", "NUMBER"):
                raise self.fail(f"{part.value} cannot stand here", part)
            return self.operand([Tree("factor", [part])], 0)[0]
        if part.data == "group":
            return self.group(part)
        return self.operand([Tree("factor", [part])], 0)[0]

    def bracket(self, factor: Factor) -> Node:
        tree = tree_of(factor.base)
        kind = factor.bracket
        closer = tree.children[-1]
        assert isinstance(closer, Token)
        chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
        if {kind, closer.type} in ({"LPAR", "RBRACK"}, {"LBRACK", "RPAR"}):
            raise self.fail("an interval can stand only after \\in", tree)
        position = factor.position
        if kind == "LBRACK" and len(chains) == 1 and len(chains[0].children) > 1:
            return Node("indicator", (self.relation_chain(chains[0]),), position)
        if kind in ("LPAR", "LBRACK") and len(chains) > 1:
            separators = {child.type for child in tree.children[1:-1] if isinstance(child, Token)}
            if separators != {"COMMA"}:
                raise self.fail("entries must be separated by commas", tree)
            return Node("tuple", tuple(self.listed(chains)), position)
        if kind == "LSET":
            raise self.fail("a set can stand only after \\in", tree)
        if kind == "LANGLE":
            if len(chains) != 2:
                raise self.fail("an inner product needs two arguments", tree)
            sides = tuple(self.only_expression(chain) for chain in chains)
            return Node("inner", sides, position)
        if len(chains) != 1:
            raise self.fail("brackets with several entries cannot stand here", tree)
        inner = self.only_expression(chains[0])
        if kind == "LFLOOR" or kind == "LCEIL":
            return Node("floor" if kind == "LFLOOR" else "ceiling", (inner,), position)
        if kind == "LBAR":
            if factor.sub is not None:
                raise self.fail("an absolute value takes no subscript", factor.sub)
            return Node("absolute", (inner,), position)
        if kind == "LNORM":
            name = "" if factor.sub is None else canonical(factor.sub)
            if name and name not in NORMS:
                raise self.fail(f"the norm with subscript {name} is not known", tree)
            return Node("norm", (NORMS.get(name, ""), inner), position)
        return inner

    def fraction(self, tree: Tree[Token]) -> Node:
        top, bottom = tree.children[1], tree.children[2]
        derivative = self.derivative(top, bottom)
        if derivative is not None:
            return derivative
        return Node("quotient", (self.single(top), self.single(bottom)), position_of(tree))

    def term_parts(self, part: Part) -> list[Part]:
        """The factors of a group that holds one term, or nothing."""
        if isinstance(part, Token):
            return [Tree("factor", [part])]
        tree: Part = part
        if part.data == "group":
            inner = [child for child in part.children if isinstance(child, Tree)]
            if len(inner) != 1:
                return []
            tree = inner[0]
        while isinstance(tree, Tree) and tree.data != "term" and len(tree.children) == 1:
            tree = tree.children[0]
        return list(tree.children) if isinstance(tree, Tree) and tree.data == "term" else []

    def derivative(self, top: Part, bottom: Part) -> Node | None:
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
        return Node("derivative", (body, tuple(variables)), position_of(top))

    def derivative_body(self, parts: list[Part], variable: Node) -> Node:
        """What is differentiated; a function without its argument is one of the variable."""
        if len(parts) == 1 and isinstance(parts[0], Tree):
            factor = read_factor(parts[0], self.text)
            plain_symbol = factor.is_symbol and factor.sub is None and factor.sup is None
            if plain_symbol and self.is_function(factor.name) and variable.kind == "symbol":
                return Node("call", (factor.name, (variable,)), factor.position)
        return self.product(parts)

    def order(self, sup: Part | None) -> int:
        """How often a derivative is taken: the number above the sign."""
        if sup is None:
            return 1
        if not canonical(sup).isdigit():
            raise self.fail(f"a derivative of order {canonical(sup)}", sup)
        return int(canonical(sup))

    def binomial(self, tree: Tree[Token]) -> Node:
        parts = (self.single(tree.children[1]), self.single(tree.children[2]))
        return Node("binomial", parts, position_of(tree))

    def root(self, tree: Tree[Token]) -> Node:
        inner = self.single(tree.children[-1])
        if len(tree.children) == 2:
            return Node("root", (inner, None), position_of(tree))
        return Node("root", (inner, self.expression(tree_of(tree.children[2]))), position_of(tree))

    def matrix(self, tree: Tree[Token]) -> Node:
        kind = canonical(tree.children[0])
        rows = []
        for row in tree.children[1:-1]:
            if isinstance(row, Token):
                continue
            cells: list[Any] = []
            for cell in row.children:
                if isinstance(cell, Token):
                    continue
                if not cell.children:
                    cells.append("empty")
                elif self.is_dots(cell):
                    cells.append("dots:" + canonical(cell))
                else:
                    cells.append(self.expression(tree_of(cell.children[0])))
            rows.append(tuple(cells))
        width = max(len(row) for row in rows)
        if any(len(row) != width for row in rows):
            raise self.fail(f"the rows of the matrix have {[len(r) for r in rows]} entries", tree)
        node = Node("matrix", (tuple(rows),), position_of(tree))
        if kind == "vmatrix":
            return Node("known", ("det", (node,), ()), position_of(tree))
        return node

    def cases(self, tree: Tree[Token]) -> Node:
        rows = []
        for case in tree.children[1:-1]:
            if isinstance(case, Token):
                continue
            value = self.expression(tree_of(case.children[0]))
            chains = [child for child in case.children[2:] if isinstance(child, Tree)]
            tests = tuple(self.relation_chain(chain) for chain in chains)
            rows.append((value, tests))
        return Node("cases", tuple(rows), position_of(tree))

    # -- scripts -----------------------------------------------------------------------------

    def with_scripts(self, node: Node, sub: Part | None, sup: Part | None, factor: Factor) -> Node:
        if sub is not None:
            indices = tuple(self.indices(sub))
            node = Node("index", (node, indices, sup is not None), factor.position)
        if sup is not None:
            node = self.superscript(node, sup, sub is not None)
        for _ in range(factor.factorials):
            node = Node("factorial", (node,), factor.position)
        return node

    def indices(self, sub: Part) -> list[Node]:
        if isinstance(sub, Token):
            if sub.type == "MULOP":
                return [Node("slice", (None, None), position_of(sub))]
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
        if len(found) == 1 and found[0].kind == "tuple":
            return list(found[0].parts)  # PE_{(m, 2i)}
        return found

    def index_piece(self, piece: Tree[Token]) -> Node:
        ends = [child for child in piece.children if isinstance(child, Tree)]
        if any(isinstance(child, Token) for child in piece.children):
            sides: list[Node | None] = [self.only_expression(end) for end in ends]
            sides += [None] * (2 - len(sides))
            return Node("slice", tuple(sides), position_of(piece))
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
                digits = tuple(Node("number", (int(c),), position) for c in base.value)
                return Node("run_together", (digits, self.only_expression(piece)), position)
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
        return Node("run_together", (items, whole), position)

    def separate_indices(self, sub: Part) -> list[Node]:
        indices = self.indices(sub)
        if len(indices) == 1 and indices[0].kind == "run_together":
            return list(indices[0].parts[0])
        return indices

    def superscript(self, node: Node, sup: Part, indexed: bool) -> Node:
        name = canonical(sup)
        position = position_of(sup)
        if name in TRANSPOSES or name == "T":
            if name == "T" and self.known("T"):
                raise self.fail("T is declared; write \\top for a transpose", sup)
            return Node("transpose", (node, indexed), position)
        if name in ("star",):
            return Node("star", (node,), position)
        if name in HERMITIAN:
            return Node("hermitian", (node,), position)
        if name in ("-\\top", "-T"):
            inverse = Node("power", (node, Node("number", (-1,), position)), position)
            return Node("transpose", (inverse, indexed), position)
        if isinstance(sup, Tree) and sup.data == "group":
            second = sup.children[1]
            if isinstance(second, Token) and second.type == "MULOP":
                if second.value not in ("hadamard", "circ") or len(sup.children) != 4:
                    raise self.fail(f"the superscript {name} is not understood", sup)
                exponent = self.only_expression(sup.children[2])
                return Node("elementwise_power", (node, exponent), position)
            if self.is_parenthesised(sup):
                raise self.fail(
                    f"the superscript {name} is not a declared name; a power needs no brackets",
                    sup,
                )
        if isinstance(sup, Token) and sup.type not in ("SYMBOL", "NUMBER"):
            raise self.fail(f"the superscript {name} is not a declared name", sup)
        return Node("power", (node, self.single(sup), indexed), position)

    # -- relations ---------------------------------------------------------------------------

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

    def relation_chain(self, tree: Tree[Token]) -> Node:
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
        return Node("chain", (tuple(nodes), symbols, places, texts), position_of(tree))

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
            if factor.is_symbol and factor.name in (
                *("\\mathbb{R}", "\\mathbb{C}", "\\mathbb{Z}", "\\mathbb{N}"),
            ):
                return self.number_set(factor)
            if factor.is_symbol and factor.name in ("\\text{even}", "\\text{odd}"):
                self.forbid_scripts(factor)
                return Node("parity", (factor.name[6:-1],), position)
            if (
                factor.bracket
                and not factor.sub
                and (factor.bracket == "LSET" or factor.bracket in ("LPAR", "LBRACK"))
            ):
                return self.bracketed_set(factor)
        node = self.expression(tree)
        return Node("declared_set", (node,), position)

    def number_set(self, factor: Factor) -> Node:
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
        return Node("number_set", (factor.name[8:-1], tuple(shape)), factor.position)

    def bracketed_set(self, factor: Factor) -> Node:
        tree = tree_of(factor.base)
        closer = tree.children[-1]
        assert isinstance(closer, Token)
        chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
        if factor.bracket == "LSET":
            exponent = None if factor.sup is None else self.single(factor.sup)
            return Node("listed_set", (tuple(self.listed(chains)), exponent), factor.position)
        if len(chains) != 2 or factor.sup is not None:
            raise self.fail("an interval needs two ends", tree)
        ends = tuple(self.only_expression(chain) for chain in chains)
        closed = (factor.bracket == "LBRACK", closer.type == "RBRACK")
        return Node("interval", (*ends, closed), factor.position)


def parse_token_chain(token: Token) -> Iterator[Tree[Token]]:
    """A one-token subscript as the chain it stands for."""
    factor: Tree[Token] = Tree("factor", [token])
    yield Tree("chain", [Tree("expr", [Tree("term", [factor])])])

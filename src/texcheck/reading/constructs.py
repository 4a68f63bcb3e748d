"""How each construct is read."""

from __future__ import annotations

from dataclasses import replace

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Chain, Node
from texcheck.parser import (
    Factor,
    Part,
    bare_name,
    canonical,
    full_name,
    joined_difference,
    long_argument,
    position_of,
    read_factor,
    tree_of,
)
from texcheck.reading.conditions import read_cases, read_indicator
from texcheck.reading.expectations import read_moment
from texcheck.reading.functions import read_declared_call, read_known_call
from texcheck.reading.integrals import read_integral
from texcheck.reading.lists import read_list
from texcheck.reading.matrices import read_matrix
from texcheck.reading.names import match
from texcheck.reading.parts import (
    lone_symbol,
    next_bracket,
    next_name,
    term_parts,
)
from texcheck.reading.reader import Reader
from texcheck.reading.reductions import read_reduction
from texcheck.reading.scripts import forbid_scripts, separate_indices, with_scripts
from texcheck.vocabulary import (
    CONSTANTS,
    DIFFERENCE,
    DIFFERENTIALS,
    INDICATORS,
    LOOSE_FUNCTIONS,
    MOMENTS,
    NAMED_FUNCTIONS,
    NORMS,
    NUMBER_SETS,
    REDUCTIONS,
)

# The functions that are printed as brackets.
BRACKETS = {"LFLOOR": "floor", "LCEIL": "ceil", "LBAR": "abs"}


def read_operand(reader: Reader, parts: list[Part], place: int) -> tuple[Node, int]:
    """Read the factor at ``place`` with what it takes as its argument."""
    factor = read_factor(parts[place], reader.text)
    if factor.is_symbol:
        return read_symbol(reader, factor, parts, place)
    node = read_base(reader, factor)
    if isinstance(node, nodes.Derivative) and node.body is None:
        if place + 1 >= len(parts):
            raise reader.fail("a derivative of nothing", factor.position)
        body = reader.product(parts[place + 1 :])
        return replace(node, body=body), len(parts)
    if factor.bracket in ("LNORM", "LBAR"):
        return with_scripts(reader, node, None, factor.sup, factor), place + 1
    return with_scripts(reader, node, factor.sub, factor.sup, factor), place + 1


def read_symbol(reader: Reader, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
    """Read a symbol: declared, or known to every book."""
    found = match(reader, factor)
    plain = not (factor.sub or factor.sup)
    if (
        found is None
        and plain
        and factor.name == DIFFERENCE
        and next_name(parts, place, reader.text)
    ):
        joined = joined_difference(read_factor(parts[place + 1], reader.text), factor.position)
        found = match(reader, joined)
        if found is not None:
            factor, place = joined, place + 1
    if found is not None:
        name, sub, sup = found
        if reader.scope.is_function(name):
            return read_declared_call(reader, name, sub, sup, factor, parts, place)
        node: Node = nodes.Symbol(name, position=factor.position)
        return with_scripts(reader, node, sub, sup, factor), place + 1
    return read_known_symbol(reader, factor, parts, place)


def read_known_symbol(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read what needs no declaration."""
    name, bare = factor.name, bare_name(factor.name)
    if isinstance(factor.base, Tree):
        return read_accent(reader, factor), place + 1
    if name in CONSTANTS:
        node = nodes.Constant(name, position=factor.position)
        return with_scripts(reader, node, factor.sub, factor.sup, factor), place + 1
    if name in REDUCTIONS:
        return read_reduction(reader, REDUCTIONS[name], factor, parts, place)
    if name == "\\int":
        return read_integral(reader, factor, parts, place)
    if bare in MOMENTS and name != bare:
        return read_moment(reader, MOMENTS[bare], factor, parts, place)
    if name in INDICATORS and next_bracket(parts, place, reader.text):
        forbid_scripts(reader, factor)
        return read_indicator(reader, parts, place)
    if name == "\\delta" and factor.sub is not None and factor.sup is None:
        indices = separate_indices(reader, factor.sub)
        if len(indices) != 2:
            raise reader.fail("the Kronecker delta needs two indices", factor.position)
        printed = "the first index", "the second"
        equal = Chain(tuple(indices), ("=",), (factor.position,), printed)
        return nodes.Indicator((equal,), position=factor.position), place + 1
    if name in LOOSE_FUNCTIONS or (bare in NAMED_FUNCTIONS and name.startswith("\\")):
        return read_known_call(reader, bare, factor, parts, place)
    if name in NUMBER_SETS:
        raise reader.fail(f"{name} can stand only after \\in", factor.position)
    raise reader.fail(
        f"unknown symbol {full_name(name, factor.sub, factor.sup)}: "
        "it is not declared and not a known function",
        factor.position,
    )


def read_accent(reader: Reader, factor: Factor) -> Node:
    """Read a bar over an expression."""
    base = tree_of(factor.base)
    accent = canonical(base.children[0])
    if accent != "\\overline":
        raise reader.fail(f"unknown symbol {factor.name}: it is not declared", factor.position)
    inner = reader.single(base.children[1])
    node = nodes.KnownCall("conj", (inner,), position=factor.position)
    return with_scripts(reader, node, factor.sub, factor.sup, factor)


def read_base(reader: Reader, factor: Factor) -> Node:
    """Read what carries the scripts of a factor."""
    base = factor.base
    if isinstance(base, Token):
        if base.type == "NUMBER":
            text = base.value
            return nodes.Number(float(text) if "." in text else int(text), position=factor.position)
        raise reader.fail(f"{base.value} cannot stand here", base)
    readers = {
        "fraction": read_fraction,
        "root": read_root,
        "matrix": read_matrix,
        "cases": read_cases,
        "group": Reader.group,
    }
    if base.data in readers:
        return readers[base.data](reader, base)
    return read_bracket(reader, factor)


def read_bracket(reader: Reader, factor: Factor) -> Node:
    """Read what is between brackets."""
    tree = tree_of(factor.base)
    kind = factor.bracket
    chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
    position = factor.position
    if kind in ("LPAR", "LBRACK") and len(chains) > 1:
        return nodes.TupleOf(tuple(read_list(reader, chains)), position=position)
    if len(chains) != 1:
        raise reader.fail("brackets with several entries cannot stand here", tree)
    inner = reader.only_expression(chains[0])
    if kind == "LBAR" and factor.sub is not None:
        raise reader.fail("an absolute value takes no subscript", factor.sub)
    if kind in BRACKETS:
        return nodes.KnownCall(BRACKETS[kind], (inner,), position=position)
    if kind == "LNORM":
        name = "" if factor.sub is None else canonical(factor.sub)
        if name and name not in NORMS:
            raise reader.fail(f"the norm with subscript {name} is not known", tree)
        return nodes.Norm(name, inner, position=position)
    return inner


def read_fraction(reader: Reader, tree: Tree[Token]) -> Node:
    """Read a fraction, which may be a derivative."""
    top, bottom = tree.children[1], tree.children[2]
    if isinstance(bottom, Token) and bottom.type == "NUMBER" and len(bottom) > 1:
        raise long_argument(bottom, reader.text)
    derivative = read_derivative(reader, top, bottom)
    if derivative is not None:
        return derivative
    position = position_of(tree)
    return nodes.Product("/", reader.single(top), reader.single(bottom), position=position)


def read_derivative(reader: Reader, top: Part, bottom: Part) -> Node | None:
    """Read a fraction as a derivative; None where it is none."""
    above, below = term_parts(top), term_parts(bottom)
    if (
        not above
        or len(below) < 2
        or isinstance(above[0], Token)
        or any(isinstance(part, Token) for part in below)
    ):
        return None
    first, lower = read_factor(above[0], reader.text), read_factor(below[0], reader.text)
    if first.name not in DIFFERENTIALS or lower.name != first.name:
        return None
    forbid_scripts(reader, lower)
    order, variable = first.sup, read_factor(below[1], reader.text)
    if len(below) != 2 or first.sub is not None or not same_text(order, variable.sup):
        raise reader.fail("this derivative is not understood", bottom)
    variable.sup = None
    by = read_symbol(reader, variable, [below[1]], 0)[0]
    body = read_derivative_body(reader, above[1:], by) if len(above) > 1 else None
    times = 1 if order is None else int(canonical(order))
    return nodes.Derivative(body, by, times, position=position_of(top))


def read_derivative_body(reader: Reader, parts: list[Part], variable: Node) -> Node:
    """What is differentiated; a function without its argument is one of the variable."""
    name = lone_symbol(parts[0], reader.text)
    if len(parts) == 1 and reader.scope.is_function(name) and isinstance(variable, nodes.Symbol):
        return nodes.Call(name, (variable,), position=position_of(parts[0]))
    return reader.product(parts)


def read_root(reader: Reader, tree: Tree[Token]) -> Node:
    """Read a root."""
    inner = reader.single(tree.children[-1])
    return nodes.KnownCall("sqrt", (inner,), position=position_of(tree))


def same_text(order: Part | None, other: Part | None) -> bool:
    """Whether the order of a derivative is the same number above and below, or nowhere."""
    above, below = ("" if part is None else canonical(part) for part in (order, other))
    return above == below and (not above or above.isdigit())

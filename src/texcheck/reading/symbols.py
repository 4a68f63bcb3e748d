"""Symbols: declared ones, and those that need no declaration."""

from __future__ import annotations

from lark import Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import (
    Factor,
    Part,
    bare_name,
    canonical,
    full_name,
    joined_difference,
    read_factor,
    tree_of,
)
from texcheck.reading.conditions import read_indicator, read_kronecker_delta
from texcheck.reading.expectations import read_moment
from texcheck.reading.functions import read_declared_call, read_known_call
from texcheck.reading.integrals import read_integral
from texcheck.reading.names import match
from texcheck.reading.parts import next_bracket, next_name
from texcheck.reading.reader import Reader
from texcheck.reading.reductions import read_reduction
from texcheck.reading.scripts import forbid_scripts, with_scripts, with_scripts_of
from texcheck.vocabulary import (
    CONSTANTS,
    DIFFERENCE,
    INDICATORS,
    LOOSE_FUNCTIONS,
    MOMENTS,
    NAMED_FUNCTIONS,
    NUMBER_SETS,
    REDUCTIONS,
)


def read_symbol(reader: Reader, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
    """Read a symbol: declared, or known to every book."""
    found = match(reader, factor)
    lone_difference = factor.name == DIFFERENCE and not (factor.sub or factor.sup)
    if found is None and lone_difference and next_name(parts, place, reader.text):
        joined = joined_difference(read_factor(parts[place + 1], reader.text), factor.position)
        found = match(reader, joined)
        if found is not None:
            factor = joined
            place += 1
    if found is None:
        return read_known_symbol(reader, factor, parts, place)
    if reader.scope.is_function(found.name):
        return read_declared_call(reader, found, factor, parts, place)
    node = nodes.Symbol(found.name, position=factor.position)
    position = factor.position
    return with_scripts(reader, node, sub=found.sub, sup=found.sup, position=position), place + 1


def read_known_symbol(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read what needs no declaration."""
    name = factor.name
    bare = bare_name(name)
    if isinstance(factor.base, Tree):
        return read_accent(reader, factor), place + 1
    if name in CONSTANTS:
        node = nodes.Constant(name, position=factor.position)
        return with_scripts_of(reader, node, factor), place + 1
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
        return read_kronecker_delta(reader, factor, factor.sub), place + 1
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
    return with_scripts_of(reader, node, factor)

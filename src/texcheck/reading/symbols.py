"""Symbols: declared ones, and those that need no declaration."""

from __future__ import annotations

import re

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import (
    Factor,
    Part,
    bare_name,
    canonical,
    full_name,
    joined_prefix,
    read_factor,
    tree_of,
)
from texcheck.reading.conditions import read_indicator, read_kronecker_delta
from texcheck.reading.expectations import read_moment
from texcheck.reading.functions import read_declared_call, read_known_call
from texcheck.reading.integrals import read_integral
from texcheck.reading.names import match
from texcheck.reading.partials import read_partial
from texcheck.reading.parts import holds_one_factor, is_prefix, next_bracket, next_name
from texcheck.reading.probabilities import read_probability
from texcheck.reading.reader import Reader, Unknown
from texcheck.reading.reductions import read_reduction
from texcheck.reading.scripts import (
    forbid_scripts,
    with_factorial,
    with_scripts,
    with_scripts_of,
)
from texcheck.vocabulary import (
    CONSTANTS,
    INDICATORS,
    LETTER_FONTS,
    LOOSE_FUNCTIONS,
    MOMENTS,
    NAMED_FUNCTIONS,
    NUMBER_SETS,
    PROBABILITIES,
    REDUCTIONS,
)


def read_symbol(reader: Reader, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
    """Read a symbol: declared, or known to every book."""
    found = match(reader, factor)
    if found is None and is_prefix(factor) and next_name(parts, place, reader.text):
        joined = joined_prefix(factor, read_factor(parts[place + 1], reader.text))
        found = match(reader, joined)
        if found is not None:
            factor = joined
            place += 1
    following = next_name(parts, place, reader.text)
    if factor.name == "d" and found is not None and reader.scope.knows(f"d {following}"):
        raise reader.fail(
            f"d and d {following} are both declared, so d{following} is ambiguous",
            factor.position,
        )
    if found is None:
        return read_known_symbol(reader, factor, parts, place)
    if found.name in reader.scope.running and next_bracket(parts, place, reader.text) == "LPAR":
        behind = read_factor(parts[place + 1], reader.text)
        if holds_one_factor(behind.base) and behind.sub is None and behind.sup is None:
            raise reader.fail(
                f"{found.name} runs here and seems to be called; put a sign before the bracket",
                factor.position,
            )
    if reader.scope.is_function(found.name):
        if factor.factorial:
            raise reader.fail("write brackets around what a factorial is of", factor.position)
        return read_declared_call(reader, found, factor, parts, place)
    node = nodes.Symbol(found.name, position=factor.position)
    position = factor.position
    scripted = with_scripts(reader, node, sub=found.sub, sup=found.sup, position=position)
    return with_factorial(scripted, factor), place + 1


def read_known_symbol(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read what needs no declaration."""
    name = factor.name
    bare = bare_name(name)
    if isinstance(factor.base, Tree):
        return read_accent(reader, factor, parts, place), place + 1
    if name in CONSTANTS and factor.sub is None:
        node = nodes.Constant(name, position=factor.position)
        return with_scripts_of(reader, node, factor), place + 1
    if factor.factorial:
        raise reader.fail("write brackets around what a factorial is of", factor.position)
    letters = split_letters(reader, factor)
    if letters:
        return reader.product(letters), place + 1
    if name in REDUCTIONS:
        return read_reduction(reader, REDUCTIONS[name], factor, parts, place)
    is_operator = name == "\\partial" and factor.sub is not None and factor.sup is None
    if is_operator and not next_name(parts, place, reader.text):
        return read_partial(reader, factor, parts, place)
    if name == "\\int":
        return read_integral(reader, factor, parts, place)
    bracket = next_bracket(parts, place, reader.text)
    if name in PROBABILITIES and bracket in ("LPAR", "LBRACK"):
        return read_probability(reader, factor, parts, place)
    if bare in MOMENTS and (name != bare or is_expectation(reader, bracket)):
        return read_moment(reader, MOMENTS[bare], factor, parts, place)
    if name in INDICATORS and next_bracket(parts, place, reader.text):
        forbid_scripts(reader, factor)
        return read_indicator(reader, parts, place)
    if name == "\\delta" and factor.sub is not None and factor.sup is None:
        return read_kronecker_delta(reader, factor, factor.sub), place + 1
    if name in LOOSE_FUNCTIONS or (bare in NAMED_FUNCTIONS and name.startswith("\\")):
        known = "sign" if bare == "sgn" else bare
        return read_known_call(reader, known, factor, parts, place)
    if name in NUMBER_SETS:
        raise reader.fail(f"{name} can stand only after \\in", factor.position)
    following = next_name(parts, place, reader.text)
    differential = f", nor is the differential d {following}" if name == "d" and following else ""
    raise reader.unknown(
        f"unknown symbol {full_name(name, factor.sub, factor.sup)}: "
        f"it is not declared and not a known function{differential}",
        Unknown(factor, parts, place, tuple(reader.scope.running)),
    )


def is_expectation(reader: Reader, bracket: str) -> bool:
    """Whether a plain E is one: with square brackets, or with round ones in a formula with both."""
    square = re.search(r"(?<![A-Za-z{])E\s*(?:_\S+\s*)?(?:\\left|\\[bB]igg?l?)?\s*\[", reader.text)
    return bracket == "LBRACK" or (bracket == "LPAR" and square is not None)


def split_letters(reader: Reader, factor: Factor) -> list[Part]:
    """``\\mathbf{AB}`` as ``\\mathbf{A}\\mathbf{B}``, where these are declared; else nothing."""
    match = re.fullmatch(r"(\\[a-z]+)\{([A-Za-z]{2,})\}", factor.name)
    if match is None or match.group(1) not in LETTER_FONTS:
        return []
    names = [f"{match.group(1)}{{{letter}}}" for letter in match.group(2)]
    if not all(reader.scope.knows(name) for name in names):
        return []
    tokens = [Token("SYMBOL", name, start_pos=factor.position) for name in names]
    scripts = []
    if factor.sub is not None:
        scripts.append(Tree("sub", [Token("SUB", "_"), factor.sub]))
    if factor.sup is not None:
        scripts.append(Tree("sup", [Token("SUP", "^"), factor.sup]))
    parts: list[Part] = [Tree("factor", [token]) for token in tokens[:-1]]
    return [*parts, Tree("factor", [tokens[-1], *scripts])]


def read_accent(reader: Reader, factor: Factor, parts: list[Part], place: int) -> Node:
    """Read a bar over an expression."""
    base = tree_of(factor.base)
    accent = canonical(base.children[0])
    if accent != "\\overline":
        raise reader.unknown(
            f"unknown symbol {factor.name}: it is not declared",
            Unknown(factor, parts, place, tuple(reader.scope.running)),
        )
    inner = reader.single(base.children[1])
    node = nodes.KnownCall("conj", (inner,), position=factor.position)
    return with_scripts_of(reader, node, factor)

"""Misprints of symbols: another one of the same kind, and what is above and below one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lark import Token, Tree

from texcheck.misprints.change import Change, span
from texcheck.parser import Factor, canonical, end_of, full_name, read_factor, tokens_of
from texcheck.vocabulary import REDUCTIONS, TRANSPOSES


def other_symbols(
    text: str, tree: Tree[Token], kinds: Mapping[str, tuple[Any, ...]]
) -> Iterator[Change]:
    """Another symbol of the same kind; a printed number for a symbol, a symbol for a number."""
    places: list[tuple[int, int, str]] = []
    numbers: list[tuple[int, int, int]] = []
    for part in tree.find_data("factor"):
        factor = read_factor(part, text)
        if factor.is_number:
            printed = canonical(factor.base)
            if printed.isdigit() and int(printed) > 1 and len(part.children) == 1:
                start, end = span(part)
                numbers.append((start, end, int(printed)))
        elif factor.is_symbol:
            name, end = named(part, factor, kinds)
            if name:
                places.append((factor.position, end, name))
    places.sort()
    spelled = {name: text[start:end].strip() for start, end, name in reversed(places)}
    scalars = [name for name in spelled if kinds[name] == ("number",)]
    for start, end, name in places:
        alike = [other for other in spelled if other != name and kinds[other] == kinds[name]]
        # The symbol that is printed next to this one, wherever the list of them starts.
        for other in sorted(alike, key=lambda o: (o < name, o))[:2]:
            yield Change(start, end, new=f"{{{spelled[other]}}}", kind="another symbol")
        if name in scalars:
            for _, _, value in numbers[:1]:
                yield Change(start, end, new=f"{{{value}}}", kind="number for symbol")
    for start, end, _ in numbers:
        for name in scalars[:1]:
            yield Change(start, end, new=f"{{{spelled[name]}}}", kind="symbol for number")


def argument_changes(
    text: str, tree: Tree[Token], kinds: Mapping[str, tuple[Any, ...]]
) -> Iterator[Change]:
    """One more for the index or the argument of a function; two arguments exchanged."""
    functions = {name for name, kind in kinds.items() if kind == ("function",)}
    arrays = {name for name, kind in kinds.items() if kind[0] == "array"}
    for part in tree.find_data("factor"):
        factor = read_factor(part, text)
        # The subscript is an argument, and no part of the name.
        if factor.is_symbol and factor.name in functions and factor.sub:
            start, end = span(factor.sub)
            inner = text[start:end].strip().removeprefix("{").removesuffix("}")
            if full_name(factor.name, factor.sub, None) not in functions:
                yield Change(start, end, new=f"{{{inner} + 1}}", kind="index off by one")
    for term in tree.find_data("term"):
        for function, argument in itertools.pairwise(term.children):
            if not (isinstance(function, Tree) and isinstance(argument, Tree)):
                continue
            called = named(function, read_factor(function, text), kinds)[0] in functions
            bracket = argument.children[0]
            if not called or not isinstance(bracket, Tree) or bracket.data != "bracket":
                continue
            chains = [part for part in bracket.children if isinstance(part, Tree)]
            for chain in chains:
                start, end = span(chain)
                if text[start:end].strip() not in arrays:
                    more = f"{text[start:end]} + 1"
                    yield Change(start, end, new=more, kind="argument off by one")
            if len(chains) == 2 and "MID" not in (one.type for one in tokens_of(bracket)):
                (start, middle), (behind, end) = map(span, chains)
                between = text[middle:behind]
                exchanged = f"{text[behind:end]}{between}{text[start:middle]}"
                yield Change(start, end, new=exchanged, kind="exchange arguments")


def named(
    part: Tree[Token], factor: Factor, kinds: Mapping[str, tuple[Any, ...]]
) -> tuple[str, int]:
    """The declared name that a factor is or starts with, and where it ends; else empty."""
    whole = full_name(factor.name, factor.sub, factor.sup)
    if whole in kinds:
        return whole, end_of(part)
    bare = factor.name in kinds and not factor.primes
    return (factor.name, end_of(factor.base)) if bare else ("", 0)


def index_symbols(tree: Tree[Token]) -> list[str]:
    """The letters used inside subscripts, in order."""
    found: dict[str, None] = {}
    for sub in tree.find_data("sub"):
        for token in tokens_of(sub):
            if token.type == "SYMBOL" and len(token.value) == 1:
                found[token.value] = None
    return list(found)


def script_changes(
    text: str, factor: Tree[Token], indices: Sequence[str], matrices: set[str]
) -> Iterator[Change]:
    """The changes of what is above and below."""
    base = factor.children[0]
    scripts = [child for child in factor.children[1:] if isinstance(child, Tree)]
    if isinstance(base, Token) and base.type == "SYMBOL" and base.value in REDUCTIONS:
        yield from bound_changes(text, scripts, indices)
        return
    for script in scripts:
        start, end = span(script)
        content = text[start + 1 : end].strip().strip("{}").strip()
        if script.data == "sup" and content in TRANSPOSES:
            yield Change(start, end, new="", kind="drop transpose")
        if script.data == "sub":
            for token in tokens_of(script):
                if token.type != "SYMBOL" or token.value not in indices:
                    continue
                others = [name for name in indices if name != token.value]
                if others:
                    other = others[indices.index(token.value) % len(others)]
                    yield Change(*span(token), new=other, kind="another index")
    if not scripts and isinstance(base, Token) and base.value in matrices:
        end = end_of(base)
        yield Change(end, end, new="^\\top ", kind="add transpose")
    if isinstance(base, Tree) and base.data == "root" and len(base.children) == 2:
        start, end = span(base)
        inner_start, inner_end = span(base.children[1])
        yield Change(start, end, new=text[inner_start:inner_end], kind="drop root")


def dropped_range(scripts: Sequence[Tree[Token]], indices: Sequence[str]) -> Iterator[Change]:
    """A sum over all values of its index, without the condition, or the end that is an index too.

    From 0 to N - 1, over a whole array, says the same as no range.
    """
    (start, end) = span(scripts[0])[0], span(scripts[-1])[1]
    below = [script for script in scripts if script.data == "sub"]
    tokens = [token for script in below for token in tokens_of(script)]
    index = next((token for token in tokens if token.type == "SYMBOL"), None)
    if index is None or not any(token.type == "REL" for token in tokens):
        return
    nested = {
        token.start_pos
        for script in scripts
        for inner in script.find_data("sub")
        if inner is not script
        for token in tokens_of(inner)
    }
    ends = {
        token.value
        for script in scripts
        for token in tokens_of(script)
        if token.type == "SYMBOL" and token.start_pos not in nested
    }
    bounded = len(scripts) == len(below)
    if bounded or not ends.isdisjoint({*indices} - {index.value}):
        yield Change(start, end, new=f"_{{{index}}}", kind="drop range")


def bound_changes(
    text: str, scripts: Sequence[Tree[Token]], indices: Sequence[str]
) -> Iterator[Change]:
    """A sum without its range, and its upper bound one more and one less.

    Digits below change as numbers do.
    """
    if scripts:
        yield from dropped_range(scripts, indices)
    for script in scripts:
        if script.data == "sup":
            start, end = span(script.children[1])
            inner = text[start:end].strip()
            inner = inner[1:-1] if inner.startswith("{") else inner
            yield Change(start, end, new=f"{{{inner}+1}}", kind="bound off by one")
            yield Change(start, end, new=f"{{{inner}-1}}", kind="bound off by one")

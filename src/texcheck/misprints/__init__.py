r"""Formulas as a person might mistype them: every way to change one place of a display.

A flipped sign, sin for cos, a lost factor, bar, hat or prime, another index, exchanged names, a
bound off by one, ``<`` for ``\le``, ``\le`` or ``\approx`` for ``=``, another symbol of the same
kind, a symbol for a number or a number for a symbol, a rounding up for one down, one more for the
argument of a function, two arguments exchanged, a transpose more or less, a fraction upside
down, a difference the wrong way round, the last digit of a decimal, a line of ``aligned`` without
its relation, a bound a twentieth too large or too small.

``change`` is what all of them share, ``signs``, ``symbols`` and ``terms`` have a function for each
kind, and ``naming`` gives each misprint a name that does not depend on its place. ``everywhere``
has those that are made in all places at once, which ``misprints`` leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lark import Token, Tree

from texcheck.lexer import Lexer
from texcheck.misprints.change import Change, span
from texcheck.misprints.everywhere import changed_everywhere
from texcheck.misprints.naming import names_of
from texcheck.misprints.signs import (
    lost_relations,
    moved_bounds,
    other_last_digits,
    token_changes,
    weakened,
)
from texcheck.misprints.symbols import (
    argument_changes,
    index_symbols,
    other_symbols,
    script_changes,
)
from texcheck.misprints.terms import (
    dropped_bars,
    dropped_factors,
    even_expressions,
    other_roundings,
    sum_changes,
    turned_fraction,
)
from texcheck.parser import parse
from texcheck.vocabulary import QUANTIFIERS


@dataclass(frozen=True)
class Misprint:
    """A formula changed in one place, or in all places of a symbol."""

    change: str
    text: str


def misprints(
    text: str, matrices: Sequence[str] = (), kinds: Mapping[str, tuple[Any, ...]] | None = None
) -> list[Misprint]:
    """All misprints of a formula.

    ``matrices`` are the symbols that stand for matrices, ``kinds`` tells which symbols are of the
    same kind (numbers, arrays of one shape) and may be taken for each other.
    """
    found: dict[str, Change] = {}
    quantified = list(quantified_spans(parse(text)))
    for change in changes(text, set(matrices), kinds or {}):
        if any(start <= change.start and change.end <= end for start, end in quantified):
            continue
        changed = text[: change.start] + change.new + text[change.end :]
        if changed != text:
            found.setdefault(changed, change)
    names = names_of(text, list(found.values()))
    return [Misprint(name, changed) for name, changed in zip(names, found, strict=True)]


def misprints_everywhere(text: str, kinds: Mapping[str, tuple[Any, ...]]) -> list[Misprint]:
    """All misprints of a formula that are made in all their places."""
    return [Misprint(name, changed) for name, changed in changed_everywhere(text, kinds)]


def quantified_spans(tree: Tree[Token]) -> Iterator[tuple[int, int]]:
    """Where the symbols alone behind "for all" stand.

    Another one there is drawn anew as well: what passes then is true of it.
    """
    quantified = False
    for child in tree.children:
        if isinstance(child, Token):
            word = child.value
            quantified = word in QUANTIFIERS or (quantified and word in (",", "and"))
        elif quantified and len(child.children) == 1:
            yield span(child)


def changes(
    text: str, matrices: set[str], kinds: Mapping[str, tuple[Any, ...]]
) -> Iterator[Change]:
    """Every single change: from, to, the new text, its kind."""
    lexer = Lexer(text)
    lexer.run()
    yield from token_changes(text, lexer.tokens)
    yield from lost_relations(lexer.tokens)
    tree = parse(text)
    for chain in tree.children:
        if isinstance(chain, Tree) and chain.data == "chain":
            yield from moved_bounds(text, chain)
            yield from weakened(chain)
            yield from other_last_digits(text, chain)
    yield from other_symbols(text, tree, kinds)
    yield from argument_changes(text, tree, kinds)
    yield from other_roundings(text, tree)
    indices = index_symbols(tree)
    for factor in tree.find_data("factor"):
        yield from script_changes(text, factor, indices, matrices)
    for term in tree.find_data("term"):
        yield from dropped_factors(term)
    for fraction in tree.find_data("fraction"):
        yield from turned_fraction(text, fraction)
    for accent in tree.find_data("accent"):
        inner_start, inner_end = span(accent.children[1])
        yield Change(*span(accent), new=text[inner_start:inner_end], kind="drop accent")
    for bracket in tree.find_data("bracket"):
        yield from dropped_bars(text, bracket)
    even = set(even_expressions(tree))
    for expression in tree.find_data("expr"):
        yield from sum_changes(text, expression, id(expression) in even)

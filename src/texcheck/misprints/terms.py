"""Misprints of sums, products, fractions and brackets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from lark import Token, Tree

from texcheck.misprints.change import Change, printed_part, span
from texcheck.parser import canonical, end_of, position_of, tokens_of
from texcheck.vocabulary import INDICATORS, LOOSE_FUNCTIONS, REDUCTIONS

BARS = {"LBAR": "absolute value", "LNORM": "norm"}
ROUNDING_BARS = {"LFLOOR": "floor", "LCEIL": "ceil"}
ROUND = "\\operatorname{round}"
# How each rounding is printed.
PRINTED = {
    "floor": ("\\lfloor ", " \\rfloor"),
    "ceil": ("\\lceil ", " \\rceil"),
    "round": (f"{ROUND}(", ")"),
}
# What differs from a rounding at whole numbers alone, or everywhere else.
SHIFTED = {"floor": ("(\\lceil ", " \\rceil - 1)"), "ceil": ("(\\lfloor ", " \\rfloor + 1)")}


def dropped_bars(text: str, bracket: Tree[Token]) -> Iterator[Change]:
    """Round brackets in place of ``|…|`` and of ``\\lVert … \\rVert``."""
    first = bracket.children[0]
    last = bracket.children[-1]
    if isinstance(first, Token) and isinstance(last, Token) and first.type in BARS:
        start, end = span(bracket)
        inner = text[first.end_pos : last.start_pos].removesuffix("\\right")
        yield Change(start, end, new=f"({inner})", kind=f"drop {BARS[first.type]}")


def other_roundings(text: str, tree: Tree[Token]) -> Iterator[Change]:
    """Another rounding: down, up, or to the nearest whole number."""
    for bracket in tree.find_data("bracket"):
        first = bracket.children[0]
        if isinstance(first, Token) and first.type in ROUNDING_BARS:
            yield from rounded_otherwise(text, bracket, bracket, ROUNDING_BARS[first.type])
    for term in tree.find_data("term"):
        for function, argument in itertools.pairwise(term.children):
            inner = argument.children[0] if isinstance(argument, Tree) else None
            if canonical(function) == ROUND and isinstance(inner, Tree):
                yield from rounded_otherwise(text, function, inner, "round")


def rounded_otherwise(
    text: str, start_part: Tree[Token] | Token, bracket: Tree[Token], name: str
) -> Iterator[Change]:
    """What is in a bracket, rounded otherwise than by this rounding."""
    first, last = bracket.children[0], bracket.children[-1]
    start, end = position_of(start_part), end_of(bracket)
    start -= len("\\left") * text[:start].rstrip().endswith("\\left")
    inner = text[end_of(first) : position_of(last)].removesuffix("\\right").strip()
    for other, (opening, closing) in PRINTED.items():
        if other != name:
            yield Change(start, end, new=f"{opening}{inner}{closing}", kind="round otherwise")
    if name in SHIFTED:
        opening, closing = SHIFTED[name]
        yield Change(start, end, new=f"{opening}{inner}{closing}", kind="round otherwise")


def even_expressions(tree: Tree[Token]) -> Iterator[int]:
    """The identities of expressions whose sign does not count: ``|a - b|``, ``(a - b)^2``."""
    for factor in tree.find_data("factor"):
        bracket = factor.children[0]
        if not isinstance(bracket, Tree) or bracket.data != "bracket":
            continue
        powers = [canonical(part) for part in factor.children[1:] if isinstance(part, Tree)]
        squared = any(re.fullmatch(r"\^\d*[02468]", power) for power in powers)
        inside = [part for part in bracket.children if isinstance(part, Tree)]
        opener = bracket.children[0]
        bars = isinstance(opener, Token) and opener.type in BARS
        if (squared or bars) and len(inside) == 1:
            yield id(inside[0].children[0])


def sum_changes(text: str, expression: Tree[Token], even: bool) -> Iterator[Change]:
    """``b - a`` for ``a - b``, and ``i`` for ``i + 1``; where the sign counts, if not ``even``."""
    children = expression.children
    for place in range(1, len(children) - 1):
        left = children[place - 1]
        sign = children[place]
        right = children[place + 1]
        if not (isinstance(sign, Token) and isinstance(left, Tree) and isinstance(right, Tree)):
            continue
        start = position_of(left)
        end = end_of(right)
        first = printed_part(text, left)
        second = printed_part(text, right)
        led = place >= 2 and isinstance(children[place - 2], Token) and children[place - 2] == "-"
        if sign == "-" and not led and not (even and len(children) == 3):
            yield Change(start, end, new=f"{second} - {first}", kind="turn difference")
        if second == "1":
            yield Change(position_of(sign), end, new="", kind="drop one")


def dropped_factors(term: Tree[Token]) -> Iterator[Change]:
    """Leave out one factor of a product, with the operator beside it."""
    children = term.children
    previous_takes = False
    for place, child in enumerate(children):
        if isinstance(child, Token):
            previous_takes = False
            continue
        base = child.children[0]
        bracket = isinstance(base, Tree) and base.data == "bracket"
        takes = isinstance(base, Token) and takes_argument(base)
        one = isinstance(base, Token) and base == "1" and len(child.children) == 1
        droppable = not (takes or one or (previous_takes and bracket) or base == "d")
        after_name = place > 0 and not isinstance(children[place - 1], Token)
        divided = place + 1 < len(children) and children[place + 1] == "/"
        if droppable and len(children) > 1 and not (bracket and after_name) and not divided:
            start, end = span(child)
            if place > 0 and isinstance(children[place - 1], Token):
                start = position_of(children[place - 1])
            elif place + 1 < len(children) and isinstance(children[place + 1], Token):
                end = end_of(children[place + 1])
            yield Change(start, end, new=" ", kind="drop factor")
        previous_takes = takes


def takes_argument(base: Token) -> bool:
    """Whether what follows a symbol is its argument, so that it cannot be left out alone."""
    return (
        base.value in LOOSE_FUNCTIONS
        or base.value in REDUCTIONS
        or base.value in INDICATORS
        or base.value.startswith(("\\operatorname", "\\mathbb", "\\int", "\\partial", "\\Pr"))
    )


def turned_fraction(text: str, fraction: Tree[Token]) -> Iterator[Change]:
    """A fraction upside down."""
    _, top, bottom = fraction.children
    if any(token.value in ("\\partial", "\\mathrm{d}") for token in tokens_of(fraction)):
        return
    turned = [printed_part(text, bottom), printed_part(text, top)]
    pieces = [part if part.startswith("{") else f"{{{part}}}" for part in turned]
    yield Change(position_of(top), end_of(bottom), new="".join(pieces), kind="turn fraction")

r"""Formulas as a person might mistype them: every way to change one place of a display.

A flipped sign, sin for cos, a lost factor, bar, hat or prime, another index, exchanged names, a
bound off by one, ``<`` for ``\le``, ``\le`` or ``\approx`` for ``=``, another symbol of the same
kind, a symbol for a number or a number for a symbol, a transpose more or less, a fraction upside
down, a difference the wrong way round, the last digit of a decimal, a line of ``aligned`` without
its relation, a bound a twentieth too large or too small.

A misprint is named by its kind and by what is changed, not by its place, which moves with every
space: ``flip sign: + → -``. If there are several of the same name, the nearest symbols that tell
them apart follow: ``flip sign: + → -, after a_1``, or ``before``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lark import Token, Tree

from texcheck.lexer import Lexer
from texcheck.parser import (
    Factor,
    canonical,
    end_of,
    full_name,
    parse,
    position_of,
    read_factor,
    tokens_of,
)
from texcheck.vocabulary import INDICATORS, LOOSE_FUNCTIONS, REDUCTIONS, TRANSPOSES

SWAPS = {
    "\\sin": "\\cos",
    "\\cos": "\\sin",
    "\\max": "\\min",
    "\\min": "\\max",
    "\\sum": "\\prod",
    "\\prod": "\\sum",
    "\\Re": "\\Im",
    "\\operatorname{Re}": "\\operatorname{Im}",
    "\\le": "\\ge",
    "\\leq": "\\geq",
    "\\ge": "\\le",
    "\\geq": "\\leq",
    "<": ">",
    ">": "<",
}
STRICTNESS = {"\\le": "<", "\\leq": "<", "\\ge": ">", "\\geq": ">", "<": "\\le", ">": "\\ge"}
# Letters that are printed side by side and taken for each other.
PARTNERS = ("qk", "QK", "mn", "MN", "ij", "ab", "xy", "uv", "st")
PARTNER = {pair[0]: pair[1] for pair in PARTNERS} | {pair[1]: pair[0] for pair in PARTNERS}
# The pieces of a printed formula, and those that are only space or alignment.
PIECE = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\S", re.DOTALL)
SPACES = {"\\,", "\\;", "\\:", "\\!", "\\>", "\\ ", "\\quad", "\\qquad", "~", "&"}
BARS = {"LBAR": "absolute value", "LNORM": "norm"}


class Change(NamedTuple):
    """What is to be printed in place of a part of a formula, and what kind of misprint that is."""

    start: int
    end: int
    new: str
    kind: str


@dataclass(frozen=True)
class Misprint:
    """A formula changed in one place."""

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
    for change in changes(text, set(matrices), kinds or {}):
        changed = text[: change.start] + change.new + text[change.end :]
        if changed != text:
            found.setdefault(changed, change)
    names = names_of(text, list(found.values()))
    return [Misprint(name, changed) for name, changed in zip(names, found, strict=True)]


def pieces(text: str) -> list[str]:
    """The symbols, commands and brackets of a text, without spaces."""
    return [piece for piece in PIECE.findall(text) if piece.strip() and piece not in SPACES]


def joined(some: Sequence[str]) -> str:
    """The pieces as one text, which has a space only where a letter follows a command."""
    shown = ""
    for piece in some:
        apart = re.search(r"\\[A-Za-z]+$", shown) and piece[0].isalpha()
        shown += f" {piece}" if apart else piece
    return shown


def names_of(text: str, several: Sequence[Change]) -> list[str]:
    """A name for each change, with as many symbols around it as tell it from the others."""
    bare = []
    around: dict[str, list[tuple[list[str], list[str]]]] = {}
    for start, end, new, kind in several:
        old = joined(pieces(text[start:end]))
        name = f"{kind}: {old or '∅'} → {joined(pieces(new)) or '∅'}"
        bare.append(name)
        around.setdefault(name, []).append((pieces(text[:start]), pieces(text[end:])))
    return [
        told_apart(name, (pieces(text[:start]), pieces(text[end:])), around[name])
        for name, (start, end, _, _) in zip(bare, several, strict=True)
    ]


def told_apart(
    name: str, own: tuple[list[str], list[str]], all_of_them: list[tuple[list[str], list[str]]]
) -> str:
    """The name with the fewest symbols before or after the change that no other change has."""
    if len(all_of_them) == 1:
        return name
    before, after = own
    for count in range(1, max(len(before), len(after)) + 1):
        left = before[-count:]
        if left and [one[-count:] for one, _ in all_of_them].count(left) == 1:
            return f"{name}, after {joined(left)}"
        right = after[:count]
        if right and [one[:count] for _, one in all_of_them].count(right) == 1:
            return f"{name}, before {joined(right)}"
    return name  # They differ by spaces alone.


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
    yield from other_symbols(text, tree, kinds)
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


def span(tree: Tree[Token] | Token) -> tuple[int, int]:
    """Where a part of the formula starts and ends."""
    return position_of(tree), end_of(tree)


def printed_part(text: str, part: Tree[Token] | Token) -> str:
    """A part of the formula as it is printed."""
    start, end = span(part)
    return text[start:end].strip()


def spaced(word: str) -> str:
    """A command must not run into the letter that follows it."""
    return word + " " * word[-1].isalpha()


def token_changes(text: str, tokens: Sequence[Token]) -> Iterator[Change]:
    """The changes of single signs, numbers and letters."""
    printed_letters = {token.value for token in tokens if token.type == "SYMBOL"}
    for token in tokens:
        start, end = span(token)
        printed = text[start:end]
        if token.type == "ADDOP":
            yield Change(start, end, new="-" if token.value == "+" else "+", kind="flip sign")
        elif token.type == "NUMBER" and printed.isdigit():
            yield Change(start, end, new=braced(str(int(printed) + 1)), kind="off by one")
        elif token.type == "NUMBER" and "." in printed:
            last = str((int(printed[-1]) + 1) % 10)
            yield Change(start, end, new=printed[:-1] + last, kind="last digit")
        elif token.type == "PRIME":
            yield Change(start, end, new="", kind="drop prime")
        elif printed in SWAPS and token.type in ("SYMBOL", "REL"):
            yield Change(start, end, new=spaced(SWAPS[printed]), kind="swap")
        if token.type == "REL" and printed in STRICTNESS:
            yield Change(start, end, new=spaced(STRICTNESS[printed]), kind="strictness")
        if token.type == "SYMBOL" and PARTNER.get(printed) in printed_letters:
            yield Change(start, end, new=PARTNER[printed], kind="exchange name")


def lost_relations(tokens: Sequence[Token]) -> Iterator[Change]:
    """A line of ``aligned`` without the relation at its mark."""
    for before, token in itertools.pairwise(tokens):
        if before.type == "MARK" and token.type == "REL":
            yield Change(*span(token), new=" ", kind="drop relation")


def moved_bounds(text: str, chain: Tree[Token]) -> Iterator[Change]:
    """The right side of an inequality a twentieth larger and smaller.

    Nothing is larger than 0 by a share of it, and ``0 \\le i < n`` is a range.
    """
    sides = [printed_part(text, side) for side in chain.children[::2]]
    for number, sign in enumerate(chain.children[1::2], start=1):
        start, end = span(chain.children[2 * number])
        printed = printed_part(text, sign)
        if printed in STRICTNESS and sides[0] != "0" and sides[number] != "0":
            for factor in ("1.05", "0.95"):
                yield Change(start, end, new=f"{factor} ({text[start:end]})", kind="bound moved")


def weakened(chain: Tree[Token]) -> Iterator[Change]:
    """An equality printed as an inequality or as a nearness."""
    for sign in chain.children[1::2]:
        if isinstance(sign, Token) and sign == "=":
            start, end = span(sign)
            for weaker in ("\\le ", "\\ge ", "\\approx "):
                yield Change(start, end, new=weaker, kind="weaken")


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


def named(
    part: Tree[Token], factor: Factor, kinds: Mapping[str, tuple[Any, ...]]
) -> tuple[str, int]:
    """The declared name that a factor is or starts with, and where it ends; else empty."""
    whole = full_name(factor.name, factor.sub, factor.sup)
    if whole in kinds:
        return whole, end_of(part)
    bare = factor.name in kinds and not factor.primes
    return (factor.name, end_of(factor.base)) if bare else ("", 0)


def braced(number: str) -> str:
    """A number of several digits must not fall apart after ``^`` or ``\\frac``."""
    return number if len(number) == 1 else f"{{{number}}}"


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
        yield from bound_changes(text, scripts)
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


def bound_changes(text: str, scripts: Sequence[Tree[Token]]) -> Iterator[Change]:
    """The upper bound of a sum one more and one less; digits below change as numbers do."""
    for script in scripts:
        if script.data == "sup":
            start, end = span(script.children[1])
            inner = text[start:end].strip()
            inner = inner[1:-1] if inner.startswith("{") else inner
            yield Change(start, end, new=f"{{{inner}+1}}", kind="bound off by one")
            yield Change(start, end, new=f"{{{inner}-1}}", kind="bound off by one")


def dropped_bars(text: str, bracket: Tree[Token]) -> Iterator[Change]:
    """Round brackets in place of ``|…|`` and of ``\\lVert … \\rVert``."""
    first = bracket.children[0]
    last = bracket.children[-1]
    if isinstance(first, Token) and isinstance(last, Token) and first.type in BARS:
        start, end = span(bracket)
        inner = text[first.end_pos : last.start_pos].removesuffix("\\right")
        yield Change(start, end, new=f"({inner})", kind=f"drop {BARS[first.type]}")


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

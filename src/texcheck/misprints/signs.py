"""Misprints of single signs: operators, digits, primes, exchanged names, relations and bounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from lark import Token, Tree

from texcheck.decimals import PRINTED, Decimal
from texcheck.misprints.change import Change, braced, printed_part, spaced, span
from texcheck.parser import tokens_of

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


def other_last_digits(text: str, chain: Tree[Token]) -> Iterator[Change]:
    """The last digit of a decimal one higher and one lower, where ``\\approx`` may round it.

    In a bound, whole numbers as well; ``- 1`` that becomes ``- 0`` is another misprint.
    """
    signs = chain.children[1::2]
    bound = any(printed_part(text, sign) in STRICTNESS for sign in signs)
    if not bound and not any(sign == "approx" for sign in signs):
        return
    for token in tokens_of(chain):
        start, end = span(token)
        printed = text[start:end]
        found = PRINTED.fullmatch(printed)
        alone = printed == "1" and text[:start].rstrip()[-1:] in ("+", "-")
        if bound and token.type == "NUMBER" and printed.isdigit() and int(printed) and not alone:
            yield Change(start, end, new=braced(str(int(printed) - 1)), kind="off by one")
        if token.type == "NUMBER" and found:
            decimal = Decimal(start, 0.0, 1.0, found[0])
            for new in (decimal.moved(1), decimal.moved(-1)):
                if new:
                    yield Change(start, end, new=new, kind="last digit")


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

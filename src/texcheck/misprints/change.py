"""One change of a printed formula, and where a part of the formula is printed."""

from __future__ import annotations

from typing import NamedTuple

from lark import Token, Tree

from texcheck.parser import end_of, position_of


class Change(NamedTuple):
    """What is to be printed in place of a part of a formula, and what kind of misprint that is."""

    start: int
    end: int
    new: str
    kind: str


def span(tree: Tree[Token] | Token) -> tuple[int, int]:
    """Where a part of the formula starts and ends."""
    return position_of(tree), end_of(tree)


def start_of(text: str, tree: Tree[Token] | Token) -> int:
    """Where a part starts, with the ``\\left`` of its first bracket."""
    start = position_of(tree)
    before = text[:start].rstrip()
    return len(before) - len("\\left") if before.endswith("\\left") else start


def printed_part(text: str, part: Tree[Token] | Token) -> str:
    """A part of the formula as it is printed."""
    start, end = span(part)
    return text[start:end].strip()


def spaced(word: str) -> str:
    """A command must not run into the letter that follows it."""
    return word + " " * word[-1].isalpha()


def braced(number: str) -> str:
    """A number of several digits must not fall apart after ``^`` or ``\\frac``."""
    return number if len(number) == 1 else f"{{{number}}}"

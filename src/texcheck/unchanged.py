r"""Whether a changed formula still says the same, side by side: then it is no misprint.

``2 N d = 4 N`` with N and d exchanged says something else on its right side; ``c = N d`` does not.
Nor does an equation where both sides have another sign, or are transposed.
"""

from __future__ import annotations

from dataclasses import dataclass

from lark import Tree

from texcheck.check import relations_of
from texcheck.errors import LatexError
from texcheck.misprints.change import start_of
from texcheck.parser import end_of, parse
from texcheck.remarks import remarks_of, without
from texcheck.trial import Trial

AS_IT_IS = "{}"
# What may be done to all sides of an equation.
TO_ALL_SIDES = ("-({})", "({})^\\top", "-({})^\\top")


@dataclass(frozen=True)
class Printed:
    """One statement as it is printed: its sides, and the signs between them."""

    sides: list[str]
    signs: list[str]


def says_the_same(trial: Trial, text: str, changed: str) -> bool:
    """Whether every side has the value, on every input, that it has in the other text."""
    before = statements_of(text)
    try:
        after = statements_of(changed)
    except LatexError:
        return False
    if [one.signs for one in before] != [one.signs for one in after]:
        return False
    if words_of(text) != words_of(changed):
        return False
    return all(same_statement(trial, old, new) for old, new in zip(before, after, strict=True))


def same_statement(trial: Trial, old: Printed, new: Printed) -> bool:
    """Whether the sides are the same, or those of an equation all changed alike."""
    equation = all(sign == "=" for sign in old.signs)
    ways = (AS_IT_IS, *TO_ALL_SIDES) if equation and old.signs else (AS_IT_IS,)
    return any(
        all(
            equal(trial, one, way.format(other))
            for one, other in zip(old.sides, new.sides, strict=True)
        )
        for way in ways
    )


def equal(trial: Trial, one: str, other: str) -> bool:
    """Whether two expressions have one value on every input."""
    if one == other:
        return True
    try:
        return all(
            relation.holds
            for table in trial.tables
            for relation in relations_of(f"{one} = {other}", table, trial.options)
        )
    except LatexError:
        return False


def words_of(text: str) -> list[str]:
    """The words of a display that are part of no statement."""
    return [remark.words for remark in remarks_of(text)]


def statements_of(text: str) -> list[Printed]:
    """The statements of a display, without the words that are part of none."""
    text = without(text)
    found = []
    for part in parse(text).children:
        if isinstance(part, Tree) and part.data == "chain":
            sides = [text[start_of(text, side) : end_of(side)] for side in part.children[::2]]
            signs = [str(sign) for sign in part.children[1::2]]
            found.append(Printed(sides, signs))
    return found

r"""Whether a changed formula still says the same, side by side: then it is no misprint.

``2 N d = 4 N`` with N and d exchanged says something else on its right side; ``c = N d`` does not.
"""

from __future__ import annotations

from lark import Tree

from texcheck.check import relations_of
from texcheck.errors import LatexError
from texcheck.misprints.change import printed_part
from texcheck.parser import parse
from texcheck.trial import Trial


def says_the_same(trial: Trial, text: str, changed: str) -> bool:
    """Whether every side has the value, on every input, that it has in the other text."""
    try:
        before = sides_of(text)
        after = sides_of(changed)
        if [len(one) for one in before] != [len(one) for one in after]:
            return False
        pairs = [
            pair
            for one, other in zip(before, after, strict=True)
            for pair in zip(one, other, strict=True)
        ]
        return all(
            relation.holds
            for old, new in pairs
            if old != new
            for table in trial.tables
            for relation in relations_of(f"{old} = {new}", table, trial.options)
        )
    except LatexError:
        return False


def sides_of(text: str) -> list[list[str]]:
    """The sides of each statement as they are printed."""
    return [
        [printed_part(text, side) for side in statement.children[::2]]
        for statement in parse(text).children
        if isinstance(statement, Tree) and statement.data == "chain"
    ]

r"""How a misprint is called: by its kind and by what is changed.

Its place would move with every space. If there are several of the same name, the nearest symbols
that tell them apart follow: ``flip sign: + → -, after a_1``, or ``before``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from texcheck.misprints.change import Change

# The pieces of a printed formula, and those that are only space or alignment.
PIECE = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\S", re.DOTALL)
SPACES = {"\\,", "\\;", "\\:", "\\!", "\\>", "\\ ", "\\quad", "\\qquad", "~", "&"}


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

"""The blocks of a MyST text: where each directive starts, and where its fence closes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

OPENING = re.compile(r"^(?P<marks>`{3,}|:{3,})\{(?P<kind>[\w:-]+)\}(?P<argument>.*)$")


class Block(NamedTuple):
    """A directive with its lines, or (kind "") the lines between two of them."""

    kind: str
    argument: str
    lines: list[str]


def blocks_of(text: str) -> Iterator[Block]:
    """The text in order, cut at its outermost directives."""
    lines = text.split("\n")
    plain: list[str] = []
    row = 0
    while row < len(lines):
        opening = OPENING.match(lines[row])
        row += 1
        if not opening:
            plain.append(lines[row - 1])
            continue
        if plain:
            yield Block("", "", plain)
            plain = []
        body = []
        while row < len(lines) and lines[row].strip() != opening["marks"]:
            body.append(lines[row])
            row += 1
        row += 1
        yield Block(opening["kind"], opening["argument"].strip(), body)
    if plain:
        yield Block("", "", plain)

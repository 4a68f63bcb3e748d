"""Bars without a direction: `|x|` and `\\|x\\|`, where only one reading is possible.

A bar opens or closes. Of all ways to read the bars of a stretch (what is between brackets, commas
and relations) exactly one must be possible: what is inside is not empty, no product lacks a factor,
and no pair stands directly inside a pair of its kind. One bar alone inside brackets is `\\mid`,
also a double one, as in `D(p \\| q)`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token

from texcheck.errors import LatexError
from texcheck.vocabulary import BARS, ENVIRONMENTS, OPENING

PAIRS = [
    ("LBRACE", "RBRACE"),
    ("LINTERVAL", "RINTERVAL"),
    *OPENING.values(),
    *ENVIRONMENTS.values(),
]
OPENERS = {opener for opener, _ in PAIRS} | {"LBAR", "LNORM"}
CLOSERS = {closer for _, closer in PAIRS} | {"RBAR", "RNORM"}
# Between these no pair of bars reaches.
ENDS = {
    *("COMMA", "REL", "SEP", "AMP", "ROWSEP", "NEWLINE", "MARK", "QUAD", "TEXT", "ARROW", "MID"),
    *("IMPLIES", "OTHERWISE"),
}
MOST_BARS = 12


def paired(tokens: list[Token], text: str) -> list[Token]:
    """The tokens with a direction for every bar."""
    if not any(token.type == "BAR" for token in tokens):
        return tokens
    kinds: dict[int, str] = {}
    for stretch, enclosed in stretches(tokens):
        kinds |= directions(tokens, stretch, enclosed, text)
    result = list(tokens)
    for place, kind in kinds.items():
        old = tokens[place]
        result[place] = Token(kind, old.value, start_pos=old.start_pos, end_pos=old.end_pos)
    return result


def stretches(tokens: list[Token]) -> Iterator[tuple[list[int], bool]]:
    """The places of the tokens between brackets, commas and relations.

    A bracket with what is in it is one token of the stretch around it, its opening one; the second
    value says whether the stretch is inside of a bracket.
    """
    open_ones: list[list[int]] = [[]]
    for place, token in enumerate(tokens):
        if token.type in OPENERS:
            open_ones[-1].append(place)
            open_ones.append([])
        elif token.type in CLOSERS:
            yield open_ones.pop(), True
        elif token.type in ENDS:
            yield open_ones[-1], len(open_ones) > 1
            open_ones[-1] = []
        else:
            open_ones[-1].append(place)
    yield open_ones[-1], False


def directions(
    tokens: list[Token], stretch: list[int], enclosed: bool, text: str
) -> dict[int, str]:
    """What each bar of a stretch is, by its place."""
    bars = [place for place in stretch if tokens[place].type == "BAR"]
    if not bars:
        return {}
    first = tokens[bars[0]]
    if len(bars) == 1 and enclosed:
        return {bars[0]: "MID"}
    found: list[dict[int, str]] = []
    if len(bars) <= MOST_BARS:
        found = list(Readings(tokens, stretch).read_on(0, (), (), operand=False))
    if len(found) == 1:
        return found[0]
    doubled = any(after - before == 1 for before, after in itertools.pairwise(bars))
    norm = BARS[first.value][0] == "LNORM" or (doubled and not found)
    opener = "\\lVert … \\rVert" if norm else "\\lvert … \\rvert"
    message = f"which {first.value} belong together? write {opener}"
    raise LatexError(message, first.start_pos or 0, text)


@dataclass
class Readings:
    """All ways to give the bars of one stretch a direction."""

    tokens: list[Token]
    stretch: list[int]

    def at(self, step: int) -> Token:
        """The token of a step."""
        return self.tokens[self.stretch[step]]

    def is_script(self, step: int) -> bool:
        """Whether a step is what a sub- or superscript consists of."""
        return step > 0 and self.at(step - 1).type in ("SUB", "SUP")

    def read_on(
        self,
        step: int,
        opened: tuple[int, ...],
        pairs: tuple[tuple[int, int], ...],
        operand: bool,
    ) -> Iterator[dict[int, str]]:
        """All ways from a step on; ``operand``: whether something with a value stands before."""
        if step == len(self.stretch):
            if not opened and operand:
                yield {}
            return
        token = self.at(step)
        script = self.is_script(step)
        if token.type != "BAR":
            if token.type in ("MULOP", "SLASH", "SUB", "SUP") and not (operand or script):
                return
            after = script or token.type not in ("ADDOP", "MULOP", "SLASH", "SUB", "SUP")
            yield from self.read_on(step + 1, opened, pairs, operand=after)
            return
        if script:
            return
        opener, closer = BARS[token.value]
        place = self.stretch[step]
        for rest in self.read_on(step + 1, (*opened, step), pairs, operand=False):
            yield {place: opener, **rest}
        if operand and opened and self.closes(opened[-1], step, pairs):
            pair = (opened[-1], step)
            for rest in self.read_on(step + 1, opened[:-1], (*pairs, pair), operand=True):
                yield {place: closer, **rest}

    def closes(self, start: int, step: int, pairs: tuple[tuple[int, int], ...]) -> bool:
        """Whether a bar can close the last open one: of its kind, with more inside than a pair."""
        kind = BARS[self.at(step).value]
        doubled = (start + 1, step - 1) in pairs and BARS[self.at(start + 1).value] == kind
        return BARS[self.at(start).value] == kind and not doubled

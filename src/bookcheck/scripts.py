"""The texts in a script of the site, each with its line: what pages with scripts say.

A reader sees what a script tags with `phrase`, which the Chinese site replaces, and other texts:
units, names of models, a formula with its numbers (`n − m = ${n - m}`). So each tagged text counts,
and each other one that is more than a name in lower case: scripts are full of such names, which are
keys. (Of the scripts of interactive figures, `bookcheck.numbers` lists every line.)

What a text is beside says as much as its words: the key that chooses it, the condition, the number
in `[3600, "h"]`. So a text comes with the lines of its statement, with the line that opens the
block, the list or the object in which it stands, and with the other items of this list or object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pygments.lexers import JavascriptLexer
from pygments.token import Comment, String

# A text of this form may be a name for the program: a key, a selector, an attribute.
NAME = re.compile(r"[a-z_\d.#:/%\[\]=-]*|currentColor")
# What stands between texts, and the path of a drawing.
NO_WORDS = re.compile(r"[\s,;:/|._()-]*|M(?:\$\{.*?\}|[MLHVhvlZ\d\s.-])+")
STRICT = "use strict"
INTERPOLATION = "${"
TAG = "phrase"
OPENING = frozenset("([{")
CLOSING = frozenset(")]}")
# At the end of a line, and at the beginning of the next one, these say that it goes on.
CONTINUED = frozenset({"=", "=>", "?", ":", "&&", "||", "??", "+", "return"})
CONTINUING = frozenset({"?", ":", ".", "?.", "&&", "||", "??", "+", "-", "=", "=>"})


class Part(NamedTuple):
    """A token of a script, or a whole text of it; without comments, spaces and breaks of lines."""

    is_text: bool
    content: str  # of a text, without its quotes
    start: int
    end: int


class Statement(NamedTuple):
    """A run of tokens that belong together, and the one that opens what it stands in."""

    first: int
    last: int
    opener: int  # the number of another statement; -1: none


def lines_with_phrases(code: str) -> Iterator[str]:
    """The lines of a script that have a text for a reader, or open what has one, in their order."""
    parts = [*parts_of(code)]
    statements = [*statements_of(code, parts)]
    listed: set[int] = set()
    for number, statement in enumerate(statements):
        inside = range(statement.first, statement.last + 1)
        if any(for_reader(parts, index) for index in inside):
            listed |= {number, statement.opener}
    # Of an object, what stands beside a text says what the text is for: its key, its value.
    objects = {
        one.opener
        for number, one in enumerate(statements)
        if number in listed and parts[one.last].content == ","
    }
    listed |= {number for number, one in enumerate(statements) if one.opener in objects}
    for number in sorted(listed - {-1}):
        statement = statements[number]
        yield from lines_of(code, parts[statement.first : statement.last + 1])


def lines_of(code: str, parts: Sequence[Part]) -> Iterator[str]:
    """The lines of a part of a script, without comments."""
    text = ""
    for before, part in zip([parts[0], *parts], parts, strict=False):
        between = code[before.end : part.start]
        text += "\n" if "\n" in between else " " if between else ""
        text += code[part.start : part.end]
    for line in text.splitlines():
        if re.search(r"\w|[\"'`]", line):
            yield line.strip()


def statements_of(code: str, parts: Sequence[Part]) -> Iterator[Statement]:
    """Where a script's statements and the items of its lists and objects begin and end.

    One ends with its line, unless a bracket of a call is open or the next line continues it.
    """
    opened: list[tuple[str, int]] = []  # brackets, each with the number of its statement
    first = 0
    number = 0
    opener = -1
    for index, part in enumerate(parts):
        content = "" if part.is_text else part.content
        if content in OPENING:
            opened.append((content, number))
        elif content in CLOSING and opened:
            opened.pop()
        following = parts[index + 1] if index + 1 < len(parts) else None
        if following is not None:
            breaks = "\n" in code[part.end : following.start]
            continued = content in CONTINUED or (
                not following.is_text and following.content in CONTINUING
            )
            inside = bool(opened) and opened[-1][0] == "("
            if not breaks or inside or continued:
                continue
        yield Statement(first, index, opener)
        first = index + 1
        number += 1
        closes = following is not None and not following.is_text and following.content in CLOSING
        around = opened[:-1] if closes else opened
        opener = around[-1][1] if around else -1


def for_reader(parts: Sequence[Part], index: int) -> bool:
    """Whether a part of a script is a text that a reader may see: tagged, or more than a name."""
    part = parts[index]
    if not part.is_text or part.content == STRICT or NO_WORDS.fullmatch(part.content):
        return False
    return (index > 0 and parts[index - 1].content == TAG) or not NAME.fullmatch(part.content)


def parts_of(code: str) -> Iterator[Part]:
    """The tokens of a script without its comments, each template as one text."""
    template = 0  # where it begins
    open_parts: list[str] = []  # ` of the template and of those in it, ${ of what they compute
    for start, kind, token in JavascriptLexer().get_tokens_unprocessed(code):
        end = start + len(token)
        if token == "`" and kind in String.Backtick:
            if open_parts and open_parts[-1] == "`":
                open_parts.pop()
            else:
                template = start if not open_parts else template
                open_parts.append("`")
            if not open_parts:
                yield Part(True, code[template + 1 : start], template, end)
        elif open_parts:
            if kind in String.Interpol and token == INTERPOLATION:
                open_parts.append(token)
            elif kind in String.Interpol and open_parts[-1] == INTERPOLATION:
                open_parts.pop()
        elif kind in String.Regex:
            yield Part(False, token, start, end)
        elif kind in String:
            yield Part(True, token[1:-1], start, end)
        elif kind not in Comment and not token.isspace():
            yield Part(False, token, start, end)

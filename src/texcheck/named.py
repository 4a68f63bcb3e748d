r"""A side of a printed formula bound to a value: what it is, which the words beside it may say.

``(a + b) c = a c + b c`` holds whatever it is about. ``names={1: "S"}`` reads it as
``S = (a + b) c = a c + b c``, where S is what a program computes. A statement that begins with the
name already stays as it is; another text in its place would not begin so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lark import Token, Tree

from texcheck.errors import LatexError
from texcheck.misprints.change import start_of
from texcheck.parser import end_of, parse

# What does not count where two names are compared.
SPACE = re.compile(r"[\s{}]")


def with_names(text: str, names: Mapping[int, str]) -> str:
    """A display with ``name =`` before the statements that have one, by their number."""
    if not names:
        return text
    statements = chains_in(text)
    for number in sorted(names, reverse=True):
        if number > len(statements):
            raise LatexError(f"there is no statement {number} to be {names[number]}", 0, text)
        statement = statements[number - 1]
        start = start_of(text, statement)
        first = text[start : end_of(statement.children[0])]
        if SPACE.sub("", first) == SPACE.sub("", names[number]):
            continue
        text = f"{text[:start]}{names[number]} = {text[start:]}"
    return text


def chains_in(text: str) -> list[Tree[Token]]:
    """The statements of a display as they are printed; they are counted from 1."""
    return [
        part for part in parse(text).children if isinstance(part, Tree) and part.data == "chain"
    ]

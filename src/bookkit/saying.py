"""What checks say, in the language of the reader's notebooks or of the page.

Checks put their sentences together in English. `said` looks a finished sentence up in the table of
a language, such as `zh_CN.json`, where `{}` stands for a number, a name or a sentence, which is
looked up in the same way; `{1}` is the second of them. What the table lacks stays in English.
"""

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

# `make lab LANGUAGE=zh_CN` names the language of the notebooks, and a translated page its own.
VARIABLE = "BOOK_LANGUAGE"
HOLE = re.compile(r"\{(\d*)\}")


class Table(NamedTuple):
    """The sentences of a language: whole ones, and those with places for others."""

    whole: dict[str, str]
    patterns: list[tuple[re.Pattern[str], str]]


@cache
def table_of(language: str) -> Table | None:
    """The sentences of a language, those that say most first; None if there are none."""
    file = Path(__file__).parent / f"{language}.json"
    if not re.fullmatch(r"\w+", language) or not file.is_file():
        return None
    sentences = json.loads(file.read_text(encoding="utf-8"))
    whole = {english: other for english, other in sentences.items() if "{}" not in english}
    patterns = [
        ("(.+?)".join(map(re.escape, english.split("{}"))), other)
        for english, other in sentences.items()
        if "{}" in english
    ]
    patterns.sort(key=lambda pair: (len(re.findall(r"[A-Za-z]", pair[0])), len(pair[0])))
    return Table(whole, [(re.compile(p, re.DOTALL), other) for p, other in reversed(patterns)])


def said(sentence: str) -> str:
    """A sentence of a check in the language of the reader."""
    table = table_of(os.environ.get(VARIABLE, ""))
    return sentence if table is None else translated(sentence, table)


def translated(sentence: str, table: Table) -> str:
    """A sentence by this table; as it is, if the table does not have it."""
    if sentence in table.whole:
        return table.whole[sentence]
    for pattern, other in table.patterns:
        if found := pattern.fullmatch(sentence):
            return filled(other, [translated(part, table) for part in found.groups()])
    return sentence


def filled(other: str, parts: list[str]) -> str:
    """A translation with its parts in their places."""
    places = iter(parts)
    return HOLE.sub(lambda hole: parts[int(hole[1])] if hole[1] else next(places), other)

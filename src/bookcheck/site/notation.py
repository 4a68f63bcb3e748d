"""Whether the notation page tells the truth: it names the chapters that use a letter, and all."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bookcheck.equations.scan import collect, formulas_in, markdown_cells
from bookcheck.paths import CHAPTERS, book_pages
from bookcheck.site.symbols import chapters_in, symbols_in

ROW = re.compile(r"^\| (?P<symbols>\$.*?\$) \|.*\| (?P<chapters>all|[\d–, ]+) \|$", re.MULTILINE)
OTHER_ROW = re.compile(
    r"^\| \$(?P<symbol>[^$|]+)\$ \| (?P<meanings>[^|]+\([\d–, ]+\)) \|$", re.MULTILINE
)
MEANING = re.compile(r"(?P<words>.+?) \((?P<chapters>\d[\d–, ]*)\)(?:; |$)")
NUMBER = re.compile(r"(\d\d)-")
# θ_i is the letter θ with any index.
RUNNING_INDEX = re.compile(r"_[imn]$")
# Words inside a formula, and names in capitals such as the DKV of W^{DKV}, are no letters.
WORDS = re.compile(r"\\(?:text|operatorname\*?|mathrm|mathbb|begin|end)\{[^{}]*\}|\^\{[A-Z]{2,}\}")
LETTER = re.compile(r"\\[A-Za-z]+|[A-Za-z]")


class Meaning(NamedTuple):
    """One meaning of a symbol on the page; `chapters` None: in all that use it."""

    symbol: str
    chapters: frozenset[int] | None


def formulas_by_chapter(folder: Path = CHAPTERS) -> dict[int, list[str]]:
    """All formulas of each chapter and of its deeper page, displayed and in sentences."""
    found: dict[int, list[str]] = {}
    for path in book_pages(folder):
        if number := NUMBER.match(path.name):
            texts = [text for _, source in markdown_cells(path) for text in formulas_in(source)]
            found.setdefault(int(number[1]), []).extend(texts)
    for equation in collect(folder):
        if number := NUMBER.match(Path(equation.chapter).name):
            found.setdefault(int(number[1]), []).append(equation.text)
    return found


def meanings_on(page: str) -> list[Meaning]:
    """What the page says of each symbol: rows of its first table, meanings of its second."""
    first = [
        Meaning(RUNNING_INDEX.sub("", symbol), chapters_in(row["chapters"]))
        for row in ROW.finditer(page)
        for symbol in symbols_in(row["symbols"].strip("$"))
    ]
    second = [
        Meaning(row["symbol"], chapters_in(meaning["chapters"]))
        for row in OTHER_ROW.finditer(page)
        for meaning in MEANING.finditer(row["meanings"])
    ]
    return first + second


def symbols_used(formulas: Iterable[str], listed: Iterable[str]) -> set[str]:
    """The letters of some formulas; a listed symbol of several signs, such as d_k, is one."""
    longer = sorted((s for s in listed if not LETTER.fullmatch(s)), key=len, reverse=True)
    found: set[str] = set()
    for formula in formulas:
        left = WORDS.sub(" ", formula)
        for symbol in longer:
            if symbol in left:
                found.add(symbol)
                left = left.replace(symbol, " ")
        found |= set(LETTER.findall(left))
    return found


def notation_problems(page: str, formulas: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """Chapters that are named and do not use a symbol, and users that no meaning names."""
    meanings = meanings_on(page)
    listed = {meaning.symbol for meaning in meanings}
    used = {number: symbols_used(texts, listed) for number, texts in formulas.items()}
    for symbol in sorted(listed):
        users = {number for number, found in used.items() if symbol in found}
        own = [meaning.chapters for meaning in meanings if meaning.symbol == symbol]
        named = {number for chapters in own for number in chapters or users}
        if not users:
            yield f"{symbol}: no chapter uses it"
        yield from (f"{symbol}: chapter {n} does not use it" for n in sorted(named - users))
        yield from (f"{symbol}: what is it in chapter {n}?" for n in sorted(users - named))

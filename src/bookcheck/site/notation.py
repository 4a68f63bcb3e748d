"""Whether the notation page tells the truth: the chapters that it names use the symbol."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bookcheck.equations.scan import collect, formulas_in, markdown_cells
from bookcheck.paths import CHAPTERS, book_pages
from bookcheck.site.symbols import chapters_in, symbols_in

ROW = re.compile(r"^\| (?P<symbols>\$.*?\$) \|.*\| (?P<chapters>all|[\d–, ]+) \|$", re.MULTILINE)
NUMBER = re.compile(r"(\d\d)-")
# θ_i is the letter θ with any index.
RUNNING_INDEX = re.compile(r"_[imn]$")


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


def uses(symbol: str, formulas: Sequence[str]) -> bool:
    """Whether a symbol occurs in one of the formulas, with any index."""
    letter = RUNNING_INDEX.sub("", symbol)
    before = "" if letter.startswith("\\") else r"(?<![A-Za-z\\])"
    pattern = re.compile(rf"{before}{re.escape(letter)}(?![A-Za-z])")
    return any(pattern.search(formula) for formula in formulas)


def notation_problems(table: str, formulas: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """Symbols that a chapter of their row does not use, or that no chapter uses."""
    for row in ROW.finditer(table):
        chapters = chapters_in(row["chapters"])
        for symbol in symbols_in(row["symbols"].strip("$")):
            users = {number for number, texts in formulas.items() if uses(symbol, texts)}
            if not users:
                yield f"{symbol}: no chapter uses it"
            for number in sorted((chapters or users) - users):
                yield f"{symbol}: chapter {number} does not use it"

r"""Numbers and formulas that somebody typed into a sentence, each tied to the words around it.

A {value} is computed, a displayed formula executed. Every other number of the prose (digits,
"twelve", "a quarter") and every formula inside a sentence is a text, and the page's code cannot
refute a text. So ``tests/read/`` holds a file for each page, as a person has read it: one line for
each sentence with numbers or formulas, and of it those with three words on either side::

    With 128 keys at $d_k = 64$ … grows by three for

The lines stand in the order of the page and are compared as they are: a number changed, exchanged
with another, added or moved to another sentence is red until somebody has read the sentence again.

    python -m bookcheck.prose.typed                    what nobody has read
    python -m bookcheck.prose.typed --read 01-attention    I have read it (without a name: all)
"""

import argparse
import difflib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bookcheck.paths import READ, ROOT, book_pages
from bookcheck.prose.cells import Cell, alt_texts, cells_of

AROUND = 3
# A fence from its first line to its last; between the lines of a directive are sentences.
FENCE = re.compile(
    r"^(?P<marks>`{3,}|~{3,})(?P<directive>\{(?!code|math|raw|bib)[\w:-]+\})?(?P<lines>[^\n]*\n.*?)"
    r"^(?P=marks)\s*$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = "python -m bookcheck.prose.typed --read"
# What is no sentence: comments, code, displays, options, targets of links, names of places.
NOT_READ = (
    re.compile(r"^% .*$", re.MULTILINE),
    re.compile(r"\$\$.*?\$\$(?: *\([^()\s]+\))?", re.DOTALL),
    re.compile(r"^:{3,}(?:\{(?:grid|solution-\w+)\}.*|\{[\w:-]+\})?", re.MULTILINE),
    re.compile(r"^:(?!needs|alt)[\w-]+:.*$", re.MULTILINE),
    re.compile(r"^\([\w-]+\)=\s*$", re.MULTILINE),
    re.compile(r"\{[#.%][^}\n]*\}|<https?://[^>]*>|<[^<>\n]*>"),
    re.compile(r"(?<=\])\([^()]*(?:\([^()]*\)[^()]*)*\)"),
    # Markdown counts its lists itself.
    re.compile(r"^ *\d+[.)] ", re.MULTILINE),
)
# A role says something computed, or leads to a place.
ROLE = re.compile(r"(\{[\w:-]+\})`[^`]*`")
BLOCK_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*>|]|- \[.\]) )|\n(?=#)")
# Formulas and code are one word each, whatever spaces they hold.
WORD = re.compile(r"(?:\$[^$]+\$|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)|[^\s$`])+", re.DOTALL)
SENTENCE_END = re.compile(r"[.?!][*_)\]”\"']*$")
FORMULA = re.compile(r"\$[^$]+\$")
NUMBER_WORD = (
    "zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    "sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|"
    "hundreds?|thousands?|millions?|billions?|half|halves|halved?|quarters?|once|twice|doubles?|"
    "doubled|triples?|tripled|thrice|second|(?:third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|"
    "twelfth|sixteenth|hundredth|thousandth)s?"
)
NUMBER = re.compile(rf"\d|(?<![a-z])(?:{NUMBER_WORD})(?![a-z])", re.IGNORECASE)


class Counts(NamedTuple):
    """What the prose prints: words with a typed number, formulas, and computed values."""

    numbers: int
    formulas: int
    values: int


def sentences(text: str) -> Iterator[list[str]]:
    """The words of each sentence of a Markdown text."""
    text = FENCE.sub(lambda fence: fence["lines"] if fence["directive"] else "", text)
    for pattern in NOT_READ:
        text = pattern.sub("", text)
    for block in BLOCK_END.split(ROLE.sub(r"\1", text)):
        words: list[str] = []
        for found in WORD.finditer(block):
            word = " ".join(found.group().split())
            words += [] if word == "|" else [word]
            if SENTENCE_END.search(word):
                yield words
                words = []
        yield words


def is_typed(word: str) -> bool:
    """Whether a word is, or holds, a number or a formula."""
    return FORMULA.search(word) is not None or NUMBER.search(word) is not None


def line_of(words: Sequence[str]) -> str:
    """The numbers and formulas of a sentence with the words around them; "" where it has none."""
    typed = [place for place, word in enumerate(words) if is_typed(word)]
    kept = sorted(
        {
            near
            for place in typed
            for near in range(max(place - AROUND, 0), min(place + AROUND + 1, len(words)))
        }
    )
    pieces = [f"{'… ' if place and place - 1 not in kept else ''}{words[place]}" for place in kept]
    return " ".join(pieces)


def texts_of(cell: Cell) -> list[str]:
    """What a reader reads of a cell: its Markdown, or its caption and alt texts."""
    return [cell.source] if cell.kind == "markdown" else [cell.caption, *alt_texts(cell.source)]


def typed_on(cells: Sequence[Cell]) -> list[str]:
    """The lines of a page, in order."""
    texts = (text for cell in cells for text in texts_of(cell))
    lines = (line_of(words) for text in texts for words in sentences(text))
    return [line for line in lines if line]


def counts_on(cells: Sequence[Cell]) -> Counts:
    """How many of each the sentences of a page hold."""
    texts = [text for cell in cells for text in texts_of(cell)]
    words = [word for text in texts for sentence in sentences(text) for word in sentence]
    bare = [FORMULA.sub("", word) for word in words]
    return Counts(
        sum(NUMBER.search(word) is not None for word in bare),
        sum(len(FORMULA.findall(word)) for word in words),
        sum(word.count("{value}") for word in words),
    )


def counts_of_book(root: Path = ROOT) -> Counts:
    """How many of each all pages of a book hold."""
    counts = [counts_on(cells_of(page)) for page in pages(root).values()]
    return Counts(*map(sum, zip(*counts, strict=True)))


def pages(root: Path = ROOT) -> dict[str, Path]:
    """All pages with prose, by name, the opening page last."""
    folder = root / "chapters"
    found = {
        page.relative_to(folder).with_suffix("").as_posix(): page for page in book_pages(folder)
    }
    return {**found, "index": root / "index.md"}


def read_lines(page: str, folder: Path = READ) -> list[str]:
    """The lines of a page that a person has read."""
    path = folder / f"{page}.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def unread(page: str, typed: Sequence[str], read: Sequence[str]) -> list[str]:
    """What of a page differs from what was read; empty where nothing does."""
    if list(typed) == list(read):
        return []
    found = [line for line in difflib.ndiff(read, typed) if line[0] in "+-"]
    return [
        f"{page}: nobody has read “{line[2:]}”"
        if line[0] == "+"
        else f"{page}: read, and gone or elsewhere now: “{line[2:]}”"
        for line in found
    ]


def note_as_read(page: str, typed: Sequence[str], folder: Path = READ) -> None:
    """Write the lines of a page as read; a page without any has no file."""
    path = folder / f"{page}.txt"
    if not typed:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in typed), encoding="utf-8")


def main(
    arguments: Sequence[str] | None = None,
    known: Mapping[str, Path] | None = None,
    folder: Path = READ,
) -> int:
    """Name what nobody has read, or note it as read."""
    known = pages() if known is None else known
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="*", help="pages, such as 01-attention; without one: all")
    parser.add_argument("--read", action="store_true", help="I have read them: write the files")
    options = parser.parse_args(arguments)
    strange = [page for page in options.pages if page not in known]
    if strange:
        parser.error(f"no page {', '.join(strange)}; the pages are {', '.join(known)}")
    found = []
    for page in options.pages or known:
        typed = typed_on(cells_of(known[page]))
        found += unread(page, typed, read_lines(page, folder))
        if options.read:
            note_as_read(page, typed, folder)
    print("\n".join(found) or "every typed number and formula stands as it was read")
    if options.read:
        return 0
    if found:
        print(f"Read these sentences, then: {COMMAND} PAGE")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

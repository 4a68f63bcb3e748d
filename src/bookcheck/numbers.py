"""What nothing computes in prose: each number and formula is listed with its neighbours.

A number of a sentence is best a {value}, which the tests compute with its unit, and a relation is
executed where it can be. What else has digits, is a number word (two, half, twice, a million), and
the word behind a {value}, is in the list `tests/bookcheck/numbers.tsv`, as every formula is: each
time that the page has it, in the order of the page, with the word before it, the word after it, and
what it is: `constant` (the rule of `bookcheck.digits` asks that code, a value or a formula beside
it has the same number), `name` (of a model, a type, a version, a year, a part of a book), `word`
(nothing computes it), `unit` (the word after what is computed), `relation` (`bookcheck.equations`
executes it, or `unexecuted.tsv` says why not), `formula` (a letter or an expression) or `code` (in
a sentence or between paragraphs; comments and docstrings of cells). A misprint makes another
phrase, and two that change places make another order. So a change is noticed, and that what is
listed is right, no program has confirmed. *One*, *first* and *both* are no numbers here; they are
seen where another number becomes one of them.

python -m bookcheck.numbers              what differs between the pages and the list
python -m bookcheck.numbers attention    of one page
python -m bookcheck.numbers --list attention    write what the page says now into the list
"""

from __future__ import annotations

import argparse
import difflib
import functools
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from markdown_it.token import Token

from bookcheck.digits import CHAPTER_LINK, NUMBER_AS_FORMULA, STRUCTURAL, alt_texts
from bookformat.contents import book_pages, page_name
from bookformat.formulas import is_relation
from bookformat.myst import LITERAL, directive_of, tokens_of
from bookformat.notebooks import cells_of
from bookformat.paths import NUMBERS, ROOT, rows_of
from bookformat.values import SCALES

COMMAND = "python -m bookcheck.numbers --list"
KINDS = ("constant", "name", "word", "unit", "relation", "formula", "code")

WORDS = """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
    hundreds thousand thousands million millions billion billions trillion trillions dozen dozens
    half halves third thirds quarter quarters fifth fifths sixth sixths eighth eighths tenth tenths
    hundredth hundredths thousandth thousandths twice thrice double doubles doubled doubling triple
    second fourth seventh ninth twelfth
"""
# What stands for a value, and for a reference or code without digits, in a text.
VALUE = "{value}"
OTHER = "<>"
SPACE = "␣"  # inside a formula or code, which is one word
# No unit follows a value in these.
NO_UNIT = """
    a about above after against all among an and are as at be before below beside between but by
    can each every for from had has have here if in instead into is it its like more less no not of
    on one or other over same so than that the their them then there these they this those through
    to too under until up was were when where which while who will with without would
"""
COUNTED = """
    bit bits byte bytes token tokens nat nats step steps layer layers head heads position
    positions pair pairs key keys query queries dimension dimensions parameter parameters number
    numbers row rows column columns entry entries operation operations turn turns degree second
    seconds minute minutes hour hours day days time percent
"""
NUMBER_WORDS = frozenset(WORDS.split())
NO_UNITS = frozenset(NO_UNIT.split())
UNITS = frozenset(SCALES) | frozenset(COUNTED.split())
EDGE = ".,;:!?()[]\"'“”‘’…*_|"
MARK_OF_ANSWER = re.compile(r"^\[[ x=]\]")
COMMENT = re.compile(r'(?<!["\'#])#(?!["\']).*|"""[^"]*"""')
# `renumber` writes these into links.
CHAPTER_NUMBER = re.compile(r"^\d+|(?<=[Cc]hapter )\d+")


class Quantity(NamedTuple):
    """A number with its neighbours, what it is, and its place."""

    phrase: str
    kind: str
    place: str = ""


def quantities_of(text: str, place: str = "") -> Iterator[Quantity]:
    """The numbers of a paragraph or of a row of a table."""
    text = MARK_OF_ANSWER.sub("", text)
    bare = STRUCTURAL.sub(lambda found: " " * len(found.group()), text)
    atoms = [
        (found.group().strip(EDGE), bare[found.start() : found.end()])
        for found in re.finditer(r"\S+", text)
        if found.group().strip(EDGE)
    ]
    words = [word for word, _ in atoms]
    index = 0
    while index < len(words):
        end = index
        while end < len(words) and is_number(words[end]):
            end += 1
        if end > index:
            run = [word.lower() if word.isalpha() else word for word in words[index:end]]
            phrase = [*words[max(index - 1, 0) : index], *run, *words[end : end + 1]]
            kind = kind_of(run, [bare for _, bare in atoms[index:end]])
            yield Quantity(" ".join(phrase).replace(SPACE, " "), kind, place)
            index = end
            continue
        following = words[index + 1] if index + 1 < len(words) else ""
        if words[index] == VALUE and is_noun(following):
            yield Quantity(f"{VALUE} {following}", "unit", place)
        index += 1


def kind_of(run: Sequence[str], bare: Sequence[str]) -> str:
    """What the numbers in a row are; ``bare``: what the names of models and the like leave."""
    formulas = [word for word in run if word.startswith("$")]
    if any(map(is_relation, formulas)):
        return "relation"
    if formulas:
        return "formula"
    if any(word.startswith("`") for word in run):
        return "code"
    if has_digits(bare):
        return "constant"
    return "name" if has_digits(run) else "word"


def has_digits(words: Iterable[str]) -> bool:
    """Whether one of the words has a digit."""
    return any(character.isdigit() for word in words for character in word)


def is_number(word: str) -> bool:
    """Whether a word has digits, is a number word (also in two-dimensional) or a formula."""
    if has_digits([word]) or word.startswith("$"):
        return True
    return any(part.lower() in NUMBER_WORDS for part in re.split(r"[-–/]", word))


def is_noun(word: str) -> bool:
    """Whether a word behind a value may say what it counts."""
    return word in SCALES or (word.isalpha() and word not in NO_UNITS and not is_number(word))


def texts_of(markdown: str) -> Iterator[str]:
    """The paragraphs, titles and rows of tables of a text, with signs for what is no word."""
    row: list[str] | None = None
    for token in tokens_of(markdown):
        directive = directive_of(token)
        if directive is not None:
            if directive["kind"] not in LITERAL:
                yield from texts_of(directive["argument"].strip())
                yield from texts_of(token.content)
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            yield " ".join(row)
            row = None
        elif token.type == "inline":
            text = "".join(words_of(token.children or []))
            if row is None:
                yield text
            else:
                row.append(text)


def words_of(children: Sequence[Token]) -> Iterator[str]:
    """The words of a paragraph, without the numbers of chapters, which `_toc.yml` gives."""
    chapter = False
    for child in children:
        name = child.meta.get("name", "")
        if child.type == "link_open":
            chapter = CHAPTER_LINK.match(str(child.attrGet("href"))) is not None
        elif child.type in ("text", "image"):
            yield CHAPTER_NUMBER.sub("", child.content) if chapter else child.content
            chapter = False
        elif child.type == "math_inline":
            number = NUMBER_AS_FORMULA.fullmatch(child.content)
            whole = SPACE.join(child.content.split())
            yield child.content if number else f" ${whole}$ "
        elif name == "value":
            yield f" {VALUE} "
        elif name == "term":
            yield child.content.partition(" <")[0]
        elif child.type == "code_inline" and has_digits([child.content]):
            yield f" `{child.content.replace(' ', SPACE)}` "
        elif child.type in ("code_inline", "myst_role"):
            yield f" {OTHER} "
        elif child.type not in (
            *("em_open", "em_close", "strong_open", "strong_close"),
            *("link_close", "span_open", "span_close"),
        ):
            yield " "


def quantities_of_page(path: Path) -> list[Quantity]:
    """The numbers of a page that no value computes, in their order."""
    found = []
    for cell in cells_of(path):
        code = cell.kind == "code"
        texts = [*texts_of(cell.caption if code else cell.source)]
        texts += alt_texts(cell.source) if code else []
        found += [one for text in texts for one in quantities_of(text, cell.place)]
        for text in remarks_of(cell.source) if code else listings_of(cell.source):
            found += [one._replace(kind="code") for one in quantities_of(text, cell.place)]
    return found


def listings_of(markdown: str) -> Iterator[str]:
    """The lines of the code in a text, which is shown and is no cell."""
    for token in tokens_of(markdown):
        directive = directive_of(token)
        kind = directive["kind"] if directive else token.type
        if kind in ("fence", "code_block", "code", "code-block"):
            yield from token.content.splitlines()
        elif directive and kind not in LITERAL:
            yield from listings_of(token.content)


def remarks_of(code: str) -> Iterator[str]:
    """The comments and the docstrings of a code cell; shapes such as (B, N, d) stay as they are."""
    for found in COMMENT.finditer(code):
        yield found.group().strip('#"\n ')


def pages() -> dict[str, Path]:
    """The pages whose numbers are listed, by name: those of the book, and two beside it."""
    found = {page_name(path): path for path in book_pages()}
    return {"index": ROOT / "index.md", "README": ROOT / "README.md", **found}


# The phrases of each page with their kinds, in the order of the page.
Table = dict[str, list[tuple[str, str]]]


@functools.cache
def listed() -> Table:
    """What the list has of each page."""
    return listed_in(NUMBERS)


def listed_in(file: Path) -> Table:
    """What a file lists of each page."""
    found: Table = {}
    for page, phrase, kind in rows_of(file):
        found.setdefault(page, []).append((phrase, kind))
    return found


def changes(
    page: str, found: Sequence[Quantity], known: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """What a page says and the list does not, and the reverse; each with what to do."""
    for sign, phrase, place in differences(found, [phrase for phrase, _ in known]):
        where = ", ".join(filter(None, (page, place)))
        if sign == "+":
            yield (
                f"{where}: “{phrase}” is not listed at this place: correct it, compute it with "
                f"{{value}}`printed = expression`, or, if it is right, {COMMAND} {page}"
            )
        else:
            yield (
                f"{where}: “{phrase}” is no longer said here: correct it, or, if that is meant, "
                f"{COMMAND} {page}"
            )


def differences(found: Sequence[Quantity], known: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """What is new (+) and what is gone (-), each with its place; of what is gone, what follows."""
    printed = [one.phrase for one in found]
    matcher = difflib.SequenceMatcher(None, known, printed, autojunk=False)
    for _, first, end, start, stop in matcher.get_opcodes() if known != printed else ():
        gone, new = known[first:end], found[start:stop]
        if gone == printed[start:stop]:
            continue
        beside = found[min(start, len(found) - 1)].place if found else ""
        yield from (("-", phrase, beside) for phrase in gone)
        yield from (("+", one.phrase, one.place) for one in new)


def write_list(table: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Store the list: pages in the book's order, phrases in the page's."""
    order = [*pages(), *table]
    lines = [
        f"{page}\t{phrase}\t{kind}\n"
        for page in sorted(table, key=order.index)
        for phrase, kind in table[page]
    ]
    NUMBERS.write_text("".join(lines), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the numbers in sentences with the list of those that somebody has read."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="*", help="names of pages, such as attention")
    parser.add_argument("--list", action="store_true", help="write what the pages say now")
    options = parser.parse_args(arguments)
    files = pages()
    if unknown := [page for page in options.pages if page not in files]:
        parser.error(f"there is no page {unknown[0]!r}; a page is named like deeper/clocks")
    table = dict(listed())
    told: list[str] = []
    for page in options.pages or files:
        found = quantities_of_page(files[page])
        known = table.get(page, [])
        told += changes(page, found, known)
        if options.list:
            for sign, phrase, place in differences(found, [phrase for phrase, _ in known]):
                print(f"{sign} {', '.join(filter(None, (page, place)))}: {phrase}")
            table[page] = [(one.phrase, one.kind) for one in found]
    if options.list:
        # Of pages that are no more, nothing stays.
        write_list({page: phrases for page, phrases in table.items() if page in files})
        return 0
    print("\n".join(told) or counts_of(table))
    return bool(told)


def counts_of(table: Table) -> str:
    """How many numbers the list has of each kind."""
    kinds = Counter(kind for phrases in table.values() for _, kind in phrases)
    return f"{sum(kinds.values())} listed: " + ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS)


if __name__ == "__main__":
    sys.exit(main())

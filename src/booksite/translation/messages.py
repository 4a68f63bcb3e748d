"""The messages of a page: what a translator translates, and where it goes back.

A message is one paragraph, heading, list item, cell of a table, title of a box, caption or
description of a figure, in MyST, or a comment beside a command. So is a comment, a docstring or a
printed text of the code (`listings`), and a line, a cell of a table or a label of a figure in its
output (`outputs`). Displayed formulas are no messages, nor is the rest of the code.

A message without a translation stays in English. Where there is room for it, it gets a note that
says so; the site gives its paragraph the attribute lang="en".
"""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from bookformat.myst import LITERAL, directive_of, tokens_of
from bookformat.notebooks import FOLDED, page_text
from booksite.translation.listings import (
    Function,
    beside,
    frames_of,
    functions_of,
    shown_texts,
    translate_code,
)
from booksite.translation.outputs import texts_seen, translate_output

# What is said about a page's kind of text, not part of a message.
AROUND = re.compile(
    r"(?P<before>(?:\[[ x=]\] )?)(?P<text>.*?)(?P<after>(?:\s*\{check\}`[^`]*`)*)", re.DOTALL
)
LETTERS = re.compile(r"[A-Za-z]{2,}")
COMMENT = re.compile(r"(?<=(?<!\S)# )\S.*")
# What of a message says nothing by itself: formulas, code, roles.
SILENT = re.compile(r"\$[^$]*\$|(?:\{[^}]+\})?`+[^`]*`+|\]\([^()]*\)")
TITLED = {"exercise-start", "admonition", "prf:theorem", "prf:lemma", "prf:definition"}
# Where a message is, by the token before it; elsewhere it is a paragraph.
PLACES = {"heading_open": "", "th_open": "narrow", "td_open": "narrow"}
OPTION = re.compile(r"(:(?:needs|name|alt): +)(\S.*)")
DESCRIPTION = re.compile(r'(?<=aria-label=")[^"]*')

Lookup = Callable[[str], str | None]


class Notes(NamedTuple):
    """What is said behind a message that stays in English, and in narrow places a short form."""

    sentence: str
    word: str

    def behind(self, message: str, place: str) -> str:
        """The message with the note that fits its place; the site knows the role."""
        note = {"paragraph": self.sentence, "narrow": self.word}.get(place)
        return f"{message} {{in-english}}`{note}`" if note else message


class Span(NamedTuple):
    """A message, and its place: from a column of the first line to one of the last."""

    first: int
    last: int
    start: int
    end: int
    text: str
    # "paragraph", "narrow" (a cell of a table, a choice of a quiz), or "" where no note can be.
    place: str = ""
    # A word of the glossary stays below its translation, so that links to it still work.
    stays: bool = False


def said(text: str) -> bool:
    """Whether a text has words to translate."""
    return bool(LETTERS.search(SILENT.sub("", text)))


def spans_of(text: str) -> Iterator[Span]:
    """The messages of a MyST text, in order."""
    lines = text.split("\n")
    column = [0] * (len(lines) + 1)  # cells of a table share a line
    opened = ""
    for token in tokens_of(text):
        opened = token.type if token.nesting == 1 else opened
        if token.map is None:
            continue
        first = token.map[0]
        found = directive_of(token)
        if found and found["kind"] not in LITERAL:
            yield from directive_spans(found, token.content, first, lines)
        elif token.type == "fence" and found is None:
            yield from comment_spans(token.content, first + 1, lines)
        elif token.type == "inline" and token.content.strip():
            whole = AROUND.fullmatch(token.content)
            assert whole is not None
            message = whole["text"]
            parts = message.split("\n")
            line = first + whole["before"].count("\n")
            start = lines[line].index(parts[0].strip(), column[line])
            last = line + len(parts) - 1
            stop = lines[last].index(parts[-1].strip(), start if last == line else 0)
            stop += len(parts[-1].strip())
            column[last] = stop
            place = "narrow" if whole["before"] else PLACES.get(opened, "paragraph")
            if said(message):
                joined = " ".join(part.strip() for part in parts)
                yield Span(line, last, start, stop, joined, place)


def comment_spans(code: str, first: int, lines: list[str]) -> Iterator[Span]:
    """The comments of code that nobody runs, such as commands for a terminal."""
    for number, line in enumerate(code.split("\n"), first):
        comment = COMMENT.search(line)
        if comment and said(comment[0]):
            start = lines[number].index(comment[0])
            yield Span(number, number, start, start + len(comment[0]), comment[0])


def directive_spans(
    found: re.Match[str], content: str, first: int, lines: list[str]
) -> Iterator[Span]:
    """The messages of a directive: its title, its options that say something, its text."""
    title = found["argument"].strip()
    if found["kind"] in TITLED and said(title):
        start = lines[first].index(title)
        yield Span(first, first, start, start + len(title), title)
    body = content.split("\n")
    rows = 0
    while rows < len(body) and body[rows].startswith(":") and not body[rows].startswith("::"):
        if option := OPTION.match(body[rows]):
            line = first + 1 + rows
            start = lines[line].index(option[2])
            yield Span(line, line, start, start + len(option[2]), option[2])
        rows += 1
    text = "\n".join(body[rows:])
    for span in glossary_spans(text) if found["kind"] == "glossary" else spans_of(text):
        line = first + 1 + rows + span.first
        shift = len(lines[line]) - len(body[rows + span.first])
        yield span._replace(
            first=line,
            last=first + 1 + rows + span.last,
            start=span.start + shift,
            end=span.end + shift,
        )


def glossary_spans(text: str) -> Iterator[Span]:
    """The words of a glossary, each at the start of a line, and the paragraphs below them."""
    for found in re.finditer(r"^(?P<word>\S.*)$|(?:^  +\S.*\n?)+", text, re.MULTILINE):
        first = text.count("\n", 0, found.start())
        parts = found[0].rstrip("\n").split("\n")
        start = len(parts[0]) - len(parts[0].lstrip())
        message = " ".join(part.strip() for part in parts)
        last = first + len(parts) - 1
        place = "" if found["word"] else "paragraph"
        yield Span(first, last, start, len(parts[-1]), message, place, bool(found["word"]))


def translate_text(text: str, lookup: Lookup, notes: Notes | None = None) -> str:
    """The text with every message in the other language, or else in English, with a note."""
    lines = text.split("\n")
    for span in sorted(spans_of(text), reverse=True):
        other = lookup(span.text)
        if other is not None:
            # An abbreviation is the same in both languages.
            stays = span.stays and other != span.text
            other += f"\n{span.text}" if stays else ""
        elif notes is not None:
            other = notes.behind(span.text, span.place)
        else:
            continue
        joined = lines[span.first][: span.start] + other + lines[span.last][span.end :]
        lines[span.first : span.last + 1] = [joined]
    return "\n".join(lines)


def translate_description(description: str, lookup: Lookup, notes: Notes | None) -> str:
    """The text inside an attribute `aria-label`; in English it is followed by `lang`."""
    message = html.unescape(description)
    other = lookup(message)
    if other is None and notes is not None:
        # The quotation mark that ends the label now ends this attribute.
        return f'{description}" lang="en'
    return html.escape(other or message)


def translate_notebook(
    notebook: Any,
    lookup: Lookup,
    notes: Notes | None = None,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """Change a notebook in place: text, code, captions, and what outputs and figures show."""
    texts = shown_literals(notebook)
    known = {text: lookup(text) or text for text in texts}
    functions: dict[str, Function] = {}  # what earlier cells define
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = translate_text("".join(cell["source"]), lookup, notes)
            continue
        figure = cell["metadata"].get("mystnb", {}).get("figure")
        if figure and "caption" in figure:
            caption = figure["caption"]
            other = lookup(caption)
            if other is None and notes is not None:
                other = notes.behind(caption, "paragraph")
            figure["caption"] = other or caption
        code = "".join(cell.get("source", ""))
        frames = {frame: frame for frame in frames_of(code, functions)} if is_listing(cell) else {}
        functions |= functions_of(code)
        cell["source"] = translate_code(code, lookup, texts, comments=is_listing(cell))
        for output in cell.get("outputs", []):
            svg = output.get("data", {}).get("image/svg+xml")
            if svg:
                output["data"]["image/svg+xml"] = DESCRIPTION.sub(
                    lambda at: translate_description(at[0], lookup, notes), "".join(svg)
                )
            translate_output(output, lookup, known | frames, labels)
    return notebook


def is_folded(cell: Any) -> bool:
    """Whether readers see the code of a cell only if they ask for it."""
    return bool(FOLDED.intersection(cell["metadata"].get("tags", [])))


def is_listing(cell: Any) -> bool:
    """Whether a cell is there to be read: unfolded, or printing something; others draw or count."""
    return not is_folded(cell) or any("text" in output for output in cell.get("outputs", []))


def listings_of(notebook: Any) -> list[Any]:
    """The cells whose texts may be printed: all but the folded ones that draw or fill a table."""
    return [
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and (is_listing(cell) or not cell.get("outputs"))
    ]


def shown_literals(notebook: Any) -> list[str]:
    """The texts of the code of which an output shows the words: of folded code, a printed one.

    So are those that stand in a list with one of them.
    """
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    seen = texts_seen(outputs)
    printed = texts_seen([output for output in outputs if "text" in output])
    found: dict[str, None] = {}
    for cell in listings_of(notebook):
        own = [output for output in cell.get("outputs", []) if "text" in output]
        folded = texts_seen(own) if own else printed
        code = "".join(cell.get("source", ""))
        found |= dict.fromkeys(shown_texts(code, folded if is_folded(cell) else seen))
    for cell in listings_of(notebook):
        found |= dict.fromkeys(beside("".join(cell.get("source", "")), found))
    return [*found]


def read_page(path: Path) -> Any:
    """A page as a notebook; one of Markdown is a single cell."""
    text = path.read_text(encoding="utf-8")
    alone = {"cells": [{"cell_type": "markdown", "source": text}]}
    return json.loads(text) if path.suffix == ".ipynb" else alone


def messages_of(path: Path) -> list[str]:
    """Every message of a page once: those of its text in order, then those of code and outputs."""
    found = dict.fromkeys(span.text for span in spans_of(page_text(path)))
    translate_notebook(read_page(path), found.setdefault)
    return list(found)

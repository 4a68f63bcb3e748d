"""The messages of a page: what a translator translates, and where it goes back.

A message is one paragraph, heading, list item, cell of a table, title of a box, caption or
description of a figure, in MyST. Displayed formulas, code and its output are no messages.
"""

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bookcheck.myst import LITERAL, directive_of, tokens_of
from bookcheck.notebooks.files import page_text

# What is said about a page's kind of text, not part of a message.
AROUND = re.compile(
    r"(?P<before>(?:\[[ x=]\] )?)(?P<text>.*?)(?P<after>(?:\s*\{check\}`[^`]*`)*)", re.DOTALL
)
LETTERS = re.compile(r"[A-Za-z]{2,}")
# What of a message says nothing by itself: formulas, code, roles.
SILENT = re.compile(r"\$[^$]*\$|(?:\{[^}]+\})?`+[^`]*`+|\]\([^()]*\)")
TITLED = {"exercise-start", "admonition", "prf:theorem", "prf:lemma", "prf:definition"}
OPTION = re.compile(r"(:(?:needs|name|alt): +)(\S.*)")
DESCRIPTION = re.compile(r'(?<=aria-label=")[^"]*')

Lookup = Callable[[str], str | None]


class Span(NamedTuple):
    """A message, and its place: from a column of the first line to one of the last."""

    first: int
    last: int
    start: int
    end: int
    text: str
    # A word of the glossary stays below its translation, so that links to it still work.
    stays: bool = False


def said(text: str) -> bool:
    """Whether a text has words to translate."""
    return bool(LETTERS.search(SILENT.sub("", text)))


def spans_of(text: str) -> Iterator[Span]:
    """The messages of a MyST text, in order."""
    lines = text.split("\n")
    column = [0] * (len(lines) + 1)  # cells of a table share a line
    for token in tokens_of(text):
        if token.map is None:
            continue
        first = token.map[0]
        found = directive_of(token)
        if found and found["kind"] not in LITERAL:
            yield from directive_spans(found, token.content, first, lines)
        elif token.type == "inline" and token.content.strip():
            whole = AROUND.fullmatch(token.content)
            assert whole is not None
            message = whole["text"]
            parts = message.split("\n")
            line = first + whole["before"].count("\n")
            start = lines[line].index(parts[0].strip(), column[line])
            last = line + len(parts) - 1
            stop = lines[last].index(parts[-1].strip(), start if last == line else 0)
            column[last] = stop = stop + len(parts[-1].strip())
            if said(message):
                yield Span(line, last, start, stop, " ".join(part.strip() for part in parts))


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
        yield Span(first, last, start, len(parts[-1]), message, bool(found["word"]))


def translate_text(text: str, lookup: Lookup) -> str:
    """The text with every message that has a translation in the other language."""
    lines = text.split("\n")
    for span in sorted(spans_of(text), reverse=True):
        other = lookup(span.text)
        if other is not None:
            other += f"\n{span.text}" if span.stays else ""
            joined = lines[span.first][: span.start] + other + lines[span.last][span.end :]
            lines[span.first : span.last + 1] = [joined]
    return "\n".join(lines)


def translate_notebook(notebook: Any, lookup: Lookup) -> Any:
    """Change a notebook in place: text, captions, and the descriptions of figures."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = translate_text("".join(cell["source"]), lookup)
            continue
        figure = cell["metadata"].get("mystnb", {}).get("figure")
        if figure and "caption" in figure:
            figure["caption"] = lookup(figure["caption"]) or figure["caption"]
        for output in cell.get("outputs", []):
            svg = output.get("data", {}).get("image/svg+xml")
            if svg:
                output["data"]["image/svg+xml"] = DESCRIPTION.sub(
                    lambda at: html.escape(lookup(html.unescape(at[0])) or html.unescape(at[0])),
                    "".join(svg),
                )
    return notebook


def read_page(path: Path) -> Any:
    """A page as a notebook; one of Markdown is a single cell."""
    text = path.read_text(encoding="utf-8")
    alone = {"cells": [{"cell_type": "markdown", "source": text}]}
    return json.loads(text) if path.suffix == ".ipynb" else alone


def messages_of(path: Path) -> list[str]:
    """Every message of a page once: those of its text in order, then those of its figures."""
    found = dict.fromkeys(span.text for span in spans_of(page_text(path)))
    translate_notebook(read_page(path), found.setdefault)
    return list(found)

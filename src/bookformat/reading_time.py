"""How long the main line of a chapter takes to read; the page prints it.

170 words a minute, 15 seconds a displayed formula, 3 seconds a visible line of code, 25 seconds a
figure or table. A line of a listing below "Code to take away" counts half, because it is copied
rather than read. What folds, the quiz, the exercises and interactive figures are left out: a reader
who follows the main line does not need them.

python -m bookformat.reading_time    prints the minutes of all chapters beside the guide

The guide is 12 minutes to the line "You can stop here" and 18 to the end; no test asks for it.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import nbformat

from bookformat.contents import main_line, page_name
from bookformat.myst import blocks_of, included_source
from bookformat.notebooks import FOLDED, read

WORD_SECONDS = 60 / 170
FORMULA_SECONDS = 15
LINE_SECONDS = 3
PICTURE_SECONDS = 25
APART = {"solution", "exercise", "quiz", "dropdown", "proof", "prf:proof", "interactive"}
# Below such a heading the main line has ended, up to "What to remember".
APART_HEADING = re.compile(r"exercise|check your|deeper|fine print", re.IGNORECASE)
# Below such a heading, listings are there to be copied.
TAKE_AWAY_HEADING = re.compile(r"code to take away", re.IGNORECASE)
# The line after the part that answers the question.
STOP = re.compile(r"^.*\bYou can stop here\b", re.MULTILINE)
GUIDE_TO_STOP = 12
GUIDE_TO_END = 18
HEADING = re.compile(r"(##+) +(.*)")
SECTION = re.compile(r"^(?=##+ )", re.MULTILINE)
PICTURES = {"image/svg+xml", "image/png", "text/html"}
NOT_WORDS = re.compile(r"\$\$.*?\$\$|\{[\w:]+\}`[^`]*`|\]\([^)]*\)", re.DOTALL)
INLINE_FORMULA = re.compile(r"\$[^$]*\$")
WORD = re.compile(r"[A-Za-z][\w'’-]*")
TABLE_RULE = re.compile(r"^\|[-: |]+\|$", re.MULTILINE)
CODE = re.compile(r"^(?!import |from ).*\S", re.MULTILINE)


class Minutes(NamedTuple):
    """The time to the line "You can stop here", where a page has one, and to the end."""

    to_stop: float | None
    to_end: float


def text_seconds(markdown: str, line_seconds: float = LINE_SECONDS) -> float:
    """The time for a text, without what is folded or beside the main line."""
    seconds = 0.0
    for block in blocks_of(markdown):
        if not block.kind:
            words = WORD.findall(INLINE_FORMULA.sub(" x ", NOT_WORDS.sub(" ", block.text)))
            seconds += WORD_SECONDS * len(words)
            seconds += FORMULA_SECONDS * (block.text.count("$$") // 2)
            seconds += PICTURE_SECONDS * len(TABLE_RULE.findall(block.text))
        elif block.kind == "literalinclude":
            seconds += line_seconds * len(CODE.findall(included_source(block)))
        elif block.kind not in APART and "dropdown" not in block.options.get("class", ""):
            seconds += text_seconds(block.text, line_seconds)
    return seconds


class Place:
    """Where on a page a reader is: beside the main line, or where there is code to take away."""

    def __init__(self) -> None:
        self.apart = False
        self.level = 0  # of the heading above code to take away

    @property
    def line_seconds(self) -> float:
        """The time for a line of code at this place."""
        return LINE_SECONDS / 2 if self.level else LINE_SECONDS

    def enter(self, section: str) -> None:
        """Go on to a section, which may have a heading."""
        if found := HEADING.match(section):
            marks, title = found.groups()
            back = title.lower().startswith("what to remember")
            self.apart = bool(APART_HEADING.search(title)) or (self.apart and not back)
            if TAKE_AWAY_HEADING.search(title):
                self.level = len(marks)
            elif len(marks) <= self.level:
                self.level = 0

    def texts(self, markdown: str) -> Iterator[tuple[str, float]]:
        """The parts of a cell that belong to the main line, each with its time for a line."""
        kept = []
        for section in SECTION.split(markdown):
            self.enter(section)
            kept += [] if self.apart else [(section, self.line_seconds)]
        # Together, as a directive may hold a heading.
        for line_seconds, group in itertools.groupby(kept, key=lambda one: one[1]):
            yield "".join(section for section, _ in group), line_seconds


def main_line_seconds(cells: Sequence[Any]) -> float:
    """The time for the cells of a notebook that belong to the main line."""
    seconds = 0.0
    place = Place()
    for cell in cells:
        if cell.cell_type == "markdown":
            seconds += sum(itertools.starmap(text_seconds, place.texts(cell.source)))
        elif cell.cell_type == "code" and not place.apart:
            if not FOLDED & set(cell.metadata.get("tags", [])):
                seconds += place.line_seconds * len(CODE.findall(cell.source))
            pictures = [1 for output in cell.outputs if PICTURES & {*output.get("data", {})}]
            seconds += PICTURE_SECONDS * len(pictures)
    return seconds


def cells_to_stop(cells: Sequence[Any]) -> list[Any] | None:
    """The cells, and the part of a cell, above the line "You can stop here"; else None."""
    for number, cell in enumerate(cells):
        if cell.cell_type == "markdown" and (found := STOP.search(cell.source)):
            above = nbformat.v4.new_markdown_cell(cell.source[: found.start()])
            return [*cells[:number], above]
    return None


def minutes_of(notebook: Any) -> Minutes:
    """The minutes of a page; a translated one has those of the English text."""
    if stored := notebook["metadata"].get("minutes"):
        return Minutes(*stored)
    cells = notebook["cells"]
    above = cells_to_stop(cells)
    to_stop = None if above is None else main_line_seconds(above) / 60
    return Minutes(to_stop, main_line_seconds(cells) / 60)


def table(found: dict[str, Minutes]) -> str:
    """The minutes of some pages, with a mark at those that are longer than the guide."""

    def shown(minutes: float | None, guide: int) -> str:
        if minutes is None:
            return f"{'–':>6}  "
        return f"{minutes:6.1f} {'+' if minutes > guide else ' '}"

    lines = [f"{'':24}{'to stop':>8}{'to end':>8}   (guide: {GUIDE_TO_STOP} and {GUIDE_TO_END})"]
    for name, (to_stop, to_end) in found.items():
        columns = shown(to_stop, GUIDE_TO_STOP) + shown(to_end, GUIDE_TO_END)
        lines.append(f"{name:24}{columns}".rstrip())
    lines.append("+ is longer than the guide; – has no line “You can stop here” yet")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table({page_name(path): minutes_of(read(path)) for path in main_line()}))

"""How long the main line of a chapter takes to read; the page prints it, a test holds it.

200 words a minute, 12 seconds a displayed formula, 2.5 seconds a visible line of code, 20 seconds
a figure or table. What folds, the quiz, the exercises, notes in the margin and interactive figures
stand apart: a reader who follows the main line does not need them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bookcheck.myst import Block, blocks_of
from bookcheck.notebooks.files import read

LONGEST = 20
WORDS_A_MINUTE = 200
SECONDS_A_FORMULA = 12.0
SECONDS_A_CODE_LINE = 2.5
SECONDS_A_PICTURE = 20.0

APART = {"solution", "exercise", "quiz", "dropdown", "proof", "prf:proof", "margin", "interactive"}
# Below such a heading the main line has ended, up to "What to remember".
APART_HEADING = re.compile(r"exercise|check your|deeper|fine print", re.IGNORECASE)
BACK_HEADING = re.compile(r"what to remember", re.IGNORECASE)
HEADING = re.compile(r"^##+ +(.*)$", re.MULTILINE)
HIDDEN_TAGS = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
PICTURES = {"image/svg+xml", "image/png", "text/html"}
DISPLAY = re.compile(r"\$\$.*?\$\$", re.DOTALL)
INLINE_FORMULA = re.compile(r"\$[^$]*\$")
ROLE_OR_TARGET = re.compile(r"\{[\w:]+\}`[^`]*`|\]\([^)]*\)")
WORD = re.compile(r"[A-Za-z][\w'’-]*")
TABLE_RULE = re.compile(r"^\|[-: |]+\|$", re.MULTILINE)


@dataclass
class ReadingTime:
    """What a reader of the main line meets."""

    words: int = 0
    formulas: int = 0
    code_lines: int = 0
    pictures: int = 0

    @property
    def minutes(self) -> int:
        """The time as the page prints it, in whole minutes."""
        seconds = (
            60 * self.words / WORDS_A_MINUTE
            + SECONDS_A_FORMULA * self.formulas
            + SECONDS_A_CODE_LINE * self.code_lines
            + SECONDS_A_PICTURE * self.pictures
        )
        return round(seconds / 60)


def folds(block: Block) -> bool:
    """Whether a block is closed until the reader opens it."""
    return any(re.match(r":class:.*\bdropdown\b", line) for line in block.lines[:4])


def main_text(markdown: str) -> str:
    """A text without what stands apart, and without the marks of its blocks."""
    kept = []
    for block in blocks_of(markdown):
        if not block.kind:
            kept += block.lines
        elif block.kind not in APART and not folds(block):
            body = "\n".join(line for line in block.lines if not line.startswith(":"))
            kept.append(main_text(body))
    return "\n".join(kept)


def main_line_cells(cells: list[Any]) -> Iterator[Any]:
    """The cells of a notebook that belong to the main line."""
    apart = False
    for cell in cells:
        if cell.cell_type == "markdown":
            for heading in HEADING.findall(cell.source):
                back = BACK_HEADING.match(heading) is not None
                apart = bool(APART_HEADING.search(heading)) or (apart and not back)
        if not apart:
            yield cell


def reading_time(path: Path) -> ReadingTime:
    """Measure a stored notebook."""
    return reading_time_of(read(path).cells)


def reading_time_of(cells: list[Any]) -> ReadingTime:
    """Measure the cells of a notebook."""
    found = ReadingTime()
    for cell in main_line_cells(cells):
        if cell.cell_type == "markdown":
            text = main_text(cell.source)
            found.formulas += text.count("$$") // 2
            found.pictures += len(TABLE_RULE.findall(text))
            prose = ROLE_OR_TARGET.sub(" ", DISPLAY.sub(" ", text))
            found.words += len(WORD.findall(INLINE_FORMULA.sub(" x ", prose)))
        elif cell.cell_type == "code":
            if not HIDDEN_TAGS & set(cell.metadata.get("tags", [])):
                found.code_lines += sum(
                    bool(line.strip()) and not line.startswith(("import", "from"))
                    for line in cell.source.split("\n")
                )
            found.pictures += sum(
                bool(PICTURES & set(output.get("data", {}))) for output in cell.outputs
            )
    return found

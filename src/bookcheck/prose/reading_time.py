"""How long the main line of a chapter takes to read; the page prints it, a test holds it.

170 words a minute, 15 seconds a displayed formula, 3 seconds a visible line of code, 25 seconds a
figure or table. What folds, the quiz, the exercises and interactive figures are left out: a reader
who follows the main line does not need them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import from_dict

from bookcheck.myst import blocks_of, included_source
from bookcheck.notebooks.files import read

LONGEST = 15
APART = {"solution", "exercise", "quiz", "dropdown", "proof", "prf:proof", "interactive"}
# Below such a heading the main line has ended, up to "What to remember".
APART_HEADING = re.compile(r"exercise|check your|deeper|fine print", re.IGNORECASE)
HEADING = re.compile(r"##+ +(.*)")
SECTION = re.compile(r"^(?=##+ )", re.MULTILINE)
HIDDEN_TAGS = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
PICTURES = {"image/svg+xml", "image/png", "text/html"}
NOT_WORDS = re.compile(r"\$\$.*?\$\$|\{[\w:]+\}`[^`]*`|\]\([^)]*\)", re.DOTALL)
INLINE_FORMULA = re.compile(r"\$[^$]*\$")
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
        seconds = 15 * self.formulas + 3 * self.code_lines + 25 * self.pictures
        return round(self.words / 170 + seconds / 60)


def main_text(markdown: str) -> str:
    """A text without what is left out, and without the marks of its blocks."""
    kept = []
    for block in blocks_of(markdown):
        if not block.kind:
            kept.append(block.text)
        elif block.kind not in APART and "dropdown" not in block.options.get("class", ""):
            kept.append(main_text(block.text))
    return "\n".join(kept)


def main_line_cells(cells: list[Any]) -> Iterator[Any]:
    """The cells of a notebook that belong to the main line; of text, the sections that do."""
    apart = False
    for cell in cells:
        if cell.cell_type == "markdown":
            kept = []
            for section in SECTION.split(cell.source):
                if found := HEADING.match(section):
                    back = found[1].lower().startswith("what to remember")
                    apart = bool(APART_HEADING.search(found[1])) or (apart and not back)
                kept += [] if apart else [section]
            yield from_dict({**cell, "source": "".join(kept)})
        elif not apart:
            yield cell


def reading_time(path: Path) -> ReadingTime:
    """Measure a stored notebook."""
    return reading_time_of(read(path).cells)


def minutes_of(notebook: Any) -> int:
    """The minutes of a notebook; a translated one has those of the English text."""
    stored = notebook["metadata"].get("minutes")
    return int(stored or reading_time_of(notebook["cells"]).minutes)


def reading_time_of(cells: list[Any]) -> ReadingTime:
    """Measure the cells of a notebook."""
    found = ReadingTime()
    for cell in main_line_cells(cells):
        if cell.cell_type == "markdown":
            text = main_text(cell.source)
            found.formulas += text.count("$$") // 2
            found.pictures += len(TABLE_RULE.findall(text))
            for block in blocks_of(cell.source):
                if block.kind == "literalinclude":
                    lines = included_source(block).splitlines()
                    found.code_lines += sum(bool(line.strip()) for line in lines)
            found.words += len(WORD.findall(INLINE_FORMULA.sub(" x ", NOT_WORDS.sub(" ", text))))
        elif cell.cell_type == "code":
            if not HIDDEN_TAGS & set(cell.metadata.get("tags", [])):
                lines = [line for line in cell.source.split("\n") if line.strip()]
                found.code_lines += sum(line.split()[0] not in ("import", "from") for line in lines)
            found.pictures += sum(bool(PICTURES & {*o.get("data", {})}) for o in cell.outputs)
    return found

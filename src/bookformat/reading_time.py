"""How long the main line of a chapter takes to read; the page prints it.

170 words a minute, 15 seconds a displayed formula, 3 seconds a visible line of code, 25 seconds a
figure or table. What folds, the quiz, the exercises and interactive figures are left out: a reader
who follows the main line does not need them.
"""

import re
from typing import Any

from bookformat.myst import blocks_of, included_source
from bookformat.notebooks import FOLDED

WORD_SECONDS, FORMULA_SECONDS, LINE_SECONDS, PICTURE_SECONDS = 60 / 170, 15, 3, 25
APART = {"solution", "exercise", "quiz", "dropdown", "proof", "prf:proof", "interactive"}
# Below such a heading the main line has ended, up to "What to remember".
APART_HEADING = re.compile(r"exercise|check your|deeper|fine print", re.IGNORECASE)
HEADING = re.compile(r"##+ +(.*)")
SECTION = re.compile(r"^(?=##+ )", re.MULTILINE)
PICTURES = {"image/svg+xml", "image/png", "text/html"}
NOT_WORDS = re.compile(r"\$\$.*?\$\$|\{[\w:]+\}`[^`]*`|\]\([^)]*\)", re.DOTALL)
INLINE_FORMULA = re.compile(r"\$[^$]*\$")
WORD = re.compile(r"[A-Za-z][\w'’-]*")
TABLE_RULE = re.compile(r"^\|[-: |]+\|$", re.MULTILINE)
CODE = re.compile(r"^(?!import |from ).*\S", re.MULTILINE)


def text_seconds(markdown: str) -> float:
    """The time for a text, without what is folded or beside the main line."""
    seconds = 0.0
    for block in blocks_of(markdown):
        if not block.kind:
            words = WORD.findall(INLINE_FORMULA.sub(" x ", NOT_WORDS.sub(" ", block.text)))
            seconds += WORD_SECONDS * len(words)
            seconds += FORMULA_SECONDS * (block.text.count("$$") // 2)
            seconds += PICTURE_SECONDS * len(TABLE_RULE.findall(block.text))
        elif block.kind == "literalinclude":
            seconds += LINE_SECONDS * len(CODE.findall(included_source(block)))
        elif block.kind not in APART and "dropdown" not in block.options.get("class", ""):
            seconds += text_seconds(block.text)
    return seconds


def main_line_seconds(cells: list[Any]) -> float:
    """The time for the cells of a notebook that belong to the main line."""
    seconds, apart = 0.0, False
    for cell in cells:
        if cell.cell_type == "markdown":
            kept = []
            for section in SECTION.split(cell.source):
                if found := HEADING.match(section):
                    back = found[1].lower().startswith("what to remember")
                    apart = bool(APART_HEADING.search(found[1])) or (apart and not back)
                kept += [] if apart else [section]
            seconds += text_seconds("".join(kept))
        elif cell.cell_type == "code" and not apart:
            if not FOLDED & set(cell.metadata.get("tags", [])):
                seconds += LINE_SECONDS * len(CODE.findall(cell.source))
            pictures = [1 for output in cell.outputs if PICTURES & {*output.get("data", {})}]
            seconds += PICTURE_SECONDS * len(pictures)
    return seconds


def minutes_of(notebook: Any) -> int:
    """The whole minutes that the page prints; a translated one has those of the English text."""
    stored = notebook["metadata"].get("minutes")
    return int(stored or round(main_line_seconds(notebook["cells"]) / 60))

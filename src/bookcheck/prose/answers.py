"""The top of a chapter: its question, then the answer in at most three sentences."""

import re
from pathlib import Path

from bookcheck.myst import blocks_of
from bookcheck.notebooks.files import read

MOST_SENTENCES = 3
NOT_WORDS = re.compile(r"\$[^$]*\$|`[^`]*`|\]\([^)]*\)|\b(?:e\.g|i\.e|vs|al)\.")
SENTENCE_END = re.compile(r"[.?!…](?=[\"'”’)*_]*(?:\s|$))")


def answer_of(path: Path) -> str:
    """The text of the answer in a notebook's first cell; empty where it has none."""
    for block in blocks_of(read(path).cells[0].source):
        if block.kind == "answer":
            return block.text
    return ""


def answer_problem(text: str) -> str | None:
    """What is wrong with an answer."""
    count = len(SENTENCE_END.findall(NOT_WORDS.sub("x", text).strip()))
    if count == 0:
        return "write the answer in whole sentences into :::{answer} in the first cell"
    if count > MOST_SENTENCES:
        return f"the answer has {count} sentences, at most {MOST_SENTENCES}: say it shorter"
    return None

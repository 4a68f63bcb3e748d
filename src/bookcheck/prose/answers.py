"""The top of a chapter: its question, then the answer in at most three sentences."""

import re
from pathlib import Path

from bookcheck.myst import blocks_of
from bookcheck.notebooks.files import read

MOST_SENTENCES = 3
NOT_WORDS = re.compile(r"\$[^$]*\$|`[^`]*`|\]\([^)]*\)|\b(?:e\.g|i\.e|vs|al)\.")
SENTENCE_END = re.compile(r"[.?!…](?=[\"'”’)*_]*(?:\s|$))")


def sentences(text: str) -> int:
    """How many sentences a text has; one without a full stop at its end counts too."""
    words = NOT_WORDS.sub("x", text).strip()
    ends = len(SENTENCE_END.findall(words))
    return ends if not words or SENTENCE_END.search(words[-2:] + " ") else ends + 1


def answer_of(path: Path) -> str | None:
    """The text of the answer in a notebook's first cell, if it has one."""
    first = read(path).cells[0].source
    for block in blocks_of(first):
        if block.kind == "answer":
            return "\n".join(line for line in block.lines if not line.startswith(":")).strip()
    return None


def needs_line(path: Path) -> str:
    """What a notebook's answer says that it needs; empty where it says nothing."""
    for block in blocks_of(read(path).cells[0].source):
        for line in block.lines if block.kind == "answer" else ():
            if line.startswith(":needs:"):
                return line.removeprefix(":needs:").strip()
    return ""


def answer_problem(text: str) -> str | None:
    """What is wrong with an answer."""
    count = sentences(text)
    if count == 0:
        return "the answer is empty"
    if count > MOST_SENTENCES:
        return f"the answer has {count} sentences, at most {MOST_SENTENCES}: say it shorter"
    return None

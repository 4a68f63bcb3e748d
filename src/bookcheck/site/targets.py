"""The names by which the book's text refers to things: (1.4), Fig. 1.2, Theorem 1.1, Exercise 1.5.

They are counted from the sources as Sphinx counts them: by chapter, and on through its page of
depth. A test compares them with the built pages.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bookcheck.equations.scan import equations_of_markdown
from bookcheck.myst import Block, blocks_of
from bookcheck.notebooks.files import chapter_notebooks, page_name
from bookcheck.paths import CHAPTERS

LABEL = re.compile(r"^:label: *(\S+)", re.MULTILINE)
UNNUMBERED = {"prf:proof"}


class Target(NamedTuple):
    """What a reference prints, the page where the thing stands, and its title, if it has one."""

    name: str
    page: str
    title: str = ""


def text_of(cell: Any) -> str:
    """The source of a stored cell as one text."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def kind_of(block: Block) -> str | None:
    """The word before a block's number, or None where it has none."""
    if block.kind in ("exercise", "exercise-start"):
        return "Exercise"
    if block.kind.startswith("prf:") and block.kind not in UNNUMBERED:
        return block.kind.removeprefix("prf:").capitalize()
    return None


def labelled_blocks(text: str) -> Iterator[tuple[str, Block]]:
    """The numbered blocks of a text, in order, each with its kind."""
    for block in blocks_of(text):
        kind = kind_of(block)
        if kind:
            yield kind, block
        if block.kind:
            yield from labelled_blocks("\n".join(block.lines))


def things_of_cell(cell: Any, page: str) -> Iterator[tuple[str, str | None, str]]:
    """Kind, label and title of what a cell numbers."""
    if cell["cell_type"] == "markdown":
        text = text_of(cell)
        for equation in equations_of_markdown(text, page):
            yield "Equation", equation.label, ""
        for kind, block in labelled_blocks(text):
            label = LABEL.search("\n".join(block.lines))
            yield kind, label and label[1], block.argument
    figure = cell.get("metadata", {}).get("mystnb", {}).get("figure")
    if figure:
        yield "Fig.", figure.get("name"), figure.get("caption", "")


def targets_of(folder: Path = CHAPTERS) -> dict[str, Target]:
    """All labels of the notebooks of a book."""
    counts: Counter[tuple[str, str]] = Counter()
    found: dict[str, Target] = {}
    for path in chapter_notebooks(folder):
        page = page_name(path, folder)
        digits = re.match(r"(\d\d)-", path.name)
        # The short road, "00", and pages without a number are counted together, without a chapter.
        chapter = f"{int(digits[1])}." if digits and int(digits[1]) else ""
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for kind, label, title in things_of_cell(cell, page):
                counts[kind, chapter] += 1
                number = f"{chapter}{counts[kind, chapter]}"
                name = f"({number})" if kind == "Equation" else f"{kind} {number}"
                if label:
                    found[label] = Target(name, page, title)
    return found

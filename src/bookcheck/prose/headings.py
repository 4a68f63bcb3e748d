"""The headings of a page, and the names by which links reach them, as on the site."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.dollarmath import dollarmath_plugin
from myst_parser.mdit_to_docutils.base import compute_unique_slug, default_slugify

from bookcheck.notebooks.files import read


class Heading(NamedTuple):
    """A heading and the name after `#` that a link to it needs."""

    level: int
    text: str
    slug: str


_WHOLE = MarkdownIt("commonmark").use(dollarmath_plugin)
# Finds headings, and leaves the words of all other paragraphs unread, which takes most of the time.
_BLOCKS = MarkdownIt("commonmark").use(dollarmath_plugin).disable("inline")


def _headings(text: str, taken: set[str]) -> Iterator[Heading]:
    tokens = _BLOCKS.parse(text)
    for opening, words in pairwise(tokens):
        if opening.type == "heading_open":
            node = SyntaxTreeNode(_WHOLE.parse(f"{opening.markup} {words.content}")).children[0]
            slug = compute_unique_slug(node, taken, default_slugify)
            taken.add(slug)
            yield Heading(int(opening.tag[1:]), words.content, slug)


def headings_before_cells(cells: Iterable[Any]) -> list[Heading | None]:
    """For each cell the heading under which it stands: its own last one, if it has any."""
    taken: set[str] = set()
    current: Heading | None = None
    found = []
    for cell in cells:
        if cell.cell_type == "markdown":
            for heading in _headings(cell.source, taken):
                current = heading
        found.append(current)
    return found


def page_text(path: Path) -> str:
    """The prose of a page: a notebook's Markdown cells, or the whole file."""
    if path.suffix == ".ipynb":
        return "\n\n".join(c.source for c in read(path).cells if c.cell_type == "markdown")
    return path.read_text(encoding="utf8")


def headings_of(text: str) -> list[Heading]:
    """All headings of a text, in order."""
    return list(_headings(text, set()))

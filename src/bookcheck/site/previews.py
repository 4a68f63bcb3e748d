"""What stands behind a reference to another page, to look at without leaving: formulas, theorems.

A page shows what stands on itself by a copy. For what stands elsewhere there is one script with all
blocks that pages of the book refer to; it is loaded when a reader first points at such a reference.
A script, since a page on disk may not fetch another.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sphinx.application import Sphinx

FILE = "previews.js"
REFERENCE = re.compile(r'<a class="reference internal" href="([^"#]+)#([^"]+)"')
# Formulas, theorems and their like, exercises.
BLOCK = re.compile(r'<div class="(?:math|proof|exercise)\b[^>]*? id="([^"]+)"[^>]*>')
DIV = re.compile(r"<(/?)div\b")
# Pages that show the same blocks in another way, and refer to all of them.
APART = ("ledger/", "checks/")


def references(page: str, html: str) -> Iterator[tuple[str, str]]:
    """The other pages, with anchors, that a page refers to; names are relative to the site."""
    for address, anchor in REFERENCE.findall(html):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(page), address)), anchor


def blocks_of(html: str, wanted: Iterable[str]) -> dict[str, str]:
    """The blocks of a page that have one of the wanted ids, as HTML."""
    wanted = set(wanted)
    found = {}
    for start in BLOCK.finditer(html):
        if start[1] in wanted:
            found[start[1]] = html[start.start() : end_of_block(html, start.start())]
    return found


def end_of_block(html: str, start: int) -> int:
    """Where the div that starts at a place ends."""
    depth = 0
    for tag in DIV.finditer(html, start):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return tag.end() + 1
    raise ValueError(f"a block is not closed: {html[start : start + 80]}")


def previews(pages: Mapping[str, str]) -> dict[str, str]:
    """The blocks that pages refer to on other pages, by address: "chapters/a.html#eq" → HTML."""
    wanted: dict[str, set[str]] = {}
    for page, html in pages.items():
        if not page.startswith(APART):
            for target, anchor in references(page, html):
                wanted.setdefault(target, set()).add(anchor)
    return {
        f"{page}#{anchor}": block
        for page in sorted(wanted.keys() & pages.keys())
        if not page.startswith(APART)
        for anchor, block in sorted(blocks_of(pages[page], wanted[page]).items())
    }


def write_previews(app: Sphinx, error: Exception | None) -> None:
    """Write the script, from the pages as they were written."""
    if error is not None or app.builder.name != "html":
        return
    site = Path(app.outdir)
    pages = {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in site.rglob("*.html")
    }
    text = json.dumps(previews(pages), ensure_ascii=False)
    (site / "_static" / FILE).write_text(f"globalThis.bookPreviews = {text};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect it."""
    app.connect("build-finished", write_previews)

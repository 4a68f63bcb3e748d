"""What stands behind a reference to another page, to look at without leaving: formulas, theorems.

A page shows what stands on itself by a copy. For what stands elsewhere there is one script for each
page, with its blocks that other pages refer to, and one that names these pages; they are loaded
when a reader first points at such a reference. Scripts, since a page on disk may not fetch another.
"""

import json
import posixpath
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sphinx.application import Sphinx

FOLDER = "previews"
INDEX = "index.js"
REFERENCE = re.compile(r'<a class="reference internal" href="([^"#]+)#([^"]+)"')
# Formulas, theorems and their like, exercises.
BLOCK = re.compile(r'<div class="(?:math|proof|exercise)\b[^>]*? id="([^"]+)"[^>]*>')
DIV = re.compile(r"<(/?)div\b")
# A page that refers to all formulas, and asks for no preview of any.
APART = ("chapters/ledger.html",)


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


def previews(pages: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The blocks that pages refer to on other pages: page → id → HTML."""
    wanted: dict[str, set[str]] = {}
    for page, html in pages.items():
        if not page.startswith(APART):
            for target, anchor in references(page, html):
                wanted.setdefault(target, set()).add(anchor)
    kept = {
        page: blocks_of(pages[page], wanted[page])
        for page in sorted(wanted.keys() & pages.keys())
        if not page.startswith(APART)
    }
    return {page: blocks for page, blocks in kept.items() if blocks}


def file_of(page: str) -> str:
    """The script of a page's blocks: "chapters/deeper/a.html" → "chapters-deeper-a.js"."""
    return page.removesuffix(".html").replace("/", "-") + ".js"


def scripts(kept: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The text of each script, by file."""
    files = {page: file_of(page) for page in kept}
    written = {INDEX: f"globalThis.bookPreviews = {{ files: {json.dumps(files)}, pages: {{}} }};\n"}
    for page, blocks in kept.items():
        text = json.dumps(blocks, ensure_ascii=False)
        written[files[page]] = f"bookPreviews.pages[{json.dumps(page)}] = {text};\n"
    return written


def write_previews(app: Sphinx, error: Exception | None) -> None:
    """Write the scripts, from the pages as they were written."""
    if error is not None or app.builder.name != "html":
        return
    site = Path(app.outdir)
    pages = {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in site.rglob("*.html")
    }
    folder = site / "_static" / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in scripts(previews(pages)).items():
        (folder / name).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect it."""
    app.connect("build-finished", write_previews)

"""Which pages read which stored data: records, settings of models, published numbers, weights.

A page that reads a record shows other numbers when the record changes, and so do all other pages
that read it.
"""

import re
from pathlib import Path

from bookformat.contents import book_pages, page_name
from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS, ROOT, SOURCES

KIT = SOURCES / "bookkit"
# The name of a record, as a page gives it to `recorded`, or keeps it in a variable first.
RECORD = re.compile(r"""["']([\w/-]+\.jsonl)["']""")
# What the functions read that take no name of a file.
READERS = {
    re.compile(r"\b(?:read_models?|models_that|how_many)\("): KIT / "models.jsonl",
    re.compile(r"\b(?:reported|read_published)\("): KIT / "published.jsonl",
    re.compile(r"\bbook_model\("): KIT / "trained" / "model.safetensors",
}


def data_of(path: Path) -> set[Path]:
    """The files of stored data that the code, the values and the quiz of a page read."""
    text = "\n".join(f"{cell.source}\n{cell.caption}" for cell in cells_of(path))
    found = {KIT / "results" / name for name in RECORD.findall(text)}
    return found | {file for reader, file in READERS.items() if reader.search(text)}


def readers_of(folder: Path = CHAPTERS) -> dict[Path, list[str]]:
    """The names of the pages that read a file, for each file that some page reads."""
    found: dict[Path, list[str]] = {}
    for path in book_pages(folder):
        for file in data_of(path):
            found.setdefault(file, []).append(page_name(path, folder))
    return found


def others_that_read(pages: list[str], folder: Path = CHAPTERS) -> str:
    """For each file that some pages read, which others read it too, and what to run for those."""
    lines = []
    for file, readers in sorted(readers_of(folder).items()):
        others = [name for name in readers if name not in pages]
        if others and len(others) < len(readers):
            lines += [
                f"If you changed {file.relative_to(ROOT)}, these pages show its numbers too; run:",
                f"  make check PAGE='{' '.join(others)}'",
            ]
    return "\n".join(lines)

"""Where things are in a checkout of the book; nobody else works a path out."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = ROOT / "chapters"
# Below the chapters: their pages of depth, named by their subject.
DEEPER = "deeper"
# Pages that show source files with explanations, as Sphinx names pages.
EXPLAINED = f"{CHAPTERS.name}/source/"
SOURCES = ROOT / "src"
CHECKS = ROOT / "tests" / "equations"
# What the pages say: page, sentence, kinds of the numbers and formulas in it.
NUMBERS = ROOT / "tests" / "bookcheck" / "numbers.tsv"
STATIC = ROOT / "_static"
BUILD = ROOT / "_build"
RECORDS = BUILD / "equations"
# package.json and node_modules are here.
NODE_ROOM = SOURCES / "booksite" / "node"


def rows_of(table: Path) -> Iterator[list[str]]:
    """The lines of a table whose columns are parted by tabs."""
    for line in table.read_text(encoding="utf-8").splitlines():
        yield line.split("\t")

"""Where things are in a checkout of the book; nobody else works a path out."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = ROOT / "chapters"
# Below the chapters: their pages of depth, named by the number of the chapter and a subject.
DEEPER = "deeper"
SOURCES = ROOT / "src"
CHECKS = ROOT / "tests" / "equations"
STATIC = ROOT / "_static"
BUILD = ROOT / "_build"
RECORDS = BUILD / "equations"
# package.json and node_modules are here.
NODE_ROOM = SOURCES / "booksite" / "node"


def book_pages(folder: Path = CHAPTERS) -> list[Path]:
    """All pages below a folder of chapters, in order: pages of depth after their chapter."""
    found = [path for part in (folder, folder / DEEPER) for path in part.glob("*.[im]*")]
    pages = [path for path in found if path.suffix in (".ipynb", ".md")]

    def order(path: Path) -> tuple[str, bool, str]:
        number = path.name.partition("-")[0]
        return (number if number.isdigit() else path.name), path.parent != folder, path.name

    return sorted(pages, key=order)

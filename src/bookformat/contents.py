"""The order of the book and the numbers of its chapters: `_toc.yml` alone says them.

Names of files have no numbers, so that a new chapter renames nothing.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from bookformat.paths import CHAPTERS, DEEPER

CONTENTS = "_toc.yml"


class Entry(NamedTuple):
    """A page of the book: "attention", or "deeper/edge-cases".

    A page of depth has the number of its chapter. Chapters of parts that are not numbered are
    chapter 0 before the first numbered part, and have no number after it.
    """

    page: str
    chapter: int | None

    @property
    def is_depth(self) -> bool:
        """Whether the page belongs to a chapter and is not on the way through the book."""
        return self.page.startswith(f"{DEEPER}/")

    @property
    def numbered_name(self) -> str:
        """The name of a file for readers, whose folders sort as the book does: "01-attention"."""
        if self.chapter is None:
            return self.page
        folder, slash, name = self.page.rpartition("/")
        return f"{folder}{slash}{self.chapter:02d}-{name}"


@cache
def entries_of(contents: str, folder: str) -> tuple[Entry, ...]:
    """The pages that the text of a `_toc.yml` lists below a folder of chapters, in their order."""
    entries: list[Entry] = []
    chapter: int | None = 0
    counted = 0
    for part in yaml.safe_load(contents)["parts"]:
        for file in part["chapters"]:
            if part.get("numbered"):
                counted += 1
                chapter = counted
            elif counted:
                chapter = None
            for page in (file, *file.get("sections", ())):
                name = page["file"].removeprefix(f"{folder}/")
                entries.append(Entry(name, chapter))
    return tuple(entries)


def book_entries(folder: Path = CHAPTERS) -> tuple[Entry, ...]:
    """All pages of the book whose chapters are in a folder, in the order of the file beside it.

    Pages that have no such file, as some tests write them, are in the order of their names.
    """
    file = folder.parent / CONTENTS
    if not file.is_file():
        pages = [path for path in folder.rglob("*") if path.suffix in (".ipynb", ".md")]
        return tuple(
            Entry(name, None) for name in sorted(page_name(path, folder) for path in pages)
        )
    return entries_of(file.read_text(encoding="utf-8"), folder.name)


def file_of_page(page: str, folder: Path = CHAPTERS) -> Path | None:
    """The notebook or the text of a page, if there is one."""
    for suffix in (".ipynb", ".md"):
        file = folder / f"{page}{suffix}"
        if page and file.is_file():
            return file
    return None


def book_pages(folder: Path = CHAPTERS) -> list[Path]:
    """The files of all pages of the book, in its order: pages of depth after their chapter."""
    pages = []
    for entry in book_entries(folder):
        file = file_of_page(entry.page, folder)
        if file is None:
            raise FileNotFoundError(
                f"{folder.parent / CONTENTS} lists {entry.page}, but {folder} has no such "
                "notebook or text: write it, or take it from the list"
            )
        pages.append(file)
    return pages


def main_line(folder: Path = CHAPTERS) -> list[Path]:
    """The chapters with numbers, without their pages of depth."""
    return [
        file
        for file, entry in zip(book_pages(folder), book_entries(folder), strict=True)
        if entry.chapter is not None and not entry.is_depth
    ]


def page_name(path: Path, folder: Path = CHAPTERS) -> str:
    """The name of a page in the book: "attention", or "deeper/edge-cases"."""
    return path.relative_to(folder).with_suffix("").as_posix()


def chapter_of(page: str, folder: Path = CHAPTERS) -> int | None:
    """The number of the chapter to which a page belongs, if it has one."""
    for entry in book_entries(folder):
        if entry.page == page:
            return entry.chapter
    return None

"""Write the numbers of chapters into the links that name them, as `_toc.yml` counts them now.

python -m bookformat.renumber

A link such as [chapter 4](cache.ipynb), [4](cache.ipynb) or [4, A title](cache.ipynb#a-title)
names the number of its chapter. Nothing else in a sentence may: a number without a link would stay
behind when the order changes.
"""

import posixpath
import re
import sys
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from bookformat.contents import book_pages, chapter_of, page_name
from bookformat.notebooks import read, stored_form
from bookformat.paths import CHAPTERS, ROOT

LINK = re.compile(r"\[(?P<words>[^\[\]]*)\]\((?P<address>[\w./-]+?\.ipynb)(?P<place>#[^()\s]*)?\)")
# "13", "chapter 13", "Back to chapter 13", "13, The block", "第 13 章".
NUMBER = re.compile(r"(?P<before>^|^.*[Cc]hapter |^.*第 ?)(?P<number>\d+)(?=$|,| ?章)")
BARE = re.compile(r"\b[Cc]hapters? \d+|第 ?\d+ ?章")


def page_of(address: str, page: str) -> str:
    """The page to which an address of a page leads: of "../cache.ipynb" it is "cache"."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), address))
    return path.removeprefix(f"../{CHAPTERS.name}/").removesuffix(".ipynb")


def renumbered(text: str, page: str) -> str:
    """The text of a page whose links name the chapters by their present numbers."""

    def write(link: re.Match[str]) -> str:
        chapter = chapter_of(page_of(link["address"], page))
        if chapter is None:
            return link.group()
        words = NUMBER.sub(lambda found: f"{found['before']}{chapter}", link["words"])
        return f"[{words}]({link['address']}{link['place'] or ''})"

    return LINK.sub(write, text)


def bare_numbers(text: str) -> list[str]:
    """Where a text names a chapter by its number without a link to it."""
    return BARE.findall(LINK.sub("", text))


def linking_files() -> dict[Path, str]:
    """The files in which links name chapters, each with the page whose links they are."""
    files = {ROOT / "index.md": "../index"}
    for path in book_pages():
        files[path] = page_name(path)
    for path, page in list(files.items()):
        catalog = path.relative_to(ROOT).with_suffix(".po")
        for translated in sorted(ROOT.glob(f"locale/*/LC_MESSAGES/{catalog}")):
            files[translated] = page
    return files


def renumbered_file(path: Path, page: str) -> str:
    """The text of a notebook, a page or a catalogue of translations with the present numbers."""
    if path.suffix == ".ipynb":
        notebook = read(path)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = renumbered(cell.source, page)
            figure = cell.metadata.get("mystnb", {}).get("figure", {})
            if "caption" in figure:
                figure["caption"] = renumbered(figure["caption"], page)
        return stored_form(notebook)
    if path.suffix == ".po":
        with path.open("rb") as file:
            old = read_po(file)
        new = Catalog()
        for message in old:
            if message.id:
                said = renumbered(str(message.id), page)
                translated = renumbered(str(message.string), page)
                new.add(said, translated, flags=message.flags, previous_id=message.previous_id)
        written = BytesIO()
        write_po(written, new, width=98, omit_header=True, sort_output=False)
        return written.getvalue().decode("utf-8")
    return renumbered(path.read_text(encoding="utf-8"), page)


def main() -> int:
    """Rewrite the files whose numbers are wrong, and name them."""
    changed = 0
    for path, page in linking_files().items():
        text = renumbered_file(path, page)
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: the numbers of chapters are written anew")
            changed += 1
    print(f"{changed} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Put the PDF and the zip file into the built site, and links to them onto its opening page.

`python -m bookcheck.export.offer _build/html _build/pdf/book.pdf _build/book.zip`

The files are made from the site, so the site is built without the links: they come with the files,
and no page shows a link to a file that is not there.
"""

import argparse
import re
import shutil
import sys
from html import escape
from pathlib import Path

FOLDER = "downloads"
PLACE = re.compile(r'<div class="downloads">.*?</div>', re.DOTALL)
WORDS = {".pdf": "the book as a PDF", ".zip": "the whole site, to read from disk, as a zip file"}


class OfferError(RuntimeError):
    """What keeps a file from being offered."""


def link_to(file: Path) -> str:
    """A link with the file's kind and size."""
    size = f"{file.stat().st_size / 1e6:.1f} MB"
    name = escape(file.name)
    return f'<a href="{FOLDER}/{name}" download>{WORDS[file.suffix]}</a> ({size})'


def offer(site: Path, files: list[Path]) -> None:
    """Copy files into the site, in place of those of before, and link to them."""
    for file in files:
        if not file.is_file():
            raise OfferError(f"{file} is not there; run make pdf and make zip first")
        if file.suffix not in WORDS:
            raise OfferError(f"{file}: expected a file of {' or '.join(WORDS)}")
    opening = site / "index.html"
    html = opening.read_text(encoding="utf-8")
    if not PLACE.search(html):
        raise OfferError(f'{opening} has no <div class="downloads"></div> for the links')
    folder = site / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    links = [link_to(Path(shutil.copy(file, folder))) for file in files]
    line = f"<p>Download {' or '.join(links)}.</p>" if links else ""
    text = PLACE.sub(f'<div class="downloads">{line}</div>', html, count=1)
    opening.write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Offer the named files."""
    parser = argparse.ArgumentParser(description="Link the site to its PDF and zip file.")
    parser.add_argument("site", type=Path)
    parser.add_argument("files", type=Path, nargs="*", help="none: take the old ones away")
    options = parser.parse_args(arguments)
    try:
        offer(options.site, options.files)
    except OfferError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The site as a zip file, and links to it and to the PDF on the opening page.

`make downloads` prints the site, packs it and copies both files into it. They are made from the
site, so a built page has no links to them: each comes with its file.
"""

import re
import shutil
import sys
import zipfile
from pathlib import Path

from bookcheck.browser import open_browser
from bookcheck.export.pdf import print_book
from bookcheck.site.runnable import PYTHON

PLACE = re.compile(r'<div class="downloads">.*?</div>', re.DOTALL)
WORDS = {".pdf": "the book as a PDF", ".zip": "the whole site, to read from disk, as a zip file"}
# Sphinx's own notes, which readers do not need.
NOTES = ".buildinfo"


def make_zip(site: Path, archive: Path) -> None:
    """Pack the site into one folder that is named like the file."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path in sorted(site.rglob("*")):
            if path.is_file() and path.name != NOTES and path.parent.name != PYTHON:
                target.write(path, Path(archive.stem, path.relative_to(site)))


def link_files(site: Path, files: list[Path]) -> None:
    """Copy files into the site, in place of those of before, and link to them."""
    opening, folder = site / "index.html", site / "downloads"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    links = [
        f'<a href="downloads/{file.name}" download>{WORDS[file.suffix]}</a> '
        f"({Path(shutil.copy(file, folder)).stat().st_size / 1e6:.1f} MB)"
        for file in files
    ]
    line = f"<p>Download {' or '.join(links)}.</p>" if links else ""
    new = f'<div class="downloads">{line}</div>'
    html, found = PLACE.subn(lambda _: new, opening.read_text(encoding="utf-8"), count=1)
    if not found:
        raise ValueError(f'{opening} has no <div class="downloads"></div>: add it to index.md')
    opening.write_text(html, encoding="utf-8")


def offer(site: Path, pdf: Path, archive: Path) -> None:
    """Pack the site, and put the zip file and the PDF into it."""
    # Or the zip file would hold those of before.
    link_files(site, [])
    make_zip(site, archive)
    link_files(site, [pdf, archive])


def main() -> None:
    """Make the PDF and the zip file of the site named first, called as the path named second."""
    site, name = map(Path, sys.argv[1:])
    pdf, archive = name.with_suffix(".pdf"), name.with_suffix(".zip")
    with open_browser() as browser:
        faults = print_book(browser, site, pdf)
    offer(site, pdf, archive)
    sizes = [f"{file}: {file.stat().st_size / 1e6:.1f} MB" for file in (pdf, archive)]
    print(*faults, *sizes, sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()

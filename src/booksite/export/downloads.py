"""The site as a zip file, and links to it and to the PDF on the opening page.

`make downloads` prints the site, packs it and copies both files into it. They are made from the
site, so a built page has no links to them: each comes with its file. A translated site, which is
below the English one, has a PDF and is in the zip file of that.
"""

import re
import shutil
import sys
import zipfile
from pathlib import Path

from bookformat.paths import ROOT
from booksite.browser import open_browser
from booksite.export.pdf import print_book
from booksite.runnable import PYTHON
from booksite.translation.sources import words_of_site
from booksite.workshop import FOLDER

PLACE = re.compile(r'<div class="downloads">.*?</div>', re.DOTALL)
LINE = "Download %s."
WORDS = {".pdf": "the book as a PDF", ".zip": "the whole site, to read from disk, as a zip file"}
LEFT_OUT = (PYTHON, FOLDER)  # from a file no browser runs Python
# Sphinx's own notes, which readers do not need.
NOTES = ".buildinfo"


def make_zip(site: Path, archive: Path) -> None:
    """Pack the site into one folder that is named like the file."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path in sorted(site.rglob("*")):
            if path.is_file() and path.name != NOTES and path.parent.name not in LEFT_OUT:
                target.write(path, Path(archive.stem, path.relative_to(site)))


def link_files(site: Path, files: list[Path], language: str = "") -> None:
    """Copy files into the site, in place of those of before, and link to them."""
    translated = words_of_site(language) if language else {}
    said = {text: translated.get(text, text) for text in (LINE, *WORDS.values())}
    opening = site / "index.html"
    folder = site / "downloads"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    links = [
        f'<a href="downloads/{file.name}" download>{said[WORDS[file.suffix]]}</a> '
        f"({Path(shutil.copy(file, folder)).stat().st_size / 1e6:.1f} MB)"
        for file in files
    ]
    line = f"<p>{said[LINE] % ' or '.join(links)}</p>" if links else ""
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
    """Make the PDF and the zip file of the site named first, called as the path named second.

    Third comes, for a translated site, the folder of its sources, which is named by its language.
    """
    site, name, *translated = map(Path, sys.argv[1:])
    files = [name.with_suffix(".pdf"), name.with_suffix(".zip")][: 1 if translated else 2]
    with open_browser() as browser:
        faults = print_book(browser, site, files[0], *(translated or [ROOT]))
    if translated:
        link_files(site, files, translated[0].name)
    else:
        offer(site, *files)
    sizes = [f"{file}: {file.stat().st_size / 1e6:.1f} MB" for file in files]
    print(*faults, *sizes, sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()

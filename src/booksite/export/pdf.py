"""One PDF of the whole book, printed by Chromium from the built site: `make downloads`.

The pages go into one document beside the PDF, in the order of _toc.yml; print_book.js joins them.
"""

import re
import unicodedata
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pypdf
import yaml
from playwright.sync_api import Browser

from bookformat.paths import EXPLAINED, ROOT

SCRIPT = Path(__file__).with_name("print_book.js")
LONGEST_WAIT = 300_000  # milliseconds
# Radicals of Chinese letters, in a PDF's tables that say which letter a shape is, and those of them
# for which Unicode has no letter.
RADICAL = re.compile(rb"(?<=> )<(2[EF][0-9A-F]{2})>")
LETTERS = str.maketrans(
    "⺟⻄⻅⻆⻉⻋⻓⻔⻘⻚⻛⻜⻝⻢⻣⻥⻩⻬⻮⻰", "母西见角贝车长门青页风飞食马骨鱼黄齐齿龙"
)
DOCUMENT = """<!doctype html><html lang="{language}" data-theme="light" data-mode="light">
<head><meta charset="utf-8"><title>{title}</title><meta name="author" content="{author}"></head>
<body class="print-book"><main class="bd-main">
<section class="print-title"><img src="{site}/_static/favicon.svg" alt="">
<h1>{title}</h1><p class="print-question"></p><p>{author}</p><p>{year}</p></section>
<nav class="print-contents" aria-labelledby="contents"><h2 id="contents"></h2><ul></ul></nav>
</main>{pages}</body></html>
"""


def reading_order(book: Path) -> Iterator[tuple[str, str]]:
    """Yield the pages of _toc.yml, each with the caption of the part that begins with it."""
    contents = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf-8"))
    yield f"{contents['root']}.html", ""
    for part in contents["parts"]:
        caption = part["caption"]
        for chapter in part["chapters"]:
            for page in (chapter, *chapter.get("sections", ())):
                # Source files are read beside a screen that runs them, and would fill 150 pages.
                if not page["file"].startswith(EXPLAINED):
                    yield f"{page['file']}.html", caption
                    caption = ""


def document_of(site: Path, book: Path) -> str:
    """Return a document with the title page and, in templates, all pages of the book."""
    settings = yaml.safe_load((book / "_config.yml").read_text(encoding="utf-8"))
    pages = [
        f'<template data-path="{path}" data-part="{escape(part)}">'
        f"{(site / path).read_text(encoding='utf-8')}</template>"
        for path, part in reading_order(book)
    ]
    return DOCUMENT.format(
        title=escape(settings["title"]),
        author=escape(settings["author"]),
        year=settings["copyright"],
        language=settings["sphinx"]["config"]["language"].replace("_", "-"),
        site=site.resolve().as_uri(),
        pages="\n".join(pages),
    )


def name_letters(pdf: Path) -> None:
    """Let Chinese words be found in a PDF, and copied.

    Where a letter and its radical have one shape, Chromium names the radical, and 力 is not found.
    """

    def letter(found: re.Match[bytes]) -> bytes:
        plain = unicodedata.normalize("NFKC", chr(int(found[1], 16))).translate(LETTERS)
        return f"<{ord(plain):04X}>".encode()

    book = pypdf.PdfWriter(clone_from=pdf)
    parts: list[Any] = [page["/Resources"] for page in book.pages]
    fonts = [font for part in parts for font in part.get("/Font", {}).values()]
    tables = {id(table): table for font in fonts if (table := font.get_object().get("/ToUnicode"))}
    for table in tables.values():
        stream = table.get_object()
        stream.set_data(RADICAL.sub(letter, stream.get_data()))
    book.write(pdf)


def print_book(browser: Browser, site: Path, pdf: Path, book: Path = ROOT) -> list[str]:
    """Write the PDF; return what does not fit on the paper and which links lead nowhere."""
    pdf.parent.mkdir(parents=True, exist_ok=True)
    document = pdf.with_suffix(".html")
    document.write_text(document_of(site, book), encoding="utf-8")
    page = browser.new_page()
    page.set_default_timeout(LONGEST_WAIT)
    page.emulate_media(media="print", color_scheme="light")
    page.goto(document.resolve().as_uri())
    words = site / "_static" / "words.js"  # of a translated book
    if words.is_file():
        page.add_script_tag(path=words)
    page.evaluate(SCRIPT.read_text(encoding="utf-8"))
    page.evaluate("(site) => book.join(site, document.title)", f"{site.resolve().as_uri()}/")
    page.evaluate("book.fit()")
    faults: list[str] = page.evaluate("book.faults()")
    page.pdf(path=pdf, prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
    page.close()
    if words.is_file():
        name_letters(pdf)
    return faults

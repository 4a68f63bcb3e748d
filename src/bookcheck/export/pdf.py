"""One PDF of the whole book, printed by Chromium from the built site: `make downloads`.

The pages go into one document beside the PDF, in the order of _toc.yml; print_book.js joins them.
It is printed twice: the first print tells on which page a chapter starts, the second has these
numbers in its contents.
"""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pypdf
import yaml
from playwright.sync_api import Browser

from bookcheck.paths import ROOT

SCRIPT = Path(__file__).with_name("print_book.js")
LONGEST_WAIT = 300_000  # milliseconds
DOCUMENT = """<!doctype html><html lang="{language}" data-theme="light" data-mode="light">
<head><meta charset="utf-8"><title>{title}</title><meta name="author" content="{author}"></head>
<body class="print-book"><main class="bd-main">
<section class="print-title"><img src="{site}/_static/favicon.svg" alt="">
<h1>{title}</h1><p class="print-question"></p><p>{author}</p><p>{year}</p></section>
<nav class="print-contents" aria-label="Contents"><h2>Contents</h2><ul></ul></nav>
</main>{pages}</body></html>
"""
FILL_NUMBERS = """(numbers) => {
  for (const place of document.querySelectorAll(".print-number")) {
    place.textContent = numbers[place.dataset.page];
  }
}"""


def reading_order(book: Path) -> Iterator[tuple[str, str]]:
    """Yield each page of _toc.yml, with the caption of the part that begins with it."""
    contents = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf-8"))
    yield f"{contents['root']}.html", ""
    for part in contents["parts"]:
        caption = part["caption"]
        for chapter in part["chapters"]:
            for page in (chapter, *chapter.get("sections", ())):
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
        language=settings["sphinx"]["config"]["language"],
        site=site.resolve().as_uri(),
        pages="\n".join(pages),
    )


def print_book(browser: Browser, site: Path, pdf: Path, book: Path = ROOT) -> list[str]:
    """Write the PDF; return what does not fit on the paper and which links lead nowhere."""
    pdf.parent.mkdir(parents=True, exist_ok=True)
    document = pdf.with_suffix(".html")
    document.write_text(document_of(site, book), encoding="utf-8")
    page = browser.new_page()
    page.set_default_timeout(LONGEST_WAIT)
    page.emulate_media(media="print", color_scheme="light")
    page.goto(document.resolve().as_uri())
    page.evaluate(SCRIPT.read_text(encoding="utf-8"))
    page.evaluate("(site) => book.join(site, document.title)", f"{site.resolve().as_uri()}/")
    page.evaluate("book.fit()")
    faults: list[str] = page.evaluate("book.faults()")
    paper: dict[str, Any] = {"path": pdf, "prefer_css_page_size": True, "print_background": True}
    page.pdf(**paper)
    reader = pypdf.PdfReader(pdf)
    starts = reader.named_destinations.items()
    numbers = {key.lstrip("/"): reader.get_destination_page_number(it) for key, it in starts}
    page.evaluate(FILL_NUMBERS, {key: number + 1 for key, number in numbers.items() if number})
    page.pdf(**paper, tagged=True, outline=True)
    page.close()
    return faults

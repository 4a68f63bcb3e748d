"""One PDF of the whole book, printed by Chromium from the built site.

`python -m bookcheck.export.pdf _build/html _build/pdf/book.pdf` joins the pages in the order of
_toc.yml into one document beside the PDF and prints it twice: the first print tells on which page a
chapter starts, the second has these numbers in its contents. Last, the outline gets the headings'
own words, since Chromium's lacks formulas and the blanks at the end of a line.
"""

import argparse
import os
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pypdf
import yaml
from playwright.sync_api import Browser
from playwright.sync_api import Error as PlaywrightError
from pypdf.generic import DictionaryObject, NameObject, TextStringObject

from bookcheck.browser import open_browser
from bookcheck.paths import ROOT

ON_PAPER = Path(__file__).with_name("on_paper.js")
LONGEST_WAIT = 300_000  # milliseconds
ARTICLE = re.compile(r'<article class="bd-article">(.*)</article>', re.DOTALL)
STYLE_SHEET = re.compile(r'<link\b[^>]*rel="stylesheet"[^>]*>')
ADDRESS = re.compile(r'\bhref="([^"?]*)')
TITLE = re.compile(r"<title>\s*(.*?)\s*(?:&#8212;.*?)?</title>", re.DOTALL)
FIRST_HEADING = re.compile(r"<h1>(.*?)</h1>", re.DOTALL)
# The opening page starts with the question that the book answers.
QUESTION = re.compile(r"<p><em>(.*?)</em></p>", re.DOTALL)
HEADER_LINK = re.compile(r'<a class="headerlink".*?</a>', re.DOTALL)
HEADING = re.compile(r"<(/?)h([1-5])\b")
TAG = re.compile(r'<[a-zA-Z](?:[^>"]|"[^"]*")*>')
ATTRIBUTE = re.compile(
    r' (id|for|aria-labelledby|aria-describedby|href|xlink:href|src)="([^"]*)"|url\(#'
)
IDENTIFIER = re.compile(r'\bid="([^"]*)"')
WHOLE_HEADING = re.compile(r"<h[1-6]\b[^>]*>(.*?)</h[1-6]>", re.DOTALL)
# What stands before each further part of a formula, in plain letters.
SCRIPTS = {"msub": "_", "msup": "^", "msubsup": "_^"}
INNER_LINK = re.compile(r'<a\b[^>]* href="#([^"]*)"')


class PrintingError(RuntimeError):
    """What keeps the site from becoming a PDF."""


@dataclass(frozen=True)
class Page:
    """A page of the site, with the caption of its part where it is the first of one."""

    address: str
    part: str | None = None

    @property
    def key(self) -> str:
        """The page's name inside the one document: its id, the start of its ids, its CSS page."""
        return self.address.removesuffix(".html").replace("/", "-")


@dataclass(frozen=True)
class Book:
    """What the title page says."""

    title: str
    author: str
    year: str
    language: str


@dataclass(frozen=True)
class Facts:
    """What a PDF tells about itself to a reader's program."""

    pages: int
    title: str
    language: str
    tagged: bool
    outline: tuple[str, ...]
    inner_links: int
    dead_links: tuple[str, ...]
    starts: Mapping[str, int]
    sizes: frozenset[tuple[int, int]]


def read_book(config: Path) -> Book:
    """Read title, author, year and language from the book's settings."""
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    return Book(
        title=settings["title"],
        author=settings["author"],
        year=str(settings["copyright"]),
        language=settings["sphinx"]["config"]["language"],
    )


def reading_order(contents: Path) -> list[Page]:
    """Return the pages in the order of _toc.yml."""
    contents_of_book = yaml.safe_load(contents.read_text(encoding="utf-8"))
    pages = [Page(f"{contents_of_book['root']}.html")]
    for part in contents_of_book["parts"]:
        caption = part["caption"]
        for chapter in part["chapters"]:
            pages.append(Page(f"{chapter['file']}.html", caption))
            pages += [Page(f"{page['file']}.html") for page in chapter.get("sections", ())]
            caption = None
    return pages


def _article(html: str, address: str) -> str:
    found = ARTICLE.search(html)
    if found is None:
        raise PrintingError(f"{address} has no <article>: build the site again (make book)")
    return re.sub(r"<script\b.*?</script>", "", found[1], flags=re.DOTALL)


def move(html: str, page: Page, keys: Mapping[str, str], site: str) -> str:
    """Return a page's HTML fit to stand beside the others.

    Ids start with the page's key, links lead to places in the one document, images come from the
    folder `site`, folds are open, and headings are one level lower, below those of the parts. A
    link to a file that is not printed loses its address and stays as text.
    """
    folder = posixpath.dirname(page.address)

    def on_site(path: str) -> str:
        return posixpath.normpath(posixpath.join(folder, path))

    def attribute(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name is None:
            return f"url(#{page.key}-"
        address = urlsplit(value)
        outside = bool(address.scheme or address.netloc)
        if name == "src":
            return found[0] if outside else f' src="{site}/{on_site(address.path)}"'
        if name not in ("href", "xlink:href"):
            moved = " ".join(f"{page.key}-{one}" for one in value.split())
            return f' {name}="{moved}"'
        if outside:
            return found[0]
        key = keys.get(on_site(address.path)) if address.path else page.key
        if key is None:
            return ""
        return f' {name}="#{key}-{address.fragment}"' if address.fragment else f' {name}="#{key}"'

    def tag(found: re.Match[str]) -> str:
        text = ATTRIBUTE.sub(attribute, found[0])
        return re.sub(r"^<details(?! open)", "<details open", text)

    html = TAG.sub(tag, html)
    return HEADING.sub(lambda found: f"<{found[1]}h{int(found[2]) + 1}", html)


def _css_string(text: str) -> str:
    return '"' + re.sub(r'[\\"<]', lambda found: f"\\{ord(found[0]):x} ", text) + '"'


def _style_sheets(html: str, address: str) -> Iterator[str]:
    for link in STYLE_SHEET.findall(html):
        found = ADDRESS.search(link)
        if found:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(address), found[1]))


def assemble(site: Path, pages: list[Page], book: Book, *, base: str) -> str:
    """Return the whole book as one HTML document that finds the site's files under `base`."""
    keys = {page.address: page.key for page in pages}
    sheets: dict[str, None] = {}
    contents: list[str] = []
    running_heads: list[str] = []
    chapters: list[str] = []
    question = ""
    for page in pages:
        path = site / page.address
        if not path.is_file():
            raise PrintingError(f"{path} is missing: build the site first (make book)")
        html = path.read_text(encoding="utf-8")
        sheets.update(dict.fromkeys(_style_sheets(html, page.address)))
        article = HEADER_LINK.sub("", _article(html, page.address))
        heading, page_title = FIRST_HEADING.search(article), TITLE.search(html)
        if heading is None or page_title is None:
            raise PrintingError(f"{page.address} has no title: build the site again (make book)")
        name, plain = heading[1], unescape(page_title[1])
        if page is pages[0]:
            name = plain = "About this book"
            first_words = QUESTION.search(article)
            question = first_words[1] if first_words else ""
            article = article.replace(heading[0], f"<h1>{name}</h1>", 1)
        if page.part:
            contents.append(f'<li class="print-part">{escape(page.part)}</li>')
        contents.append(
            f'<li><a href="#{page.key}"><span>{name}</span> '
            f'<span class="print-number" data-page="{page.key}"></span></a></li>'
        )
        running_heads.append(
            f"@page {page.key} {{ @top-left {{ content: {_css_string(book.title)} }} "
            f"@top-right {{ content: {_css_string(plain)} }} }}"
        )
        part = f'<h1 class="print-part">{escape(page.part)}</h1>' if page.part else ""
        chapters.append(
            f'<section class="print-chapter" id="{page.key}" style="page: {page.key}">{part}'
            f'<article class="bd-article">{move(article, page, keys, base)}</article></section>'
        )
    links = "\n".join(f'<link rel="stylesheet" href="{base}/{sheet}">' for sheet in sheets)
    title = escape(book.title)
    return f"""<!doctype html>
<html lang="{book.language}" data-theme="light" data-mode="light">
<head><meta charset="utf-8"><title>{title}</title>
<meta name="author" content="{escape(book.author)}">
{links}
<style>
{chr(10).join(running_heads)}
</style></head>
<body class="print-book"><main class="bd-main">
<section class="print-title"><img src="{base}/_static/favicon.svg" alt="">
<h1>{title}</h1><p class="print-question">{question}</p>
<p>{escape(book.author)}</p><p>{escape(book.year)}</p></section>
<nav class="print-contents" aria-label="Contents"><h2>Contents</h2>
<ul>
{chr(10).join(contents)}
</ul></nav>
{chr(10).join(chapters)}
</main></body></html>
"""


def broken_inside(document: str) -> list[str]:
    """Return what is wrong with the ids and inner links of a document."""
    faults = []
    seen = set()
    for name in IDENTIFIER.findall(document):
        if name in seen:
            faults.append(f"two elements have the id {name}")
        seen.add(name)
    missing = dict.fromkeys(name for name in INNER_LINK.findall(document) if name not in seen)
    return faults + [f"a link leads to #{name}, which is not in the book" for name in missing]


class _Words(HTMLParser):
    """Collects what a heading says, a formula through the copy that screen readers read."""

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        # The open elements: name, whether its words count, how many parts it has so far.
        self.open: list[tuple[str, bool, int]] = [("", True, 0)]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note whether the words inside count, and write the signs that make a formula readable."""
        parent, counts, parts = self.open[-1]
        self.open[-1] = (parent, counts, parts + 1)
        if parent in SCRIPTS and parts > 0:
            self.words += SCRIPTS[parent][parts - 1]
        if tag == "msqrt":
            self.words += "√"
        self.open.append((tag, counts and ("aria-hidden", "true") not in attributes, 0))

    def handle_endtag(self, _tag: str) -> None:
        """Come back to what is around."""
        self.open.pop()

    def handle_data(self, data: str) -> None:
        """Keep words that count."""
        if self.open[-1][1]:
            self.words += data


def headings_of(document: str) -> list[str]:
    """Return the words of all headings, formulas in plain letters."""
    headings = []
    for heading in WHOLE_HEADING.findall(document):
        reader = _Words()
        reader.feed(heading)
        reader.close()
        headings.append(" ".join(reader.words.split()))
    return headings


def print_document(browser: Browser, document: Path, pdf: Path) -> tuple[list[str], dict[str, int]]:
    """Print an HTML file with Chromium, with page numbers in its contents, and name its outline.

    Returns what does not fit on the paper, and on which page each link's target was when the
    numbers were filled in.
    """
    paper: dict[str, Any] = {"path": pdf, "prefer_css_page_size": True, "print_background": True}
    page = browser.new_page()
    page.set_default_timeout(LONGEST_WAIT)
    page.emulate_media(media="print", color_scheme="light")
    try:
        page.goto(document.resolve().as_uri(), wait_until="load")
        page.evaluate("() => document.fonts.ready.then(() => {})")
        page.evaluate(ON_PAPER.read_text(encoding="utf-8"))
        page.evaluate("() => { paper.shrinkWhatIsWide(); paper.letLongCodeBreak(); }")
        faults: list[str] = page.evaluate("() => paper.findWhatIsCut('body')")
        page.pdf(**paper, tagged=False)
        numbers = _starts(pypdf.PdfReader(pdf))
        page.evaluate("(numbers) => paper.fillNumbers(numbers)", numbers)
        page.pdf(**paper, tagged=True, outline=True)
    except PlaywrightError as error:
        raise PrintingError(f"Chromium did not print the book:\n{error}") from error
    finally:
        page.close()
    name_outline(pdf, headings_of(document.read_text(encoding="utf-8")))
    return faults, numbers


def _starts(reader: pypdf.PdfReader) -> dict[str, int]:
    return {
        name.lstrip("/"): 1 + (reader.get_destination_page_number(place) or 0)
        for name, place in reader.named_destinations.items()
    }


def _entries(outline: DictionaryObject) -> Iterator[DictionaryObject]:
    following = outline.get("/First")
    while following is not None:
        entry: DictionaryObject = following.get_object()
        yield entry
        yield from _entries(entry)
        following = entry.get("/Next")


def name_outline(pdf: Path, headings: list[str]) -> None:
    """Give the entries of a PDF's outline these names, in order."""
    writer = pypdf.PdfWriter(pdf, incremental=True)
    outline = writer.root_object.get("/Outlines")
    entries = list(_entries(outline.get_object())) if outline is not None else []
    if len(entries) != len(headings):
        raise PrintingError(
            f"the outline of {pdf} has {len(entries)} entries for {len(headings)} headings; "
            "a Chromium of version 125 or later makes one for each"
        )
    for entry, heading in zip(entries, headings, strict=True):
        entry[NameObject("/Title")] = TextStringObject(heading)
    writer.write(pdf)


def _outline(entries: list[Any], depth: int = 0) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, list):
            yield from _outline(entry, depth + 1)
        else:
            yield "  " * depth + str(entry.title)


def read_facts(pdf: Path) -> Facts:
    """Read from a PDF what a reader's program would."""
    reader = pypdf.PdfReader(pdf)
    root = reader.root_object
    starts = _starts(reader)
    targets = []
    for page in reader.pages:
        for annotation in page.annotations or ():
            link = annotation.get_object()
            target = link.get("/Dest", link.get("/A", {}).get("/D"))
            if target is not None:
                targets.append(str(target).lstrip("/"))
    return Facts(
        pages=len(reader.pages),
        title=reader.metadata.title or "" if reader.metadata else "",
        language=str(root.get("/Lang", "")),
        tagged=bool(root.get("/MarkInfo", {}).get("/Marked")) and "/StructTreeRoot" in root,
        outline=tuple(_outline(reader.outline)),
        inner_links=len(targets),
        dead_links=tuple(dict.fromkeys(name for name in targets if name not in starts)),
        starts=starts,
        sizes=frozenset((round(p.mediabox.width), round(p.mediabox.height)) for p in reader.pages),
    )


def problems(facts: Facts, book: Book, pages: list[Page], numbers: Mapping[str, int]) -> list[str]:
    """Return what a PDF of the book lacks; `numbers` are the pages that its contents print."""
    found = []
    if facts.title != book.title:
        found.append(f"the PDF's title is {facts.title!r} and should be {book.title!r}")
    if facts.language != book.language:
        found.append(f"the PDF's language is {facts.language!r} and should be {book.language!r}")
    if not facts.tagged:
        found.append("the PDF is not tagged, so a screen reader cannot follow it")
    if not facts.outline:
        found.append("the PDF has no outline")
    found += [f"a link in the PDF leads nowhere: {name}" for name in facts.dead_links]
    for page in pages:
        start, printed = facts.starts.get(page.key), numbers.get(page.key)
        if start is None or start != printed:
            found.append(f"{page.key} starts on page {start} and the contents say {printed}")
    return found


def make_pdf(site: Path, pdf: Path) -> tuple[Facts, list[str]]:
    """Write the PDF, and the document it is printed from beside it; return what is wrong."""
    book, pages = read_book(ROOT / "_config.yml"), reading_order(ROOT / "_toc.yml")
    pdf.parent.mkdir(parents=True, exist_ok=True)
    document = pdf.with_suffix(".html")
    base = Path(os.path.relpath(site, pdf.parent)).as_posix()
    text = assemble(site, pages, book, base=base)
    document.write_text(text, encoding="utf-8")
    with open_browser() as browser:
        faults, numbers = print_document(browser, document, pdf)
    facts = read_facts(pdf)
    return facts, [*broken_inside(text), *faults, *problems(facts, book, pages, numbers)]


def main() -> int:
    """Print the site named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("pdf", type=Path)
    arguments = parser.parse_args()
    try:
        facts, faults = make_pdf(arguments.site, arguments.pdf)
    except (FileNotFoundError, PrintingError) as error:
        print(error, file=sys.stderr)
        return 2
    for fault in faults:
        print(fault, file=sys.stderr)
    size = arguments.pdf.stat().st_size / 1e6
    print(f"{arguments.pdf}: {facts.pages} pages, {facts.inner_links} inner links, {size:.1f} MB")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

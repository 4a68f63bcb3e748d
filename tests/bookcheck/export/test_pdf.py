"""The book as one PDF: how its pages are joined, and what Chromium prints."""

import dataclasses
import re

import pypdf
import pytest
from playwright.sync_api import expect

from bookcheck.export.pdf import (
    Book,
    Facts,
    Page,
    PrintingError,
    assemble,
    broken_inside,
    headings_of,
    main,
    move,
    name_outline,
    print_document,
    problems,
    read_book,
    read_facts,
    reading_order,
)
from bookcheck.notebooks.files import page_name
from bookcheck.paths import ROOT, book_pages

BOOK = Book(title="A small book", author="Its authors", year="2026", language="en")
PAGES = [
    Page("index.html"),
    Page("chapters/one.html", "First part"),
    Page("chapters/two.html"),
]
HTML = """<!doctype html><html lang="en"><head><title>{title} &#8212; A small book</title>
<link rel="stylesheet" href="{up}_static/book.css?v=1" /><link rel="icon" href="x.svg"/>
<link rel="stylesheet" type="text/css" href="{up}_static/print.css?v=2" /></head>
<body><nav>not printed</nav><article class="bd-article"><section id="top">
<h1>{title}<a class="headerlink" href="#top">#</a></h1>{body}</section></article>
<footer>not printed</footer></body></html>"""
ONE = """<p id="here">See <a href="#here">here</a>, <a class="x" href="two.html#top">two</a>,
<a href="two.html">all of two</a>, <a href="../index.html#top">the start</a>,
<a href="../checks/test_one.html">a check</a>, <a href="https://example.com/#top">elsewhere</a>.</p>
<details class="proof"><summary>Proof</summary><p>Folded.</p></details>
<h2 id="second">1.1. Second</h2>
<span class="eqno">(1.1)</span><span class="caption-number">Fig. 1.1 </span>
<svg aria-labelledby="name other"><title id="name">A &gt; "b"</title><g id="other"/>
<use xlink:href="#name"/><g clip-path="url(#other)"/></svg>
<img alt="x > y" src="../_images/a.png"><script>alert("gone")</script>"""


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "html"
    (folder / "chapters").mkdir(parents=True)
    (folder / "index.html").write_text(
        HTML.format(title="A small book", up="", body="<p><em>Why?</em></p>"), encoding="utf8"
    )
    for name, title, body in (("one", "1. One &amp; only", ONE), ("two", '2. "Two"', "<p>2</p>")):
        text = HTML.format(title=title, up="../", body=body)
        (folder / "chapters" / f"{name}.html").write_text(text, encoding="utf8")
    return folder


@pytest.fixture
def document(site):
    return assemble(site, PAGES, BOOK, base="../html")


def test_the_order_is_that_of_the_book():
    pages = reading_order(ROOT / "_toc.yml")
    assert pages[0] == Page("index.html")
    assert pages[1] == Page("chapters/00-short-road.html", "The short road")
    assert pages[2] == Page("chapters/01-attention.html", "Attention")
    assert pages[3] == Page("chapters/deeper/01-edge-cases.html")
    printed = {page.address for page in pages if re.match(r"chapters/(deeper/)?\d", page.address)}
    numbered = [page_name(path) for path in book_pages() if path.name[0].isdigit()]
    assert printed == {f"chapters/{name}.html" for name in numbered}
    assert read_book(ROOT / "_config.yml").title == "From Attention to RoPE"


def test_pages_stand_in_order_with_nothing_around_them(document):
    assert "not printed" not in document
    assert "<script" not in document
    places = [document.index(f'id="{page.key}"') for page in PAGES]
    assert places == sorted(places)
    assert '<html lang="en" data-theme="light"' in document
    assert "<title>A small book</title>" in document
    assert '<p class="print-question">Why?</p>' in document


def test_style_sheets_come_once_and_from_the_site(document):
    assert re.findall(r'<link rel="stylesheet" href="([^"]*)">', document) == [
        "../html/_static/book.css",
        "../html/_static/print.css",
    ]
    assert 'src="../html/_images/a.png"' in document
    assert not re.search(r'(?:src|<link[^>]* href)="(?:https?:)?//', document)


def test_contents_name_parts_and_chapters(document):
    contents = document[document.index("<nav") : document.index("</nav>")]
    lines = [re.sub("<[^>]*>", "", line).strip() for line in contents.splitlines()]
    assert [line for line in lines if line] == [
        "Contents",
        "About this book",
        "First part",
        "1. One &amp; only",
        '2. "Two"',
    ]
    assert re.findall('href="([^"]*)"', contents) == ["#index", "#chapters-one", "#chapters-two"]
    # The places that the second print fills in.
    places = re.findall('class="print-number" data-page="([^"]*)"', contents)
    assert places == ["index", "chapters-one", "chapters-two"]


def test_every_chapter_has_its_own_running_head(document):
    heads = dict(re.findall(r"@page (\S+) {.*@top-right { content: (.*) } }", document))
    assert heads["chapters-one"] == '"1. One & only"'
    # In a style sheet a quotation mark ends the words, so it is written as its number.
    assert heads["chapters-two"] == r'"2. \22 Two\22 "'
    assert 'id="chapters-two" style="page: chapters-two"' in document


def test_links_stay_inside_and_others_become_text(document):
    assert 'href="#chapters-one-here">here' in document
    assert 'href="#chapters-two-top">two' in document
    assert 'href="#chapters-two">all of two' in document
    assert 'href="#index-top">the start' in document
    assert "<a>a check</a>" in document
    assert 'href="https://example.com/#top">elsewhere' in document
    assert broken_inside(document) == []


def test_names_inside_figures_follow_their_page(document):
    assert '<svg aria-labelledby="chapters-one-name chapters-one-other">' in document
    assert '<use xlink:href="#chapters-one-name"/>' in document
    assert 'clip-path="url(#chapters-one-other)"' in document


def test_headings_stand_below_those_of_parts(document):
    headings = re.findall(r"<(h\d)[^>]*>(.*?)</\1>", document)
    assert headings == [
        ("h1", "A small book"),
        ("h2", "Contents"),
        ("h2", "About this book"),
        ("h1", "First part"),
        ("h2", "1. One &amp; only"),
        ("h3", "1.1. Second"),
        ("h2", '2. "Two"'),
    ]


def test_folds_are_open_and_numbers_stay(document):
    assert '<details open class="proof">' in document
    assert "(1.1)" in document
    assert "Fig. 1.1 " in document
    assert move("<details open>", PAGES[0], {}, "") == "<details open>"


def test_a_heading_is_read_with_its_formula_once():
    formula = (
        '<span class="katex"><span class="katex-mathml"><math><mrow><msqrt><msub><mi>d</mi>'
        "<mrow><mi>k</mi></mrow></msub></msqrt><mo>&lt;</mo><msubsup><mi>W</mi><mi>j</mi>"
        '<mo>⊤</mo></msubsup></mrow></math></span><span class="katex-html" aria-hidden="true">'
        "<span>d</span><span><span>k</span></span></span></span>"
    )
    document = f'<h2 id="a"><span>2.1. </span>Why {formula}?</h2><p>no</p><h3>Plain\nwords</h3>'
    assert headings_of(document) == ["2.1. Why √d_k<W_j^⊤?", "Plain words"]


def test_planted_faults_inside_a_document_are_named():
    faulty = '<p id="a"></p><p id="a"></p><a class="x" href="#b">b</a><a href="#b">b</a>'
    assert broken_inside(faulty) == [
        "two elements have the id a",
        "a link leads to #b, which is not in the book",
    ]


def test_a_missing_or_empty_page_is_named(site):
    with pytest.raises(PrintingError, match=r"gone\.html is missing: build the site first"):
        assemble(site, [Page("gone.html")], BOOK, base=".")
    (site / "index.html").write_text("<p>no article</p>", encoding="utf-8")
    with pytest.raises(PrintingError, match=r"index\.html has no <article>"):
        assemble(site, PAGES, BOOK, base=".")
    (site / "index.html").write_text(
        '<article class="bd-article">no title</article>', encoding="utf-8"
    )
    with pytest.raises(PrintingError, match=r"index\.html has no title"):
        assemble(site, PAGES, BOOK, base=".")


def test_a_missing_browser_is_told_in_one_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("CHROMIUM", "")
    monkeypatch.setattr("bookcheck.browser.NAMES", ())
    monkeypatch.setattr("bookcheck.export.pdf.assemble", lambda *_, **__: "")
    monkeypatch.setattr("sys.argv", ["printing", str(tmp_path), str(tmp_path / "a.pdf")])
    assert main() == 2
    said = capsys.readouterr().err.strip()
    assert "install the package `chromium`" in said
    assert "\n" not in said


GOOD = Facts(
    pages=20,
    title="A small book",
    language="en",
    tagged=True,
    outline=("Contents",),
    inner_links=4,
    dead_links=(),
    starts={"index": 3, "chapters-one": 4, "chapters-two": 17},
    sizes=frozenset({(595, 842)}),
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"title": ""}, "title is ''"),
        ({"language": "de"}, "language is 'de'"),
        ({"tagged": False}, "not tagged"),
        ({"outline": ()}, "no outline"),
        ({"dead_links": ("x",)}, "leads nowhere: x"),
        ({"starts": {"index": 3, "chapters-one": 4}}, "chapters-two starts on page None"),
        (
            {"starts": {**GOOD.starts, "chapters-two": 18}},
            "starts on page 18 and the contents say 17",
        ),
    ],
)
def test_each_lack_of_a_pdf_is_named(change, said):
    assert problems(GOOD, BOOK, PAGES, GOOD.starts) == []
    (found,) = problems(dataclasses.replace(GOOD, **change), BOOK, PAGES, GOOD.starts)
    assert said in found


# The browser

FORMULA = '<div class="math"><div class="math-formula"><span class="katex">{}</span></div></div>'
A_LINE = "x = 1  # " + "a word " * 30
FITS = (
    '<table class="table"><tr><th><button>Sorts</button></th></tr><tr>'
    + f"<td>{'wide' * 6}</td>" * 6
    + "</tr></table><p>A <button>Play</button> too.</p>"
    f"<pre>{A_LINE}</pre><pre>{'x' * 110}</pre>"
    + FORMULA.format(f'<span style="white-space: nowrap">{"a + b + " * 15}c</span>')
    + '<svg class="book-figure" width="300" height="30" role="img" aria-label="A line"><clipPath '
    'id="frame"><path d="M0 0h300v30H0z"/></clipPath><g><path clip-path="url(#frame)" '
    'd="M0 9H2000" stroke="red"/></g></svg>'
)
TOO_WIDE = {
    "table": (
        '<table><tr><td style="min-width: 1200px">wide</td></tr></table>',
        "<table> sticks out",
    ),
    "formula": (FORMULA.format('<span style="padding-left: 1500px">f</span>'), "sticks out"),
    "figure": (
        '<svg width="30" height="9" overflow="visible"><g><text x="700" y="9">t</text></g></svg>',
        "<text> sticks out",
    ),
    "box": ('<div style="width: 900px">wide</div>', "<div> sticks out of the text"),
    "hidden": (
        '<div style="overflow: hidden"><div style="width: 900px">cut</div></div>',
        "<div> hides",
    ),
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory, browser):
    """Print a small book, with real style sheets, or one with something in its first chapter."""

    def run(body):
        folder = tmp_path_factory.mktemp("print")
        (folder / "html" / "chapters").mkdir(parents=True)
        (folder / "html" / "_static").symlink_to(ROOT / "_static")
        (folder / "html" / "index.html").write_text(
            HTML.format(title="A small book", up="", body=""), encoding="utf8"
        )
        for name, text in (("one", body), ("two", '<p>Back to <a href="one.html">one</a>.</p>')):
            page = HTML.format(title=f"Chapter {name}", up="../", body=text)
            (folder / "html" / "chapters" / f"{name}.html").write_text(page, encoding="utf8")
        text = assemble(folder / "html", PAGES, BOOK, base="html")
        (folder / "book.html").write_text(text, encoding="utf8")
        faults, numbers = print_document(browser, folder / "book.html", folder / "book.pdf")
        return faults, numbers, folder / "book.pdf"

    return run


@pytest.mark.browser
def test_what_is_wide_is_made_to_fit(printed):
    faults, numbers, pdf = printed(FITS + ONE.replace('src="../_images/a.png"', 'src="data:,"'))
    assert faults == []
    facts = read_facts(pdf)
    assert problems(facts, BOOK, PAGES, numbers) == []
    assert (facts.title, facts.language, facts.tagged) == ("A small book", "en", True)
    assert facts.outline == (
        "A small book",
        "  Contents",
        "  About this book",
        "First part",
        "  Chapter one",
        "    1.1. Second",
        "  Chapter two",
    )
    assert facts.dead_links == ()
    # Three in the contents, four of the text, one back.
    assert facts.inner_links == 8
    # Title and contents come first, and every chapter starts on a new page.
    assert {page.key: facts.starts[page.key] for page in PAGES} == {
        "index": 3,
        "chapters-one": 4,
        "chapters-two": 5,
    }
    assert facts.sizes == {(595, 842)}, "A4, whatever the text"
    contents, chapter = (pypdf.PdfReader(pdf).pages[number].extract_text() for number in (1, 3))
    assert "Sorts" in chapter
    assert "Play" not in chapter
    assert re.search(r"About this book\s+3\b", contents)
    assert re.search(r"Chapter two\s+5\b", contents)
    with pytest.raises(PrintingError, match="has 7 entries for 1 headings"):
        name_outline(pdf, ["only one"])


@pytest.mark.browser
@pytest.mark.parametrize("name", TOO_WIDE)
def test_what_cannot_fit_is_named(printed, name):
    body, said = TOO_WIDE[name]
    faults, _, _ = printed(body)
    assert faults
    assert all(fault.startswith("chapters-one: ") for fault in faults)
    assert any(said in fault for fault in faults), faults


@pytest.mark.browser
def test_a_dark_page_is_printed_light(tmp_path, open_page):
    path = tmp_path / "page.html"
    script = (ROOT / "_static" / "print.js").as_uri()
    path.write_text(f'<html data-theme="dark"><script src="{script}"></script>', encoding="utf-8")
    page = open_page(path)
    for event, theme in (("beforeprint", "light"), ("afterprint", "dark")):
        page.evaluate("(name) => dispatchEvent(new Event(name))", event)
        expect(page.locator("html")).to_have_attribute("data-theme", theme)

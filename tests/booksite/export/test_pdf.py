"""The book as one PDF: a small book printed by Chromium, and what cannot be printed."""

import re
import shutil
import subprocess

import pypdf
import pytest
from playwright.sync_api import Error, expect
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from bookformat.paths import STATIC
from booksite.export.pdf import name_letters, print_book, reading_order

CONFIG = """
{title: A small book, author: Its authors, copyright: "2026", sphinx: {config: {language: en}}}
"""
CONTENTS = """
{root: index, parts: [{caption: First part, chapters: [{file: a/one, sections: [{file: a/two}]}]}]}
"""
HTML = """<!doctype html><html lang="en"><head><title>{title}</title>
<link rel="stylesheet" href="{up}_static/book.css?v=1"><link rel="stylesheet"
href="{up}_static/print.css?v=2"></head><body><nav>not printed</nav>
<article class="bd-article"><section id="top">
<h1>{title}<a class="headerlink" href="#top">#</a></h1>{body}
</section></article><footer>not printed</footer></body></html>"""
FORMULA = (
    '<span class="katex"><span class="katex-mathml"><math><msqrt><msub><mi>d</mi><mi>k</mi></msub>'
    '</msqrt></math></span><span class="katex-html" aria-hidden="true"><span>d</span></span></span>'
)
WIDE_LINE = '<div class="math-formula"><span style="white-space: nowrap">{}</span></div>'
ONE = (
    f"""<h2 id="second">Why {FORMULA}</h2>
<p id="here">See <a href="#here">here</a>, <a href="two.html#top">two</a>,
<a href="two.html">all</a>, <a href="../index.html#top">start</a>, <a href="../x.html">a check</a>,
<a href="https://example.com/#top">elsewhere</a>.</p>
<details><summary>Proof</summary><p>Folded.</p></details><p>A <button>Play</button> too.</p>
<svg width="90" height="9"><clipPath id="frame"><path d="M0 0h9v9H0z"/></clipPath>
<path clip-path="url(#frame)" d="M0 9H90"/></svg>
<pre>{"a word " * 20}</pre><pre>{"x" * 110}</pre>"""
    + f'<table class="table"><tr>{"<td>widewidewidewide</td>" * 8}</tr></table>'
    + WIDE_LINE.format("a + b + " * 15)
    + """<div class="quiz"><form>Sure?<div class="choice" data-right><label><span>B</span></label>
<div class="why">It is.</div></div></form><form>How many?<details><p><strong>4.00</strong> Two
twos.</p></details></form></div><p>Exercise.</p><script>document.title = 'gone'</script>
<link rel="stylesheet" href="../_static/book.css">"""
)


@pytest.fixture
def printed(tmp_path, browser):
    """Print a book of three pages with the real style sheets; return what was wrong and the PDF."""

    def run(body):
        site = tmp_path / "html"
        (site / "a").mkdir(parents=True)
        (site / "_static").symlink_to(STATIC)
        (tmp_path / "_config.yml").write_text(CONFIG, encoding="utf-8")
        (tmp_path / "_toc.yml").write_text(CONTENTS, encoding="utf-8")
        bodies = {
            "index": "<p><em>Why?</em></p>",
            "a/one": body,
            "a/two": '<a href="one.html">1</a>',
        }
        for name, text in bodies.items():
            page = HTML.format(title=f"Page {name}", up="../" * name.count("/"), body=text)
            (site / f"{name}.html").write_text(page, encoding="utf-8")
        faults = print_book(browser, site, tmp_path / "book.pdf", tmp_path)
        return faults, pypdf.PdfReader(tmp_path / "book.pdf")

    return run


def titles(outline, depth=0):
    for entry in outline:
        yield from titles(entry, depth + 1) if isinstance(entry, list) else [(depth, entry.title)]


@pytest.mark.browser
def test_a_small_book(printed):
    faults, pdf = printed(ONE)
    assert faults == []
    assert pdf.metadata.title == "A small book"
    assert pdf.root_object["/Lang"] == "en"
    assert pdf.root_object["/MarkInfo"]["/Marked"], "a screen reader needs the tags"
    assert list(titles(pdf.outline)) == [
        (0, "A small book"), (1, "Contents"), (1, "About this book"),
        (0, "First part"), (1, "Page a/one"), (2, "Why √𝑑𝑘"),
        (2, "Answers to the questions"), (1, "Page a/two"),
    ]  # fmt: skip
    title, contents, _, one, two = (page.extract_text() for page in pdf.pages)
    assert "Why?" in title
    assert contents.split("\n")[-3:] == ["First part", "Page a/one", "Page a/two"]
    assert "Folded." in one
    assert re.search(r"Sure\?.*many\?.*Exercise.*questions\s.*B\. It is\..*4\.00 Two", one, re.S)
    assert one.count("It is.") == one.count("4.00") == 1
    assert not re.search("Play|not printed|#", one)
    # The running head has the names of the book and of the page.
    assert {"A small book", "Page a/two"} <= set(re.split(r"\n|(?<=book) ", two))
    links = [link.get_object() for page in pdf.pages for link in page.annotations or ()]
    inside = [link["/Dest"].lstrip("/") for link in links if "/Dest" in link]
    assert sorted(inside[3:]) == ["a-one", "a-one-here", "a-two", "a-two-top", "index-top"]
    assert set(inside) <= {name.lstrip("/") for name in pdf.named_destinations}
    assert {(round(page.mediabox.width), round(page.mediabox.height)) for page in pdf.pages} == {
        (595, 842)
    }, "A4, whatever the text"


@pytest.mark.browser
def test_what_cannot_be_printed_is_named(printed):
    faults, _ = printed(
        '<table><tr><td style="min-width: 1200px">x</td></tr></table>'
        '<div style="width: 900px">wide</div><a href="two.html#gone">x</a>'
    )
    for said in ("the paper: a-one: <table", "the paper: a-one: <div", "nowhere: a-one: <a"):
        assert any(said in fault for fault in faults), faults


@pytest.mark.browser
def test_a_missing_style_sheet_ends_the_printing(printed):
    with pytest.raises(Error, match=r"_static/gone\.css is missing: build the book again"):
        printed('<link rel="stylesheet" href="../_static/gone.css">')


def test_explained_source_files_are_not_printed(tmp_path):
    files = ("chapters/api", "chapters/source/index", "chapters/source/rope", "chapters/teach")
    chapters = ", ".join(f"{{file: {file}}}" for file in files)
    contents = f"{{root: index, parts: [{{caption: Reference, chapters: [{chapters}]}}]}}"
    (tmp_path / "_toc.yml").write_text(contents, encoding="utf-8")
    assert list(reading_order(tmp_path)) == [
        ("index.html", ""),
        ("chapters/api.html", "Reference"),
        ("chapters/teach.html", ""),
    ]


@pytest.mark.browser
def test_a_dark_page_is_printed_light(tmp_path, open_page):
    path = tmp_path / "page.html"
    script = (STATIC / "print.js").as_uri()
    path.write_text(f'<html data-theme="dark"><script src="{script}"></script>', encoding="utf-8")
    page = open_page(path)
    for event, theme in (("beforeprint", "light"), ("afterprint", "dark")):
        page.evaluate("(name) => dispatchEvent(new Event(name))", event)
        expect(page.locator("html")).to_have_attribute("data-theme", theme)


@pytest.mark.browser
def test_chromium_still_names_radicals_in_place_of_letters(tmp_path, browser):
    """Else `name_letters` is no longer needed, nor its row in CONTRIBUTING.md."""
    # Of many fonts, letter and radical are two shapes.
    font = "Noto Sans CJK SC"
    command = shutil.which("fc-list")
    if command is None or not subprocess.check_output([command, font]):
        pytest.skip(f"the font {font} is not installed")
    page = browser.new_page()
    page.set_content(f'<p lang="zh-CN" style="font-family: {font}">注意力</p>')
    page.pdf(path=tmp_path / "letters.pdf")
    page.close()
    assert pypdf.PdfReader(tmp_path / "letters.pdf").pages[0].extract_text() == "注意⼒"
    name_letters(tmp_path / "letters.pdf")
    assert pypdf.PdfReader(tmp_path / "letters.pdf").pages[0].extract_text() == "注意力"


def test_radicals_in_a_pdf_become_letters(tmp_path):
    writer = pypdf.PdfWriter()
    table = DecodedStreamObject()
    table.set_data(b"1 beginbfchar\n<12> <2F12>\n<2F> <2ED3>\n<2E> <6CE8>\nendbfchar")
    font = DictionaryObject({NameObject("/ToUnicode"): writer._add_object(table)})
    fonts = DictionaryObject({NameObject("/F1"): font})
    page = writer.add_blank_page(9, 9)
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    writer.write(tmp_path / "book.pdf")
    name_letters(tmp_path / "book.pdf")
    (page,) = pypdf.PdfReader(tmp_path / "book.pdf").pages
    named = page["/Resources"]["/Font"]["/F1"]["/ToUnicode"].get_data().decode().split("\n")
    assert named[1:-1] == [
        f"<{code}> <{ord(letter):04X}>"
        for code, letter in (("12", "力"), ("2F", "长"), ("2E", "注"))
    ]

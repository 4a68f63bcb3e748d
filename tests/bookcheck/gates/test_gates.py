"""The gates around the browser run: weight, pictures, and how faults are told."""

import random
import re
from types import SimpleNamespace

import pytest
from PIL import Image, ImageDraw

from bookcheck.gates import pictures
from bookcheck.gates.browser import Fault, PageDone, Picture, visit_site
from bookcheck.gates.check import Passed, brief_pages, check_book, grouped
from bookcheck.gates.weight import (
    LARGEST_LOAD,
    LARGEST_PAGE,
    LARGEST_TEXT,
    LARGEST_TREE,
    compressed,
    text_weight,
    too_heavy,
    too_many_elements,
)


def test_figures_do_not_count_as_text():
    figure = '<svg class="book-figure" role="img"><path d="M 0 0"/></svg>'
    assert text_weight(f"<p>é</p>{figure}<p>b</p>") == compressed("<p>é</p><p>b</p>")
    assert text_weight('<img src="data:image/png;base64,AAAA">') == compressed('<img src="">')


def test_a_heavy_text_and_a_heavy_page_are_named():
    noise = (
        random.Random(0).randbytes(LARGEST_PAGE).hex()
    )  # a letter of it takes half a byte or more
    text = noise[: int(1.6 * LARGEST_TEXT)]
    assert too_heavy(text, LARGEST_LOAD) == []
    assert "the text without figures" in too_heavy(noise[: int(2.1 * LARGEST_TEXT)], 0)[0]
    assert "the page loads" in too_heavy("", LARGEST_LOAD + 1)[0]
    figure = f'<svg class="book-figure">{text}</svg>'
    assert too_heavy(figure * 2, len(figure)) == []
    assert "the page has" in too_heavy(f'<svg class="book-figure">{noise}{noise}</svg>', 0)[0]


def test_a_page_of_the_main_line_has_few_elements():
    page, most = "chapters/10-deriving-rope.html", "<i></i>" * LARGEST_TREE
    assert too_many_elements(page, most) == []
    assert "15,001 elements" in too_many_elements(page, f"{most}<b>")[0]
    assert too_many_elements("chapters/deeper/10-deriving-rope.html", f"{most}<b>") == []


@pytest.fixture
def shot(tmp_path):
    """A drawing of a page, as a picture and as its reference."""
    picture = Picture("chapters/one.html", 1280, 900, "light", str(tmp_path / "one.png"))
    draw(picture)
    pictures.renew(picture, tmp_path / "references")
    return picture


def draw(picture, *, title=40, column=300, ink="#185a94"):
    page = Image.new("RGB", (picture.width, picture.height), "white")
    pen = ImageDraw.Draw(page)
    pen.rectangle((column, title, column + 600, title + 40), fill=ink)
    for line in range(150, 850, 28):
        pen.rectangle((column, line, column + 640, line + 8), fill="#1d232b")
    page.save(picture.file)


def test_the_same_page_passes(shot, tmp_path):
    assert pictures.compare(shot, tmp_path / "references") == []


def test_a_hair_of_difference_passes(shot, tmp_path):
    draw(shot, title=41, ink="#1a5c96")
    assert pictures.compare(shot, tmp_path / "references") == []


@pytest.mark.parametrize("change", [{"column": 340}, {"ink": "#c0392b"}, {"title": 80}])
def test_a_page_that_looks_otherwise_is_found(shot, tmp_path, change):
    draw(shot, **change)
    (fault,) = pictures.compare(shot, tmp_path / "references")
    assert (fault.page, fault.mode, fault.kind) == ("chapters/one.html", "1280 light", "picture")
    assert "make test-site RENEW=yes" in fault.detail


def test_another_size_and_a_missing_reference_are_found(shot, tmp_path):
    Image.new("RGB", (640, 450), "white").save(shot.file)
    assert len(pictures.compare(shot, tmp_path / "references")) == 1
    assert "no reference" in pictures.compare(shot, tmp_path / "elsewhere")[0].detail


def test_references_are_small():
    files = list(pictures.REFERENCES.glob("*.png"))
    names = {
        pictures.picture_name(page, width, scheme)
        for page in pictures.PAGES
        for width, _, scheme in pictures.SCREENS
    }
    assert {file.name for file in files} == names
    assert all(file.stat().st_size < 40_000 for file in files)


def test_a_fault_is_told_once_with_its_modes():
    faults = [Fault("a.html", mode, "axe", "label") for mode in ("1280 dark", "390 dark")]
    assert grouped([*faults, Fault("b.html", "file", "link", "x")]) == [
        "a.html axe: label [1280 dark; 390 dark]",
        "b.html link: x [file]",
    ]


@pytest.mark.browser
def test_the_gates_see_each_kind_of_fault_on_a_site(tmp_path, capsys):
    site = tmp_path / "html"
    site.mkdir()
    page = '<!doctype html><html lang="en"><head><title>A</title><link rel="icon" href="data:,">'
    page += '</head><body><main><h1>A</h1><p><a href="no.html">no</a></p></main></body></html>'
    (site / "index.html").write_text(page, encoding="utf-8")
    (site / "heavy.html").write_text(
        page.replace("no.html", "index.html") + " " * 3_000_000, encoding="utf-8"
    )
    faults = check_book(site, pages=["index.html", "heavy.html"])
    assert {(fault.page, fault.kind) for fault in faults} == {
        ("heavy.html", "policy"),
        ("heavy.html", "weight"),
        ("index.html", "link"),
        ("index.html", "policy"),
    }
    told = capsys.readouterr().out
    assert re.search(r"[12]/2 heavy\.html .* 1 FAULTS", told)
    assert re.search(r"[12]/2 index\.html .* ok", told)


@pytest.mark.browser
def test_a_picture_is_drawn_in_the_fonts_of_the_site(tmp_path):
    """Another font of the machine changes the page, and not the picture."""
    style = "html {{ --book-sans: {} }} body {{ font-family: var(--book-sans) }}"
    for name, font in (("one", "serif"), ("two", "monospace")):
        (tmp_path / f"{name}.html").write_text(
            f"<!doctype html><style>{style.format(font)}</style><p>{'Some words. ' * 50}</p>",
            encoding="utf-8",
        )
    shots = [
        Picture(f"{name}.html", 390, 400, "light", str(tmp_path / f"{name}.png"))
        for name in ("one", "two")
    ]
    visit_site(tmp_path, pages=[], pictures=shots)
    one, two = (pictures.shrunk(tmp_path / f"{name}.png") for name in ("one", "two"))
    assert pictures.difference(one, two) == 0


def test_of_pages_that_one_template_makes_the_largest_is_looked_at_in_every_mode(tmp_path):
    pages = ["index.html", "chapters/a.html", "checks/a.html", "checks/b.html", "ledger/a.html"]
    for page in pages:
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).write_text("x" * (2 if page == "checks/b.html" else 1), encoding="utf-8")
    assert brief_pages(tmp_path, pages) == {"checks/a.html"}


def test_a_page_that_was_right_is_opened_again_when_anything_it_shows_changed(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("bookcheck.gates.check.browser_version", lambda: "1")
    site = tmp_path / "html"
    (site / "_static").mkdir(parents=True)
    files = {"a.html": "a", "b.html": "b", "_static/book.css": "p {}", "search.html": "s"}
    files["_static/search-data.js"] = "i"
    for name, text in files.items():
        (site / name).write_text(text, encoding="utf-8")

    def passed(brief=()):
        return Passed(site, brief, tmp_path / "kept")

    for page in ("a.html", "b.html", "search.html"):
        passed().note(page)
    assert passed().holds("a.html")
    assert not passed({"a.html"}).holds("a.html"), "looked at in other modes"
    (site / "a.html").write_text("another", encoding="utf-8")
    (site / "_static" / "search-data.js").write_text("another", encoding="utf-8")
    assert [passed().holds(p) for p in ("a.html", "b.html", "search.html")] == [False, True, False]
    monkeypatch.setattr("bookcheck.gates.check.browser_version", lambda: "2")
    assert not passed().holds("b.html")
    monkeypatch.setattr("bookcheck.gates.check.browser_version", lambda: "1")
    (site / "_static" / "book.css").write_text("p { margin: 0 }", encoding="utf-8")
    assert not passed().holds("b.html")


def test_only_pages_without_a_fault_are_remembered(tmp_path, monkeypatch, capsys):
    site = tmp_path / "html"
    site.mkdir()
    for name in ("good", "bad"):
        (site / f"{name}.html").write_text("<p>Text</p>", encoding="utf-8")
    opened = []

    def visit(_site, *, pages, report, **_):
        opened.append(sorted(pages))
        for page in pages:
            faults = [Fault(page, "390", "overflow", "wide")] if page == "bad.html" else []
            report(PageDone(page, 0.1, 10, faults))
        return SimpleNamespace(faults=[], steps={})

    monkeypatch.setattr("bookcheck.gates.check.visit_site", visit)
    monkeypatch.setattr("bookcheck.gates.check.browser_version", lambda: "1")
    monkeypatch.setattr("bookcheck.gates.pictures.PAGES", ())
    monkeypatch.setattr("bookcheck.gates.pictures.wanted_pictures", lambda _folder: [])
    for _ in range(2):
        check_book(site, kept=tmp_path / "kept")
    assert opened == [["bad.html", "good.html"], ["bad.html"]]

"""The gates around the browser run: weight, pictures, and how faults are told."""

import random
import re
from contextlib import closing
from types import SimpleNamespace

import pytest
from PIL import Image, ImageDraw

from bookcheck.gates import pictures
from bookcheck.gates.browser import (
    EVERY,
    ONCE,
    PAIRS,
    Fault,
    PageDone,
    Picture,
)
from bookcheck.gates.check import Passed, check_book, grouped, plans_of
from bookcheck.gates.controls import shared_browser
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
from bookcheck.paths import ROOT


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
    assert too_many_elements("chapters/deeper/10-conventions.html", f"{most}<b>") == []


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
def test_the_gates_see_each_kind_of_fault_on_a_site(tmp_path, capsys, monkeypatch):
    # That every mode is looked at is seen elsewhere.
    monkeypatch.setattr("bookcheck.gates.browser.EVERY", ONCE)
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
        ("heavy.html", "weight"),
        ("index.html", "link"),
    }
    told = capsys.readouterr().out
    assert re.search(r"[12]/2 heavy\.html .* 1 FAULTS", told)
    assert re.search(r"[12]/2 index\.html .* ok", told)


# The first family of each text that a page shows (no one sees the copy of a formula that is read
# out), where the site has no such face.
OTHER_FACES = """async () => {
  await document.fonts.ready;
  const bare = (name) => name.trim().replace(/^["']|["']$/g, "");
  const ours = new Set([...document.fonts].map((face) => bare(face.family)));
  const texts = [...document.querySelectorAll("body *")].filter(
    (element) =>
      element.checkVisibility() &&
      !element.closest("math") &&
      [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()),
  );
  const firsts = texts.map((element) => bare(getComputedStyle(element).fontFamily.split(",")[0]));
  return [...new Set(firsts.filter((name) => !ours.has(name)))];
}"""


def other_faces(address):
    with closing(shared_browser().new_page()) as tab:
        tab.goto(address)
        return tab.evaluate(OTHER_FACES)


@pytest.mark.browser
@pytest.mark.built
def test_pictures_show_letters_of_the_site_and_not_of_the_machine(tmp_path):
    site = ROOT / "_build" / "html"
    for page in pictures.PAGES:
        assert other_faces((site / page).as_uri()) == []
    planted = tmp_path / "planted.html"
    planted.write_text("<p style='font-family: Georgia, Inter'>Words</p>", encoding="utf-8")
    assert other_faces(planted.as_uri()) == ["Georgia"]


def test_of_pages_of_a_kind_the_middle_one_is_looked_at_in_every_mode(tmp_path):
    """The middle one by size; each page has as many letters as its number says."""
    wanted = {
        "chapters/01-a.html": PAIRS,
        "chapters/02-b.html": EVERY,
        "chapters/03-c.html": PAIRS,
        "chapters/deeper/01-a.html": PAIRS,
        "chapters/deeper/02-b.html": EVERY,
        "chapters/notation-1.html": EVERY,
        "index-2.html": EVERY,
        "search-1.html": PAIRS,
    }
    for page in wanted:
        (tmp_path / page).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / page).write_text("x" * int(re.search(r"\d+", page)[0]), encoding="utf-8")
    assert plans_of(tmp_path, list(wanted)) == wanted


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

    def passed(plan=PAIRS):
        return Passed(site, {"a.html": plan}, tmp_path / "kept")

    for page in ("a.html", "b.html", "search.html"):
        passed().note(page)
    assert passed().holds("a.html")
    assert not passed(ONCE).holds("a.html"), "looked at in other modes"
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

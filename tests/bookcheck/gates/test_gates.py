"""The gates around the browser run: weight, pictures, and how faults are told."""

import re

import pytest
from PIL import Image, ImageDraw

from bookcheck.gates import check_book, grouped, pictures
from bookcheck.gates.browser import Fault, Picture, visit_site
from bookcheck.gates.weight import LARGEST_PAGE, LARGEST_TEXT, text_weight, too_heavy


def test_figures_do_not_count_as_text():
    figure = '<svg class="book-figure" role="img"><path d="M 0 0"/></svg>'
    assert text_weight(f"<p>é</p>{figure}<p>b</p>") == len("<p>é</p><p>b</p>") + 1
    assert text_weight('<img src="data:image/png;base64,AAAA">') == len('<img src="">')


def test_a_heavy_text_and_a_heavy_page_are_named():
    assert too_heavy("x" * LARGEST_TEXT, LARGEST_PAGE) == []
    assert "the text without figures" in too_heavy("x" * (LARGEST_TEXT + 1), 0)[0]
    assert "the page loads" in too_heavy("", LARGEST_PAGE + 1)[0]
    figure = '<svg class="book-figure">' + "x" * LARGEST_TEXT + "</svg>"
    assert too_heavy(figure, len(figure)) == []


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
    (site / "index.html").write_text(page)
    (site / "heavy.html").write_text(page.replace("no.html", "index.html") + " " * 3_000_000)
    faults = check_book(site, pages=["index.html", "heavy.html"])
    assert {(fault.page, fault.kind) for fault in faults} == {
        ("heavy.html", "weight"),
        ("index.html", "link"),
    }
    assert len(faults) == 3
    told = capsys.readouterr().out
    assert re.search(r"[12]/2 heavy\.html .* 2 FAULTS", told)
    assert re.search(r"[12]/2 index\.html .* ok", told)


@pytest.mark.browser
def test_a_picture_is_drawn_in_the_fonts_of_the_site(tmp_path):
    """Another font of the machine changes the page, and not the picture."""
    style = "html {{ --book-sans: {} }} body {{ font-family: var(--book-sans) }}"
    for name, font in (("one", "serif"), ("two", "monospace")):
        (tmp_path / f"{name}.html").write_text(
            f"<!doctype html><style>{style.format(font)}</style><p>{'Some words. ' * 50}</p>"
        )
    shots = [
        Picture(f"{name}.html", 390, 400, "light", str(tmp_path / f"{name}.png"))
        for name in ("one", "two")
    ]
    visit_site(tmp_path, pages=[], pictures=shots)
    one, two = (pictures.shrunk(tmp_path / f"{name}.png") for name in ("one", "two"))
    assert pictures.difference(one, two) == 0

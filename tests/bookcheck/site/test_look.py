"""What a reader of the built site sees: cause and effect, colours that light up, the place."""

import pytest

from bookcheck.gates.controls import shared_browser
from bookcheck.paths import BUILD

CHAPTER = BUILD / "html" / "chapters" / "10-deriving-rope.html"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}

pytestmark = pytest.mark.built


@pytest.fixture
def open_page():
    pages = []

    def open_it(path, size):
        page = shared_browser().new_page(viewport=size)
        pages.append(page)
        page.goto(path.as_uri())
        return page

    yield open_it
    for page in pages:
        page.close()


@pytest.mark.parametrize(
    "name",
    ["10-deriving-rope", "02-why-sqrt-d", "05-feed-forward", "01-attention", "13-cache"],
)
def test_a_phone_shows_what_moves_together_with_what_it_moves(open_page, name):
    page = open_page(CHAPTER.with_name(f"{name}.html"), PHONE)
    place = page.locator(".interactive").first
    place.scroll_into_view_if_needed()
    page.wait_for_selector(".interactive[data-ready]")
    boxes = [place.locator(part).first.bounding_box() for part in (".panels", ".controls")]
    top, bottom = boxes[0]["y"], boxes[1]["y"] + boxes[1]["height"]
    assert 0 < bottom - top < PHONE["height"]


def test_pointing_at_one_query_lights_all_up(open_page):
    page = open_page(CHAPTER, DESKTOP)
    lit = """role => {
      const paint = (element) => getComputedStyle(element).backgroundColor;
      return [...document.querySelectorAll(`.is-${role}:not(svg *)`)].filter(
        (element) => paint(element) !== "rgba(0, 0, 0, 0)").length;
    }"""
    assert page.evaluate(lit, "q") == 0
    page.locator(".katex-html .is-q").first.hover()
    page.wait_for_selector("html[data-lit=q]", state="attached")
    assert page.evaluate(lit, "q") == page.locator(".is-q:not(svg *)").count() > 20
    assert page.evaluate(lit, "k") == 0


def test_letters_are_those_of_the_site(open_page):
    page = open_page(CHAPTER, DESKTOP)
    page.evaluate("document.fonts.ready.then(() => {})")
    faces = "[...document.fonts].filter((face) => face.status === 'loaded').map((f) => f.family)"
    names = {name.strip('"') for name in page.evaluate(faces)}
    assert {"Source Serif 4", "Inter", "Source Code Pro"} <= names


@pytest.mark.parametrize("name", ["errata", "05-feed-forward"])
def test_the_word_that_unfolds_code_lies_on_no_output(open_page, name):
    page = open_page(CHAPTER.with_name(f"{name}.html"), PHONE)
    overlaps = page.evaluate(
        """() => [...document.querySelectorAll(".cell.tag_hide-input")].flatMap((cell) => {
          const lines = [...cell.querySelectorAll(".cell_output pre")].at(-1);
          const word = cell.querySelector("details.hide > summary");
          if (!lines || !word) return [];
          const over = lines.getBoundingClientRect().bottom - word.getBoundingClientRect().top;
          return over > 1 ? [over] : [];
        })"""
    )
    assert overlaps == []

"""A chapter on a slow phone: what is out of sight costs nothing yet, and is there all the same."""

import shutil

import pytest

from bookcheck.gates.blocking import OPENING, count_elements, main_line
from bookcheck.gates.browser import run_apart
from bookcheck.gates.controls import shared_browser
from bookcheck.paths import BUILD
from bookcheck.site.theme import without_widths

pytestmark = pytest.mark.long
SITE = BUILD / "html"
CHAPTER = SITE / "chapters" / "10-deriving-rope.html"
PHONE = {"width": 390, "height": 844}
# Elements whose style is computed while a page of the main line loads, each time it is. Laid out as
# a whole, chapters compute 10,000 to 20,000; this many block a phone for about a second.
MOST_ELEMENTS = 6_000
LARGEST = 6


@pytest.fixture
def page():
    opened = shared_browser().new_page(viewport=PHONE)
    yield opened
    opened.close()


@pytest.mark.built
def test_a_phone_lays_out_only_what_it_shows():
    # One rule and the same scripts for all: on the largest chapters it is seen that they hold. Some
    # small ones stay below the bound even when laid out as a whole.
    by_size = sorted(main_line(SITE), key=lambda page: (SITE / page).stat().st_size)
    counts = run_apart(count_elements(SITE, [OPENING, *by_size[-LARGEST:]]))
    assert len(counts) == 1 + LARGEST
    assert not {page: count for page, count in counts.items() if count > MOST_ELEMENTS}


BLOCKS = "".join(f"<p>{'<b>word</b> ' * 40}</p>" for _ in range(200))
SKIPPED = "p { content-visibility: auto; contain-intrinsic-block-size: auto 9rem }"
ASKING = "document.querySelectorAll('p b:first-child').forEach((word) => word.scrollWidth)"
FAULTS = {
    "as it should be": (SKIPPED, "", False),
    "laid out as a whole": ("", "", True),
    # A script that asks for a width inside every block undoes the rule, when it loads or later.
    "asked by a script": (SKIPPED, f"addEventListener('load', () => {ASKING})", True),
    "asked late": (
        SKIPPED,
        f"addEventListener('load', () => setTimeout(() => {ASKING}, 350))",
        True,
    ),
}


@pytest.mark.browser
def test_a_page_that_is_laid_out_as_a_whole_is_told(tmp_path):
    for name, (style, script, _) in FAULTS.items():
        body = f"<!doctype html><style>{style}</style><script>{script}</script>{BLOCKS}"
        (tmp_path / f"{name}.html").write_text(body, encoding="utf-8")
    counts = run_apart(count_elements(tmp_path, [f"{name}.html" for name in FAULTS]))
    told = [count > MOST_ELEMENTS for count in counts.values()]
    assert told == [caught for _, _, caught in FAULTS.values()]


RULE = "content-visibility: auto;"


@pytest.mark.built
def test_a_chapter_that_is_laid_out_as_a_whole_is_told(tmp_path):
    shutil.copytree(SITE / "_static", tmp_path / "_static")
    chapter = tmp_path / "chapters" / CHAPTER.name
    chapter.parent.mkdir()
    shutil.copy(CHAPTER, chapter)
    style = tmp_path / "_static" / "book.css"
    rules = style.read_text(encoding="utf-8")
    assert rules.count(RULE) == 1
    style.write_text(rules.replace(RULE, ""), encoding="utf-8")
    (count,) = run_apart(count_elements(tmp_path, [f"chapters/{CHAPTER.name}"])).values()
    assert count > MOST_ELEMENTS


def test_the_theme_no_longer_asks_for_widths():
    asks = (
        'all("pre").forEach(e=>{e.tabIndex=e.scrollWidth>e.clientWidth'
        "||e.scrollHeight>e.clientHeight?0:-1}),t=1"
    )
    assert without_widths(asks) == 'all("pre").forEach(e=>{}),t=1'


TOP = "(id) => document.getElementById(id).getBoundingClientRect().top"


@pytest.mark.built
def test_a_link_leads_to_a_section_that_was_not_laid_out(page):
    for anchor in ("exercises", "does-it-work", "what-to-remember"):
        page.goto(f"{CHAPTER.as_uri()}#{anchor}")
        page.wait_for_function(f"(id) => Math.abs(({TOP})(id) - 120) < 60", arg=anchor)


@pytest.mark.built
def test_words_far_below_are_found(page):
    page.goto(CHAPTER.as_uri())
    # The last paragraph that begins with words of its own, outside folds.
    last = page.evaluate_handle(
        """() => [...document.querySelectorAll(".bd-article section > p")].findLast((block) => {
          const words = block.firstChild.textContent.slice(0, 25);
          return words.length === 25 && document.body.textContent.split(words).length === 2;
        })"""
    )
    words = last.evaluate("(block) => block.firstChild.textContent.slice(0, 25)")
    assert page.evaluate("(words) => window.find(words)", words)
    found = "(block) => Math.abs(block.getBoundingClientRect().top) < innerHeight"
    page.wait_for_function(found, arg=last)


@pytest.mark.built
def test_the_keyboard_stops_at_wide_boxes_only(page):
    page.goto(CHAPTER.as_uri())
    boxes = [box for box in page.locator(".math-formula").all() if box.is_visible()]
    assert len(boxes) > 10
    right = "(box) => (box.tabIndex === 0) === (box.scrollWidth > box.clientWidth)"
    for box in boxes:
        box.scroll_into_view_if_needed()
        page.wait_for_function(right, arg=box.element_handle())

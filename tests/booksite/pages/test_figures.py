"""Figures in the page: labels have the widths that they were placed by; phones can read them."""

import re

import pytest
from playwright.sync_api import expect

from bookformat.paths import BUILD

SITE = BUILD / "html"
PAGES = sorted(
    path
    for path in SITE.rglob("*.html")
    # The labels of translated figures have other letters.
    if not {"_static", "zh"} & {*path.parts} and "book-figure" in path.read_text(encoding="utf-8")
)
PHONE = 390
# In pixels of the page.
SMALLEST = 10

WAIT_FOR_FACES = """() => Promise.all(["", "italic ", "bold "].map(
  (kind) => document.fonts.load(`${kind}11px "DejaVu Sans"`))).then(() => {})"""
# A label with mathematics is cut into parts, each with its place. No part is written over the next
# one, and between them is at most the space of two words, or of a colon.
LABELS = """() => [...document.querySelectorAll(".book-figure text:has(tspan)")].flatMap((label) =>
{
  const parts = [...label.querySelectorAll("tspan")].map((part) => ({
    words: part.textContent,
    level: part.getAttribute("y"),
    left: Number(part.getAttribute("x")),
    right: Number(part.getAttribute("x")) + part.getComputedTextLength(),
    size: parseFloat(part.style.fontSize),
  }));
  return parts.slice(1).flatMap((part, place) => {
    const before = parts[place];
    const gap = (part.left - before.right) / Math.max(part.size, before.size);
    const wrong = gap < -0.02 || gap > (before.words.endsWith(":") ? 0.7 : 0.4);
    return wrong ? [`${label.textContent}: ${gap.toFixed(2)} em before ${part.words}`] : [];
  });
})"""
OPEN_FOLDS = """(box) => {
  for (let fold = box.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
}"""
LETTERS = """(drawing) => {
  const scale = drawing.getScreenCTM();
  const size = Math.hypot(scale.a, scale.b);
  const written = [...drawing.querySelectorAll("text, tspan")].filter(
    (part) => [...part.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
  return Math.min(...written.map((part) => parseFloat(getComputedStyle(part).fontSize) * size));
}"""


@pytest.mark.built
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_labels_have_their_widths_and_a_phone_can_read_them(open_page, path):
    page = open_page(path, PHONE)
    page.evaluate(WAIT_FOR_FACES)
    assert page.evaluate(LABELS) == []
    boxes = page.locator(".figure-box")
    count = boxes.count()
    assert count
    for number in range(count):
        box = boxes.nth(number)
        # What a reader has folded is opened first.
        box.evaluate(OPEN_FOLDS)
        place = box.locator("svg").bounding_box()
        assert place["width"] <= PHONE, "the figure is seen whole"
        # By key: a figure that is drawn late may move the button between a press and its release.
        box.locator("+ .enlarge").press("Enter")
        drawing = page.locator("dialog.figure-view svg.book-figure")
        assert drawing.evaluate(LETTERS) >= SMALLEST, drawing.get_attribute("aria-label")
        page.keyboard.press("Escape")
        expect(page.locator("dialog.figure-view")).to_have_count(0)
    assert boxes.locator("svg").count() == count


@pytest.mark.built
def test_the_check_of_widths_sees_another_face(open_page):
    page = open_page(SITE / "chapters" / "why-sqrt-d.html", PHONE)
    page.evaluate("""() => {
      const style = new CSSStyleSheet();
      style.replaceSync("svg.book-figure { font-family: Inter !important }");
      document.adoptedStyleSheets.push(style);
      return document.fonts.load("11px Inter").then(() => {});
    }""")
    assert page.evaluate(LABELS)


@pytest.mark.built
def test_a_figure_is_opened_turned_scrolled_and_closed(open_page):
    page = open_page(SITE / "chapters" / "why-sqrt-d.html", PHONE)
    box = page.locator(".figure-box").first
    button = box.locator("+ .enlarge")
    expect(button).to_have_text("Full screen")
    button.focus()
    page.keyboard.press("Enter")
    dialog, room = page.get_by_role("dialog"), page.locator(".figure-view .room")
    expect(dialog).to_have_accessible_name(re.compile(r"\w+ \w+"))
    size = "(room) => [room.scrollWidth / room.clientWidth, room.scrollHeight / room.clientHeight]"
    upright = room.evaluate(size)
    assert upright[0] > 1.2
    page.get_by_role("button", name="Turn").press("Enter")
    turned = room.evaluate(size)
    assert turned[0] < upright[0]
    assert box.locator("svg").count() == 0
    page.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    expect(box.locator("svg")).to_have_count(1)
    expect(button).to_be_focused()
    box.click()
    expect(dialog).to_be_visible()


@pytest.mark.built
def test_a_wide_screen_has_no_such_button(open_page):
    page = open_page(SITE / "chapters" / "why-sqrt-d.html")
    expect(page.locator(".enlarge").first).to_be_hidden()
    page.locator(".figure-box").first.click()
    expect(page.get_by_role("dialog")).to_have_count(0)

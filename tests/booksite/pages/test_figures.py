"""Figures in the page: labels have the widths that they were placed by; phones can read them."""

import re

import pytest
from playwright.sync_api import expect

from bookformat.paths import BUILD

SITE = BUILD / "html"
PAGES = sorted(
    path
    for path in SITE.rglob("*.html")
    if "_static" not in path.parts and "book-figure" in path.read_text(encoding="utf-8")
)
# The labels of translated figures have other letters.
ENGLISH = [path for path in PAGES if "zh" not in path.parts]
PHONE = 390
# With the contents beside the page, and without.
WIDE = (1280, 1200, 1024)
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
# By figure: each label with its edges, in units of the drawing, and the panels and boxes that may
# hold it. Above and below its letters a line has room that may overlap.
PLACES = """() => [...document.querySelectorAll("svg.book-figure")].map((svg) => {
  const to = svg.getScreenCTM();
  const edges = (part, room = 0) => {
    const { left, right, top, bottom } = part.getBoundingClientRect();
    const cut = room * (bottom - top);
    return [left - to.e, top + cut - to.f, right - to.e, bottom - cut - to.f].map(
      (edge) => edge / Math.hypot(to.a, to.b));
  };
  const labels = [...svg.querySelectorAll("text")];
  const { width, height } = svg.viewBox.baseVal;
  const shapes = [...svg.querySelectorAll("path")].filter(
    (path) => path.getAttribute("d").length < 400).map((path) => edges(path));
  return {
    labels: labels.map((label) => [label.textContent, edges(label, 0.18)]),
    boxes: [[0, 0, width, height], ...shapes],
  };
})"""
OPEN_FOLDS = """(box) => {
  for (let fold = box.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
}"""
OPEN_ALL = """() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const whole = new CSSStyleSheet();
  whole.replaceSync("* { content-visibility: visible !important }");
  document.adoptedStyleSheets.push(whole);
}"""
LETTERS = """(drawing) => {
  const scale = drawing.getScreenCTM();
  const size = Math.hypot(scale.a, scale.b);
  const written = [...drawing.querySelectorAll("text, tspan")].filter(
    (part) => [...part.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
  return Math.min(...written.map((part) => parseFloat(getComputedStyle(part).fontSize) * size));
}"""


@pytest.mark.built
@pytest.mark.parametrize("path", ENGLISH, ids=lambda path: path.relative_to(SITE).as_posix())
def test_labels_have_their_widths_and_can_be_read(open_page, path):
    page = open_page(path, PHONE)
    page.evaluate(WAIT_FOR_FACES)
    assert page.evaluate(LABELS) == []
    boxes = page.locator(".figure-box")
    count = boxes.count()
    assert count
    # What a reader has folded is opened first.
    for box in boxes.all():
        box.evaluate(OPEN_FOLDS)
    for width in WIDE:
        page.set_viewport_size({"width": width, "height": 900})
        for drawing in boxes.locator("svg").all():
            letters = drawing.evaluate(LETTERS)
            assert letters >= SMALLEST, (width, drawing.get_attribute("aria-label"))
    page.set_viewport_size({"width": PHONE, "height": 844})
    for number in range(count):
        box = boxes.nth(number)
        place = box.locator("svg").bounding_box()
        assert place["width"] <= PHONE, "the figure is seen whole"
        # By key: a figure that is drawn late may move the button between a press and its release.
        box.locator("+ .enlarge").press("Enter")
        drawing = page.locator("dialog.figure-view svg.book-figure")
        assert drawing.evaluate(LETTERS) >= SMALLEST, drawing.get_attribute("aria-label")
        page.keyboard.press("Escape")
        expect(page.locator("dialog.figure-view")).to_have_count(0)
    assert boxes.locator("svg").count() == count


def overlap(one, other):
    """Whether two boxes, given by their edges, have a part in common that can be seen."""
    return all(min(one[i + 2], other[i + 2]) - max(one[i], other[i]) > 0.5 for i in (0, 1))


def within(one, other, room):
    """Whether a box lies in another one, or sticks out by no more than some room."""
    return all(one[i] >= other[i] - room and one[i + 2] <= other[i + 2] + room for i in (0, 1))


def misplaced(figure, model):
    """The labels of a translated figure that leave what holds them in the model, or overlap."""
    wrong = []
    pairs = [
        (label, its)
        for label, its in zip(figure["labels"], model["labels"], strict=True)
        if label[0].strip() and its[0].strip()  # a translation may need fewer lines
    ]
    for place, ((words, box), (_, its)) in enumerate(pairs):
        for holder, its_holder in zip(figure["boxes"], model["boxes"], strict=True):
            if within(its, its_holder, 0.5) and not within(box, holder, 1):
                wrong.append(f"{words} leaves its box")
                break
        wrong += [
            f"{words} lies over {other}"
            for (other, beside), (_, its_beside) in pairs[:place]
            if overlap(box, beside) and not overlap(its, its_beside)
        ]
    return wrong


def places_in(page, path):
    """Where the labels of a page's figures are, once all are laid out."""
    page.goto(path.as_uri())
    page.evaluate(OPEN_ALL)
    page.evaluate(WAIT_FOR_FACES)
    return page.evaluate(PLACES)


@pytest.mark.built
@pytest.mark.parametrize(
    "path",
    [path for path in PAGES if "zh" in path.parts],
    ids=lambda path: path.relative_to(SITE).as_posix(),
)
def test_translated_labels_stay_where_the_english_ones_are(open_page, path):
    model = SITE / path.relative_to(SITE / "zh")
    page = open_page(path)
    figures = places_in(page, path)
    assert figures
    wrong = [misplaced(*pair) for pair in zip(figures, places_in(page, model), strict=True)]
    assert [one for one in wrong if one] == []


def test_the_check_of_places_sees_a_longer_label():
    boxes = [[0, 0, 100, 100], [10, 10, 60, 30]]
    model = {"labels": [["a", [12, 12, 40, 24]], ["b", [42, 12, 58, 24]]], "boxes": boxes}
    longer = {"labels": [["甲乙", [12, 12, 50, 24]], ["丙", [42, 12, 70, 24]]], "boxes": boxes}
    fewer = {"labels": [["甲", [12, 12, 40, 24]], ["", [0, 0, 0, 0]]], "boxes": boxes}
    assert misplaced(fewer, model) == []
    assert misplaced(model, model) == []
    assert misplaced(longer, model) == ["丙 leaves its box", "丙 lies over 甲乙"]


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

"""The shade at the edge of a box that scrolls: seen where something is hidden, and nowhere else.

At most ratios of device pixels to CSS pixels, boxes begin and end inside a device pixel. What is
drawn there and not covered exactly is a line beside a formula, like the bars of an absolute value.
"""

import io
import itertools

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import expect

from bookformat.paths import BUILD, STATIC
from moments import wait_until_drawn

SITE = BUILD / "html"
RATIOS = [1, 1.1, 1.25, 1.5, 2, 2.625, 3]
BOXES = (
    ".math-formula, .figure-box, .highlight pre, .cell_output pre, .text_html, "
    ".pst-scrollable-table-container"
)
# A step of a colour, of 255, that rounding makes where a cover of the paper's colour lies on paper.
ROUNDING = 1

# One of each kind, with a little in it and with too much, at different parts of a pixel.
KINDS = {
    "formula": '<div class="math"><div class="math-formula" tabindex="0">{}</div>'
    '<span class="eqno">(1)</span></div>',
    "figure": '<div class="figure-box" tabindex="0">{}</div>',
    "code": '<div class="highlight"><pre tabindex="0">{}</pre></div>',
    "output": '<div class="cell_output"><pre tabindex="0">{}</pre></div>',
    "table": '<div class="cell_output"><div class="output text_html" tabindex="0">{}</div></div>',
    "text": '<div class="pst-scrollable-table-container" tabindex="0">{}</div>',
}
PAGE = """<!doctype html><html lang="en" data-theme="{}"{}><meta charset="utf-8"><title>x</title>
<style>body {{ margin: 0; background: var(--pst-color-background) }}
.highlight {{ padding: 4px; background: var(--pst-color-surface) }}</style>
<link rel="stylesheet" href="{}"><script defer src="{}"></script>
<main class="bd-main"><article class="bd-article">{}</article></main></html>"""
PLACES = """(boxes) => [...document.querySelectorAll(boxes)]
  .filter((box) => box.checkVisibility())
  .map((box) => {
    const { left, top, right, bottom } = box.getBoundingClientRect();
    const place = [left + scrollX, top + scrollY, right + scrollX, bottom + scrollY];
    const hidden = box.scrollWidth - box.clientWidth - box.scrollLeft;
    const what = box.className || box.parentElement.className;
    return { place, hides: [box.scrollLeft > 1, hidden > 1], what };
  })"""
ADD_STYLE = """(text) => {
  const style = new CSSStyleSheet();
  style.replaceSync(text);
  document.adoptedStyleSheets.push(style);
}"""
SCROLL = """([boxes, share]) => {
  for (const box of document.querySelectorAll(boxes)) box.scrollLeft = share * box.scrollWidth;
}"""
WITHOUT = f":is({BOXES}) {{ background-image: none !important }}"


def window(browser, width, ratio, scheme="light", **options):
    size = {"width": width, "height": 844}
    return browser.new_context(
        viewport=size, device_scale_factor=ratio, color_scheme=scheme, **options
    )


def picture(page):
    return Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")


def shades(page, ratio):
    """For each box: whether it hides something at the left and at the right, and shows a shade."""
    places = page.evaluate(PLACES, BOXES)
    seen = picture(page)
    page.evaluate(ADD_STYLE, WITHOUT)
    changed = ImageChops.difference(seen, picture(page))
    page.evaluate("() => { document.adoptedStyleSheets.pop() }")
    for box in places:
        left, top, right, bottom = (ratio * edge for edge in box["place"])
        middle = (left + right) / 2
        halves = [(left - 2, top - 2, middle, bottom + 2), (middle, top - 2, right + 2, bottom + 2)]
        steps = [changed.crop(tuple(map(round, half))).getextrema() for half in halves]
        shown = [any(largest > ROUNDING for _, largest in colours) for colours in steps]
        yield box["what"], box["hides"], shown


@pytest.fixture
def boxes(tmp_path):
    """A page with every kind of box."""

    def write(scheme, mode):
        parts = []
        for html in KINDS.values():
            for number, letters in enumerate(("a + b", "a + b" + " + wide" * 60)):
                inside = f'<span style="white-space: nowrap; visibility: hidden">{letters}</span>'
                place = f"margin: 3.3px 0 0 {10.3 + 0.37 * number + 0.21 * len(parts)}px"
                box = html.format(inside)
                parts.append(f'<div style="{place}; width: {300.4 + number}px">{box}</div>')
        path = tmp_path / "page.html"
        files = ((STATIC / name).as_uri() for name in ("book.css", "book.js"))
        path.write_text(PAGE.format(scheme, mode, *files, "".join(parts)), encoding="utf-8")
        return path.as_uri()

    return write


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "javascript"), [("light", True), ("dark", False)])
@pytest.mark.parametrize("ratio", RATIOS)
def test_a_shade_is_seen_where_something_is_hidden_and_nowhere_else(
    browser, boxes, ratio, scheme, javascript
):
    with window(browser, 390, ratio, scheme, java_script_enabled=javascript) as context:
        page = context.new_page()
        page.goto(boxes(scheme, " data-mode=auto" if javascript else ""))
        for share in (0, 0.3, 1):
            page.evaluate(SCROLL, [BOXES, share])
            if javascript:
                wait_until_drawn(page)  # book.js has looked at the boxes
            found = list(shades(page, ratio))
            assert len(found) == 2 * len(KINDS)
            assert sum(any(hides) for _, hides, _ in found) == len(KINDS)
            assert [one for one in found if one[1] != one[2]] == []


# The built site

# Formulas without their letters, which are drawn a little differently on another ground; and
# nothing moves.
ONLY_FORMULAS = """() => {
  document.documentElement.dataset.whole = "";
  document.querySelector(".bd-article").replaceChildren(...document.querySelectorAll("div.math"));
}"""
NO_LETTERS = ".math-formula > * { visibility: hidden } * { transition: none !important }"


@pytest.mark.built
@pytest.mark.parametrize(("width", "ratio"), [(1280, 1.1), (1280, 1.25), (1280, 1.5), (390, 2.625)])
@pytest.mark.parametrize("name", ["why-sqrt-d", "deriving-rope"])
def test_no_line_stands_beside_a_formula(browser, name, width, ratio):
    with window(browser, width, ratio) as context:
        page = context.new_page()
        page.goto((SITE / "chapters" / f"{name}.html").as_uri())
        page.evaluate("document.fonts.ready.then(() => {})")
        page.evaluate(ONLY_FORMULAS)
        page.evaluate(ADD_STYLE, NO_LETTERS)
        wait_until_drawn(page)
        found = list(shades(page, ratio))
        assert len(found) > 10
        assert [one for one in found if one[1] != one[2]] == []


@pytest.mark.built
def test_the_link_to_the_content_leaves_no_line_at_the_top(open_page):
    page = open_page(SITE / "chapters" / "why-sqrt-d.html", 390)
    link = page.locator("#pst-skip-link")
    assert link.evaluate("(link) => link.getBoundingClientRect().bottom") <= -1
    page.keyboard.press("Tab")
    expect(link).to_be_in_viewport(ratio=1)


@pytest.mark.built
@pytest.mark.parametrize("ratio", [1, 1.25, 2.625])
def test_the_lines_of_a_table_go_through_the_column_that_stays_in_sight(browser, ratio):
    with window(browser, 390, ratio) as context:
        page = context.new_page()
        page.goto((SITE / "chapters" / "models.html").as_uri())
        row = page.locator("table.sortable").first.locator("tbody tr").nth(8)
        row.evaluate("(row) => row.scrollIntoView({ block: 'start' })")
        wait_until_drawn(page)
        screen = Image.open(io.BytesIO(page.screenshot())).convert("L")
        lines = []
        for place in (0, 1):
            # Where a cell begins it has no letters.
            left = row.locator("> *").nth(place).bounding_box()["x"]
            top = round(100 * ratio)  # below the bar with the buttons
            column = screen.crop(
                (round(ratio * (left + 2)), top, round(ratio * (left + 2)) + 1, screen.height)
            )
            dots = [dot < 250 for dot in column.tobytes()]
            lines.append(sum(dark and not before for before, dark in itertools.pairwise(dots)))
        assert lines[0] == lines[1] > 10

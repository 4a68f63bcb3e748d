"""What a reader does on the built site besides reading: mark, sort, jump, find, use a phone."""

import re

import pytest
from playwright.sync_api import expect

from bookformat.paths import BUILD, STATIC
from moments import look_at, stop_the_clock

SITE = BUILD / "html"
CHAPTER = SITE / "chapters" / "deriving-rope.html"
PHONE = 390


# What was read, in a small site with the script

PAGE = """<!doctype html><html lang="en" data-content_root="{root}"><meta charset="utf-8">
{chapter}<title>x</title><div id="pst-primary-sidebar">
<a class="reference internal" href="{root}chapters/one.html">One</a></div>
<nav id="pst-page-toc-nav"><a href="#late" class="active">1.2. Late</a></nav>
<article><h1>1. One<a href="#x">#</a></h1>{doors}<div style="height: 3000px"></div>
<h2 id="late">Late</h2><div style="height: 3000px"></div>
<div class="prev-next-area">end</div></article>
<script src="{root}_static/reading.js"></script></html>"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "_static").symlink_to(STATIC)
    (tmp_path / "chapters").mkdir()
    chapter, opening = tmp_path / "chapters" / "one.html", tmp_path / "index.html"
    chapter.write_text(
        PAGE.format(root="../", doors="", chapter='<meta name="chapter" content="1">'),
        encoding="utf-8",
    )
    doors = '<div class="doors"></div>'
    opening.write_text(PAGE.format(root="./", doors=doors, chapter=""), encoding="utf-8")
    return opening, chapter


@pytest.mark.browser
def test_a_page_is_read_when_more_than_its_end_was_seen_and_can_be_forgotten(small, open_page):
    opening, chapter = small
    page = open_page(opening)
    stop_the_clock(page)
    mark, offer = page.locator("#pst-primary-sidebar .read-mark"), page.locator(".go-on")
    expect(offer).to_have_count(0)
    page.goto(f"{chapter.as_uri()}?rotation.m=3")  # with the state of a figure
    expect(mark).to_have_count(0)
    for _ in range(2):  # to scroll past is not to read
        look_at(page, ".prev-next-area", 600)
        look_at(page, "#late", 600)
    expect(mark).to_have_count(0)
    look_at(page, ".prev-next-area", 800)
    expect(mark).to_have_count(0)
    look_at(page, "#late", 800)
    expect(mark).to_have_count(1)
    page.goto(opening.as_uri())
    expect(mark).to_have_count(1)
    expect(offer).to_contain_text("Go on at 1. One: 1.2. Late.")
    offer.locator("a").click()
    page.wait_for_url("**/chapters/one.html#late")
    page.goto(opening.as_uri())
    offer.locator("button").click()
    page.reload()
    expect(mark).to_have_count(0)
    expect(offer).to_have_count(0)


@pytest.mark.built
def test_a_formula_in_a_heading_is_read_once(open_page):
    page = open_page(SITE / "chapters" / "why-sqrt-d.html")
    for anchor, words in (
        ("how-large-is-q-cdot-k", "2.1. How large is q⋅k?"),
        ("d-k-or-d-under-the-root", "d_k or d under the root?"),
    ):
        page.goto(f"{(SITE / 'chapters' / 'why-sqrt-d.html').as_uri()}#{anchor}")
        entry = page.locator(f"#pst-page-toc-nav a[href='#{anchor}']")
        expect(entry).to_have_class(re.compile(r"\bactive\b"))
        page.goto((SITE / "index.html").as_uri())
        expect(page.locator(".go-on a")).to_have_text(f"2. Why divide by √d: {words}")


# Tables

ROWS = [["b", "1,024"], ["a", "–"], ["d", "9 of 64"], ["c", "100"]]


@pytest.mark.browser
def test_a_click_sorts_and_a_second_one_turns_the_order(open_page, tmp_path):
    rows = "".join(f"<tr><td>{name}</td><td>{number}</td></tr>" for name, number in ROWS)
    table = f"<thead><tr><th>name<th>d<sub>k</sub></thead><tbody>{rows}</tbody>"
    path = tmp_path / "page.html"
    script = (STATIC / "sort.js").as_uri()
    path.write_text(
        f'<script src="{script}"></script><table class="sortable">{table}</table>', encoding="utf-8"
    )
    page = open_page(path)
    heads = page.locator("th")
    expect(heads.nth(1).locator("button > sub")).to_have_text("k")
    # Numbers by size, words by the alphabet, what is missing last.
    for column, order, way in [
        (0, "abcd", "ascending"), (0, "dcba", "descending"),
        (1, "dcba", "ascending"), (1, "bcda", "descending"),
    ]:  # fmt: skip
        heads.nth(column).locator("button").press("Enter")
        assert "".join(page.locator("td:first-child").all_inner_texts()) == order
        assert heads.nth(column).get_attribute("aria-sort") == way
        assert heads.nth(1 - column).get_attribute("aria-sort") is None


# The built site


@pytest.mark.built
def test_the_focus_is_seen(open_page):
    page = open_page(SITE / "index.html")
    seen = """() => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement);
      return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
    }"""
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate(seen), page.evaluate("document.activeElement.outerHTML.slice(0, 200)")


@pytest.mark.built
@pytest.mark.parametrize("width", [1280, PHONE])
def test_the_sidebar_shows_the_current_page(open_page, width):
    page = open_page(SITE / "chapters" / "glossary.html", width)
    for name in ("cost", "deeper/softmax-gradient"):
        page.goto((SITE / "chapters" / f"{name}.html").as_uri())
        if width == PHONE:
            page.locator(".primary-toggle").click()
        expect(page.locator(".bd-docs-nav a.current")).to_be_in_viewport()


@pytest.mark.built
def test_the_first_screen_of_a_phone_says_for_whom_and_where_to_start(open_page):
    page = open_page(SITE / "index.html", PHONE)
    for words in ("It is for readers who", "The short road: one page", "Start with chapter 1"):
        expect(page.locator("article").get_by_text(words).first).to_be_in_viewport(ratio=1)


@pytest.mark.built
def test_the_opening_page_has_the_question_of_each_chapter(open_page):
    page = open_page(SITE / "index.html")
    entries = page.locator(".toctree-wrapper li:has(> a[href^='chapters/'])")
    chapters = entries.filter(has_text=re.compile(r"^\d+\. "))
    assert chapters.count() == chapters.locator(".question").count() >= 21
    written = page.locator("head meta[name=author], head meta[name=description]")
    assert written.count() == 2
    expect(page.locator("article .edition")).to_contain_text(re.compile(r"20\d\d\. What is new"))


@pytest.mark.built
def test_a_phone_names_the_book_on_every_page(open_page):
    for name in ("cost.html", "deeper/bounds.html", "glossary.html"):
        page = open_page(SITE / "chapters" / name, PHONE)
        link = page.locator(".book-name")
        expect(link).to_be_in_viewport(ratio=1)
        assert link.evaluate("(link) => link.href").endswith("/index.html")
        page.set_viewport_size({"width": 1280, "height": 900})
        expect(link).to_be_hidden()
        expect(page.locator(".navbar-brand .title")).to_be_visible()


@pytest.mark.built
def test_a_table_sorts_wherever_a_heading_is_clicked_and_keeps_its_heads_in_sight(open_page):
    page = open_page(SITE / "chapters" / "models.html", 1440)
    table = page.locator("table.sortable").first
    heads = table.locator("thead th")
    for number in range(heads.count()):
        head = heads.nth(number)
        head.click(position={"x": 3, "y": 3})
        assert head.get_attribute("aria-sort") == "ascending", head.inner_text()
    table.locator("tbody tr").nth(40).scroll_into_view_if_needed()
    expect(heads.first).to_be_in_viewport(ratio=1)
    page.get_by_label("Show rows with").first.fill("no such model")
    expect(page.get_by_role("status").first).to_have_text("No row has this.")


@pytest.mark.built
def test_a_table_is_filtered_and_its_first_column_stays_in_sight(open_page):
    page = open_page(SITE / "chapters" / "models.html", PHONE)
    table = page.locator("table.sortable").first
    model = table.locator("tbody tr > :first-child").first
    model.scroll_into_view_if_needed()
    table.evaluate("(table) => table.closest('.output').scrollTo(9999, 0)")
    expect(model).to_be_in_viewport()
    page.get_by_label("Show rows with").first.fill("gemma")
    names = table.locator("tbody tr:not([hidden]) > :first-child").all_inner_texts()
    assert names
    assert all("gemma" in name.lower() for name in names)


@pytest.mark.built
def test_a_link_leads_to_a_section_that_was_not_laid_out(open_page, tmp_path):
    elsewhere = tmp_path / "page.html"
    elsewhere.write_text("<!doctype html>", encoding="utf-8")
    for anchor in ("exercises", "in-practice"):
        page = open_page(elsewhere, PHONE)
        page.goto(f"{CHAPTER.as_uri()}#{anchor}")
        assert 0 < page.locator(f"#{anchor} > h2").bounding_box()["y"] < 200, anchor


PLACES = """() => [...document.querySelectorAll(".bd-article :is(section, .figure-box, dt)")].map(
  (one) => Math.round(one.getBoundingClientRect().top + scrollY))"""
ARE_PLACES = f"(places) => JSON.stringify(({PLACES})()) === JSON.stringify(places)"
# What the browser draws, far from the window too, and all that there is.
DRAWN = """() => {
  const all = [...document.querySelectorAll(".bd-article *")];
  const isDrawn = (one) => one.checkVisibility({ contentVisibilityAuto: true });
  return [all.filter(isDrawn).length, all.filter((one) => one.checkVisibility()).length];
}"""


@pytest.mark.built
@pytest.mark.parametrize("width", [1280, PHONE])
@pytest.mark.parametrize("name", ["deriving-rope", "questions", "source/llama"])
def test_a_page_knows_its_places_and_draws_only_what_is_near(open_page, tmp_path, name, width):
    chapter = SITE / "chapters" / f"{name}.html"
    elsewhere = tmp_path / "page.html"
    elsewhere.write_text("<!doctype html>", encoding="utf-8")
    whole = open_page(elsewhere, width)
    whole.goto(f"{chapter.as_uri()}#no-such-place")
    whole.evaluate("document.fonts.ready.then(() => {})")
    page = open_page(chapter, width)
    page.wait_for_function("document.querySelector('[data-parts]')")
    page.wait_for_function(ARE_PLACES, arg=whole.evaluate(PLACES))
    drawn, all_of_it = page.evaluate(DRAWN)
    assert drawn < all_of_it / 2, (drawn, all_of_it)
    page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    page.wait_for_function(ARE_PLACES, arg=whole.evaluate(PLACES))


@pytest.mark.built
def test_contents_that_a_phone_hides_are_not_laid_out(open_page):
    page = open_page(CHAPTER, PHONE)
    contents = page.locator("#pst-primary-sidebar, #pst-secondary-sidebar")
    assert contents.evaluate_all("(all) => all.map((one) => one.offsetWidth)") == [0, 0]
    entries = {".primary-toggle": "a.current", ".secondary-toggle": "#pst-page-toc-nav a"}
    for toggle, entry in entries.items():
        page.locator(toggle).first.click()
        shown = page.locator(f"dialog[open] {entry}").first
        expect(shown).to_be_in_viewport()
        page.keyboard.press("Escape")
        expect(shown).to_be_hidden()


@pytest.mark.browser
def test_the_lines_of_a_chinese_heading_are_equally_long_on_a_phone(tmp_path, open_page):
    file = tmp_path / "page.html"
    file.write_text(
        '<!doctype html><html lang="zh-CN"><meta charset="utf-8">'
        f'<link rel="stylesheet" href="{(STATIC / "book.css").as_uri()}">'
        '<main class="bd-article" style="width: 12em; font-size: 1.75rem">'
        "<h1><span>已发布的模型各用哪种编码？</span></h1></main></html>",
        encoding="utf-8",
    )
    page = open_page(file, PHONE)
    lines = page.evaluate(
        "[...document.querySelector('span').getClientRects()].map(({ width }) => width)"
    )
    assert len(lines) == 2
    assert lines[1] > 0.6 * lines[0], lines

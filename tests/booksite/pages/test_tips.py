"""The box beside a link shows what the link leads to: for a pointer, for keys, and from disk."""

import pytest
from playwright.sync_api import expect

from bookformat.paths import BUILD
from moments import wait_until_drawn

SITE = BUILD / "html"
CHAPTER = SITE / "chapters" / "why-position.html"
# A link, and what its box must say. The equation has its number, of another page or of this one.
LINKS = {
    'a[href*="bibliography.html#"]': "20",
    'a[href*="attention.html#equation-eq-score"]': "(1.",
    'a[href="#equation-eq-position-rotate"]': "(6.",
}


@pytest.mark.built
@pytest.mark.parametrize("link", LINKS)
def test_a_pointer_on_a_link_shows_what_it_leads_to(open_page, link):
    page = open_page(CHAPTER)
    assert page.locator('script[src*="tippy"]').count() == 0
    place = page.locator(f"article {link}:not(.headerlink)").first
    # All of the page is laid out, so that nothing moves below the pointer.
    page.evaluate("document.documentElement.dataset.whole = ''")
    place.scroll_into_view_if_needed()
    wait_until_drawn(page)
    place.hover()
    box = page.get_by_role("tooltip")
    expect(box).to_be_visible()
    expect(box).to_contain_text(LINKS[link])
    width = box.bounding_box()["width"]
    assert 60 < width < 620
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)


@pytest.mark.built
def test_the_keyboard_reaches_the_box_and_a_term_has_its_formulas(open_page):
    page = open_page(SITE / "chapters" / "notation.html")
    link = page.locator('article a[href*="glossary.html#term-"]').first
    link.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    box = page.get_by_role("tooltip")
    expect(box).to_be_visible()
    assert len(box.inner_text().split()) > 5
    described = link.get_attribute("aria-describedby")
    assert page.locator(f"#{described}").count() == 1


@pytest.mark.built
def test_every_box_has_something_in_it(open_page):
    scripts = [path for path in (SITE / "_static" / "tips").glob("*.js") if "min" not in path.name]
    assert len(scripts) > 20
    page = open_page(SITE / "chapters" / "glossary.html")
    found = page.evaluate(
        """async (scripts) => {
          const found = [];
          globalThis.bookTips = (page, places) => {
            for (const [anchor, html] of Object.entries(places)) {
              const box = document.createElement("div");
              box.innerHTML = html;
              const whole = box.querySelectorAll("[id], a").length === 0;
              if (box.textContent.trim().length < 5 || !whole) found.push(`${page}#${anchor}`);
            }
          };
          for (const src of scripts) {
            await new Promise((done) => {
              const script = document.createElement("script");
              document.head.append(Object.assign(script, { src, onload: done }));
            });
          }
          return found;
        }""",
        [path.as_uri() for path in scripts],
    )
    assert found == []

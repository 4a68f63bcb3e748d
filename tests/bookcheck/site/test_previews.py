"""References show what they lead to, on pointing, by the keyboard and at a tap."""

import json
import re

import pytest

from bookcheck.site.previews import blocks_of, previews

FORMULA = '<div class="math notranslate" id="equation-a"><div class="x">a</div><b>(1)</b></div>'
PAGES = {
    "chapters/a.html": f"<p>{FORMULA}</p><div class='other' id='b'></div>",
    "chapters/deeper/b.html": (
        '<a class="reference internal" href="../a.html#equation-a">(1)</a>'
        '<a class="reference internal" href="../a.html#b">b</a>'
        '<a class="reference internal" href="#equation-a">here</a>'
        '<a class="reference internal" href="../gone.html#equation-a">gone</a>'
    ),
}


def test_a_block_ends_where_its_own_div_ends():
    assert blocks_of(PAGES["chapters/a.html"], ["equation-a", "b"]) == {"equation-a": FORMULA}


def test_a_block_that_is_not_closed_is_named():
    with pytest.raises(ValueError, match="not closed: <div class"):
        blocks_of(FORMULA.removesuffix("</div>"), ["equation-a"])


def test_only_blocks_that_other_pages_refer_to_are_kept():
    assert previews(PAGES) == {"chapters/a.html": {"equation-a": FORMULA}}
    assert previews({"chapters/a.html": PAGES["chapters/a.html"]}) == {}


def test_the_ledger_refers_to_every_formula_and_counts_for_none():
    pages = {"chapters/a.html": PAGES["chapters/a.html"]}
    pages["chapters/ledger.html"] = PAGES["chapters/deeper/b.html"].replace("../a", "a")
    assert previews(pages) == {}


def test_the_site_keeps_what_its_pages_refer_to(good_site):
    folder = good_site / "_static" / "previews"
    assert sorted(file.name for file in folder.iterdir()) == ["chapters-one.js", "index.js"]
    text = (folder / "chapters-one.js").read_text(encoding="utf-8")
    kept = json.loads(
        re.fullmatch(r'bookPreviews\.pages\["chapters/one.html"\] = (.*);\n', text)[1]
    )
    assert sorted(kept) == ["equation-first", "hull"]


@pytest.fixture
def tab(good_site, open_page, request):
    """The page with references, from disk."""
    touch = getattr(request, "param", False)
    return open_page(good_site / "chapters" / "02-two.html", has_touch=touch)


def reference(tab, anchor):
    return tab.locator(f'.bd-article a.reference[href$="#{anchor}"]')


@pytest.mark.browser
@pytest.mark.parametrize("anchor", ["equation-first", "equation-second"])
def test_pointing_at_a_reference_shows_its_formula_and_leaving_hides_it(tab, anchor):
    reference(tab, anchor).hover()
    tab.wait_for_selector("#meaning .katex")
    assert tab.locator("#meaning :is([id], .headerlink, [tabindex], .go)").count() == 0
    tab.locator("article h1").hover()
    tab.wait_for_selector("#meaning", state="hidden")


@pytest.mark.browser
def test_the_keyboard_shows_and_escape_closes(tab):
    # The browser calls a focus visible only after a key.
    tab.keyboard.press("Tab")
    reference(tab, "hull").focus()
    tab.wait_for_selector("#meaning .theorem")
    assert reference(tab, "hull").get_attribute("aria-describedby") == "meaning"
    tab.keyboard.press("Escape")
    assert tab.locator("#meaning").is_hidden()
    reference(tab, "hull").press("Enter")
    tab.wait_for_url("**/one.html#hull")


@pytest.mark.browser
@pytest.mark.parametrize("tab", [True], indirect=True)
def test_the_first_tap_shows_and_offers_the_way(tab):
    reference(tab, "equation-first").tap()
    tab.wait_for_selector("#meaning .katex")
    assert tab.url.endswith("02-two.html")
    tab.locator("#meaning .go").tap()
    tab.wait_for_url("**/one.html#equation-first")


@pytest.mark.browser
@pytest.mark.parametrize("tab", [True], indirect=True)
def test_the_second_tap_goes_there(tab):
    reference(tab, "hull").tap()
    tab.wait_for_selector("#meaning .theorem")
    reference(tab, "hull").tap()
    tab.wait_for_url("**/one.html#hull")


@pytest.mark.browser
@pytest.mark.parametrize("tab", [True], indirect=True)
def test_a_reference_without_a_picture_goes_at_once(tab):
    reference(tab, "hull").evaluate("(link) => (link.hash = '#elsewhere')")
    reference(tab, "elsewhere").tap()
    tab.wait_for_url("**/one.html#elsewhere")


@pytest.mark.browser
@pytest.mark.parametrize("height", [160, 260, 700])
def test_the_box_stays_in_the_window(tab, height):
    tab.set_viewport_size({"width": 390, "height": height})
    tab.keyboard.press("Tab")
    long = (
        "(link) => document.getElementById('equation-second').style.setProperty('height', '500px')"
    )
    reference(tab, "equation-second").evaluate(long)
    reference(tab, "equation-second").focus()
    tab.wait_for_selector("#meaning .katex")
    box = tab.locator("#meaning").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= height
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


@pytest.mark.browser
def test_a_source_is_shown_with_its_address(tab):
    reference(tab, "hull").evaluate(
        """(link) => {
          link.title = "A <b>. Title. URL: https://example.org/1.2.";
          const place = document.createElement("span");
          place.className = "bibtex-citation";
          link.replaceWith(place);
          place.append(link);
        }"""
    )
    reference(tab, "hull").hover()
    tab.wait_for_selector("#meaning a")
    assert tab.locator("#meaning").inner_text() == "A <b>. Title. URL: https://example.org/1.2."
    assert tab.locator("#meaning a").get_attribute("href") == "https://example.org/1.2"
    assert reference(tab, "hull").get_attribute("title") is None, "the browser would show it, too"

"""What was read is marked in the contents, and the opening page offers to go on."""

from contextlib import closing

import pytest

from bookcheck.gates.controls import shared_browser
from bookcheck.paths import ROOT

PAGE = """<!doctype html><html lang="en" data-content_root="{root}"><meta charset="utf-8">
<link rel="icon" href="data:,"><title>x</title>
<div id="pst-primary-sidebar">
<a class="reference internal" href="{root}chapters/01-one.html">One</a>
<a class="reference internal" href="{root}chapters/02-two.html">Two</a></div>
<div id="pst-page-toc-nav"><a href="#late" class="active">1.2. Late</a></div>
<article><h1>1. One<a href="#x">#</a></h1>{doors}<div style="height: 3000px"></div>
<h2 id="late">Late</h2>
<div class="prev-next-area">end</div></article>
<script src="{root}_static/reading.js"></script></html>"""
SHUT = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('shut'); }});"


@pytest.fixture
def site(tmp_path):
    """Two chapters and an opening page, with the script."""
    (tmp_path / "_static").mkdir()
    (tmp_path / "chapters").mkdir()
    script = (ROOT / "_static" / "reading.js").read_text(encoding="utf-8")
    (tmp_path / "_static" / "reading.js").write_text(script, encoding="utf-8")
    for name in ("01-one", "02-two"):
        page = PAGE.format(root="../", doors="")
        (tmp_path / "chapters" / f"{name}.html").write_text(page, encoding="utf-8")
    opening = PAGE.format(root="./", doors='<div class="doors"></div>')
    (tmp_path / "index.html").write_text(opening, encoding="utf-8")
    return tmp_path


@pytest.fixture
def tab():
    with closing(shared_browser().new_page()) as tab:
        tab.errors = []
        tab.on("pageerror", lambda error: tab.errors.append(error.message))
        yield tab
        assert tab.errors == []


def marked(tab):
    return tab.locator("#pst-primary-sidebar a:has(.read-mark)").all_inner_texts()


@pytest.mark.browser
def test_a_page_is_read_when_its_end_was_seen(site, tab):
    tab.goto((site / "index.html").as_uri())
    assert marked(tab) == []
    assert tab.locator(".go-on").count() == 0, "a new reader is offered nothing"
    tab.goto((site / "chapters" / "01-one.html").as_uri())
    assert marked(tab) == []
    tab.locator(".prev-next-area").scroll_into_view_if_needed()
    tab.wait_for_selector(".read-mark")
    assert marked(tab) == ["One✓"]
    tab.goto((site / "index.html").as_uri())
    assert marked(tab) == ["One✓"]
    assert tab.locator(".go-on").inner_text().startswith("Go on at 1. One: 1.2. Late.")
    tab.locator(".go-on a").click()
    tab.wait_for_url("**/chapters/01-one.html#late")


@pytest.mark.browser
def test_it_can_be_forgotten(site, tab):
    tab.goto((site / "chapters" / "02-two.html").as_uri())
    tab.locator(".prev-next-area").scroll_into_view_if_needed()
    tab.wait_for_selector(".read-mark")
    tab.goto((site / "index.html").as_uri())
    tab.locator(".go-on button").click()
    assert marked(tab) == []
    tab.reload()
    assert tab.locator(".go-on").count() == 0


@pytest.mark.browser
def test_without_storage_nothing_is_shown_and_nothing_fails(site, tab):
    tab.add_init_script(SHUT)
    tab.goto((site / "chapters" / "01-one.html").as_uri())
    tab.locator(".prev-next-area").scroll_into_view_if_needed()
    tab.wait_for_timeout(300)
    assert marked(tab) == []
    tab.goto((site / "index.html").as_uri())
    assert tab.locator(".go-on").count() == 0

"""The site as a zip file that works from disk, and links that come with their files."""

import re
import zipfile

import pytest
from playwright.sync_api import expect

from bookcheck.export.downloads import link_files, make_zip, offer
from bookcheck.paths import BUILD

OPENING = '<p>Before.</p><div class="downloads"></div><p>After.</p>'


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "html"
    folder.mkdir()
    (folder / "index.html").write_text(OPENING, encoding="utf-8")
    (folder / ".buildinfo").write_text("not for readers", encoding="utf-8")
    (folder / "_static" / "python").mkdir(parents=True)
    (folder / "_static" / "python" / "pyodide.js").write_text("only online", encoding="utf-8")
    return folder


def test_the_links_come_with_the_files_and_the_zip_has_none(site, tmp_path):
    archive, pdf = tmp_path / "out" / "book.zip", tmp_path / "book.pdf"
    pdf.write_bytes(b"x" * 1_234_567)
    for _ in range(2):
        offer(site, pdf, archive)
    html = (site / "index.html").read_text(encoding="utf-8")
    assert re.fullmatch("<p>Before.</p>.*<p>After.</p>", html, re.DOTALL)
    assert 'href="downloads/book.pdf" download>the book as a PDF</a> (1.2 MB)' in html
    linked = re.findall(r'href="([^"]*)"', html)
    assert linked == ["downloads/book.pdf", "downloads/book.zip"]
    assert all((site / name).is_file() for name in linked)
    with zipfile.ZipFile(archive) as opened:
        assert opened.namelist() == ["book/index.html"]
        assert opened.read("book/index.html").decode() == OPENING


def test_a_page_without_a_place_for_the_links_is_named(site):
    (site / "index.html").write_text("<p>Nothing.</p>", encoding="utf-8")
    with pytest.raises(ValueError, match=r"add it to index\.md"):
        link_files(site, [])


@pytest.mark.built
def test_the_unpacked_site_works_from_disk(tmp_path, open_page):
    make_zip(BUILD / "html", tmp_path / "book.zip")
    with zipfile.ZipFile(tmp_path / "book.zip") as opened:
        opened.extractall(tmp_path)
    page = open_page(tmp_path / "book" / "index.html")
    figure = page.locator(".interactive[data-widget=rotation]")
    figure.scroll_into_view_if_needed()
    score = figure.locator("dd[data-value=score]")
    before = score.inner_text()
    figure.locator("input[value=free]").check()
    figure.locator("input[name=m]").press("ArrowRight")
    expect(score).not_to_have_text(before)
    page.locator("button.search-button-field").click()
    page.locator("input[name=q]:visible").fill("softmax")
    page.keyboard.press("Enter")
    expect(page.locator(".search-found li").first).to_contain_text("softmax", ignore_case=True)

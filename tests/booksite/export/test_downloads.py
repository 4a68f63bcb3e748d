"""The site as a zip file, and links that come with their files."""

import re
import zipfile

import pytest

from booksite.export.downloads import link_files, offer

OPENING = '<p>Before.</p><div class="downloads"></div><p>After.</p>'


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "html"
    folder.mkdir()
    (folder / "index.html").write_text(OPENING, encoding="utf-8")
    (folder / ".buildinfo").write_text("not for readers", encoding="utf-8")
    (folder / "_static" / "python").mkdir(parents=True)
    (folder / "_static" / "python" / "pyodide.js").write_text("only online", encoding="utf-8")
    (folder / "_static" / "book.css").touch()
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
        assert opened.namelist() == ["book/_static/book.css", "book/index.html"]
        assert opened.read("book/index.html").decode() == OPENING


def test_a_page_without_a_place_for_the_links_is_named(site):
    (site / "index.html").write_text("<p>Nothing.</p>", encoding="utf-8")
    with pytest.raises(ValueError, match=r"add it to index\.md"):
        link_files(site, [])

"""Links to the PDF and the zip file come with the files, and never without them."""

import re

import pytest

from bookcheck.export.offer import OfferError, main, offer
from bookcheck.paths import ROOT

OPENING = '<p>Before.</p><div class="downloads"></div><p>After.</p>'


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "html"
    folder.mkdir()
    (folder / "index.html").write_text(OPENING, encoding="utf-8")
    return folder


@pytest.fixture
def files(tmp_path):
    made = [tmp_path / "book.pdf", tmp_path / "book.zip"]
    for file in made:
        file.write_bytes(b"x" * 1_234_567)
    return made


def dead_links(site):
    """The links of the opening page to files that are not there."""
    html = (site / "index.html").read_text(encoding="utf-8")
    return [name for name in re.findall(r'href="([^"]*)"', html) if not (site / name).is_file()]


def test_the_links_come_with_the_files(site, files):
    offer(site, files)
    html = (site / "index.html").read_text(encoding="utf-8")
    assert html.startswith("<p>Before.</p>")
    assert html.endswith("<p>After.</p>")
    assert 'href="downloads/book.pdf" download>the book as a PDF</a> (1.2 MB)' in html
    assert 'href="downloads/book.zip"' in html
    assert dead_links(site) == []
    (site / "downloads" / "book.zip").unlink()
    assert dead_links(site) == ["downloads/book.zip"], "the test sees a dead link"


def test_again_with_fewer_files_the_old_ones_go(site, files):
    offer(site, files)
    offer(site, files[:1])
    assert "zip" not in (site / "index.html").read_text(encoding="utf-8")
    assert [file.name for file in (site / "downloads").iterdir()] == ["book.pdf"]
    assert main([str(site)]) == 0
    assert (site / "index.html").read_text(encoding="utf-8") == OPENING


def test_a_file_that_is_not_there_changes_nothing(site, files, capsys):
    files[1].unlink()
    assert main([str(site), *map(str, files)]) == 1
    assert "book.zip is not there; run make pdf and make zip" in capsys.readouterr().err
    assert (site / "index.html").read_text(encoding="utf-8") == OPENING


def test_other_kinds_of_files_and_a_page_without_a_place_are_named(site, files):
    with pytest.raises(OfferError, match=r"expected a file of .pdf or .zip"):
        offer(site, [site / "index.html"])
    (site / "index.html").write_text("<p>Nothing.</p>", encoding="utf-8")
    with pytest.raises(OfferError, match=r"has no <div class=.downloads"):
        offer(site, files)


def test_the_opening_page_has_the_place():
    assert '<div class="downloads"></div>' in (ROOT / "index.md").read_text(encoding="utf-8")

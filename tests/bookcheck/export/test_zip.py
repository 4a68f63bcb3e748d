"""The site in one zip file, opened from disk."""

import zipfile

import pytest
from playwright.sync_api import expect

from bookcheck.export.zip import main, make_archive
from bookcheck.paths import BUILD


@pytest.fixture
def small_site(tmp_path):
    site = tmp_path / "html"
    (site / "_static").mkdir(parents=True)
    (site / "index.html").write_text("<p>start</p>", encoding="utf-8")
    for name in (".buildinfo", "404.html"):
        (site / name).write_text("not for readers", encoding="utf-8")
    (site / "_static" / "book.css").write_text("p {}", encoding="utf-8")
    return site


def test_everything_lies_in_one_folder(small_site, tmp_path):
    archive = tmp_path / "out" / "book.zip"
    assert make_archive(small_site, archive) == 2
    with zipfile.ZipFile(archive) as opened:
        assert opened.namelist() == ["book/_static/book.css", "book/index.html"]
        assert opened.read("book/index.html") == b"<p>start</p>"


def test_the_same_site_gives_the_same_bytes(small_site, tmp_path):
    first, second = tmp_path / "a" / "book.zip", tmp_path / "b" / "book.zip"
    make_archive(small_site, first)
    (small_site / "index.html").touch()
    make_archive(small_site, second)
    assert first.read_bytes() == second.read_bytes()


def test_what_cannot_work_is_said(tmp_path, monkeypatch, capsys):
    nothing = tmp_path / "nothing"
    monkeypatch.setattr("sys.argv", ["archive", str(nothing), str(tmp_path / "book.zip")])
    assert main() == 2
    assert "build it first (make book)" in capsys.readouterr().err


@pytest.mark.built
def test_the_unpacked_site_works_from_disk(tmp_path, open_page):
    make_archive(BUILD / "html", tmp_path / "book.zip")
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

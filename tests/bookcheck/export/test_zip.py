"""The site in one zip file works from disk: pages, search, interactive figures."""

import zipfile

import pytest
from playwright.sync_api import Error as PlaywrightError

from bookcheck.export.zip import main, make_archive
from bookcheck.gates.controls import move_controls
from bookcheck.gates.links import broken_links
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


# The browser

BOX = "input[name=q]:visible"
RESULT = '.search-found li:has-text("softmax")'
SEARCH = [
    {
        "act": [
            ["click", "button.search-button-field"],
            ["fill", BOX, "softmax"],
            ["press", BOX, "Enter"],
            ["wait_for", RESULT],
        ],
        "read": RESULT,
    }
]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    make_archive(BUILD / "html", folder / "book.zip")
    with zipfile.ZipFile(folder / "book.zip") as opened:
        opened.extractall(folder)
    return folder / "book"


@pytest.mark.browser
def test_search_finds_a_word_from_disk(unpacked):
    seen = move_controls(unpacked / "index.html", SEARCH)
    assert seen["errors"] == []
    assert seen["steps"][0]


@pytest.mark.browser
def test_search_that_fetches_is_seen(unpacked):
    """What must not come back: a page from disk may not fetch another."""
    script = unpacked / "_static" / "search.js"
    text = script.read_text(encoding="utf-8")
    script.write_text(f'fetch("index.html");\n{text}', encoding="utf-8")
    try:
        assert move_controls(unpacked / "index.html", SEARCH)["errors"]
    finally:
        script.write_text(text, encoding="utf-8")


@pytest.mark.browser
def test_an_interactive_figure_moves_from_disk(unpacked):
    steps = [{"widget": "rotation", "set": {"m": value, "lock": "free"}} for value in (2, 9)]
    seen = move_controls(unpacked / "index.html", steps)
    assert seen["errors"] == []
    before, after = seen["steps"]
    assert before["numbers"]["score"] != after["numbers"]["score"]


@pytest.mark.browser
def test_an_interactive_figure_without_its_script_is_seen(unpacked):
    script = unpacked / "_static" / "widgets" / "rotation.js"
    hidden = script.rename(script.with_suffix(".away"))
    try:
        with pytest.raises(PlaywrightError, match="Timeout"):
            move_controls(unpacked / "index.html", [{"widget": "rotation"}], patience=3000)
    finally:
        hidden.rename(script)


@pytest.mark.browser
def test_what_is_left_out_is_missed_by_no_page(unpacked):
    assert list(broken_links(unpacked)) == []
    (unpacked / "genindex.html").unlink()
    assert any("genindex.html" in what for _, what in broken_links(unpacked))

"""A page that works long is told from one that does not."""

import asyncio

import pytest

from bookcheck.gates.blocking import main, main_line, measure

BUSY = "<script>const end = performance.now() + 400; while (performance.now() < end);</script>"


@pytest.mark.browser
def test_a_busy_page_blocks_and_a_plain_one_does_not(tmp_path):
    (tmp_path / "index.html").write_text("<p>plain</p>", encoding="utf-8")
    (tmp_path / "busy.html").write_text(f"<p>busy</p>{BUSY}", encoding="utf-8")
    times = asyncio.run(measure(tmp_path, ["busy.html"]))
    assert times["busy.html"] > times["index.html"] + 200


def test_the_main_line_is_the_chapters_by_number(tmp_path):
    folder = tmp_path / "chapters"
    (folder / "deeper").mkdir(parents=True)
    for name in ("02-two.html", "01-one.html", "notation.html", "deeper/01-one.html"):
        (folder / name).write_text("", encoding="utf-8")
    assert main_line(tmp_path) == ["chapters/01-one.html", "chapters/02-two.html"]


def test_a_folder_without_a_site_is_said(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "build the site first" in capsys.readouterr().err

"""A page that works long is told from one that does not."""

import pytest

from bookcheck.gates.blocking import STYLE, TASK, WORD, cost_of, main, main_line, measure
from bookcheck.gates.browser import run_apart

# So much work on any machine: a clock would count what others do.
BUSY = "<script>let sum = 0; for (let n = 0; n < 2e7; n++) sum += n % 7; window.sum = sum</script>"


@pytest.mark.browser
def test_a_busy_page_blocks_and_a_plain_one_does_not(tmp_path):
    (tmp_path / "index.html").write_text("<p>plain</p>", encoding="utf-8")
    (tmp_path / "busy.html").write_text(f"<p>busy</p>{BUSY}", encoding="utf-8")
    times = run_apart(measure(tmp_path, ["busy.html"], loads=1))
    assert times["busy.html"].blocked > times["index.html"].blocked + 200


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


def test_what_the_thread_of_the_page_did_is_counted():
    def event(name, milliseconds, thread=1, **args):
        return {"ph": "X", "pid": 1, "tid": thread, "name": name, "tdur": 1000 * milliseconds} | {
            "args": args
        }

    events = [
        event(TASK, 49),
        event(TASK, 150),
        event(TASK, 60),
        event(STYLE, 5, elementCount=7),
        event(STYLE, 5, elementCount=3),
        event(TASK, 9000, thread=2),
        event(STYLE, 9000, thread=2, elementCount=100),
        {"ph": "I", "pid": 1, "tid": 1, "name": WORD},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name"},
    ]
    assert cost_of(events) == (110, 10)
    with pytest.raises(ValueError, match="was a page loaded"):
        cost_of(events[:3])

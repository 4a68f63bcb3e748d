"""`make lab`: a reader's work is kept, and a chapter looks and runs as it should in JupyterLab."""

import json
import os
import re
import socket
import subprocess
import time
import urllib.request
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bookcheck.export.lab import (
    FOR_ALL,
    FOR_READERS,
    WRITTEN,
    command,
    digest,
    environment,
    prepare,
    renew,
    trust,
)
from bookcheck.site.reader import book_of, reader_texts

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("lab")]
TOKEN = "book"
CHAPTER = "01-attention.ipynb"
RAW = re.compile(r":::|\{[\w:-]+\}`|\{(?:eq|cite:[pt]|value|check|quiz)\}|\$\$|\\tag|\(eq-|\[x\]")
# All cells stand there.
SETTLED = """(count) =>
  document.querySelectorAll('.jp-Notebook .jp-Cell').length === count &&
  !document.querySelector('.jp-Notebook .jp-MarkdownCell:not(.jp-mod-rendered)')"""
# What the notebook shows: its text, and what went wrong in its cells.
SEEN = """() => {
  const all = (what) => [...document.querySelectorAll('.jp-Notebook ' + what)];
  return {
    text: all('.jp-RenderedMarkdown').map((one) => one.innerText).join('\\n'),
    errors: window.jupyterapp.shell.currentWidget.content.widgets
      .flatMap((cell) => (cell.model.outputs ? cell.model.outputs.toJSON() : []))
      .filter((one) => one.output_type === 'error' || one.name === 'stderr')
      .map((one) => one.ename || String(one.text))
      .concat(all('mjx-merror').map((one) => one.textContent)),
  };
}"""

# What is wrong with the first screen and with what stands beside and below it.
FIRST_SCREEN = """() => {
  const all = (what) => [...document.querySelectorAll(what)];
  const box = (one) => one.getBoundingClientRect();
  const first = document.querySelector('.jp-Notebook .jp-MarkdownCell');
  const figures = all('.jp-Notebook .jp-RenderedSVG img');
  const wide = (one) => box(one).right > box(one.closest('.jp-Cell')).right;
  const long = (one) => box(one).top < innerHeight && box(one).height > 70;
  return [
    !first.querySelector('em')?.innerText.endsWith('?') && 'no question',
    !first.innerText.includes('The answer.') && 'no answer',
    !figures.some((one) => box(one).top < 0.75 * innerHeight) && 'no picture',
    all('.jp-InputArea-editor').some(long) && 'long code',
    figures.some(wide) && 'a figure is cut',
    !document.querySelector('.jp-TableOfContents')?.offsetHeight && 'no contents',
    document.querySelector('.jp-TableOfContents')?.innerText.includes('$') && 'raw contents',
    all('.Toastify__toast').length > 0 && 'news',
    all('.jp-Notebook details[open]').length > 0 && 'an open answer',
  ].filter(Boolean);
}"""

# A kernel that is only starting leaves the cells as they are: it must have come to rest first.
AT_REST = """() => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel;
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
# Stored outputs go first, so that all that stands there later comes from this run.
CLEAR_AND_RUN = """async () => {
  await window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs');
  window.jupyterapp.commands.execute('notebook:run-all-cells');
}"""
# Each cell has run, or one has failed, which keeps the others from it.
HAVE_RUN = """() => {
  const cells = window.jupyterapp.shell.currentWidget.content.widgets
    .map((cell) => cell.model)
    .filter((model) => model.type === 'code' && model.sharedModel.getSource().trim());
  const failed = (model) => model.outputs.toJSON().some((one) => one.output_type === 'error');
  return cells.every((model) => model.executionCount) || cells.some(failed);
}"""


def of_one_cell(source, **others):
    """A notebook with one cell of code, as text."""
    return json.dumps({"cells": [{"cell_type": "code", "source": source} | others]})


def test_a_notebook_that_the_reader_changed_is_kept(tmp_path):
    first, second, third = (of_one_cell(source) for source in ("1", "2", "3"))
    assert renew(tmp_path, {"a.ipynb": first, "deeper/b.ipynb": first}) == []
    mine = of_one_cell("mine")
    (tmp_path / "a.ipynb").write_text(mine, encoding="utf-8")
    assert renew(tmp_path, {"a.ipynb": second, "deeper/b.ipynb": second}) == ["a.ipynb"]
    assert (tmp_path / "a.ipynb").read_text(encoding="utf-8") == mine
    assert (tmp_path / "deeper" / "b.ipynb").read_text(encoding="utf-8") == second
    # Where the record is lost, what differs counts as the reader's.
    (tmp_path / WRITTEN).unlink()
    names = ["a.ipynb", "deeper/b.ipynb"]
    assert renew(tmp_path, dict.fromkeys(names, third)) == names


@pytest.mark.parametrize(
    ("saved", "kept"),
    [
        (of_one_cell(["1\n", "2"], execution_count=7, metadata={"scrolled": True}), []),
        (of_one_cell("1\n2", outputs=[{"text": "own result"}]), ["a.ipynb"]),
    ],
    ids=["opened", "with a result of the reader's own"],
)
def test_a_notebook_that_was_only_opened_is_renewed(tmp_path, saved, kept):
    renew(tmp_path, {"a.ipynb": of_one_cell("1\n2")})
    (tmp_path / "a.ipynb").write_text(saved, encoding="utf-8")
    assert renew(tmp_path, {"a.ipynb": of_one_cell("3")}) == kept


def test_notebooks_are_trusted_by_signatures_of_the_checkout(tmp_path):
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), tmp_path / "a.ipynb")
    trust(tmp_path, tmp_path / "signatures")
    notary = NotebookNotary(data_dir=str(tmp_path / "signatures"))
    assert notary.check_signature(nbformat.read(tmp_path / "a.ipynb", as_version=4))
    notary.store.close()


def test_a_broken_notebook_is_kept_and_stops_nothing(tmp_path):
    renew(tmp_path, {"a.ipynb": of_one_cell("1")})
    (tmp_path / "a.ipynb").write_text("<<<<<<< a merge", encoding="utf-8")
    assert renew(tmp_path, {"a.ipynb": of_one_cell("2")}) == ["a.ipynb"]
    trust(tmp_path, tmp_path / "signatures")


def test_the_users_own_settings_come_along(monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "theirs")
    assert environment(FOR_ALL)["JUPYTER_CONFIG_PATH"] == os.pathsep.join([str(FOR_ALL), "theirs"])


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab, started as `make lab` does, with settings of nobody else: folders, address."""
    place = tmp_path_factory.mktemp("lab")
    folder, state = place / "lab", place / "state"
    folder.mkdir()
    prepare(folder, state)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = command(folder, state, CHAPTER, [])
    words += ["--no-browser", "--allow-root", f"--port={port}", "--expose-app-in-browser"]
    words += [f"--IdentityProvider.token={TOKEN}", "--ServerApp.port_retries=0"]
    own = {f"JUPYTER_{name}_DIR": str(state / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    server = subprocess.Popen(
        words,
        env=environment(FOR_READERS, FOR_ALL) | own,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    until(lambda: answers(f"{address}/api?token={TOKEN}"), "JupyterLab does not start")
    yield SimpleNamespace(folder=folder, state=state, address=address)
    # Asked politely it waits for its kernels; nothing here is worth waiting for.
    server.kill()
    server.wait()


def answers(address):
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


def until(condition, complaint, seconds=300):
    """Wait for something that a busy machine may take long for."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, complaint
        time.sleep(0.5)


def wait(window, condition, argument=None):
    """Wait for something that a page shows; to ask in every frame would keep it from its work."""
    window.wait_for_function(condition, arg=argument, polling=250)


def run_all(window):
    """Run all cells, and return what then stands there."""
    wait(window, AT_REST)
    window.evaluate(CLEAR_AND_RUN)
    wait(window, HAVE_RUN)
    wait(window, AT_REST)
    return window.evaluate(SEEN)


def faults(seen):
    """What a reader must not see in a notebook."""
    found = [f"error: {text}" for text in seen["errors"]]
    return found + [f"raw: {match.group()}" for match in RAW.finditer(seen["text"])]


@pytest.fixture(scope="module")
def context(browser):
    """One for all: what JupyterLab loads is loaded once."""
    kept = browser.new_context(viewport={"width": 1280, "height": 800})
    yield kept
    kept.close()


@pytest.fixture
def opened(lab, context):
    """Open a notebook in a window, and wait until all of it stands there."""
    window = context.new_page()
    window.set_default_timeout(300_000)

    def open_notebook(name, text, *, dark=False):
        renew(lab.folder, {name: text})
        prepare(lab.folder, lab.state)
        window.emulate_media(color_scheme="dark" if dark else "light")
        window.goto(f"{lab.address}/lab/tree/{name}?token={TOKEN}")
        window.wait_for_selector(".jp-Notebook .jp-MarkdownCell.jp-mod-rendered")
        wait(window, SETTLED, len(json.loads(text)["cells"]))
        window.wait_for_selector(".jp-TableOfContents .jp-tocItem-heading")
        return window

    yield open_notebook
    window.close()


@pytest.fixture(scope="module")
def texts():
    return reader_texts(book_of())


@pytest.mark.browser
def test_a_chapter_in_jupyterlab(lab, opened, texts):
    window = opened(CHAPTER, texts[CHAPTER], dark=True)
    assert window.evaluate(FIRST_SCREEN) == []
    # Figures follow the theme.
    turned = "(one) => getComputedStyle(one).filter"
    assert "invert(1)" in window.locator(".jp-RenderedSVG img").first.evaluate(turned)
    # To open and save a notebook is no change of the reader's.
    wait(window, AT_REST)
    file = lab.folder / CHAPTER
    before = file.stat().st_mtime_ns
    window.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    until(lambda: file.stat().st_mtime_ns > before, "nothing is saved")
    assert digest(file.read_text(encoding="utf-8")) == digest(texts[CHAPTER])
    seen = run_all(window)
    assert faults(seen) == []
    shown = window.inner_text(".jp-Notebook")
    assert "(1.17)" in shown
    # The check that the reader has not answered yet.
    assert "attend_with_sink: not there yet." in shown


@pytest.mark.browser
def test_the_first_screen_of_the_heaviest_chapter(opened, texts):
    name = "10-deriving-rope.ipynb"
    window = opened(name, texts[name])
    assert window.evaluate(FIRST_SCREEN) == []
    assert faults(window.evaluate(SEEN)) == []


@pytest.mark.browser
def test_what_is_wrong_in_jupyterlab_is_seen(opened):
    wide = '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="9"></svg>'
    picture = new_output("display_data", {"image/svg+xml": wide})
    cells = [
        new_markdown_cell("# The $d_k$\n\n:::{quiz}\nSee {eq}`eq-none`.\n:::"),
        new_markdown_cell("<details open>\n<summary>Answer</summary>\n\nYes.\n\n</details>"),
        new_code_cell("1 / 0" + "\n" * 40),
        new_code_cell("2", outputs=[picture]),
    ]
    # Without the name of a kernel JupyterLab would ask for one.
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    window = opened("wrong.ipynb", nbformat.writes(new_notebook(cells=cells, metadata=kernel)))
    window.add_style_tag(content=".jp-RenderedSVG img { max-width: none !important }")
    told = window.evaluate(FIRST_SCREEN)
    assert {"no question", "no answer", "no picture", "long code"} < set(told)
    assert {"a figure is cut", "raw contents", "an open answer"} < set(told)
    found = faults(run_all(window))
    assert "error: ZeroDivisionError" in found
    assert "raw: :::" in found
    assert "raw: {eq}" in found

"""`make lab`: a reader's work is kept, and a chapter looks and runs as it should in JupyterLab."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request

import nbformat
import pytest
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import expect

from bookcheck.export.lab import (
    FOR_ALL,
    FOR_READERS,
    WRITTEN,
    command,
    digest,
    environment,
    renew,
    sign,
)
from bookcheck.paths import BUILD

CHAPTER = "01-attention.ipynb"
RAW = re.compile(r":::|\{[\w:-]+\}`|\{(?:eq|cite:[pt]|value|check|quiz)\}|\$\$|\\tag|\(eq-|\[x\]")
PATIENCE = 300_000  # milliseconds


def of_one_cell(source, **others):
    """A notebook with one cell of code, as text."""
    return json.dumps({"cells": [{"cell_type": "code", "source": source} | others]})


@pytest.fixture
def made(tmp_path):
    """Write what the build makes: notebooks of these sources."""

    def make(**sources):
        folder = tmp_path / "made"
        folder.mkdir(exist_ok=True)
        for name, source in sources.items():
            (folder / f"{name}.ipynb").write_text(of_one_cell(source), encoding="utf-8")
        return folder

    return make


def test_a_notebook_that_the_reader_changed_is_kept(tmp_path, made):
    lab = tmp_path / "lab"
    assert renew(lab, made(a="1", b="1")) == []
    for mine in (of_one_cell("mine"), "<<<<<<< a merge"):
        (lab / "a.ipynb").write_text(mine, encoding="utf-8")
        assert renew(lab, made(a="2", b="2")) == ["a.ipynb"]
        assert (lab / "a.ipynb").read_text(encoding="utf-8") == mine
        assert (lab / "b.ipynb").read_text(encoding="utf-8") == of_one_cell("2")
    # Where the record is lost, what differs counts as the reader's.
    (lab / WRITTEN).unlink()
    assert renew(lab, made(a="3", b="3")) == ["a.ipynb", "b.ipynb"]


def test_a_notebook_that_was_only_run_is_renewed(tmp_path, made):
    lab = tmp_path / "lab"
    renew(lab, made(a="1\n2"))
    run = of_one_cell(["1\n", "2"], execution_count=7, outputs=[{"text": "2"}])
    (lab / "a.ipynb").write_text(run, encoding="utf-8")
    assert renew(lab, made(a="3")) == []


def test_notebooks_are_trusted_by_signatures_of_the_checkout(tmp_path):
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), tmp_path / "a.ipynb")
    (tmp_path / "b.ipynb").write_text("<<<<<<< a merge", encoding="utf-8")
    sign(tmp_path, tmp_path / "state")
    notary = NotebookNotary(data_dir=str(tmp_path / "state" / "signatures"))
    assert notary.check_signature(nbformat.read(tmp_path / "a.ipynb", as_version=4))
    notary.store.close()


def test_the_users_own_settings_come_along(monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "theirs")
    assert environment(FOR_ALL)["JUPYTER_CONFIG_PATH"] == os.pathsep.join([str(FOR_ALL), "theirs"])


@pytest.fixture
def lab(tmp_path):
    """JupyterLab, started as `make lab` does, with settings of nobody else: folder and address."""
    folder, state = tmp_path / "lab", tmp_path / "state"
    folder.mkdir()
    shutil.copy(BUILD / "html" / "notebooks" / CHAPTER, folder)
    sign(folder, state)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*command(folder, state, CHAPTER), "--no-browser", "--expose-app-in-browser"]
    words += [f"--port={port}", "--IdentityProvider.token=book", "--ServerApp.port_retries=0"]
    own = {f"JUPYTER_{name}_DIR": str(state / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    server = subprocess.Popen(
        words,
        env=environment(FOR_READERS, FOR_ALL) | own,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    end = time.monotonic() + PATIENCE / 1000
    while not answers(f"{address}/api?token=book"):
        assert time.monotonic() < end, "JupyterLab does not start"
        time.sleep(0.5)
    yield folder, f"{address}/lab/tree/{CHAPTER}?token=book"
    # Asked politely it waits for its kernels; nothing here is worth waiting for.
    server.kill()
    server.wait()


def answers(address):
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


# Stored outputs go first, so that all that stands there later comes from this run.
RUN_ALL = """async () => {
  await window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs');
  await window.jupyterapp.commands.execute('notebook:run-all-cells');
  await window.jupyterapp.commands.execute('docmanager:save');
}"""
AT_REST = """() => {
  const kernel = window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""


@pytest.mark.built
def test_a_chapter_in_jupyterlab(lab, browser):
    folder, address = lab
    before = (folder / CHAPTER).read_text(encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="dark")
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    first = page.locator(".jp-Notebook .jp-MarkdownCell.jp-mod-rendered").first
    expect(first.locator("em").first).to_contain_text("?")
    figure = page.locator(".jp-RenderedSVG img").first
    expect(figure).to_be_in_viewport()
    # Figures follow the theme.
    assert "invert(1)" in figure.evaluate("(one) => getComputedStyle(one).filter")
    assert page.locator(".jp-Notebook details[open]").count() == 0, "an open answer"
    page.wait_for_function(AT_REST, polling=250)
    page.evaluate(RUN_ALL)
    text = "\n".join(page.locator(".jp-RenderedMarkdown").all_inner_texts())
    assert "(1.17)" in text
    assert RAW.findall(text) == []
    page.close()
    after = (folder / CHAPTER).read_text(encoding="utf-8")
    assert digest(after) == digest(before), (
        "to run and save a notebook is no change of the reader's"
    )
    cells = [cell for cell in json.loads(after)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in cells if "".join(cell["source"]).strip())
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert [one for one in outputs if "stderr" in str(one.get("name")) or "ename" in one] == []
    # The check that the reader has not answered yet.
    assert "attend_with_sink: not there yet." in str(outputs)

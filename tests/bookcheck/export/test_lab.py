"""`make lab`: a reader's work is kept, and JupyterLab starts with trusted notebooks."""

import json
import os
import socket
import subprocess
import time
import urllib.request

import pytest

from bookcheck.export.lab import (
    FOR_ALL,
    FOR_READERS,
    WRITTEN,
    command,
    environment,
    renew,
    sign,
)
from bookcheck.paths import BUILD

CHAPTER = "01-attention.ipynb"
PATIENCE = 300  # seconds


def test_a_notebook_that_the_reader_changed_is_kept(tmp_path):
    made, lab = tmp_path / "made", tmp_path / "lab"
    (made / "deeper").mkdir(parents=True)
    names = ["a.ipynb", "deeper/b.ipynb"]

    def build(text):
        for name in names:
            (made / name).write_text(text, encoding="utf-8")
        return renew(lab, made)

    assert build("1") == []
    (lab / "a.ipynb").write_text("mine", encoding="utf-8")
    assert build("2") == ["a.ipynb"]
    kept = [(lab / name).read_text(encoding="utf-8") for name in names]
    assert kept == ["mine", "2"]
    # Where the record is lost, what differs counts as the reader's.
    (lab / WRITTEN).unlink()
    assert build("3") == names


def test_the_users_own_settings_come_along(monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "theirs")
    assert environment(FOR_ALL)["JUPYTER_CONFIG_PATH"] == os.pathsep.join([str(FOR_ALL), "theirs"])


@pytest.mark.built
def test_jupyterlab_starts_with_the_chapter(tmp_path, monkeypatch):
    folder = tmp_path / "lab"
    renew(folder, BUILD / "html" / "notebooks")
    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name))
    (folder / "merge.ipynb").write_text("<<<<<<< a merge", encoding="utf-8")
    sign(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*command(folder, CHAPTER), "--no-browser", "--IdentityProvider.token=book"]
    words += [f"--port={port}", "--ServerApp.port_retries=0"]
    server = subprocess.Popen(words, env=environment(FOR_READERS, FOR_ALL))
    end = time.monotonic() + PATIENCE
    try:
        while True:
            assert server.poll() is None, "JupyterLab has ended"
            assert time.monotonic() < end, "JupyterLab does not answer"
            try:
                address = f"http://127.0.0.1:{port}/lab/tree/{CHAPTER}?token=book"
                with urllib.request.urlopen(address, timeout=5) as answer:
                    page = answer.read().decode()
                address = f"http://127.0.0.1:{port}/api/contents/{CHAPTER}?token=book"
                with urllib.request.urlopen(address, timeout=5) as answer:
                    cells = json.load(answer)["content"]["cells"]
                break
            except OSError:
                time.sleep(0.5)
    finally:
        # Asked politely it waits for its kernels; nothing here is worth waiting for.
        server.kill()
        server.wait()
    assert "JupyterLab" in page
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["metadata"]["trusted"] for cell in code), "figures would not be shown"

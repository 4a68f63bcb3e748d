"""`make lab`: a reader's work is kept, and JupyterLab starts with trusted notebooks."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request

import nbformat
import pytest

from bookformat.paths import ROOT

CHAPTER, OWN = "01-attention.ipynb", "02-why-sqrt-d.ipynb"
PATIENCE = 300  # seconds


@pytest.mark.built
def test_a_readers_notebook_is_kept_and_the_others_are_trusted(tmp_path, monkeypatch):
    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name))
    (tmp_path / "lab").mkdir()
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "lab" / OWN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = "--no-browser --IdentityProvider.token=book --ServerApp.port_retries=0"
    built = ["--old-file=.venv/installed", "--old-file=_build/html/notebooks"]
    server = subprocess.Popen(
        ["make", *built, "lab", f"LAB={tmp_path}/lab", f"ARGUMENTS={words} --port={port}"],
        cwd=ROOT,
        start_new_session=True,
    )

    def ask(path):
        address = f"http://127.0.0.1:{port}/{path}?token=book"
        with urllib.request.urlopen(address, timeout=5) as answer:
            return answer.read().decode()

    end = time.monotonic() + PATIENCE
    try:
        while True:
            assert server.poll() is None, "JupyterLab has ended"
            assert time.monotonic() < end, "JupyterLab does not answer"
            try:
                page = ask(f"lab/tree/{CHAPTER}")
                break
            except OSError:
                time.sleep(0.5)
        cells, own = (
            json.loads(ask(f"api/contents/{name}"))["content"]["cells"] for name in (CHAPTER, OWN)
        )
    finally:
        # Asked politely it waits for its kernels; nothing here is worth waiting for.
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    assert "JupyterLab" in page
    assert own == []
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["metadata"]["trusted"] for cell in code), "figures would not be shown"

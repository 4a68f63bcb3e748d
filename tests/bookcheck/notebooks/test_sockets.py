"""A kernel starts although another program has the port that it would have had."""

import os
import socket
import tempfile
from pathlib import Path

import nbformat
import nbval.kernel
import pytest
from jupyter_client.connect import LocalPortCache
from jupyter_client.manager import KernelManager

from bookcheck.notebooks.execute import execute
from bookcheck.notebooks.files import stored_form

NAME = nbval.kernel.CURRENT_ENV_KERNEL_NAME
pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no sockets that are files")


@pytest.fixture
def taken(monkeypatch):
    """All ports that Jupyter finds are taken when the kernel has started."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        monkeypatch.setattr(LocalPortCache, "find_available_port", lambda *_: port)
        yield


def test_a_kernel_of_nbval_needs_no_port(taken):
    manager, client = nbval.kernel.start_new_kernel(kernel_name=NAME, cwd=tempfile.gettempdir())
    place = Path(manager.ip)
    assert place.parent == Path(tempfile.gettempdir())
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    assert not list(place.parent.glob(f"{place.name}*"))


def test_a_kernel_with_a_port_dies(taken, monkeypatch):
    monkeypatch.setattr(nbval.kernel, "KernelManager", KernelManager)
    with pytest.raises(RuntimeError, match="Kernel died"):
        nbval.kernel.start_new_kernel(kernel_name=NAME, cwd=tempfile.gettempdir())


def test_a_chapter_is_run_again_without_a_port(taken, tmp_path, forked_kernels):
    path = tmp_path / "chapter.ipynb"
    cells = [nbformat.v4.new_code_cell("1 + 1")]
    path.write_text(stored_form(nbformat.v4.new_notebook(cells=cells)), encoding="utf-8")
    assert execute(path)
    assert '"2"' in path.read_text(encoding="utf-8")

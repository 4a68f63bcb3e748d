"""A Jupyter kernel for each notebook, which starts with PyTorch and the library imported.

Importing them takes five processor-seconds, and the book has more than forty notebooks. On Linux,
the standard library's fork server imports them once and does nothing else; each kernel is a fork of
it. Other systems do not fork safely, so there each kernel is a new process.
"""

import multiprocessing
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file
from nbval.kernel import RunningKernel

CONTEXT: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
PRELOADED = "bookcheck.notebooks.preloaded"


def serve(connection_file: str, folder: Path) -> None:
    """Be a kernel in this process until it is killed."""
    from ipykernel.kernelapp import IPKernelApp

    import_module(PRELOADED)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    # It also ends when its parent process does.
    settings = {"connection_file": connection_file, "parent_handle": os.getppid()}
    IPKernelApp.launch_instance(argv=[], **settings)


class Kernel(RunningKernel):
    """What nbval asks of a kernel, for a process that Python's multiprocessing starts."""

    def __init__(self, folder: Path, timeout: float) -> None:
        # In files, which nobody else opens: a port can be taken between its choice and its use.
        self.files = TemporaryDirectory(prefix="kernel-")
        place = f"{self.files.name}/socket"
        sockets: Any = {"transport": "ipc", "ip": place} if zmq.has("ipc") else {}
        connection_file, _ = write_connection_file(f"{place}.json", **sockets)
        if sys.platform == "linux":
            os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or the debugger warns of itself
            CONTEXT.set_forkserver_preload([PRELOADED])
        self.process = CONTEXT.Process(target=serve, args=(connection_file, folder))
        self.process.start()
        self.kc = BlockingKernelClient(connection_file=connection_file)
        self.kc.load_connection_file()
        self.kc.start_channels()
        try:
            self.kc.get_iopub_msg(timeout=timeout)  # its welcome: from here on nothing is lost
        except BaseException:
            self.stop()
            raise

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return bool(self.process.is_alive())

    def interrupt(self) -> None:
        """Stop the cell that runs, and keep the kernel."""
        os.kill(self.process.pid, signal.SIGINT)

    def stop(self) -> None:
        """End the process at once; an orderly end takes another second for PyTorch's parts."""
        self.kc.stop_channels()
        self.process.kill()
        self.process.join()
        self.files.cleanup()

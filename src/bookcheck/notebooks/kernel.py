"""A Jupyter kernel for each notebook, which starts with PyTorch and the library imported.

Importing them takes three processor-seconds, and the book has more than forty notebooks. On Linux,
the standard library's fork server imports them once and does nothing else; each kernel is a fork of
it. Other systems do not fork safely, so there each kernel is a new process.
"""

import multiprocessing
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file
from nbval.kernel import RunningKernel

CONTEXT: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
SHAPES = "bookcheck.notebooks.shapes"  # before the library, whose calls it checks
PRELOADED = [SHAPES, "attention_to_rope.model", "bookkit.figures", "bookkit.tables"]
PRELOADED += ["ipykernel.ipkernel", "torch._dynamo"]  # optimizers import the last, in 2 s


def serve(connection_file: str, folder: Path) -> None:
    """Be a kernel in this process until it is killed."""
    from ipykernel.kernelapp import IPKernelApp

    import_module(SHAPES)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    # It also ends when its parent process does.
    settings = {"connection_file": connection_file, "parent_handle": os.getppid()}
    IPKernelApp.launch_instance(argv=[], **settings)


class Kernel(RunningKernel):
    """What nbval asks of a kernel, for a process that Python's multiprocessing starts."""

    def __init__(self, folder: Path, timeout: float) -> None:
        self.connection_file, _ = write_connection_file()
        if sys.platform == "linux":
            CONTEXT.set_forkserver_preload(PRELOADED)
        self.process = CONTEXT.Process(target=serve, args=(self.connection_file, folder))
        self.process.start()
        self.kc = BlockingKernelClient(connection_file=self.connection_file)
        self.kc.load_connection_file()
        self.kc.start_channels()
        try:
            self.kc.kernel_info(reply=True, timeout=timeout)
            self._ensure_iopub_up()
        except BaseException:
            self.stop()
            raise

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return bool(self.process.is_alive())

    def interrupt(self) -> None:
        """Stop the cell that runs, and keep the kernel."""
        if self.process.pid:
            os.kill(self.process.pid, signal.SIGINT)

    def stop(self) -> None:
        """End the process at once; an orderly end takes another second for PyTorch's parts."""
        self.kc.stop_channels()
        self.process.kill()
        self.process.join()
        Path(self.connection_file).unlink(missing_ok=True)

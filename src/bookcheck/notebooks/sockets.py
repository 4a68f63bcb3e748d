"""Where a kernel and those who ask it meet.

Jupyter looks for free ports, lets go of them and hopes that they are still free when the kernel
has started. Where many kernels start at once, one of some hundreds finds a port taken and dies.
A file belongs to one kernel from the start.
"""

import os
import secrets
import tempfile
from pathlib import Path

from traitlets.config import Config


def own_sockets() -> Config:
    """Settings for one manager of a kernel: sockets that are files, where the system has such."""
    if os.name == "nt":
        return Config()
    # Jupyter adds a number to it. The path of a socket has at most about a hundred letters.
    place = Path(tempfile.gettempdir(), f"kernel-{secrets.token_hex(8)}")
    return Config({"KernelManager": {"transport": "ipc", "ip": str(place)}})

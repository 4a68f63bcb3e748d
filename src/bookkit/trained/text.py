"""The text that the book's model reads: Python sources of packages that requirements.txt pins.

Whole packages are held out for evaluation. What pages read of them, `held_out`, is the same bytes
on every machine.
"""

import importlib.metadata
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

START = 256  # the token before the first byte of a text; the other tokens are bytes
HELD_OUT = ("networkx", "hypothesis")
# These differ between platforms, or are no text that somebody wrote.
LEFT_OUT = {"version.py", "_version.py", "__config__.py", "_distributor_init.py"}
TESTS = {"tests", "test", "testing", "_vendor", "conftest.py"}
LONGEST = 200_000  # bytes of a file


def held_out(length: int, start: int = 0) -> Tensor:
    """A piece of text that the model has not seen, behind the start token: (1, length)."""
    content = sources_of(HELD_OUT[:1])[start : start + length - 1]
    return torch.tensor([[START, *content]])


@cache
def sources_of(packages: tuple[str, ...]) -> bytes:
    """The sources of some installed packages, one file after the other, each behind its name."""
    parts = []
    for package in packages:
        files = importlib.metadata.files(package) or []
        for file in sorted(files, key=str):
            if file.suffix == ".py" and file.name not in LEFT_OUT and not TESTS & {*file.parts}:
                content = Path(str(file.locate())).read_bytes().replace(b"\r\n", b"\n")
                if len(content) <= LONGEST:
                    parts.append(f"# {file.as_posix()}\n".encode() + content + b"\n")
    return b"".join(parts)

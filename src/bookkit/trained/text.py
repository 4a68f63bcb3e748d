"""The text that the book's model reads: Python sources of packages that requirements.txt pins.

Whole packages are held out for evaluation. What pages read of them, `held_out`, is the same bytes
on every machine. What a training reads is not: some packages have other sources for another version
of Python, so every record of a training has the hash of its text.
"""

import argparse
import hashlib
import importlib.metadata
import shlex
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from bookkit.experiments.record import Row, origin

START = 256  # the token before the first byte of a text; the other tokens are bytes
# fmt: off
TRAINED = (
    "sympy", "scipy", "matplotlib", "numpy", "sphinx", "docutils", "ipython", "mpmath", "pytest",
    "prompt_toolkit", "rich", "tornado", "jedi", "pypdf", "pillow", "jupyter_server", "coverage",
    "jinja2", "click", "jupytext",
)
# fmt: on
HELD_OUT = ("networkx", "hypothesis")
# These differ between platforms, or are no text that somebody wrote.
_LEFT_OUT = {"version.py", "_version.py", "__config__.py", "_distributor_init.py"}
_TESTS = {"tests", "test", "testing", "_vendor", "conftest.py"}
_LONGEST = 200_000


class Text(NamedTuple):
    """Bytes to train on, bytes held out, and a hash of both."""

    train: Tensor
    held_out: Tensor
    sha256: str


def installed() -> Text:
    """The text from the packages that are installed here."""
    parts = _read(TRAINED), _read(HELD_OUT)
    train, held_out = (torch.frombuffer(bytearray(part), dtype=torch.uint8) for part in parts)
    return Text(train, held_out, hashlib.sha256(b"".join(parts)).hexdigest())


def command(
    parser: argparse.ArgumentParser, arguments: list[str]
) -> tuple[argparse.Namespace, Text, Row]:
    """What a command that trains was given, the text on its device, and its rows' origin."""
    parser.add_argument("folder", type=Path, help="where weights and records are written")
    given = parser.parse_args(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, held_out, sha256 = installed()
    about = origin(shlex.join([*parser.prog.split(), "FOLDER", *arguments[1:]]), device.type)
    text = Text(train.to(device), held_out.to(device), sha256)
    return given, text, about | {"text_sha256": sha256}


def held_out(length: int, start: int = 0) -> Tensor:
    """A piece of text that the model has not seen, behind the start token: (1, length)."""
    content = _read(HELD_OUT[:1])[start : start + length - 1]
    return torch.tensor([[START, *content]])


@cache
def _read(packages: tuple[str, ...]) -> bytes:
    parts = []
    for package in packages:
        files = importlib.metadata.files(package) or []
        for file in sorted(files, key=str):
            if file.suffix == ".py" and file.name not in _LEFT_OUT and not _TESTS & {*file.parts}:
                content = Path(str(file.locate())).read_bytes().replace(b"\r\n", b"\n")
                if len(content) <= _LONGEST:
                    parts.append(f"# {file.as_posix()}\n".encode() + content + b"\n")
    return b"".join(parts)

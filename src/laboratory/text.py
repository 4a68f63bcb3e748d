"""The text that the book's models are trained on, and the command line of what trains them.

    python -m laboratory.text FILE.npz      # packs the text, for `--text FILE.npz` elsewhere

Some packages have other sources for another version of Python, so every record of a training has
the hash of its text. A machine without these packages reads the text from such a file.
"""

import argparse
import hashlib
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bookkit.records import Row
from bookkit.trained.text import HELD_OUT, sources_of
from laboratory.record import origin

# fmt: off
TRAINED = (
    "sympy", "scipy", "matplotlib", "numpy", "sphinx", "docutils", "ipython", "mpmath", "pytest",
    "prompt_toolkit", "rich", "tornado", "jedi", "pypdf", "pillow", "jupyter_server", "coverage",
    "jinja2", "click", "jupytext",
)
# fmt: on


class Text(NamedTuple):
    """Bytes to train on, bytes held out, and a hash of both."""

    train: Tensor
    held_out: Tensor
    sha256: str


def installed() -> Text:
    """The text from the packages that are installed here."""
    return text_of(sources_of(TRAINED), sources_of(HELD_OUT))


def text_of(train: bytes, held_out: bytes) -> Text:
    """The text that has these bytes."""
    return Text(
        train=torch.frombuffer(bytearray(train), dtype=torch.uint8),
        held_out=torch.frombuffer(bytearray(held_out), dtype=torch.uint8),
        sha256=hashlib.sha256(train + held_out).hexdigest(),
    )


def pack(text: Text, file: Path) -> None:
    """Store a text in a compressed file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(file, train=text.train.numpy(), held_out=text.held_out.numpy())


def packed(file: Path) -> Text:
    """The text in a file that `pack` wrote."""
    with np.load(file) as parts:
        return text_of(parts["train"].tobytes(), parts["held_out"].tobytes())


def command(
    parser: argparse.ArgumentParser, arguments: list[str], device: torch.device | None = None
) -> tuple[argparse.Namespace, Text, Row]:
    """What a command that trains was given, the text on its device, and its rows' origin."""
    parser.add_argument("folder", type=Path, help="where weights and records are written")
    parser.add_argument("--text", type=Path, help="a packed text, not the installed packages")
    given = parser.parse_args(arguments)
    if device is None:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = installed() if given.text is None else packed(given.text)
    text = Text(found.train.to(device), found.held_out.to(device), found.sha256)
    # A record does not name folders of the machine that made it.
    private = {str(given.folder): "FOLDER", str(given.text): "TEXT"}
    shown = [private.get(one, one) for one in arguments]
    about = origin(shlex.join([*parser.prog.split(), *shown]), device.type)
    return given, text, about | {"text_sha256": found.sha256}


if __name__ == "__main__":
    pack(installed(), Path(sys.argv[1]))

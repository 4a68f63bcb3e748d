"""The text that the book's models are trained on, and the command line of what trains them.

Some packages have other sources for another version of Python, so every record of a training has
the hash of its text.
"""

import argparse
import hashlib
import shlex
from pathlib import Path
from typing import NamedTuple

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
    train = sources_of(TRAINED)
    held_out = sources_of(HELD_OUT)
    return Text(
        train=torch.frombuffer(bytearray(train), dtype=torch.uint8),
        held_out=torch.frombuffer(bytearray(held_out), dtype=torch.uint8),
        sha256=hashlib.sha256(train + held_out).hexdigest(),
    )


def command(
    parser: argparse.ArgumentParser, arguments: list[str], device: torch.device | None = None
) -> tuple[argparse.Namespace, Text, Row]:
    """What a command that trains was given, the text on its device, and its rows' origin."""
    parser.add_argument("folder", type=Path, help="where weights and records are written")
    given = parser.parse_args(arguments)
    if device is None:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = installed()
    text = Text(found.train.to(device), found.held_out.to(device), found.sha256)
    about = origin(shlex.join([*parser.prog.split(), "FOLDER", *arguments[1:]]), device.type)
    return given, text, about | {"text_sha256": found.sha256}

"""The text that the book's model reads: Python sources of packages that requirements.txt pins.

These files are the same bytes on every platform. Whole packages are held out for evaluation.

    python -m bookkit.trained.text FILE   # pack both parts, for a machine without the packages
"""

import argparse
import hashlib
import importlib.metadata
import lzma
import sys
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

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
    return _text(_read(TRAINED), _read(HELD_OUT))


def packed(file: Path) -> Text:
    """The text from a file that this module wrote elsewhere."""
    content = lzma.decompress(file.read_bytes())
    length = int.from_bytes(content[:8], "big")
    return _text(content[8 : 8 + length], content[8 + length :])


def arguments_of_text(parser: argparse.ArgumentParser) -> None:
    """The arguments that every command about the model has."""
    parser.add_argument("folder", type=Path, help="where weights and records are written")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--text", type=Path, help="a file that bookkit.trained.text has packed")


def chosen_text(given: argparse.Namespace, device: torch.device) -> Text:
    """The text that these arguments name, on a device."""
    text = packed(given.text) if given.text else installed()
    return Text(text.train.to(device), text.held_out.to(device), text.sha256)


def held_out(length: int, start: int = 0) -> Tensor:
    """A piece of text that the model has not seen, behind the start token: (1, length)."""
    content = _read(HELD_OUT[:1])[start : start + length - 1]
    return torch.tensor([[START, *content]])


def _text(train: bytes, held_out: bytes) -> Text:
    found = hashlib.sha256(train + held_out).hexdigest()
    as_tensor = [torch.frombuffer(bytearray(part), dtype=torch.uint8) for part in (train, held_out)]
    return Text(as_tensor[0], as_tensor[1], found)


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


def main(arguments: list[str]) -> None:
    """Write both parts to a file."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m bookkit.trained.text FILE")
    text = installed()
    train, held_out = text.train.numpy().tobytes(), text.held_out.numpy().tobytes()
    content = len(train).to_bytes(8, "big") + train + held_out
    Path(arguments[0]).write_bytes(lzma.compress(content, preset=1))
    print(f"{len(train):,} bytes to train on, {len(held_out):,} held out, SHA-256 {text.sha256}")


if __name__ == "__main__":
    main(sys.argv[1:])

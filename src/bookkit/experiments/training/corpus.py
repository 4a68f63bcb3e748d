"""Text to train on, as bytes that a pin fixes: source files of SymPy, which comes with torch.

SymPy is pure Python: its wheel holds the same bytes for every platform and every Python. Their
hash is asserted, so that a number trained on them means the same everywhere.
"""

import hashlib
import importlib.metadata
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

PACKAGE, VERSION = "sympy", "1.14.0"
SHA256 = "e9aa4a1015db335f62c1446f8f3acb03f058fa55e80b8c6685e64106f23e64bd"
# Mathematics explained in docstrings, with its code; tests and generated tables are left out.
_FOLDERS = (
    "algebras",
    "calculus",
    "categories",
    "combinatorics",
    "concrete",
    "core",
    "crypto",
    "discrete",
    "functions",
    "geometry",
    "integrals",
    "logic",
    "matrices",
    "ntheory",
    "series",
    "sets",
    "simplify",
    "solvers",
    "stats",
    "tensor",
    "vector",
)
# Between the two parts, in what is hashed.
_BETWEEN = b"\x00\x00\x00\x00"


class Corpus(NamedTuple):
    """Bytes to train on and bytes held out, as arrays of uint8, and the hash of both."""

    train: npt.NDArray[np.uint8]
    held_out: npt.NDArray[np.uint8]
    sha256: str


@cache
def pinned() -> Corpus:
    """The corpus, from the installed SymPy.

    A file is held out when the hash of its name says so: about one in ten, the same everywhere.
    """
    try:
        package = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise ModuleNotFoundError(
            f"the corpus is {PACKAGE} {VERSION}, and {PACKAGE} is not installed; "
            f"run: pip install {PACKAGE}=={VERSION}"
        ) from None
    root = Path(str(package.locate_file(PACKAGE)))
    names = {
        path.relative_to(root).as_posix(): path
        for folder in _FOLDERS
        for path in (root / folder).rglob("*.py")
    }
    parts: dict[bool, list[bytes]] = {False: [], True: []}
    for name in sorted(names):
        if not {"tests", "benchmarks"} & set(name.split("/")):
            held_out = hashlib.sha256(name.encode()).digest()[0] < 26
            parts[held_out].append(names[name].read_bytes())
    train, held_out_bytes = b"".join(parts[False]), b"".join(parts[True])
    found = hashlib.sha256(train + _BETWEEN + held_out_bytes).hexdigest()
    if found != SHA256:
        raise ValueError(
            f"the corpus must have SHA-256 {SHA256[:16]}… (SymPy {VERSION} as its wheel has it), "
            f"but SymPy {package.version} gives {found[:16]}…; run: pip install --force-reinstall "
            f"--no-deps {PACKAGE}=={VERSION}"
        )
    return Corpus(np.frombuffer(train, np.uint8), np.frombuffer(held_out_bytes, np.uint8), found)


def windows(
    text: npt.NDArray[np.uint8], count: int, length: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """`count` random pieces of `length` bytes, shape (count, length)."""
    if len(text) < length:
        raise ValueError(f"the text has {len(text)} bytes, fewer than one window of {length}")
    starts = rng.integers(0, len(text) - length + 1, size=count)
    pieces: npt.NDArray[np.int64] = text[starts[:, None] + np.arange(length)].astype(np.int64)
    return pieces

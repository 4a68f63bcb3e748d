"""Text that every Python installation has: the source code of its standard library, as bytes."""

import hashlib
import sysconfig
from functools import cache
from pathlib import Path

import numpy as np

# Tests and bundled tools differ between distributions; the modules themselves are always there.
_LEFT_OUT = {
    "test",
    "tests",
    "idlelib",
    "site-packages",
    "dist-packages",
    "ensurepip",
    "__pycache__",
}


@cache
def standard_library() -> tuple[np.ndarray, np.ndarray, str]:
    """Training bytes, held-out bytes, and a short hash of both.

    A file is held out when the hash of its name says so: about one in ten, the same everywhere.
    """
    root = Path(sysconfig.get_paths()["stdlib"])
    parts: dict[bool, list[bytes]] = {False: [], True: []}
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        if _LEFT_OUT.isdisjoint(inside.parts):
            held_out = hashlib.sha256(inside.as_posix().encode()).digest()[0] < 26
            parts[held_out].append(path.read_bytes())
    if not parts[False] or not parts[True]:
        raise FileNotFoundError(
            f"no standard library source under {root}; use a Python with its .py files installed"
        )
    train, held_out = (b"".join(parts[kind]) for kind in (False, True))
    mark = hashlib.sha256(train + held_out).hexdigest()[:12]
    return np.frombuffer(train, np.uint8), np.frombuffer(held_out, np.uint8), mark


def windows(text: np.ndarray, count: int, length: int, rng: np.random.Generator) -> np.ndarray:
    """`count` random pieces of `length` bytes, shape (count, length)."""
    if len(text) < length:
        raise ValueError(f"the text has {len(text)} bytes, fewer than one window of {length}")
    starts = rng.integers(0, len(text) - length + 1, size=count)
    return text[starts[:, None] + np.arange(length)].astype(np.int64)

"""What is slow to compute from files is kept from build to build, while the files are the same."""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from bookcheck.paths import KEPT


def digest_of(files: Iterable[Path], *words: str) -> str:
    """Changes with the name or content of any file, and with the words."""
    digest = hashlib.sha256("\0".join(words).encode())
    for path in files:
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a place to write to; what is there in the end becomes the file, or nothing does.

    So a program that is killed, or two that run at once, leave no half of a file behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def kept(name: str, digest: str, compute: Callable[[], Any], folder: Path = KEPT) -> Any:
    """The value that was computed at this digest, or a new one; it must be fit for JSON."""
    path = folder / f"{name}.json"
    # A file that is not whole is like none: the value is computed again.
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["digest"] == digest:
            return stored["value"]
    value = compute()
    write_whole(path, json.dumps({"digest": digest, "value": value}))
    return value

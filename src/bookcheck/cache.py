"""What is slow to compute from files is kept from build to build, while the files are the same."""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from bookcheck.paths import KEPT

# What programs write beside the sources; a test asks git whether something is missing here.
MADE = re.compile(
    r"__pycache__|node_modules|\.(pytest_cache|hypothesis|ipynb_checkpoints)|.*\.(egg-info|lock)"
)


def files_below(places: Iterable[Path]) -> list[Path]:
    """The files at some places, in order, without what is made from them or installed there."""
    return sorted(
        path
        for place in places
        for path in (place, *place.rglob("*"))
        # Where the book itself stands does not count.
        if path.is_file() and not any(map(MADE.fullmatch, path.relative_to(place).parts))
    )


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


def read_kept(name: str, digest: str, folder: Path = KEPT) -> Any:
    """The value that was computed at this digest, or None."""
    path = folder / f"{name}.json"
    # A file that is not whole is like none: the value is computed again.
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["digest"] == digest:
            return stored["value"]
    return None


def keep(name: str, digest: str, value: Any, folder: Path = KEPT) -> None:
    """Keep a value, fit for JSON, for as long as its digest is the same."""
    write_whole(folder / f"{name}.json", json.dumps({"digest": digest, "value": value}))


def kept(name: str, digest: str, compute: Callable[[], Any], folder: Path = KEPT) -> Any:
    """The value that was computed at this digest, or a new one; it must be fit for JSON."""
    value = read_kept(name, digest, folder)
    if value is None:
        value = compute()
        keep(name, digest, value, folder)
    return value


class Notes:
    """What was found right, one small file for each thing, with the state in which it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def holds(self, name: str, state: str) -> bool:
        """Whether the thing was right in this state."""
        place = self.folder / f"{name}.passed"
        return place.is_file() and place.read_text(encoding="utf-8") == state

    def note(self, name: str, state: str) -> None:
        """Remember that the thing is right in this state."""
        write_whole(self.folder / f"{name}.passed", state)

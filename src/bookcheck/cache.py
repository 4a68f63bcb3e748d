"""What is slow to compute from files is kept from build to build, while the files are the same."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bookcheck.paths import KEPT


def digest_of(files: Iterable[Path], *words: str) -> str:
    """Changes with the name or content of any file, and with the words."""
    digest = hashlib.sha256("\0".join(words).encode())
    for path in files:
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def kept(name: str, digest: str, compute: Callable[[], Any], folder: Path = KEPT) -> Any:
    """The value that was computed at this digest, or a new one; it must be fit for JSON."""
    path = folder / f"{name}.json"
    if path.is_file():
        stored = json.loads(path.read_text(encoding="utf8"))
        if stored["digest"] == digest:
            return stored["value"]
    value = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written whole or not at all: several builds and their workers may run at once.
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps({"digest": digest, "value": value}), encoding="utf8")
    temporary.replace(path)
    return value

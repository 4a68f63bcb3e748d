"""Files of checks: how they are loaded, and which files a check is made of."""

import importlib.util
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

IMPORTED = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


def load(path: Path) -> ModuleType:
    """Execute a file as a module; what it imports may stand beside it.

    Always its text: kept bytecode would stand for a file that changed within the same second.
    """
    name = f"bookcheck_equations_{path.stem}_{zlib.crc32(str(path).encode())}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    finally:
        sys.path.remove(str(path.parent))
    return module


def files_of(path: Path) -> Iterator[Path]:
    """A file and, in turn, the files beside it that it imports."""
    yield path
    for name in IMPORTED.findall(path.read_text(encoding="utf-8")):
        beside = path.with_name(f"{name}.py")
        if beside.is_file():
            yield from files_of(beside)

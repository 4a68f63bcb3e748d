"""How a file of checks is loaded."""

import importlib.util
import sys
import zlib
from pathlib import Path
from types import ModuleType


def load(path: Path) -> ModuleType:
    """Execute a file as a module; what it imports may be beside it.

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

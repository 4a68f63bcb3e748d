"""Ways to the functions of other libraries, where they are installed."""

import importlib
import importlib.util
import sys
from typing import Any


def without_its_start(package: str) -> None:
    """Let the modules of a package be imported without running its `__init__`, if it is there."""
    found = importlib.util.find_spec(package)
    if found is not None and package not in sys.modules:
        sys.modules[package] = importlib.util.module_from_spec(found)


def imported(module: str, name: str) -> Any:
    """A function of another library, or None, with a line, where the library is missing."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        print(f"  {module}.{name} is missing ({error}): its rows are left out", flush=True)
        return None

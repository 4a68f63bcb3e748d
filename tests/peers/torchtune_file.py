"""A way to single files of torchtune, whose package needs datasets and more."""

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType


def torchtune_file(relative: str) -> ModuleType:
    """The module in one file of torchtune: importing the package needs datasets and more."""
    package = importlib.util.find_spec("torchtune")
    if package is None or not package.submodule_search_locations:
        raise ImportError("torchtune is missing: pip install --no-deps torchtune==0.6.1")
    path = Path(package.submodule_search_locations[0]) / relative
    module = ModuleType(path.stem)
    SourceFileLoader(path.stem, str(path)).exec_module(module)
    return module

"""Loads single files of torchtune: importing the package needs datasets, torchao and more."""

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType


def load(relative: str) -> ModuleType:
    """The module in a file of the installed torchtune, such as modules/position_embeddings.py."""
    package = importlib.util.find_spec("torchtune")
    if package is None or not package.submodule_search_locations:
        raise ImportError("torchtune is missing: pip install --no-deps torchtune==0.6.1")
    path = Path(package.submodule_search_locations[0]) / relative
    loader = SourceFileLoader(path.stem, str(path))
    module = ModuleType(path.stem)
    loader.exec_module(module)
    return module

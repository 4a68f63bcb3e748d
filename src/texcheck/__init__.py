"""Printed mathematics, executed: a strict interpreter for the LaTeX of books and papers."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from texcheck.check import check, evaluate
    from texcheck.errors import LatexError, RefutedError, ShapeError
    from texcheck.formulas import Formulas
    from texcheck.relation import Relation
    from texcheck.trial import Excluded, Silent
    from texcheck.values import Random, depends

__version__ = "0.2.0"

__all__ = [
    "Excluded",
    "Formulas",
    "LatexError",
    "Random",
    "RefutedError",
    "Relation",
    "ShapeError",
    "Silent",
    "check",
    "depends",
    "evaluate",
]

HOMES = {
    "Excluded": "trial",
    "Formulas": "formulas",
    "LatexError": "errors",
    "Random": "values",
    "RefutedError": "errors",
    "Relation": "relation",
    "ShapeError": "errors",
    "Silent": "trial",
    "check": "check",
    "depends": "values",
    "evaluate": "check",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for.

    pytest imports this package in every run for the sake of its plugin, and NumPy and SciPy with
    it would take a second.
    """
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
    globals()[name] = value
    return value


class Package(ModuleType):
    """This package, in which ``check`` is the function also when its module is imported first."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "check" and isinstance(value, ModuleType):
            value = value.check
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = Package

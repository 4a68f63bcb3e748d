"""Printed mathematics, executed: a strict interpreter for the LaTeX of books and papers."""

from texcheck.check import check, evaluate
from texcheck.errors import LatexError, RefutedError, ShapeError
from texcheck.formulas import Formulas
from texcheck.relation import Relation
from texcheck.trial import Silent
from texcheck.values import Random, depends

__all__ = [
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

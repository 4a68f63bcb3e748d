"""A strict interpreter for the LaTeX mathematics that the book prints."""

from texcheck.check import check, evaluate
from texcheck.comparison import Relation
from texcheck.errors import LatexError, RefutedError, ShapeError
from texcheck.values import Random, depends

__all__ = [
    "LatexError",
    "Random",
    "RefutedError",
    "Relation",
    "ShapeError",
    "check",
    "depends",
    "evaluate",
]

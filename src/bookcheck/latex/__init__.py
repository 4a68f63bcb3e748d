"""A strict interpreter for the LaTeX mathematics that the book prints."""

from bookcheck.latex.check import check, evaluate
from bookcheck.latex.comparison import Relation
from bookcheck.latex.errors import LatexError, RefutedError, ShapeError
from bookcheck.latex.values import Random, depends

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

"""A strict interpreter for the LaTeX mathematics that the book prints."""

from bookcheck.latex.check import Relation, check, evaluate
from bookcheck.latex.errors import LatexError, ShapeError
from bookcheck.latex.values import Random, depends

__all__ = ["LatexError", "Random", "Relation", "ShapeError", "check", "depends", "evaluate"]

"""Give the parsed structure its meaning, by the declared symbols alone.

Whether ``f(x)`` calls or multiplies, whether ``x_i`` is an index or part of a name, whether
``W^Q`` is a power: the table of declared symbols decides. A symbol that is neither declared,
nor bound by the formula, nor one of the known functions is an error.
"""

from __future__ import annotations

from texcheck.reading.bases import Bases
from texcheck.reading.factors import canonical_name, operator_name, symbol_table
from texcheck.reading.indices import Indices
from texcheck.reading.products import Products
from texcheck.reading.relations import Relations
from texcheck.reading.scripts import Scripts
from texcheck.reading.symbols import Symbols


class Reader(Products, Symbols, Indices, Bases, Scripts, Relations):
    """Reads the parts of one formula into nodes."""


__all__ = ["Reader", "canonical_name", "operator_name", "symbol_table"]

"""The meaning of the parsed structure, by the declared symbols alone.

Whether ``f(x)`` calls or multiplies, whether ``x_i`` is an index or part of a name, whether
``W^Q`` is a power: the table of declared symbols decides. A symbol that is neither declared,
nor bound by the formula, nor one of the known functions is an error.

``statements`` reads a whole display and ``reader`` an expression; ``factors`` and ``symbols`` say
what a factor is, and there is a module for each kind of construct. A function for one gets the
reader, the factors of a product and the place of its own, and gives a node and the next place.
"""

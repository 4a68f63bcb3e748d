"""What is between brackets: expressions, vectors, absolute values, norms, rounding."""

from __future__ import annotations

from texcheck import nodes
from texcheck.nodes import Node
from texcheck.parser import Factor, canonical, tree_of
from texcheck.reading.lists import read_list
from texcheck.reading.parts import trees_in
from texcheck.reading.reader import Reader
from texcheck.vocabulary import NORMS

# The functions that are printed as brackets.
BRACKETS = {"LFLOOR": "floor", "LCEIL": "ceil", "LBAR": "abs"}


def read_bracket(reader: Reader, factor: Factor) -> Node:
    """Read what is between brackets."""
    tree = tree_of(factor.base)
    kind = factor.bracket
    chains = trees_in(tree.children[1:-1])
    position = factor.position
    if kind in ("LPAR", "LBRACK") and len(chains) > 1:
        return nodes.TupleOf(tuple(read_list(reader, chains)), position=position)
    if len(chains) != 1:
        raise reader.fail("brackets with several entries cannot stand here", tree)
    inner = reader.only_expression(chains[0])
    if kind == "LBAR" and factor.sub is not None:
        raise reader.fail("an absolute value takes no subscript", factor.sub)
    if kind in BRACKETS:
        return nodes.KnownCall(BRACKETS[kind], (inner,), position=position)
    if kind == "LNORM":
        name = "" if factor.sub is None else canonical(factor.sub)
        if name and name not in NORMS:
            raise reader.fail(f"the norm with subscript {name} is not known", tree)
        return nodes.Norm(name, inner, position=position)
    return inner

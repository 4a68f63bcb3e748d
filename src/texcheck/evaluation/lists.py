"""Lists of values, in which dots may be."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.errors import LatexError
from texcheck.evaluation import patterns
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.numbers import whole_number
from texcheck.nodes import Node, Nodes
from texcheck.values import Value, is_number


def values_of(evaluator: Evaluator, listed: Nodes) -> list[Value]:
    """The values of a list in which dots may be."""
    result: list[Value] = []
    for node in listed:
        if isinstance(node, nodes.DottedList):
            entries = entries_of(evaluator, node.entries, node)
            result += [evaluator.evaluate(entry) for entry in entries]
        else:
            result.append(evaluator.evaluate(node))
    return result


def entries_of(evaluator: Evaluator, entries: Sequence[Node | None], node: Node) -> list[Node]:
    """The entries of a list whose dots are filled by its pattern."""
    gap = entries.index(None)
    printed = [entry for entry in entries if entry is not None]
    before, after = printed[:gap], printed[gap:]
    first = next(k for k, entry in enumerate(before) if is_like(entry, before[-1]))
    last = next((k for k, entry in enumerate(after) if not is_like(entry, after[0])), len(after))
    if not is_like(before[-1], after[0]):
        first, last = 0, len(after)
    expanded = patterns.expand(
        before[first:], after[:last], functools.partial(whole_or_none, evaluator)
    )
    if expanded is None:
        raise evaluator.fail("the entries beside the dots show no pattern", node)
    return [*before[:first], *expanded, *after[last:]]


def is_like(one: Node, other: Node) -> bool:
    """Whether two entries belong to one array; others beside them are no part of its pattern."""
    if isinstance(other, nodes.Index):
        return isinstance(one, nodes.Index) and one.base == other.base
    if isinstance(other, (nodes.Product, nodes.Call)) and isinstance(one, nodes.Symbol):
        return False
    return isinstance(one, type(other)) or not isinstance(other, nodes.TupleOf)


def evaluate_dotted(evaluator: Evaluator, node: nodes.Dotted) -> Value:
    """A sum or a product whose dots are filled by the pattern of what is printed beside them."""
    printed = [entry for entry in node.entries if entry is not None]
    if len({type(entry) for entry in printed}) > 1 and has_powers(printed):
        # 1 + 2 + … + 2^n: a progression to one reader, powers to another.
        sign = "\\sum" if node.kind == "sum" else "\\prod"
        raise evaluator.fail(f"the entries beside the dots are not alike; write {sign}", node)
    values = [evaluator.evaluate(one) for one in entries_of(evaluator, node.entries, node)]
    join = evaluator.arithmetic.add if node.kind == "sum" else evaluator.arithmetic.multiply
    return functools.reduce(functools.partial(join, position=node.position), values)


def has_powers(printed: Sequence[Node]) -> bool:
    """Whether a power stands in one of some entries."""
    return any(isinstance(part, nodes.Power) for entry in printed for part in entry.walk())


def whole_or_none(evaluator: Evaluator, node: Any) -> int | None:
    """A node's value where it is a whole number."""
    if not isinstance(node, Node):
        return None
    try:
        return whole_number(evaluator, evaluator.evaluate(node), node)
    except LatexError:
        return None


def evaluate_tuple(evaluator: Evaluator, node: nodes.TupleOf) -> Value:
    """A vector written as a list of numbers."""
    values = values_of(evaluator, node.items)
    if not all(is_number(value) for value in values):
        raise evaluator.shape_error(
            "a list of numbers is needed between these brackets", node.position
        )
    return np.array([float(v) if not isinstance(v, complex) else v for v in values])

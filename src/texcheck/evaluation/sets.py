"""Sets after ``\\in``: what is in them."""

from __future__ import annotations

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.lists import values_of
from texcheck.evaluation.numbers import real_number, same, whole_number
from texcheck.nodes import Node
from texcheck.values import Value, as_array, is_number, is_real


def members_of(evaluator: Evaluator, node: Node) -> list[int] | None:
    """The elements of a finite set of indices, or ``None``."""
    if isinstance(node, nodes.ListedSet):
        return [whole_number(evaluator, value, node) for value in values_of(evaluator, node.items)]
    if isinstance(node, nodes.DeclaredSet) and isinstance(node.inner, nodes.Symbol):
        # An index that runs later has no value yet, and is no set.
        value = evaluator.values.get(node.inner.name)
        if isinstance(value, (range, set, frozenset)):
            return sorted(value)
    return None


def is_member(evaluator: Evaluator, value: Value, node: Node, test: Node) -> bool:
    """Whether a value lies in a printed set."""
    if isinstance(node, nodes.NumberSet):
        return in_number_set(evaluator, value, node)
    if isinstance(node, nodes.Interval):
        return in_interval(evaluator, value, node)
    if isinstance(node, nodes.ListedSet):
        members = values_of(evaluator, node.items)
        if not all(is_number(one) for one in (value, *members)):
            raise evaluator.fail("the members of a list must be numbers", node)
        return any(same(value, member) for member in members)
    elements = members_of(evaluator, node)
    if elements is None:
        raise evaluator.fail("this is not a set that can be checked", node)
    return whole_number(evaluator, value, test) in elements


def in_interval(evaluator: Evaluator, value: Value, node: nodes.Interval) -> bool:
    """Whether a real number is between two ends; one that is an end belongs as the bracket says."""
    number = real_number(evaluator, value, node)
    low = real_number(evaluator, evaluator.evaluate(node.low), node)
    high = real_number(evaluator, evaluator.evaluate(node.high), node)
    if same(number, low) or same(number, high):
        return (same(number, low) and node.with_low) or (same(number, high) and node.with_high)
    return low < number < high


def in_number_set(evaluator: Evaluator, value: Value, node: nodes.NumberSet) -> bool:
    """Whether a value has the shape and the kind of numbers of a set such as ℝ^{n×d}."""
    shape = tuple(whole_number(evaluator, evaluator.evaluate(part), part) for part in node.shape)
    array = as_array(value)
    if array.shape != shape:
        return False
    return node.letter == "C" or is_real(array)

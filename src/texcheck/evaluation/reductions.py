"""Sums, products, maxima and minima over running indices."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.functions import extreme
from texcheck.evaluation.numbers import real_number, same
from texcheck.evaluation.ranges import assignments
from texcheck.values import Value

MOST_TERMS = 200_000
PLACES = ("argmax", "argmin")


def evaluate_reduction(evaluator: Evaluator, node: nodes.Reduction) -> Value:
    """A sum, product, maximum or minimum over its range."""
    kind = node.kind
    if kind in PLACES:
        return place_of_extreme(evaluator, node)
    values: list[Value] = []
    for assignment in assignments_of(evaluator, node):
        with evaluator.bound(assignment):
            values.append(evaluator.evaluate(node.body))
        if len(values) > MOST_TERMS:
            raise evaluator.fail(
                f"there are more than {MOST_TERMS} terms, too many to evaluate", node
            )
    if kind == "sum":
        add = functools.partial(evaluator.arithmetic.add, position=node.position)
        return functools.reduce(add, values) if values else 0
    if kind == "product":
        result: Any = 1
        for value in values:
            result = evaluator.arithmetic.multiply(result, value, node.position)
        return result
    if not values:
        raise evaluator.fail(f"the {kind} runs over no index at all", node)
    return values[0] if len(values) == 1 else extreme(evaluator, kind, values, node)


def assignments_of(evaluator: Evaluator, node: nodes.Reduction) -> Iterator[dict[str, int]]:
    """The values of the running indices."""
    return assignments(
        evaluator,
        names=node.names,
        ranges=node.ranges,
        tests=node.tests,
        body=node.body,
        node=node,
    )


def place_of_extreme(evaluator: Evaluator, node: nodes.Reduction) -> Value:
    """The index at which a value is largest or smallest; refused where two are."""
    if len(node.names) != 1:
        raise evaluator.fail(f"the {node.kind} of several indices cannot be read", node)
    found: list[tuple[float, int]] = []
    for assignment in assignments_of(evaluator, node):
        with evaluator.bound(assignment):
            value = real_number(evaluator, evaluator.evaluate(node.body), node)
        found.append((value if node.kind == "argmax" else -value, assignment[node.names[0]]))
        if len(found) > MOST_TERMS:
            raise evaluator.fail(f"there are more than {MOST_TERMS} values to compare", node)
    if not found:
        raise evaluator.fail(f"the {node.kind} runs over no index at all", node)
    largest, place = max(found)
    if any(same(value, largest) for value, other in found if other != place):
        raise evaluator.fail(f"the {node.kind} is not unique for these values", node)
    return place

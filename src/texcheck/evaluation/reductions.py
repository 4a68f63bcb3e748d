"""Sums, products, maxima and minima over running indices."""

from __future__ import annotations

import functools
from typing import Any

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.functions import extreme
from texcheck.evaluation.ranges import assignments
from texcheck.values import Value

MOST_TERMS = 200_000


def evaluate_reduction(evaluator: Evaluator, node: nodes.Reduction) -> Value:
    """A sum, product, maximum or minimum over its range."""
    kind = node.kind
    values: list[Value] = []
    found = assignments(
        evaluator,
        names=node.names,
        ranges=node.ranges,
        tests=node.tests,
        body=node.body,
        node=node,
    )
    for assignment in found:
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

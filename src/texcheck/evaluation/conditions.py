"""Conditions on numbers, and what depends on them: cases and indicators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.numbers import same
from texcheck.evaluation.sets import is_member
from texcheck.nodes import Chain, Node
from texcheck.values import Value, as_array, is_number, is_real

SETS = (nodes.NumberSet, nodes.ListedSet, nodes.DeclaredSet, nodes.Interval)

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}

CONDITIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": same,
    "!=": lambda a, b: not same(a, b),
    "<": lambda a, b: a < b and not same(a, b),
    "<=": lambda a, b: a <= b or same(a, b),
    ">": lambda a, b: a > b and not same(a, b),
    ">=": lambda a, b: a >= b or same(a, b),
}


def evaluate_indicator(evaluator: Evaluator, node: nodes.Indicator) -> int:
    """1 where all conditions hold, else 0."""
    return int(all([decided(evaluator, test) for test in node.tests]))


def evaluate_cases(evaluator: Evaluator, node: nodes.Cases) -> Value:
    """The value of the case that applies; two that apply must agree."""
    chosen: list[Node] = []
    for line in node.lines:
        holds = bool(line.tests) and all([decided(evaluator, test) for test in line.tests])
        if holds or (not line.tests and not chosen):
            chosen.append(line.value)
    if not chosen:
        raise evaluator.fail(
            "no case applies to these values; print a line with \\text{otherwise}", node
        )
    results = [evaluator.evaluate(value) for value in chosen]
    first = as_array(results[0])
    for result in results[1:]:
        other = as_array(result)
        if first.shape != other.shape or not np.allclose(first, other, rtol=1e-9, atol=1e-12):
            raise evaluator.fail("two cases apply and give different values", node)
    return results[0]


def decided(evaluator: Evaluator, test: Chain) -> bool:
    """Whether a condition of cases or of an indicator holds; noted for those who ask."""
    holds = is_met(evaluator, test)
    met = evaluator.memory.decisions.setdefault(test, set())
    if "tie" not in met and tied(evaluator, test):
        met.add("tie")
    met.add(holds)
    return holds


def tied(evaluator: Evaluator, test: Chain) -> bool:
    """Whether two sides of an inequality are equal."""
    sides = [evaluator.evaluate(side) for side in test.sides if not isinstance(side, SETS)]
    pairs = zip(test.relations, sides, sides[1:], strict=False)
    return any(relation in FLIPPED and same(a, b) for relation, a, b in pairs)


def is_met(evaluator: Evaluator, test: Chain) -> bool:
    """Whether a condition on numbers holds."""
    sides = test.sides
    for k, relation in enumerate(test.relations):
        left = evaluator.evaluate(sides[k])
        if relation in ("in", "notin"):
            if is_member(evaluator, left, sides[k + 1], test) != (relation == "in"):
                return False
            continue
        right = evaluator.evaluate(sides[k + 1])
        if not (is_number(left) and is_number(right)):
            raise evaluator.fail("a condition must compare numbers", test)
        if relation not in ("=", "!="):
            if not (is_real(as_array(left)) and is_real(as_array(right))):
                raise evaluator.fail(
                    "an inequality needs real numbers, and a side is complex", test
                )
            left = left.real if isinstance(left, complex) else left
            right = right.real if isinstance(right, complex) else right
        if relation not in CONDITIONS:
            raise evaluator.fail(f"the relation {relation} cannot be a condition", test)
        if not CONDITIONS[relation](left, right):
            return False
    return True

"""Expectations and variances, over all outcomes of the random variables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.nodes import Node
from texcheck.rounding import EPSILON
from texcheck.values import Random, Value, as_array, is_number, plain

MOST_OUTCOMES = 200_000

# What the random variables take together, and how probable that is.
Outcome = tuple[dict[str, Value], float]


def evaluate_moment(evaluator: Evaluator, node: nodes.Moment) -> Value:
    """An expectation or variance over all outcomes."""
    return evaluator.estimated(node, lambda: moment_and_error(evaluator, node))


def moment_and_error(evaluator: Evaluator, node: nodes.Moment) -> tuple[Value, float]:
    """A moment and its error."""
    outcomes = list(joint_outcomes(evaluator, random_variables(evaluator, node), node))

    def inner() -> Value:
        return evaluator.evaluate(node.inner)

    mean, error = weighted(evaluator, outcomes, inner, node)
    if node.kind == "expectation":
        return mean, error
    if not is_number(mean):
        raise evaluator.fail(
            "the variance of an array is not defined; write it entry by entry", node
        )
    return weighted(evaluator, outcomes, lambda: (inner() - mean) ** 2, node)


def random_variables(evaluator: Evaluator, node: nodes.Moment) -> dict[str, Random]:
    """The random variables of an expectation: those below its sign, else all that are in it."""
    # In one order: the last bit of a sum follows it.
    names = sorted(evaluator.reached(nodes.names_in(node.inner)))
    values = {name: evaluator.values[name] for name in names if name in evaluator.values}
    found = {name: value for name, value in values.items() if isinstance(value, Random)}
    if node.over:
        missing = set(node.over) - set(found)
        if missing:
            unknown = ", ".join(sorted(missing))
            raise evaluator.fail(
                f"{unknown} below the sign is no random variable of the expression", node
            )
        found = {name: value for name, value in found.items() if name in node.over}
    if not found:
        raise evaluator.fail(
            "no random variable is in this expectation; declare one as Random(…)", node
        )
    return found


def joint_outcomes(
    evaluator: Evaluator, random: dict[str, Random], node: Node
) -> Iterator[Outcome]:
    """All joint outcomes of some random variables, with their probabilities."""
    variables = list({id(value): value for value in random.values()}.values())
    count = math.prod(variable.count() for variable in variables)
    if count > MOST_OUTCOMES:
        raise evaluator.fail(f"{count} outcomes are too many to enumerate", node)
    for joint in itertools.product(*(list(variable.joint()) for variable in variables)):
        drawn = {id(variable): value for variable, (value, _) in zip(variables, joint, strict=True)}
        assignment = {name: plain(drawn[id(value)]) for name, value in random.items()}
        weight = math.prod(weight for _, weight in joint)
        yield assignment, weight


def weighted(
    evaluator: Evaluator,
    outcomes: list[Outcome],
    function: Callable[[], Any],
    node: Node,
) -> tuple[Value, float]:
    """The mean of a function over outcomes, and the rounding of its terms."""
    total: Any = None
    size = 0.0
    for assignment, weight in outcomes:
        with evaluator.bound(assignment):
            part = evaluator.arithmetic.scale(function(), weight)
        size += float(np.max(np.abs(as_array(part))))
        total = part if total is None else evaluator.arithmetic.add(total, part, node.position)
    return total, 10 * EPSILON * size

"""Expectations, variances and probabilities, by all outcomes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from texcheck.evaluation.core import Core
from texcheck.nodes import (
    Chain,
    Moment,
    Node,
    Nodes,
    names_in_all,
)
from texcheck.rounding import EPSILON
from texcheck.values import (
    Random,
    Value,
    as_array,
    is_number,
    plain,
)

MOST_OUTCOMES = 200_000
# What the random variables take together, and how probable that is.
Outcome = tuple[dict[str, Value], float]


class Probability(Core):
    """Expectations, variances and probabilities, by all outcomes."""

    def eval_moment(self, node: Moment) -> Value:
        """An expectation, variance, covariance or probability over all outcomes."""
        return self.estimated(node, lambda: self.moment(node))

    def moment(self, node: Moment) -> tuple[Value, float]:
        """A moment and its error."""
        kind, over, arguments = node.kind, node.over, node.arguments
        names = self.reached(names_in_all((*arguments, *node.given)))
        # In one order: the last bit of a sum, which the ledger prints, follows it.
        random = {name: self.values[name] for name in sorted(names) if name in self.values}
        random = {name: value for name, value in random.items() if isinstance(value, Random)}
        if over:
            missing = set(over) - set(random)
            if missing:
                raise self.fail(f"{sorted(missing)} is not a random variable in this", node)
            random = {name: value for name, value in random.items() if name in over}
        if not random:
            raise self.fail("no random variable stands in this expectation", node)
        outcomes = self.given(list(self.outcomes(random, node)), node)
        if kind == "probability":
            return self.weighted(outcomes, lambda: self.holds_all(arguments), node)
        first = arguments[0]
        mean, error = self.weighted(outcomes, lambda: self.evaluate(first), node)
        if kind == "expectation":
            return mean, error
        second = arguments[-1]
        other = (
            mean
            if second is first
            else self.weighted(outcomes, lambda: self.evaluate(second), node)[0]
        )
        if not is_number(mean) or not is_number(other):
            raise self.fail("the variance of an array; write it entry by entry", node)
        return self.weighted(
            outcomes,
            lambda: (self.evaluate(first) - mean) * (self.evaluate(second) - other),
            node,
        )

    def given(
        self,
        outcomes: list[Outcome],
        node: Moment,
    ) -> list[Outcome]:
        """The outcomes under which the conditions after ``\\mid`` hold, weighted to sum to 1."""
        if not node.given:
            return outcomes
        kept = []
        for assignment, weight in outcomes:
            with self.bound(assignment):
                if self.holds_all(node.given):
                    kept.append((assignment, weight))
        total = sum(weight for _, weight in kept)
        if not total:
            raise self.fail("a condition that never holds", node)
        return [(assignment, weight / total) for assignment, weight in kept]

    def holds_all(self, tests: Nodes) -> int:
        """1 where all conditions hold, else 0."""
        return int(all(isinstance(test, Chain) and self.condition(test) for test in tests))

    def outcomes(self, random: dict[str, Random], node: Node) -> Iterator[Outcome]:
        """All joint outcomes of some random variables, with their probabilities."""
        variables = list({id(value): value for value in random.values()}.values())
        count = math.prod(variable.count() for variable in variables)
        if count > MOST_OUTCOMES:
            raise self.fail(f"{count} outcomes are too many to enumerate", node)
        for joint in itertools.product(*(list(variable.joint()) for variable in variables)):
            drawn = {
                id(variable): value for variable, (value, _) in zip(variables, joint, strict=True)
            }
            weight = math.prod(weight for _, weight in joint)
            yield {name: plain(drawn[id(value)]) for name, value in random.items()}, weight

    def weighted(
        self,
        outcomes: list[Outcome],
        function: Callable[[], Any],
        node: Node,
    ) -> tuple[Value, float]:
        """The mean of a function over outcomes, and the rounding of its terms."""
        total: Any = None
        size = 0.0
        for assignment, weight in outcomes:
            with self.bound(assignment):
                part = self.arithmetic.scale(function(), weight)
            size += float(np.max(np.abs(as_array(part))))
            total = part if total is None else self.arithmetic.add(total, part, node.position)
        return total, 10 * EPSILON * size

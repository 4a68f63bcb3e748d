"""Conditions on numbers, membership in sets, cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from texcheck.evaluation.core import Core
from texcheck.nodes import (
    Cases,
    Chain,
    Indicator,
    Interval,
    ListedSet,
    Node,
    NumberSet,
    Parity,
)
from texcheck.values import (
    Dotted,
    Value,
    as_array,
    describe,
    is_number,
    is_real,
)


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are equal up to rounding, so that a tie is one on every processor."""
    return bool(a == b or abs(a - b) <= 1e-12 * max(abs(a), abs(b)))


CONDITIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": same,
    "!=": lambda a, b: not same(a, b),
    "<": lambda a, b: a < b and not same(a, b),
    "<=": lambda a, b: a <= b or same(a, b),
    ">": lambda a, b: a > b and not same(a, b),
    ">=": lambda a, b: a >= b or same(a, b),
}


class Conditions(Core):
    """Conditions on numbers, membership in sets, cases."""

    def eval_indicator(self, node: Indicator) -> int:
        """1 where all conditions hold, else 0."""
        return int(all(self.condition(test) for test in node.tests))

    def eval_cases(self, node: Cases) -> Value:
        """The value of the case that applies; two that apply must agree."""
        chosen: list[Node] = []
        for line in node.lines:
            holds = bool(line.tests) and all(self.condition(test) for test in line.tests)
            if holds or (not line.tests and not chosen):
                chosen.append(line.value)
        if not chosen:
            raise self.fail("no case applies", node)
        results = [self.evaluate(value) for value in chosen]
        first = as_array(results[0])
        if any(
            first.shape != as_array(r).shape or not np.allclose(first, as_array(r), 1e-9, 1e-12)
            for r in results[1:]
        ):
            raise self.fail("two cases apply and give different values", node)
        return results[0]

    def condition(self, test: Chain) -> bool:
        """Whether a condition on numbers holds."""
        sides = test.sides
        for k, relation in enumerate(test.relations):
            left = self.evaluate(sides[k])
            if relation in ("in", "notin"):
                if self.is_member(left, sides[k + 1], test) != (relation == "in"):
                    return False
                continue
            right = self.evaluate(sides[k + 1])
            if relation in ("divides", "ndivides"):
                if self.divides(left, right, test) != (relation == "divides"):
                    return False
                continue
            if not (is_number(left) and is_number(right)):
                raise self.fail("a condition must compare numbers", test)
            if relation not in ("=", "!="):
                if not (is_real(as_array(left)) and is_real(as_array(right))):
                    raise self.fail("an inequality between complex numbers", test)
                left, right = (v.real if isinstance(v, complex) else v for v in (left, right))
            if relation not in CONDITIONS:
                raise self.fail(f"the relation {relation} as a condition", test)
            if not CONDITIONS[relation](left, right):
                return False
        return True

    def divides(self, left: Value, right: Value, test: Node) -> bool:
        """Whether one whole number divides another."""
        divisor, number = self.whole(left, test), self.whole(right, test)
        if divisor == 0:
            raise self.fail("0 divides nothing", test)
        return number % divisor == 0

    def is_member(self, value: Value, node: Node, test: Node) -> bool:
        """Whether a value lies in a printed set."""
        if isinstance(node, NumberSet):
            return self.in_number_set(value, node)
        if isinstance(node, Parity):
            return self.whole(value, test) % 2 == node.remainder
        entries = as_array(value).reshape(-1)
        powered = isinstance(node, ListedSet) and node.exponent is not None
        if not is_number(value) and isinstance(node, (Interval, ListedSet)) and not powered:
            self.arithmetic.require_broadcast(
                f"look for {describe(value)} in a set of numbers", test.position
            )
        if isinstance(node, Interval):
            if not is_real(entries):
                return False
            entries = np.real(entries)
            a, b = self.evaluate(node.low), self.evaluate(node.high)
            if not (self.is_real_number(a) and self.is_real_number(b)):
                raise self.fail("the ends of an interval must be real numbers", node)
            above = CONDITIONS[">=" if node.closed[0] else ">"]
            below = CONDITIONS["<=" if node.closed[1] else "<"]
            return all(above(entry, a) and below(entry, b) for entry in entries)
        if isinstance(node, ListedSet):
            members = self.arguments(node.items)
            if not all(is_number(member) for member in members):
                raise self.fail("the members of a set must be numbers", node)
            if node.exponent is not None:
                size = self.whole(self.evaluate(node.exponent), node)
                if as_array(value).shape != (size,):
                    return False
            return all(any(CONDITIONS["="](e, m) for m in members) for e in entries)
        elements = self.members(node)
        if elements is None:
            raise self.fail("this is not a set that can be checked", node)
        return self.whole(value, test) in elements

    def in_number_set(self, value: Value, node: NumberSet) -> bool:
        """Whether a value has the shape and the kind of numbers of a set such as ℝ^{n×d}."""
        shape = tuple(self.whole(self.evaluate(part), part) for part in node.shape)
        array = as_array(value)
        if isinstance(value, Dotted):
            raise self.fail("the shape of a matrix whose dots show no pattern", node)
        if array.shape != shape:
            return False
        if node.letter in ("R", "Z", "N") and not is_real(array):
            return False
        if node.letter in ("Z", "N"):
            array = np.real(array).astype(np.float64)
            return bool(
                np.all(array == np.round(array)) and (node.letter == "Z" or np.all(array >= 0))
            )
        return True

"""Sums, products and extremes over running indices, and how far the indices run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from texcheck.evaluation.core import Core
from texcheck.nodes import (
    Bounds,
    Chain,
    DeclaredSet,
    Index,
    ListedSet,
    Node,
    Reduction,
    Symbol,
    names_in,
    names_in_all,
)
from texcheck.values import (
    Value,
    as_array,
    is_number,
)

MOST_TERMS = 200_000
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Ranges(Core):
    """Sums, products and extremes over running indices, and how far the indices run."""

    def eval_reduction(self, node: Reduction) -> Value:
        """A sum, product, maximum or minimum over its range."""
        kind, names, body = node.kind, node.names, node.body
        values: list[Value] = []
        where: list[tuple[int, ...]] = []
        for assignment in self.assignments(names, node.ranges, node.tests, body, node):
            with self.bound(assignment):
                values.append(self.evaluate(body))
            where.append(tuple(assignment.values()))
            if len(values) > MOST_TERMS:
                raise self.fail(f"more than {MOST_TERMS} terms", node)
        if kind == "sum":
            return self.total(values, node) if values else 0
        if kind == "product":
            result: Any = 1
            for value in values:
                result = self.arithmetic.multiply(result, value, node.position)
            return result
        if not values:
            raise self.fail(f"the {kind} over no index at all", node)
        if kind in ("argmax", "argmin"):
            if not all(is_number(value) for value in values) or len(names) != 1:
                raise self.fail(f"{kind} needs one index and numbers", node)
            chosen = (np.argmax if kind == "argmax" else np.argmin)([float(v) for v in values])
            return where[int(chosen)][0]
        return values[0] if len(values) == 1 else self.extreme(kind, values, node)

    def assignments(
        self,
        names: tuple[str, ...],
        ranges: tuple[Bounds | None, ...],
        tests: tuple[Chain, ...],
        body: Node | None,
        node: Node,
    ) -> Iterator[dict[str, int]]:
        """All values of the running indices that satisfy the conditions."""
        if not names:
            yield {}
            return
        name, stated = names[0], ranges[0]
        if stated is not None:
            low, high = (self.whole(self.evaluate(end), end) for end in stated)
            choices: Sequence[int] = range(low, high + 1)
        else:
            choices = self.choices(name, set(names[1:]), tests, body, node)
        later = set(names[1:])
        ready = [test for test in tests if not names_in(test) & later]
        waiting = tuple(test for test in tests if names_in(test) & later)
        for value in choices:
            with self.bound({name: value}):
                if not all(self.condition(test) for test in ready):
                    continue
                for rest in self.assignments(names[1:], ranges[1:], waiting, body, node):
                    yield {name: value, **rest}

    def choices(
        self, name: str, later: set[str], tests: tuple[Chain, ...], body: Node | None, node: Node
    ) -> Sequence[int]:
        """The range of an index: from its conditions, or from the arrays it indexes."""
        low: int | None = None
        high: int | None = None
        subject = Symbol(name)
        for test in tests:
            sides, relations = test.sides, test.relations
            for k, side in enumerate(sides):
                if side != subject:
                    continue
                if k < len(relations) and relations[k] == "in":
                    members = self.members(sides[k + 1])
                    if members is not None:
                        return members
                for bounds in (
                    self.bound_beyond(sides[k + 1 :], relations[k:], later | {name}),
                    self.bound_beyond(
                        sides[:k][::-1],
                        [FLIPPED.get(r, r) for r in relations[:k][::-1]],
                        later | {name},
                    ),
                ):
                    low = max((b for b in (low, bounds[0]) if b is not None), default=None)
                    high = min((b for b in (high, bounds[1]) if b is not None), default=None)
        if low is not None and high is not None:
            return range(low, high + 1)
        size = self.indexed_size(name, body, node)
        start = self.first_index if low is None else low
        stop = self.first_index + size - 1 if high is None else high
        return range(start, stop + 1)

    def bound_beyond(
        self, sides: Sequence[Node], relations: Sequence[str], unknown: set[str]
    ) -> tuple[int | None, int | None]:
        """The lowest and highest whole number that a chain ``index R side R side …`` allows.

        Sides that hold other running indices are passed over as long as the direction stays.
        """
        direction, strict = "", False
        for side, relation in zip(sides, relations, strict=False):
            if relation not in ("<", "<=", ">", ">=", "=") or (
                direction and relation != "=" and relation[0] != direction
            ):
                break
            direction = direction or ("" if relation == "=" else relation[0])
            strict = strict or relation in ("<", ">")
            if names_in(side) & unknown:
                continue
            value = self.evaluate(side)
            if not is_number(value) or isinstance(value, complex) or not math.isfinite(value):
                break
            highest = math.ceil(value) - 1 if strict else math.floor(value)
            lowest = math.floor(value) + 1 if strict else math.ceil(value)
            if not direction:
                return lowest, highest
            return (None, highest) if direction == "<" else (lowest, None)
        return None, None

    def indexed_size(self, name: str, body: Node | None, node: Node) -> int:
        """The length of the axis that an index without a stated range runs over."""
        sizes: set[int] = set()
        for part in body.walk() if body is not None else ():
            if not isinstance(part, Index) or name not in names_in_all(part.indices):
                continue
            if not names_in(part.base) <= set(self.values):
                continue
            array = as_array(self.evaluate(part.base))
            for axis, index in enumerate(self.split_indices(array, part.indices, part)):
                if index == Symbol(name) and axis < array.ndim:
                    sizes.add(array.shape[axis])
        if len(sizes) != 1:
            found = f"its arrays have lengths {sorted(sizes)}" if sizes else "it indexes no array"
            raise self.fail(f"the range of {name} is not stated and {found}", node)
        return sizes.pop()

    def members(self, node: Node) -> list[int] | None:
        """The elements of a finite set of indices, or ``None``."""
        if isinstance(node, ListedSet) and node.exponent is None:
            return [self.whole(value, node) for value in self.arguments(node.items)]
        if isinstance(node, DeclaredSet) and isinstance(node.inner, Symbol):
            value = self.values[node.inner.name]
            if isinstance(value, (range, set, frozenset)):
                return sorted(value)
        return None

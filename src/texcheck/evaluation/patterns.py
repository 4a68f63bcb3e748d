"""Dots: find the pattern that printed entries show, and print the entries left out.

The entries before and after the dots are compared as trees. Where they differ there must be
whole numbers in arithmetic progression; the same progression fills the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from texcheck.nodes import Node, Number, Symbol

Path = tuple[int, ...]
WholeNumber = Callable[[Node], int | None]


def differences(left: Any, right: Any) -> set[Path] | None:
    """The places where two trees differ; ``None`` when they differ as a whole."""
    if isinstance(left, Node) and isinstance(right, Node):
        if left == right:
            return set()
        if type(left) is not type(right) or isinstance(left, (Number, Symbol)):
            return {()}
        found = differences(left.parts, right.parts)
        return {()} if found is None else found
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            return None
        result: set[Path] = set()
        for k, (a, b) in enumerate(zip(left, right, strict=True)):
            found = differences(a, b)
            if found is None:
                return None
            result |= {(k, *path) for path in found}
        return result
    return set() if left == right else None


def part_at(node: Any, path: Path) -> Any:
    """The part of a node at a path."""
    for step in path:
        node = node.parts[step] if isinstance(node, Node) else node[step]
    return node


def replaced(node: Any, path: Path, new: Node) -> Any:
    """A node with another part at a path."""
    if not path:
        return new
    parts = node.parts if isinstance(node, Node) else node
    step, *rest = path
    changed = (*parts[:step], replaced(parts[step], tuple(rest), new), *parts[step + 1 :])
    return node.rebuilt(changed) if isinstance(node, Node) else changed


@dataclass
class Progression:
    """One entry as a function of its place."""

    first: Node
    steps: dict[Path, tuple[int, int]]
    count: int

    def entry(self, place: int) -> Node:
        """The entry at a place of the progression."""
        node = self.first
        for path, (start, step) in self.steps.items():
            node = replaced(node, path, Number(start + place * step, position=node.position))
        return node


def progression(
    lead: Sequence[Node], trail: Sequence[Node], whole: WholeNumber
) -> Progression | None:
    """The rule that gives both the entries before the dots and those after them."""
    first = lead[0]
    paths: set[Path] = set()
    for other in [*lead[1:], *trail]:
        found = differences(first, other)
        if found is None:
            return None
        paths |= found
    paths = {p for p in paths if not any(p != q and p[: len(q)] == q for q in paths)}
    steps: dict[Path, tuple[int, int]] = {}
    count: int | None = None
    for path in paths:
        numbers = [whole(part_at(node, path)) for node in [*lead, *trail]]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers):
            return None
        before = known[: len(lead)]
        after = known[len(lead) :]
        start = before[0]
        end = after[-1]
        if len(before) > 1:
            step = before[1] - start
        elif len(after) > 1:
            step = end - after[-2]
        else:
            step = (end > start) - (end < start)
        if step == 0 or (end - start) % step or (end - start) // step < 0:
            return None
        length = (end - start) // step + 1
        if count not in (None, length):
            return None
        count = length
        if before != [start + k * step for k in range(len(before))]:
            return None
        if after != [end - k * step for k in reversed(range(len(after)))]:
            return None
        steps[path] = (start, step)
    return None if count is None else Progression(first, steps, count)


def expand(lead: Sequence[Node], trail: Sequence[Node], whole: WholeNumber) -> list[Node] | None:
    """All entries of ``lead, …, trail``; ``None`` when they show no pattern."""
    rule = progression(lead, trail, whole)
    if rule is None or rule.count < max(len(lead), len(trail)):
        return None
    return [rule.entry(place) for place in range(rule.count)]


def expand_diagonal(
    grid: Sequence[Sequence[Node]], lead: int, whole: WholeNumber
) -> list[list[Node]] | None:
    """A diagonal matrix of numbers or blocks (its dots removed after ``lead`` rows), all of it."""
    size = len(grid)
    outside = {cell for r, row in enumerate(grid) for c, cell in enumerate(row) if r != c}
    if any(len(row) != size for row in grid) or len(outside) != 1:
        return None
    printed = [grid[k][k] for k in range(size)]
    entries = expand(printed[:lead], printed[lead:], whole)
    if entries is None:
        return None
    places = range(len(entries))
    fill = outside.pop()
    return [[entries[r] if r == c else fill for c in places] for r in places]

"""The expression tree that the reader builds and the evaluator walks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Node:
    """One construct: its kind, its parts (nodes, tuples of nodes, names, numbers), its place."""

    kind: str
    parts: tuple[Any, ...] = ()
    position: int = field(default=0, compare=False)

    def walk(self) -> Iterator[Node]:
        yield self
        yield from walk_parts(self.parts)

    def rebuilt(self, parts: tuple[Any, ...]) -> Node:
        return Node(self.kind, parts, self.position)


def walk_parts(parts: tuple[Any, ...]) -> Iterator[Node]:
    for part in parts:
        if isinstance(part, Node):
            yield from part.walk()
        elif isinstance(part, tuple):
            yield from walk_parts(part)


def names_in(node: Node) -> set[str]:
    """The symbols that occur in a tree, by their canonical names."""
    return {part.parts[0] for part in node.walk() if part.kind == "symbol"}


def free_names(node: Node) -> set[str]:
    """The symbols whose value a tree needs: not those it binds itself, nor names of sets."""
    if node.kind == "symbol":
        return {node.parts[0]}
    if node.kind == "declared_set":
        return set()
    if node.kind == "reduction":
        _, names, ranges, tests, body = node.parts
        return free_in_parts(ranges) | (free_in_parts((tests, body)) - set(names))
    if node.kind == "integral":
        name, low, high, body = node.parts
        return free_in_parts((low, high)) | (free_names(body) - {name})
    return free_in_parts(node.parts)


def free_in_parts(parts: tuple[Any, ...]) -> set[str]:
    found: set[str] = set()
    for part in parts:
        if isinstance(part, Node):
            found |= free_names(part)
        elif isinstance(part, tuple):
            found |= free_in_parts(part)
    return found

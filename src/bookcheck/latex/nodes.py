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

"""What evaluation remembers from one text to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from texcheck.nodes import Chain, Node


@dataclass
class Memory:
    """What was found for one set of declared values, of use to every text that is tried on it.

    ``known``: values of nodes; ``nodes``: the symbols that each depends on; ``decisions``: which
    sides of each condition of ``cases`` and indicators were met, as True, False and "tie";
    ``ways``: which argument of a maximum was the one, of which signs the inside of bars was, and
    whether what is rounded was whole (0) or nearer to the number below (-1) or above it (1);
    ``calls``: arguments with which each declared function was called;
    ``holding``: the statements that hold at all their instances.
    """

    known: dict[Any, Any] = field(default_factory=dict)
    holding: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)
    nodes: dict[Node, tuple[Node, list[str]]] = field(default_factory=dict)
    decisions: dict[Chain, set[bool | str]] = field(default_factory=dict)
    ways: dict[Node, set[int]] = field(default_factory=dict)
    calls: dict[str, list[list[Any]]] = field(default_factory=dict)

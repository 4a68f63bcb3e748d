"""The expression tree that the reader builds and the evaluator walks: a class for each construct.

Every node knows its ``position`` in the formula's text, which does not count when two nodes are
compared. A field is a node, a tuple of nodes, a name, a number or a flag.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Self


@dataclass(frozen=True)
class Node:
    """One construct of a formula."""

    position: int = field(default=0, compare=False, kw_only=True)

    def __init_subclass__(cls) -> None:
        cls.__hash__ = Node.__hash__  # type: ignore[method-assign]  # not the one of dataclasses

    def __hash__(self) -> int:
        return self.hashed

    @functools.cached_property
    def hashed(self) -> int:
        """Computed once: a tree is a key of many dictionaries, and each asks for all below it."""
        compared = [getattr(self, one.name) for one in fields(self) if one.compare]
        return hash((type(self), *compared))

    @functools.cached_property
    def parts(self) -> tuple[Any, ...]:
        """All fields but the position, in their order."""
        return tuple(getattr(self, one.name) for one in fields(self) if one.name != "position")

    @functools.cached_property
    def free_names(self) -> set[str]:
        """The symbols whose value a tree needs: not those it binds itself, nor names of sets."""
        return free_names_of(self)

    def rebuilt(self, parts: tuple[Any, ...]) -> Self:
        """The same construct at the same place with other parts."""
        return type(self)(*parts, position=self.position)

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        yield from walk_parts(self.parts)


Nodes = tuple[Node, ...]


# -- leaves ----


@dataclass(frozen=True)
class Number(Node):
    """A printed number: ``2``, ``0.5``."""

    value: int | float


@dataclass(frozen=True)
class Constant(Node):
    r"""``\pi``, ``e``, ``\infty``, ``\mathrm{i}``."""

    name: str


@dataclass(frozen=True)
class Symbol(Node):
    """A declared or bound symbol, by its canonical name."""

    name: str


# -- sums, products, powers ----


@dataclass(frozen=True)
class Dotted(Node):
    r"""``x_1 + \ldots + x_n`` or ``x_1 \cdots x_n``; ``None`` stands for the dots."""

    kind: str
    entries: tuple[Node | None, ...]


@dataclass(frozen=True)
class SumOf(Node):
    """Terms with their signs: ``a - b + c``."""

    terms: tuple[tuple[str, Node], ...]


@dataclass(frozen=True)
class DottedList(Node):
    r"""``x_1, \ldots, x_n``; ``None`` stands for the dots."""

    entries: tuple[Node | None, ...]


@dataclass(frozen=True)
class Product(Node):
    r"""Two factors and the operator between them; ``juxtaposed``: side by side; a fraction: /."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Power(Node):
    """``a^b``; ``indexed``: the base carries a subscript, so that the order may be unclear."""

    base: Node
    exponent: Node
    indexed: bool = False


# -- turning and indexing ----


@dataclass(frozen=True)
class Transpose(Node):
    r"""``A^\top``; ``indexed`` as in ``Power``."""

    inner: Node
    indexed: bool


@dataclass(frozen=True)
class Index(Node):
    """``x_i``, ``A_{i,j}``; ``powered``: a superscript is beside the subscript."""

    base: Node
    indices: Nodes
    powered: bool


@dataclass(frozen=True)
class RunTogether(Node):
    """``ij`` below a symbol: two indices or a product; the array's dimension decides."""

    items: Nodes
    whole: Node | None


# -- functions and brackets ----


@dataclass(frozen=True)
class Call(Node):
    """A declared function and its arguments; ``given`` are those behind a bar: P(x | y)."""

    name: str
    arguments: Nodes
    given: Nodes = ()


@dataclass(frozen=True)
class KnownCall(Node):
    r"""A known function such as ``\sin``, also one that is printed as brackets, a root or a bar."""

    name: str
    arguments: Nodes


@dataclass(frozen=True)
class Norm(Node):
    r"""``\lVert x \rVert_2``; ``kind`` is ``1``, ``2``, ``F``, ``\infty`` or empty.

    ``order`` is a subscript that is a symbol, as in ``\lVert x \rVert_p``.
    """

    kind: str
    inner: Node
    order: Node | None = None


@dataclass(frozen=True)
class TupleOf(Node):
    """``(a, b, c)``: a vector by its entries."""

    items: Nodes


# -- matrices and cases ----


@dataclass(frozen=True)
class Dots(Node):
    """A cell of a matrix that holds dots alone."""


@dataclass(frozen=True)
class Matrix(Node):
    """A matrix by its rows of cells."""

    rows: tuple[Nodes, ...]


@dataclass(frozen=True)
class Case(Node):
    """One line of ``cases``; without conditions it is the one for everything else."""

    value: Node
    tests: tuple[Chain, ...]


@dataclass(frozen=True)
class Cases(Node):
    """The lines of ``cases``."""

    lines: tuple[Case, ...]


# -- what binds an index ----

Bounds = tuple[Node, Node]


@dataclass(frozen=True)
class Reduction(Node):
    r"""``\sum``, ``\prod``, ``\max``, … over running indices; ``ranges`` as far as stated."""

    kind: str
    names: tuple[str, ...]
    ranges: tuple[Bounds | None, ...]
    tests: tuple[Chain, ...]
    body: Node


@dataclass(frozen=True)
class Integral(Node):
    r"""``\int_a^b f(t) \,\mathrm{d}t``."""

    name: str
    low: Node
    high: Node
    body: Node


@dataclass(frozen=True)
class Derivative(Node):
    r"""``\frac{\partial f}{\partial x}``; without a body it is an operator that awaits one."""

    body: Node | None
    variable: Node
    order: int = 1


@dataclass(frozen=True)
class Moment(Node):
    r"""``\mathbb{E}`` or ``\operatorname{Var}``; ``over`` names the variables below the sign."""

    kind: str
    over: tuple[str, ...]
    inner: Node


# -- relations and sets ----


@dataclass(frozen=True)
class Chain(Node):
    """``a < b = c``: the sides, the relations between them, their places and printed sides."""

    sides: Nodes
    relations: tuple[str, ...]
    places: tuple[int, ...] = field(compare=False)
    texts: tuple[str, ...] = field(compare=False)


@dataclass(frozen=True)
class Indicator(Node):
    r"""``\mathbb{1}[n \le m]`` and ``\delta_{mn}``: 1 where all tests hold, else 0."""

    tests: tuple[Chain, ...]


@dataclass(frozen=True)
class NumberSet(Node):
    r"""``\mathbb{R}^{n \times d}``: R or C with a shape."""

    letter: str
    shape: Nodes


@dataclass(frozen=True)
class ListedSet(Node):
    r"""``0, 1, \ldots, n`` after ``i =``: a set of numbers."""

    items: Nodes


@dataclass(frozen=True)
class Interval(Node):
    """``[a, b)``: its ends, and whether each of them belongs to it."""

    low: Node
    high: Node
    with_low: bool
    with_high: bool


@dataclass(frozen=True)
class DeclaredSet(Node):
    """A set that the check declares."""

    inner: Node


# -- the symbols of a tree ----


def walk_parts(parts: tuple[Any, ...]) -> Iterator[Node]:
    """All nodes below some parts."""
    for part in parts:
        if isinstance(part, Node):
            yield from part.walk()
        elif isinstance(part, tuple):
            yield from walk_parts(part)


def names_in(node: Node) -> set[str]:
    """The symbols that occur in a tree, by their canonical names."""
    return {part.name for part in node.walk() if isinstance(part, Symbol)}


def names_in_all(nodes: Nodes) -> set[str]:
    """The symbols of some nodes."""
    return set().union(*(names_in(node) for node in nodes))


def words_in(node: Node) -> set[str]:
    """All names in a tree, also those of functions, signs and running indices."""
    found: set[str] = set()
    for part in node.walk():
        for one in fields(part):
            value = getattr(part, one.name) if one.compare else ""
            words = value if isinstance(value, tuple) else (value,)
            found |= {word for word in words if isinstance(word, str)}
    return found


def free_names_of(node: Node) -> set[str]:
    """What ``Node.free_names`` keeps."""
    if isinstance(node, Symbol):
        return {node.name}
    if isinstance(node, DeclaredSet):
        return set()
    if isinstance(node, Reduction):
        inside = free_in_parts((node.tests, node.body)) - set(node.names)
        return free_in_parts(node.ranges) | inside
    if isinstance(node, Integral):
        return free_in_parts((node.low, node.high)) | (node.body.free_names - {node.name})
    return free_in_parts(node.parts)


def free_in_parts(parts: tuple[Any, ...]) -> set[str]:
    """The free symbols of some parts."""
    found: set[str] = set()
    for part in parts:
        if isinstance(part, Node):
            found |= part.free_names
        elif isinstance(part, tuple):
            found |= free_in_parts(part)
    return found

"""What the rules of all constructs share: values of nodes, bound symbols, noise, errors, memory."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.errors import LatexError, ShapeError
from texcheck.evaluation.arithmetic import Arithmetic
from texcheck.evaluation.memory import Memory
from texcheck.nodes import Node
from texcheck.parser import canonical_name
from texcheck.rounding import Noise
from texcheck.values import MOST_BITS, Crossed, Depends, Value, as_array, bits, is_exact

# How a construct is evaluated.
Rule = Callable[["Evaluator", Any], Value]

# What is evaluated once for the same values of its symbols: most of the time goes into these.
COSTLY = (nodes.Call, nodes.Derivative, nodes.Integral, nodes.Matrix, nodes.Moment, nodes.Reduction)


class Evaluator:
    """Evaluates the nodes of one formula, each by the rule for its kind.

    A rule gets the evaluator and the node. What it may use is here: values of other nodes, symbols
    that are bound for a while, noise, errors, and the arithmetic of the formula's convention.
    """

    def __init__(
        self,
        text: str,
        table: Mapping[str, Any],
        rules: Mapping[type[Node], Rule],
        *,
        first_index: int,
        convention: str,
        broadcast: bool = False,
        noise: Noise | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.text = text
        self.rules = rules
        self.noise = noise
        # Whether a printed or declared value is infinite or undefined, so that a result may be.
        self.infinite = False
        self.undefined = False
        self.values: dict[str, Any] = dict(table)
        self.declared: Mapping[str, Any] = table
        # The symbols that have another value than the declared one for a while.
        self.local: dict[str, Any] = {}
        self.memory = memory or Memory()
        self.known_nodes: dict[int, tuple[Node, Node, list[str]]] = {}
        self.first_index = first_index
        self.arithmetic = Arithmetic(convention, self.shape_error, broadcast)

    def fail(self, message: str, where: Node | int) -> LatexError:
        """The error of this formula at a node."""
        position = where if isinstance(where, int) else where.position
        return LatexError(message, position, self.text)

    def shape_error(self, message: str, position: int) -> ShapeError:
        """The error of shapes that do not fit."""
        return ShapeError(message, position, self.text)

    @contextlib.contextmanager
    def bound(self, changed: Mapping[str, Any]) -> Iterator[None]:
        """Let symbols have other values inside the block."""
        values_before = self.values
        local_before = self.local
        self.values = {**values_before, **changed}
        self.local = {**local_before, **changed}
        try:
            yield
        finally:
            self.values = values_before
            self.local = local_before

    @contextlib.contextmanager
    def with_noise(self, noise: Noise | None) -> Iterator[None]:
        """Let every inexact value inside the block have this noise, or none."""
        before = self.noise
        self.noise = noise
        try:
            yield
        finally:
            self.noise = before

    def estimated(self, node: Node, estimate: Callable[[], tuple[Value, float]]) -> Value:
        """A value that takes many evaluations and knows its error, such as an integral.

        It is computed once, without noise, which is then put on the result.
        """
        with self.with_noise(None):
            value, error = self.remembered("estimate", node, estimate)
        return value if self.noise is None else self.noise.shifted(value, error)

    def remembered(self, what: str, node: Node, compute: Callable[[], Any]) -> Any:
        """What a node gives, computed once for the same values of the symbols that it needs."""
        first, needed = self.known_node(node)
        context = tuple((name, self.local[name]) for name in needed if name in self.local)
        if not all(isinstance(value, (int, float)) for _, value in context):
            return compute()
        # What is infinite or undefined already decides what may be, and stays so afterwards.
        state = (self.infinite, self.undefined)
        noise = self.noise and (self.noise.seed, self.noise.units)
        key = (what, id(first), noise, context, state)
        if key not in self.memory.known:
            value = compute()
            self.memory.known[key] = (value, self.infinite, self.undefined)
        value, self.infinite, self.undefined = self.memory.known[key]
        return value

    def known_node(self, node: Node) -> tuple[Node, list[str]]:
        """The first node that was equal to this one, and the symbols that it needs.

        Of each node of the text this is asked once: trees are slow to compare.
        """
        if id(node) not in self.known_nodes:
            if node not in self.memory.nodes:
                self.memory.nodes[node] = (node, sorted(self.reached(node.free_names)))
            # With the node itself, which else could end, and another have its id.
            self.known_nodes[id(node)] = (node, *self.memory.nodes[node])
        _, first, needed = self.known_nodes[id(node)]
        return first, needed

    def evaluate(self, node: Node) -> Value:
        """The value of a node; one that takes long to compute is remembered."""
        if isinstance(node, COSTLY):
            return self.remembered("value", node, lambda: self.computed(node))
        return self.computed(node)

    def side(self, node: Node) -> Value:
        """The value of a side of a relation, remembered."""
        return self.remembered("value", node, lambda: self.computed(node))

    def computed(self, node: Node) -> Value:
        """The value of a node; what is not finite is an error."""
        try:
            value = self.by_rule(node)
        except OverflowError:
            raise self.fail("the result is a number too large to be evaluated", node) from None
        except ZeroDivisionError as error:
            raise self.fail(str(error), node) from None
        if is_exact(value) and bits(value) > MOST_BITS:
            raise self.fail("the result is a number too large to be written", node)
        if isinstance(value, (np.ndarray, Crossed)) and as_array(value).size == 0:
            raise self.fail("the result is an array without entries", node)
        self.require_finite(value, node)
        if self.noise is None:
            return value
        return self.noise.disturbed(value, scale=self.noise_scale(node, value))

    def by_rule(self, node: Node) -> Value:
        """The value of a node by the rule for its kind."""
        rule = self.rules.get(type(node))
        if rule is None:
            raise self.fail("a set or a pair of indices has no value of its own", node)
        return rule(self, node)

    def noise_scale(self, node: Node, value: Value) -> float | None:
        """The largest entry of an array that comes from outside; None for what is computed here."""
        if isinstance(node, nodes.Index) and isinstance(node.base, nodes.Symbol):
            value = self.values[node.base.name]
        elif not isinstance(node, (nodes.Symbol, nodes.Call)):
            return None
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
            return None
        largest = float(np.max(np.abs(value)))
        return largest if math.isfinite(largest) else None

    def require_finite(self, value: Value, node: Node) -> None:
        """Refuse an infinite or undefined result, unless a printed or declared value is so too.

        The result decides, not the processor's flags: those differ between processors.
        """
        if isinstance(value, float):
            if math.isfinite(value):
                return
            array: Any = value
        elif isinstance(value, (np.ndarray, Crossed)) and as_array(value).dtype.kind in "fc":
            array = as_array(value)
        elif isinstance(value, complex):
            array = value
        else:
            return
        if np.isfinite(array).all():
            return
        undefined = bool(np.any(np.isnan(array)))
        if isinstance(node, (nodes.Symbol, nodes.Call, nodes.Constant)):
            self.infinite = True
            self.undefined = self.undefined or undefined
        elif undefined and not self.undefined:
            raise self.fail("the result is not a number, as in 0/0 or ∞ − ∞", node)
        elif not self.infinite:
            raise self.fail("the result is a number too large to be evaluated", node)

    def reached(self, names: set[str]) -> set[str]:
        """The symbols that a set of symbols is computed from, themselves included."""
        found = set(names)
        queue = list(names)
        while queue:
            value = self.values.get(queue.pop())
            if isinstance(value, Depends):
                new = {canonical_name(name) for name in value.names} - found
                found |= new
                queue += new
        return found

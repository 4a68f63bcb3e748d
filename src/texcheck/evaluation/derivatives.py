"""Derivatives, by differences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.errors import LatexError, ShapeError
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.indices import place_of, split_indices
from texcheck.nodes import Node
from texcheck.rounding import EPSILON, NOISE_UNITS, Noise
from texcheck.values import Value, as_array, is_number

# The central difference of order eight: exact enough to compare at 1e-9 without complex steps,
# which conjugates, absolute values and comparisons would silently break.
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)

STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))

# The indices of an entry of an array.
Place = tuple[int, ...]


def evaluate_derivative(evaluator: Evaluator, node: nodes.Derivative) -> Value:
    """A derivative by a symbol or by an entry of it."""
    body = node.body
    if body is None:
        raise evaluator.fail("a derivative needs an expression after it", node)
    if node.order > 1:
        body = replace(node, order=node.order - 1)
    name, place = variable_of(evaluator, node.variable, node)
    if name not in evaluator.reached(nodes.names_in(body)):
        raise evaluator.fail(
            f'the expression does not depend on {name}; bind its symbols with depends("{name}", …)',
            node,
        )
    with evaluator.with_noise(None):
        value = evaluator.evaluate(nodes.Symbol(name, position=node.position))
    graph = Graph(evaluator, body, name, value, node)
    if place is not None or is_number(value):
        return evaluator.estimated(node, lambda: slope_of(graph, place))
    return evaluator.estimated(node, lambda: gradient_of(graph))


def variable_of(evaluator: Evaluator, node: Node, where: Node) -> tuple[str, Place | None]:
    """The symbol by which is derived, and the place in it."""
    if isinstance(node, nodes.Symbol):
        return node.name, None
    if isinstance(node, nodes.Index) and isinstance(node.base, nodes.Symbol):
        array = as_array(evaluator.evaluate(node.base))
        indices = split_indices(evaluator, array, node.indices, node)
        if len(indices) == array.ndim:
            place = tuple(
                place_of(evaluator, index, array.shape[axis], node)
                for axis, index in enumerate(indices)
            )
            return node.base.name, place
    raise evaluator.fail("a derivative must be by a symbol or by an entry of one", where)


@dataclass(frozen=True)
class Graph:
    """An expression as a function of one symbol, near the value that this symbol has."""

    evaluator: Evaluator
    body: Node
    name: str
    value: Value
    node: nodes.Derivative

    def at(self, place: Place | None, offset: float) -> Value:
        """The expression where the symbol, or its entry at a place, is moved by an offset."""
        if place is None:
            moved = self.value + offset
        else:
            array = as_array(self.value)
            moved = array.astype(np.result_type(array, np.float64)).copy()
            moved[place] += offset
        with self.evaluator.bound({self.name: moved}):
            return self.evaluator.evaluate(self.body)


def gradient_of(graph: Graph) -> tuple[Value, float]:
    """The derivatives by all entries of an array, and their error."""
    array = as_array(graph.value)
    slopes = [slope_of(graph, place) for place in np.ndindex(array.shape)]
    error = max(error for _, error in slopes)
    stacked = np.stack([as_array(slope) for slope, _ in slopes], axis=-1)
    if stacked.ndim == 1:
        return stacked.reshape(array.shape), error
    if array.ndim == 1 and stacked.ndim == 2:
        return stacked, error
    raise graph.evaluator.fail(
        "the derivative of an array by a matrix is not defined; write it entry by entry", graph.node
    )


def slope_of(graph: Graph, place: Place | None) -> tuple[Value, float]:
    """The derivative by differences, finer until two agree, and its error."""
    evaluator = graph.evaluator

    @functools.cache
    def at(offset: float) -> Value:
        return graph.at(place, offset)

    rounding = rounding_of(graph, at)
    problem: LatexError | None = None
    for step in STEPS:
        try:
            fine = difference(graph, at, step / 2)
            coarse = difference(graph, at, step)
            narrow = bend(at, step / 2)
            wide = bend(at, step)
        except ShapeError:
            raise
        except LatexError as error:  # outside a domain, such as the logarithm's
            problem = error
            continue
        size = float(np.max(np.abs(as_array(fine))))
        # Two nearby values differ by their rounding; a step divides that.
        noise = rounding / step
        gap = float(np.max(np.abs(as_array(fine) - as_array(coarse))))
        if narrow > 0.4 * wide and narrow > 1e-6 * step * size + noise * step:
            problem = evaluator.fail("there is no derivative at a corner of the graph", graph.node)
        elif gap <= 1e-7 * size + noise:
            return fine, gap + noise
        else:
            problem = evaluator.fail(
                f"the derivative does not settle: two estimates differ by {gap:.1e}", graph.node
            )
    assert problem is not None
    raise problem


def rounding_of(graph: Graph, at: Callable[[float], Value]) -> float:
    """How far rounding alone may move the expression."""
    with graph.evaluator.with_noise(Noise(seed=0)):
        disturbed = as_array(graph.evaluator.evaluate(graph.body))
    here = as_array(at(0.0))
    moved = float(np.max(np.abs(disturbed - here))) / NOISE_UNITS
    return 50 * (moved + EPSILON * float(np.max(np.abs(here))))


def difference(graph: Graph, at: Callable[[float], Value], step: float) -> Value:
    """The derivative as a difference over multiples of a step."""
    arithmetic = graph.evaluator.arithmetic
    position = graph.node.position
    total: Any = None
    for multiple, weight in STENCIL:
        ahead = at(multiple * step)
        behind = at(-multiple * step)
        part = arithmetic.scale(arithmetic.subtract(ahead, behind, position), weight / step)
        total = part if total is None else arithmetic.add(total, part, position)
    return total


def bend(at: Callable[[float], Value], step: float) -> float:
    """How far the graph bends: of order step² where it is smooth, of step at a corner."""
    ahead = as_array(at(step))
    here = as_array(at(0.0))
    behind = as_array(at(-step))
    return float(np.max(np.abs(ahead + behind - 2 * here)))

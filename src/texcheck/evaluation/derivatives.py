"""Derivatives, by differences."""

from __future__ import annotations

import functools
from dataclasses import replace
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


def evaluate_derivative(evaluator: Evaluator, node: nodes.Derivative) -> Value:
    """A derivative by a symbol or by an entry of it."""
    body = node.body
    if body is None:
        raise evaluator.fail("a derivative of nothing", node)
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
    if place is not None or is_number(value):
        return evaluator.estimated(
            node, lambda: slope_of(evaluator, body, name, value, place, node)
        )
    return evaluator.estimated(node, lambda: gradient_of(evaluator, body, name, value, node))


def gradient_of(
    evaluator: Evaluator, body: Node, name: str, value: Value, node: Node
) -> tuple[Value, float]:
    """The derivatives by all entries of an array, and their error."""
    array = as_array(value)
    slopes = [
        slope_of(evaluator, body, name, value, index, node) for index in np.ndindex(array.shape)
    ]
    error = max(error for _, error in slopes)
    stacked = np.stack([as_array(slope) for slope, _ in slopes], axis=-1)
    if stacked.ndim == 1:
        return stacked.reshape(array.shape), error
    if array.ndim == 1 and stacked.ndim == 2:
        return stacked, error
    raise evaluator.fail("the derivative of an array by a matrix; write it entry by entry", node)


def variable_of(
    evaluator: Evaluator, node: Node, where: Node
) -> tuple[str, tuple[int, ...] | None]:
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
    raise evaluator.fail("a derivative by something that is not a symbol or an entry", where)


def slope_of(
    evaluator: Evaluator,
    body: Node,
    name: str,
    value: Value,
    place: tuple[int, ...] | None,
    node: Node,
) -> tuple[Value, float]:
    """The derivative by differences, finer until two agree, and its error."""

    @functools.cache
    def at(offset: float) -> Value:
        if place is None:
            moved = value + offset
        else:
            moved = as_array(value).astype(np.result_type(as_array(value), np.float64)).copy()
            moved[place] += offset
        with evaluator.bound({name: moved}):
            return evaluator.evaluate(body)

    def estimate(step: float) -> Value:
        total: Any = None
        for multiple, weight in STENCIL:
            ahead, behind = at(multiple * step), at(-multiple * step)
            difference = evaluator.arithmetic.subtract(ahead, behind, node.position)
            part = evaluator.arithmetic.scale(difference, weight / step)
            total = part if total is None else evaluator.arithmetic.add(total, part, node.position)
        return total

    def bend(step: float) -> float:
        """How far the graph bends: of order step² where it is smooth, of step at a corner."""
        ahead, here, behind = (as_array(at(offset)) for offset in (step, 0.0, -step))
        return float(np.max(np.abs(ahead + behind - 2 * here)))

    with evaluator.with_noise(Noise(0)):
        disturbed = as_array(evaluator.evaluate(body))
    here = as_array(at(0.0))
    moved = float(np.max(np.abs(disturbed - here))) / NOISE_UNITS
    rounding = 50 * (moved + EPSILON * float(np.max(np.abs(here))))
    problem: LatexError | None = None
    for step in STEPS:
        try:
            fine, coarse = estimate(step / 2), estimate(step)
            narrow, wide = bend(step / 2), bend(step)
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
            problem = evaluator.fail("the derivative at a corner of the graph", node)
        elif gap <= 1e-7 * size + noise:
            return fine, gap + noise
        else:
            problem = evaluator.fail(
                f"the derivative does not settle (differences of {gap:.1e})", node
            )
    assert problem is not None
    raise problem

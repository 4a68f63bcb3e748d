"""Which function evaluates which construct."""

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.errors import LatexError, ShapeError
from texcheck.evaluation.conditions import evaluate_cases, evaluate_indicator
from texcheck.evaluation.evaluator import Evaluator, Rule
from texcheck.evaluation.functions import evaluate_known_call, evaluate_norm
from texcheck.evaluation.indices import evaluate_index, place_of, split_indices
from texcheck.evaluation.lists import evaluate_tuple
from texcheck.evaluation.matrices import evaluate_matrix
from texcheck.evaluation.numbers import (
    evaluate_constant,
    evaluate_number,
    real_number,
)
from texcheck.evaluation.operations import evaluate_product, evaluate_sum, evaluate_transpose
from texcheck.evaluation.powers import evaluate_power
from texcheck.evaluation.reductions import evaluate_reduction
from texcheck.evaluation.symbols import evaluate_call, evaluate_symbol
from texcheck.nodes import Node
from texcheck.rounding import EPSILON, NOISE_UNITS, Noise
from texcheck.values import (
    Random,
    Value,
    as_array,
    is_number,
    plain,
)

# The central difference of order eight: exact enough to compare at 1e-9 without complex steps,
# which conjugates, absolute values and comparisons would silently break.
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)

STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))

MOST_OUTCOMES = 200_000

# What the random variables take together, and how probable that is.
Outcome = tuple[dict[str, Value], float]


# -- Numbers, symbols, sums, products, powers and roots ----


# -- Transposes, conjugates and indices ----


# -- Declared and known functions, norms, rounding ----


# -- Lists and matrices, with or without dots ----


# -- Sums, products and extremes over running indices, and how far the indices run ----


# -- Conditions on numbers, membership in sets, cases ----


# -- Integrals and derivatives, by numbers ----


def evaluate_integral(evaluator: Evaluator, node: nodes.Integral) -> Value:
    """A definite integral of a real number."""
    return evaluator.estimated(node, lambda: integral_and_error(evaluator, node))


def integral_and_error(evaluator: Evaluator, node: nodes.Integral) -> tuple[Value, float]:
    """A definite integral and its error; refused where that is not small."""
    # Few formulas have an integral, and the import takes longer than most checks.
    from scipy.integrate import IntegrationWarning, quad

    low, high = evaluator.evaluate(node.low), evaluator.evaluate(node.high)

    @functools.cache
    def integrand(t: float) -> float:
        with evaluator.bound({node.name: t}):
            return real_number(evaluator, evaluator.evaluate(node.body), node)

    with warnings.catch_warnings():
        warnings.simplefilter("error", IntegrationWarning)
        try:
            ends = real_number(evaluator, low, node), real_number(evaluator, high, node)
            size, _ = quad(lambda t: abs(integrand(t)), *ends, epsabs=0, epsrel=1e-2, limit=200)
            size = abs(size)
            value, error = quad(integrand, *ends, epsabs=1e-12 * size, epsrel=1e-11, limit=200)
        except IntegrationWarning as problem:
            raise evaluator.fail(f"the integral does not settle: {problem}", node) from None
    if error > 1e-9 * size:
        raise evaluator.fail(f"the integral is known only to {error:.1e}", node)
    return float(value), float(error + EPSILON * size)


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


# -- Expectations, variances and probabilities, by all outcomes ----


def evaluate_moment(evaluator: Evaluator, node: nodes.Moment) -> Value:
    """An expectation or variance over all outcomes."""
    return evaluator.estimated(node, lambda: moment_and_error(evaluator, node))


def moment_and_error(evaluator: Evaluator, node: nodes.Moment) -> tuple[Value, float]:
    """A moment and its error."""
    inner, over = node.inner, node.over
    names = evaluator.reached(nodes.names_in(inner))
    # In one order: the last bit of a sum follows it.
    random = {name: evaluator.values[name] for name in sorted(names) if name in evaluator.values}
    random = {name: value for name, value in random.items() if isinstance(value, Random)}
    if over:
        missing = set(over) - set(random)
        if missing:
            raise evaluator.fail(f"{sorted(missing)} is not a random variable in this", node)
        random = {name: value for name, value in random.items() if name in over}
    if not random:
        raise evaluator.fail("no random variable stands in this expectation", node)
    outcomes = list(joint_outcomes(evaluator, random, node))
    mean, error = weighted(evaluator, outcomes, lambda: evaluator.evaluate(inner), node)
    if node.kind == "expectation":
        return mean, error
    if not is_number(mean):
        raise evaluator.fail("the variance of an array; write it entry by entry", node)
    return weighted(evaluator, outcomes, lambda: (evaluator.evaluate(inner) - mean) ** 2, node)


def joint_outcomes(
    evaluator: Evaluator, random: dict[str, Random], node: Node
) -> Iterator[Outcome]:
    """All joint outcomes of some random variables, with their probabilities."""
    variables = list({id(value): value for value in random.values()}.values())
    count = math.prod(variable.count() for variable in variables)
    if count > MOST_OUTCOMES:
        raise evaluator.fail(f"{count} outcomes are too many to enumerate", node)
    for joint in itertools.product(*(list(variable.joint()) for variable in variables)):
        drawn = {id(variable): value for variable, (value, _) in zip(variables, joint, strict=True)}
        weight = math.prod(weight for _, weight in joint)
        yield {name: plain(drawn[id(value)]) for name, value in random.items()}, weight


def weighted(
    evaluator: Evaluator,
    outcomes: list[Outcome],
    function: Callable[[], Any],
    node: Node,
) -> tuple[Value, float]:
    """The mean of a function over outcomes, and the rounding of its terms."""
    total: Any = None
    size = 0.0
    for assignment, weight in outcomes:
        with evaluator.bound(assignment):
            part = evaluator.arithmetic.scale(function(), weight)
        size += float(np.max(np.abs(as_array(part))))
        total = part if total is None else evaluator.arithmetic.add(total, part, node.position)
    return total, 10 * EPSILON * size


RULES: dict[type[Node], Rule] = {
    nodes.Number: evaluate_number,
    nodes.Constant: evaluate_constant,
    nodes.Symbol: evaluate_symbol,
    nodes.SumOf: evaluate_sum,
    nodes.Product: evaluate_product,
    nodes.Power: evaluate_power,
    nodes.Transpose: evaluate_transpose,
    nodes.Index: evaluate_index,
    nodes.Call: evaluate_call,
    nodes.KnownCall: evaluate_known_call,
    nodes.Norm: evaluate_norm,
    nodes.TupleOf: evaluate_tuple,
    nodes.Matrix: evaluate_matrix,
    nodes.Reduction: evaluate_reduction,
    nodes.Indicator: evaluate_indicator,
    nodes.Cases: evaluate_cases,
    nodes.Integral: evaluate_integral,
    nodes.Derivative: evaluate_derivative,
    nodes.Moment: evaluate_moment,
}

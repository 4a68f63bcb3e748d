"""Which function evaluates which construct."""

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.errors import LatexError, ShapeError
from texcheck.evaluation.evaluator import Evaluator, Rule
from texcheck.evaluation.functions import evaluate_known_call, evaluate_norm, extreme
from texcheck.evaluation.indices import evaluate_index, place_of, split_indices
from texcheck.evaluation.lists import evaluate_tuple, values_of
from texcheck.evaluation.matrices import evaluate_matrix
from texcheck.evaluation.numbers import (
    evaluate_constant,
    evaluate_number,
    real_number,
    same,
    whole_number,
)
from texcheck.evaluation.operations import evaluate_product, evaluate_sum, evaluate_transpose
from texcheck.evaluation.powers import evaluate_power
from texcheck.evaluation.symbols import evaluate_call, evaluate_symbol
from texcheck.nodes import Bounds, Chain, Node
from texcheck.rounding import EPSILON, NOISE_UNITS, Noise
from texcheck.values import (
    Random,
    Value,
    as_array,
    is_number,
    is_real,
    plain,
)

MOST_TERMS = 200_000

SETS = (nodes.NumberSet, nodes.ListedSet, nodes.DeclaredSet)
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


CONDITIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": same,
    "!=": lambda a, b: not same(a, b),
    "<": lambda a, b: a < b and not same(a, b),
    "<=": lambda a, b: a <= b or same(a, b),
    ">": lambda a, b: a > b and not same(a, b),
    ">=": lambda a, b: a >= b or same(a, b),
}

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


def evaluate_reduction(evaluator: Evaluator, node: nodes.Reduction) -> Value:
    """A sum, product, maximum or minimum over its range."""
    kind, names, body = node.kind, node.names, node.body
    values: list[Value] = []
    for assignment in assignments(evaluator, names, node.ranges, node.tests, body, node):
        with evaluator.bound(assignment):
            values.append(evaluator.evaluate(body))
        if len(values) > MOST_TERMS:
            raise evaluator.fail(f"more than {MOST_TERMS} terms", node)
    if kind == "sum":
        add = functools.partial(evaluator.arithmetic.add, position=node.position)
        return functools.reduce(add, values) if values else 0
    if kind == "product":
        result: Any = 1
        for value in values:
            result = evaluator.arithmetic.multiply(result, value, node.position)
        return result
    if not values:
        raise evaluator.fail(f"the {kind} over no index at all", node)
    return values[0] if len(values) == 1 else extreme(evaluator, kind, values, node)


def assignments(
    evaluator: Evaluator,
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
        low, high = (whole_number(evaluator, evaluator.evaluate(end), end) for end in stated)
        choices: Sequence[int] = range(low, high + 1)
    else:
        choices = choices_of(evaluator, name, set(names[1:]), tests, body, node)
    later = set(names[1:])
    ready = [test for test in tests if not nodes.names_in(test) & later]
    waiting = tuple(test for test in tests if nodes.names_in(test) & later)
    for value in choices:
        with evaluator.bound({name: value}):
            if not all(is_met(evaluator, test) for test in ready):
                continue
            for rest in assignments(evaluator, names[1:], ranges[1:], waiting, body, node):
                yield {name: value, **rest}


def choices_of(
    evaluator: Evaluator,
    name: str,
    later: set[str],
    tests: tuple[Chain, ...],
    body: Node | None,
    node: Node,
) -> Sequence[int]:
    """The range of an index: from its conditions, or from the arrays it indexes."""
    low: int | None = None
    high: int | None = None
    subject = nodes.Symbol(name)
    for test in tests:
        sides, relations = test.sides, test.relations
        for k, side in enumerate(sides):
            if side != subject:
                continue
            if k < len(relations) and relations[k] == "in":
                members = members_of(evaluator, sides[k + 1])
                if members is not None:
                    return members
            for bounds in (
                bounds_beyond(evaluator, sides[k + 1 :], relations[k:], later | {name}),
                bounds_beyond(
                    evaluator,
                    sides[:k][::-1],
                    [FLIPPED.get(r, r) for r in relations[:k][::-1]],
                    later | {name},
                ),
            ):
                low = max((b for b in (low, bounds[0]) if b is not None), default=None)
                high = min((b for b in (high, bounds[1]) if b is not None), default=None)
    if low is not None and high is not None:
        return range(low, high + 1)
    size = indexed_size(evaluator, name, body, node)
    start = evaluator.first_index if low is None else low
    stop = evaluator.first_index + size - 1 if high is None else high
    return range(start, stop + 1)


def bounds_beyond(
    evaluator: Evaluator, sides: Sequence[Node], relations: Sequence[str], unknown: set[str]
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
        if nodes.names_in(side) & unknown:
            continue
        value = evaluator.evaluate(side)
        if not is_number(value) or isinstance(value, complex) or not math.isfinite(value):
            break
        highest = math.ceil(value) - 1 if strict else math.floor(value)
        lowest = math.floor(value) + 1 if strict else math.ceil(value)
        if not direction:
            return lowest, highest
        return (None, highest) if direction == "<" else (lowest, None)
    return None, None


def indexed_size(evaluator: Evaluator, name: str, body: Node | None, node: Node) -> int:
    """The length of the axis that an index without a stated range runs over."""
    sizes: set[int] = set()
    for part in body.walk() if body is not None else ():
        if not isinstance(part, nodes.Index) or name not in nodes.names_in_all(part.indices):
            continue
        if not nodes.names_in(part.base) <= set(evaluator.values):
            continue
        array = as_array(evaluator.evaluate(part.base))
        for axis, index in enumerate(split_indices(evaluator, array, part.indices, part)):
            if index == nodes.Symbol(name) and axis < array.ndim:
                sizes.add(array.shape[axis])
    if len(sizes) != 1:
        found = f"its arrays have lengths {sorted(sizes)}" if sizes else "it indexes no array"
        raise evaluator.fail(f"the range of {name} is not stated and {found}", node)
    return sizes.pop()


def members_of(evaluator: Evaluator, node: Node) -> list[int] | None:
    """The elements of a finite set of indices, or ``None``."""
    if isinstance(node, nodes.ListedSet):
        return [whole_number(evaluator, value, node) for value in values_of(evaluator, node.items)]
    if isinstance(node, nodes.DeclaredSet) and isinstance(node.inner, nodes.Symbol):
        value = evaluator.values[node.inner.name]
        if isinstance(value, (range, set, frozenset)):
            return sorted(value)
    return None


# -- Conditions on numbers, membership in sets, cases ----


def evaluate_indicator(evaluator: Evaluator, node: nodes.Indicator) -> int:
    """1 where all conditions hold, else 0."""
    return int(all([decided(evaluator, test) for test in node.tests]))


def evaluate_cases(evaluator: Evaluator, node: nodes.Cases) -> Value:
    """The value of the case that applies; two that apply must agree."""
    chosen: list[Node] = []
    for line in node.lines:
        holds = bool(line.tests) and all([decided(evaluator, test) for test in line.tests])
        if holds or (not line.tests and not chosen):
            chosen.append(line.value)
    if not chosen:
        raise evaluator.fail("no case applies", node)
    results = [evaluator.evaluate(value) for value in chosen]
    first = as_array(results[0])
    if any(
        first.shape != as_array(r).shape or not np.allclose(first, as_array(r), 1e-9, 1e-12)
        for r in results[1:]
    ):
        raise evaluator.fail("two cases apply and give different values", node)
    return results[0]


def decided(evaluator: Evaluator, test: Chain) -> bool:
    """Whether a condition of cases or of an indicator holds; noted for those who ask."""
    holds = is_met(evaluator, test)
    met = evaluator.memory.decisions.setdefault(test, set())
    if "tie" not in met and tied(evaluator, test):
        met.add("tie")
    met.add(holds)
    return holds


def tied(evaluator: Evaluator, test: Chain) -> bool:
    """Whether two sides of an inequality are equal."""
    sides = [evaluator.evaluate(side) for side in test.sides if not isinstance(side, SETS)]
    pairs = zip(test.relations, sides, sides[1:], strict=False)
    return any(relation in FLIPPED and same(a, b) for relation, a, b in pairs)


def is_met(evaluator: Evaluator, test: Chain) -> bool:
    """Whether a condition on numbers holds."""
    sides = test.sides
    for k, relation in enumerate(test.relations):
        left = evaluator.evaluate(sides[k])
        if relation == "in":
            if not is_member(evaluator, left, sides[k + 1], test):
                return False
            continue
        right = evaluator.evaluate(sides[k + 1])
        if not (is_number(left) and is_number(right)):
            raise evaluator.fail("a condition must compare numbers", test)
        if relation not in ("=", "!="):
            if not (is_real(as_array(left)) and is_real(as_array(right))):
                raise evaluator.fail("an inequality between complex numbers", test)
            left, right = (v.real if isinstance(v, complex) else v for v in (left, right))
        if relation not in CONDITIONS:
            raise evaluator.fail(f"the relation {relation} as a condition", test)
        if not CONDITIONS[relation](left, right):
            return False
    return True


def is_member(evaluator: Evaluator, value: Value, node: Node, test: Node) -> bool:
    """Whether a value lies in a printed set."""
    if isinstance(node, nodes.NumberSet):
        return in_number_set(evaluator, value, node)
    if isinstance(node, nodes.ListedSet):
        members = values_of(evaluator, node.items)
        if not all(is_number(one) for one in (value, *members)):
            raise evaluator.fail("the members of a list must be numbers", node)
        return any(same(value, member) for member in members)
    elements = members_of(evaluator, node)
    if elements is None:
        raise evaluator.fail("this is not a set that can be checked", node)
    return whole_number(evaluator, value, test) in elements


def in_number_set(evaluator: Evaluator, value: Value, node: nodes.NumberSet) -> bool:
    """Whether a value has the shape and the kind of numbers of a set such as ℝ^{n×d}."""
    shape = tuple(whole_number(evaluator, evaluator.evaluate(part), part) for part in node.shape)
    array = as_array(value)
    if array.shape != shape:
        return False
    return node.letter == "C" or is_real(array)


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

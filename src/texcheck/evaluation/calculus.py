"""Integrals and derivatives, by numbers."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from texcheck.errors import LatexError, ShapeError
from texcheck.evaluation.core import Core
from texcheck.nodes import (
    Derivative,
    Index,
    Integral,
    Node,
    Symbol,
    names_in,
)
from texcheck.reading.factors import canonical_name
from texcheck.rounding import EPSILON, NOISE_UNITS, Noise
from texcheck.values import (
    Depends,
    Value,
    as_array,
    describe,
    is_number,
)

# The central difference of order eight: exact enough to compare at 1e-9 without complex steps,
# which conjugates, absolute values and comparisons would silently break.
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)
STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))


class Calculus(Core):
    """Integrals and derivatives, by numbers."""

    def eval_integral(self, node: Integral) -> Value:
        """A definite integral of a number, of its real and of its imaginary part."""
        return self.estimated(node, lambda: self.integral(node))

    def integral(self, node: Integral) -> tuple[Value, float]:
        """A definite integral and its error."""
        low, high = self.evaluate(node.low), self.evaluate(node.high)
        if not all(is_number(end) and not isinstance(end, complex) for end in (low, high)):
            raise self.fail("the bounds of an integral must be real numbers", node)

        def integrand(part: Callable[[Any], float]) -> Callable[[float], float]:
            def value_at(t: float) -> float:
                with self.bound({node.name: t}):
                    value = self.evaluate(node.body)
                if not is_number(value):
                    raise self.fail(f"an integral of {describe(value)}", node)
                return float(part(value))

            return value_at

        # Few formulas have an integral, and the import takes longer than most checks.
        from scipy.integrate import IntegrationWarning

        with warnings.catch_warnings():
            warnings.simplefilter("error", IntegrationWarning)
            try:
                real, error = self.quadrature(integrand(np.real), float(low), float(high), node)
                imaginary, more = self.quadrature(integrand(np.imag), float(low), float(high), node)
            except IntegrationWarning as problem:
                raise self.fail(f"the integral does not settle: {problem}", node) from None
        return (complex(real, imaginary) if imaginary else real), error + more

    def quadrature(
        self, function: Callable[[float], float], low: float, high: float, node: Node
    ) -> tuple[float, float]:
        """An integral of a real function and its error; refused where that is not small."""
        from scipy.integrate import quad

        size, _ = quad(lambda t: abs(function(t)), low, high, epsabs=0.0, epsrel=1e-2, limit=200)
        size = abs(size)
        value, error = quad(function, low, high, epsabs=1e-12 * size, epsrel=1e-11, limit=200)
        if error > 1e-9 * size:
            raise self.fail(f"the integral is known only to {error:.1e}", node)
        return float(value), float(error + EPSILON * size)

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

    def eval_derivative(self, node: Derivative) -> Value:
        """A derivative by a symbol or by an entry of it."""
        body, (variable, *others) = node.body, node.variables
        if body is None:
            raise self.fail("a derivative of nothing", node)
        inner = body if not others else replace(node, variables=tuple(others))
        name, place = self.variable(variable, node)
        if name not in self.reached(names_in(body)):
            raise self.fail(
                f"the expression does not depend on {name}; "
                f'bind its symbols with depends("{name}", …)',
                node,
            )
        with self.with_noise(None):
            value = self.evaluate(Symbol(name, position=node.position))
        if place is not None or is_number(value):
            return self.estimated(node, lambda: self.slope(inner, name, value, place, node))
        return self.estimated(node, lambda: self.gradient(inner, name, value, node))

    def gradient(self, body: Node, name: str, value: Value, node: Node) -> tuple[Value, float]:
        """The derivatives by all entries of an array, and their error."""
        array = as_array(value)
        slopes = [self.slope(body, name, value, index, node) for index in np.ndindex(array.shape)]
        error = max(error for _, error in slopes)
        stacked = np.stack([as_array(slope) for slope, _ in slopes], axis=-1)
        if stacked.ndim == 1:
            return stacked.reshape(array.shape), error
        if array.ndim == 1 and stacked.ndim == 2:
            return stacked, error
        raise self.fail("the derivative of an array by a matrix; write it entry by entry", node)

    def variable(self, node: Node, where: Node) -> tuple[str, tuple[int, ...] | None]:
        """The symbol by which is derived, and the place in it."""
        if isinstance(node, Symbol):
            return node.name, None
        if isinstance(node, Index) and isinstance(node.base, Symbol):
            array = as_array(self.evaluate(node.base))
            indices = self.split_indices(array, node.indices, node)
            if len(indices) == array.ndim:
                place = tuple(
                    self.place(index, array.shape[axis], node) for axis, index in enumerate(indices)
                )
                return node.base.name, place
        raise self.fail("a derivative by something that is not a symbol or an entry", where)

    def slope(
        self, body: Node, name: str, value: Value, place: tuple[int, ...] | None, node: Node
    ) -> tuple[Value, float]:
        """The derivative by differences, finer until two agree, and its error."""

        @functools.cache
        def at(offset: float) -> Value:
            if place is None:
                moved = value + offset
            else:
                moved = as_array(value).astype(np.result_type(as_array(value), np.float64)).copy()
                moved[place] += offset
            with self.bound({name: moved}):
                return self.evaluate(body)

        def estimate(step: float) -> Value:
            total: Any = None
            for multiple, weight in STENCIL:
                ahead, behind = at(multiple * step), at(-multiple * step)
                difference = self.arithmetic.subtract(ahead, behind, node.position)
                part = self.arithmetic.scale(difference, weight / step)
                total = part if total is None else self.arithmetic.add(total, part, node.position)
            return total

        def bend(step: float) -> float:
            """How far the graph bends: of order step² where it is smooth, of step at a corner."""
            ahead, here, behind = (as_array(at(offset)) for offset in (step, 0.0, -step))
            return float(np.max(np.abs(ahead + behind - 2 * here)))

        with self.with_noise(Noise(0)):
            disturbed = as_array(self.evaluate(body))
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
                problem = self.fail("the derivative at a corner of the graph", node)
            elif gap <= 1e-7 * size + noise:
                return fine, gap + noise
            else:
                problem = self.fail(
                    f"the derivative does not settle (differences of {gap:.1e})", node
                )
        assert problem is not None
        raise problem

"""Definite integrals, by quadrature."""

from __future__ import annotations

import functools
import warnings

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.numbers import real_number
from texcheck.rounding import EPSILON
from texcheck.values import Value


def evaluate_integral(evaluator: Evaluator, node: nodes.Integral) -> Value:
    """A definite integral of a real number."""
    return evaluator.estimated(node, lambda: integral_and_error(evaluator, node))


def integral_and_error(evaluator: Evaluator, node: nodes.Integral) -> tuple[Value, float]:
    """A definite integral and its error; refused where that is not small."""
    # Few formulas have an integral, and the import takes longer than most checks.
    from scipy.integrate import IntegrationWarning, quad

    low = evaluator.evaluate(node.low)
    high = evaluator.evaluate(node.high)

    @functools.cache
    def integrand(t: float) -> float:
        with evaluator.bound({node.name: t}):
            return real_number(evaluator, evaluator.evaluate(node.body), node)

    with warnings.catch_warnings():
        warnings.simplefilter("error", IntegrationWarning)
        try:
            a = real_number(evaluator, low, node)
            b = real_number(evaluator, high, node)
            size, _ = quad(lambda t: abs(integrand(t)), a, b, epsabs=0, epsrel=1e-2, limit=200)
            size = abs(size)
            value, error = quad(integrand, a, b, epsabs=1e-12 * size, epsrel=1e-11, limit=200)
        except IntegrationWarning as problem:
            raise evaluator.fail(f"the integral does not settle: {problem}", node) from None
    if error > 1e-9 * size:
        raise evaluator.fail(
            f"the integral is known only up to {error:.1e}, which is too little", node
        )
    return float(value), float(error + EPSILON * size)

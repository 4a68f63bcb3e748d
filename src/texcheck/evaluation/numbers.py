"""Numbers as they are printed, and values that must be whole, real or equal numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.nodes import Node
from texcheck.values import Value, describe, is_number
from texcheck.vocabulary import CONSTANTS


def evaluate_number(evaluator: Evaluator, node: nodes.Number) -> Value:
    """A number as it is printed."""
    return node.value


def evaluate_constant(evaluator: Evaluator, node: nodes.Constant) -> Value:
    """π, e or the imaginary unit."""
    return CONSTANTS[node.name]


def whole_number(evaluator: Evaluator, value: Value, node: Node) -> int:
    """A value as a whole number, or an error."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, Fraction, np.floating)) and math.isfinite(value):
        nearest = round(float(value))
        if abs(float(value) - nearest) <= 1e-12 * max(1, abs(nearest)):
            return nearest
    raise evaluator.fail(f"a whole number is needed here, got {describe(value)}", node)


def real_number(evaluator: Evaluator, value: Value, node: Node) -> float:
    """A value as a real number, or an error."""
    if not is_number(value) or isinstance(value, complex):
        raise evaluator.fail(f"a real number is needed here, got {describe(value)}", node)
    return float(value)


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are equal up to rounding, so that a tie is one on every processor."""
    return bool(a == b or abs(a - b) <= 1e-12 * max(abs(a), abs(b)))

"""Powers, inverses, square roots, exponentials and logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.numbers import whole_number
from texcheck.nodes import Node
from texcheck.values import MOST_BITS, Array, Value, as_array, bits, describe, is_number, mapped

EXPONENTIALS: dict[str, Callable[[Any], Any]] = {"exp": np.exp, "log": np.log, "ln": np.log}


def evaluate_power(evaluator: Evaluator, node: nodes.Power) -> Value:
    """A power of a number or of a square matrix."""
    if node.base == nodes.Constant("e"):
        return exponential(evaluator, "exp", evaluator.evaluate(node.exponent), node)
    base = evaluator.evaluate(node.base)
    exponent = evaluator.evaluate(node.exponent)
    if isinstance(base, np.ndarray) and base.ndim == 2 and is_number(exponent):
        if node.exponent == nodes.Symbol("T"):
            raise evaluator.fail(
                "a transpose, or the power T, which is declared? write \\top, or another letter",
                node,
            )
        power = whole_number(evaluator, exponent, node.exponent)
        if base.shape[0] != base.shape[1]:
            raise evaluator.shape_error(
                f"a power needs a square matrix, got {describe(base)}", node.position
            )
        if power < 0:
            return np.linalg.matrix_power(inverse_of(evaluator, base, node), -power)
        return np.linalg.matrix_power(base, power)
    if is_number(base) and is_number(exponent):
        if node.indexed and indexes_square(evaluator, node.base):
            raise evaluator.fail("an entry's power or a power's entry? write (A^2)_{ij}", node)
        return number_power(evaluator, base, exponent, node)
    raise evaluator.shape_error(
        f"{describe(base)} cannot be raised to the power of {describe(exponent)}; "
        "there is no entrywise power",
        node.position,
    )


def indexes_square(evaluator: Evaluator, node: Node) -> bool:
    """Whether a node is an entry of a square matrix, of which powers exist as well."""
    if not isinstance(node, nodes.Index):
        return False
    base = as_array(evaluator.evaluate(node.base))
    return base.ndim == 2 and base.shape[0] == base.shape[1]


def inverse_of(evaluator: Evaluator, matrix: Array, node: Node) -> Array:
    """The inverse of a matrix, or an error."""
    try:
        result = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raise evaluator.fail("the matrix has no inverse", node) from None
    return np.asarray(result)


def number_power(evaluator: Evaluator, base: Any, exponent: Any, node: Node) -> Value:
    """A power of a number, exact where it can be."""
    if base == 0 and not isinstance(exponent, complex) and exponent < 0:
        raise evaluator.fail("a negative power of zero is not defined", node)
    exact = isinstance(base, (int, Fraction))
    if exact and isinstance(exponent, int) and bits(base) * abs(exponent) <= MOST_BITS:
        value = Fraction(base) ** exponent
        return int(value) if value.denominator == 1 else value
    if isinstance(exponent, Fraction):
        exponent = float(exponent)
    if isinstance(base, Fraction):
        base = float(base)
    if not isinstance(base, complex) and not isinstance(exponent, complex):
        if base < 0 and exponent != int(exponent):
            raise evaluator.fail(
                f"a fractional power of the negative number {base:.6g} is not defined", node
            )
        return float(base) ** exponent
    return base**exponent


def square_root(evaluator: Evaluator, value: Value, node: Node) -> Value:
    """A square root, exact where it can be."""
    if isinstance(value, (int, Fraction)) and value >= 0:
        top = math.isqrt(value.numerator)
        bottom = math.isqrt(value.denominator)
        if top * top == value.numerator and bottom * bottom == value.denominator:
            return top if bottom == 1 else Fraction(top, bottom)
    entries = as_array(value)
    if not np.iscomplexobj(entries) and np.any(entries < 0):
        raise evaluator.fail("the root of a negative number is not defined", node)
    return mapped(value, np.sqrt)


def exponential(evaluator: Evaluator, name: str, value: Value, node: Node) -> Value:
    """Exponential or logarithm, entry by entry of a vector."""
    if isinstance(value, np.ndarray) and value.ndim > 1:
        raise evaluator.fail(
            f"{name} of a matrix: of every entry or of the matrix? declare \\{name}", node
        )
    if name != "exp" and not np.iscomplexobj(as_array(value)):
        entries = as_array(value)
        if np.any(entries.astype(float) <= 0):
            raise evaluator.fail(
                "the logarithm of a number that is not positive is not defined", node
            )
    return mapped(value, EXPONENTIALS[name])

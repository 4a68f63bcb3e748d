"""What is printed between values: signs, products, fractions; and the transpose."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.values import Crossed, Value, as_array, describe, is_exact, is_number, unify


def evaluate_sum(evaluator: Evaluator, node: nodes.SumOf) -> Value:
    """Terms with their signs."""
    result: Any = None
    for sign, term in node.terms:
        value = evaluator.evaluate(term)
        if result is None:
            result = value if sign == "+" else evaluator.arithmetic.scale(value, -1)
        elif sign == "+":
            result = evaluator.arithmetic.add(result, value, term.position)
        else:
            result = evaluator.arithmetic.subtract(result, value, term.position)
    return result


def evaluate_product(evaluator: Evaluator, node: nodes.Product) -> Value:
    """A product by its printed operator."""
    operator = node.operator
    left = evaluator.evaluate(node.left)
    right = evaluator.evaluate(node.right)
    arithmetic = evaluator.arithmetic
    position = node.position
    if operator == "juxtaposed":
        return arithmetic.multiply(left, right, position)
    if operator == "dot":
        return arithmetic.dot(left, right, position)
    if operator == "hadamard":
        return arithmetic.hadamard(left, right, position)
    if operator == "outer":
        return outer(left, right)
    if operator == "/":
        return divide(evaluator, left, right, position)
    if operator in ("times", "star") and is_number(left) and is_number(right):
        return arithmetic.multiply(left, right, position)
    if operator == "mod" and is_number(left) and is_number(right):
        if isinstance(left, complex) or isinstance(right, complex):
            raise evaluator.fail("a remainder of complex numbers is not defined", node)
        left, right = unify(left, right)
        return left % right
    raise evaluator.fail(
        f"the operator {operator!r} is not defined between {describe(left)} and {describe(right)}",
        node,
    )


def outer(left: Value, right: Value) -> Value:
    """All products of two entries; of two numbers their product."""
    if is_number(left) and is_number(right):
        return left * right
    return np.outer(as_array(left), as_array(right))


def divide(evaluator: Evaluator, left: Value, right: Value, position: int) -> Value:
    """A quotient, exact where both numbers are."""
    if not is_number(right):
        raise evaluator.shape_error(f"division by {describe(right)} is not defined", position)
    if right == 0:
        raise evaluator.fail("division by zero", position)
    if is_exact(left) and is_exact(right):
        quotient = Fraction(left) / Fraction(right)
        return int(quotient) if quotient.denominator == 1 else quotient
    if isinstance(left, Crossed):
        return Crossed(divide(evaluator, left.array, right, position))
    left, right = unify(left, right)
    return left / right


def evaluate_transpose(evaluator: Evaluator, node: nodes.Transpose) -> Value:
    """A transpose; of one entry it is refused."""
    value = evaluator.evaluate(node.inner)
    if node.indexed and is_number(value):
        raise evaluator.fail("an entry has no transpose; write (A^\\top)_{ij}", node)
    return evaluator.arithmetic.transpose(value, node.position)

"""Declared and known functions, norms, rounding."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from texcheck.evaluation.core import Core
from texcheck.nodes import (
    Absolute,
    Call,
    Ceiling,
    Floor,
    Inner,
    KnownCall,
    Kronecker,
    Node,
    Norm,
)
from texcheck.values import (
    Array,
    Dotted,
    Value,
    as_array,
    describe,
    is_number,
)
from texcheck.vocabulary import EXTREMES


def softmax(values: Array) -> Array:
    """Softmax over the last axis."""
    shifted = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan": np.arctan,
    "erf": special.erf,
    "sign": np.sign,
    "sgn": np.sign,
    "relu": lambda x: np.maximum(x, 0),
    "ReLU": lambda x: np.maximum(x, 0),
    "sigmoid": special.expit,
    "Re": np.real,
    "Im": np.imag,
    "arg": np.angle,
    "round": np.round,
    "cot": lambda x: 1 / np.tan(x),
}
EXPONENTIALS: dict[str, Callable[[Any], Any]] = {"exp": np.exp, "log": np.log, "ln": np.log}


class Functions(Core):
    """Declared and known functions, norms, rounding."""

    def eval_call(self, node: Call) -> Value:
        """A declared function at its arguments."""
        arguments = [self.argument(value) for value in self.arguments(node.arguments)]
        return self.answered(node.name, self.values[node.name], arguments, node)

    def eval_known(self, node: KnownCall) -> Value:
        """A function that every book knows, such as the sine."""
        name, arguments = node.name, self.arguments(node.arguments)
        if name in EXTREMES:
            return self.extreme(name, arguments, node)
        if name == "atan2":
            if len(arguments) != 2 or any(not self.is_real_number(value) for value in arguments):
                raise self.fail("atan2 needs two real numbers", node)
            return math.atan2(*arguments)
        if len(arguments) != 1:
            raise self.fail(f"{name} takes one argument, got {len(arguments)}", node)
        value = arguments[0]
        if name in EXPONENTIALS:
            result = self.exponential(name, value, node)
            if node.base is None:
                return result
            return self.divide(result, self.logarithm_of_base(node.base), node.position)
        if name in ELEMENTWISE:
            if name in ("erf", "sign", "sgn", "relu", "ReLU", "sigmoid") and np.iscomplexobj(
                as_array(value)
            ):
                raise self.fail(f"{name} of a complex number", node)
            if name in ("Re", "Im") and not np.iscomplexobj(as_array(value)):
                raise self.fail(f"{name} of a real value does nothing", node)
            return self.mapped(value, ELEMENTWISE[name])
        return self.linear_function(name, value, node)

    def logarithm_of_base(self, node: Node) -> float:
        """The divisor of a logarithm with a printed base."""
        base = self.evaluate(node)
        if not is_number(base) or isinstance(base, complex) or base <= 0:
            raise self.fail(f"a logarithm with {describe(base)} as its base", node)
        return math.log(base)

    def exponential(self, name: str, value: Value, node: Node) -> Value:
        """Exponential or logarithm, entry by entry of a vector."""
        if isinstance(value, Dotted) or (isinstance(value, np.ndarray) and value.ndim > 1):
            raise self.fail(
                f"{name} of a matrix: of every entry or of the matrix? declare \\{name}", node
            )
        if name != "exp" and not np.iscomplexobj(as_array(value)):
            entries = as_array(value)
            if np.any(entries.astype(float) <= 0):
                raise self.fail("the logarithm of a number that is not positive", node)
        return self.mapped(value, EXPONENTIALS[name])

    def extreme(self, name: str, arguments: list[Value], node: Node) -> Value:
        """The largest or smallest of some values, or of the entries of one."""
        if any(np.iscomplexobj(as_array(value)) for value in arguments):
            raise self.fail(f"the {name} of complex numbers", node)
        if len(arguments) == 1:
            if is_number(arguments[0]):
                raise self.fail(f"the {name} of one number does nothing", node)
            return getattr(as_array(arguments[0]), name)().item()
        if all(is_number(value) for value in arguments):
            return (max if name == "max" else min)(arguments)
        chosen = np.maximum if name == "max" else np.minimum
        result = arguments[0]
        for value in arguments[1:]:
            if is_number(result) or is_number(value):
                array, number = (value, result) if is_number(result) else (result, value)
                self.arithmetic.require_broadcast(f"take the {name} of these", node.position)
                result = self.mapped(array, functools.partial(chosen, float(number)))
            else:
                result = self.arithmetic.elementwise(
                    "compare", chosen, result, value, node.position
                )
        return result

    def linear_function(self, name: str, value: Value, node: Node) -> Value:
        """Softmax, diagonal, trace, determinant or rank."""
        if name == "softmax":
            if is_number(value) or isinstance(value, Dotted):
                raise self.fail(f"softmax of {describe(value)}", node)
            return self.mapped(value, softmax)
        if name == "diag" and self.arithmetic.is_vector(value):
            return np.diag(as_array(value))
        square = isinstance(value, np.ndarray) and value.ndim == 2
        if not square or (name != "rank" and value.shape[0] != value.shape[1]):
            raise self.shape_error(f"{name} of {describe(value)}", node.position)
        if name in ("tr", "trace"):
            return np.trace(value).item()
        if name == "det":
            return np.linalg.det(value).item()
        if name == "rank":
            return int(np.linalg.matrix_rank(value))
        if name == "diag":
            return np.diag(value).copy()
        raise self.fail(f"the function {name} is not known", node)

    def eval_absolute(self, node: Absolute) -> Value:
        """The absolute value of a number."""
        value = self.evaluate(node.inner)
        if is_number(value):
            return abs(value)
        if isinstance(value, np.ndarray) and value.ndim == 2:
            raise self.fail("|A| of a matrix: write \\det, or declare the symbol", node)
        raise self.fail(
            "|x| of a vector: its length is \\lVert x \\rVert, its entries are |x_i|", node
        )

    def eval_norm(self, node: Norm) -> Value:
        """A norm of a vector or a matrix."""
        kind, value = node.kind, self.evaluate(node.inner)
        if is_number(value):
            raise self.fail("a norm of a number; write |x|", node)
        array = as_array(value)
        orders: dict[str, Any]
        if isinstance(value, Dotted) or array.ndim > 2:
            raise self.fail(f"a norm of {describe(value)}", node)
        if array.ndim == 2 and 1 in array.shape and kind != "F":
            array = array.reshape(-1)
        if array.ndim == 1:
            orders = {"": 2, "2": 2, "1": 1, "inf": np.inf}
        else:
            orders = {"F": "fro", "2": 2, "1": 1, "inf": np.inf}
        order = orders.get(kind)
        if order is None:
            raise self.fail(f"which norm of {describe(value)}? write \\|…\\|_2 or \\|…\\|_F", node)
        return float(np.linalg.norm(array, order))

    def eval_inner(self, node: Inner) -> Value:
        """The inner product between angle brackets."""
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        a, b = as_array(left), as_array(right)
        if np.iscomplexobj(a) or np.iscomplexobj(b):
            raise self.fail("an inner product of complex vectors: write the conjugate out", node)
        if a.ndim != 1 or a.shape != b.shape:
            raise self.shape_error(
                f"an inner product of {describe(left)} and {describe(right)}", node.position
            )
        return (a @ b).item()

    def eval_floor(self, node: Floor) -> Value:
        """The whole number below."""
        return self.rounded(node.inner, math.floor, node)

    def eval_ceiling(self, node: Ceiling) -> Value:
        """The whole number above."""
        return self.rounded(node.inner, math.ceil, node)

    def rounded(self, inner: Node, function: Callable[[Any], int], node: Node) -> Value:
        """A number rounded by a function; one that is whole up to its last digits stays."""
        value = self.evaluate(inner)
        if not is_number(value) or isinstance(value, complex):
            raise self.shape_error(f"rounding of {describe(value)}", node.position)
        if isinstance(value, float):
            # log(8)/log(2) is 3 up to rounding; the printed formula means 3.
            nearest = round(value)
            if abs(value - nearest) <= 1e-12 * max(1.0, abs(value)):
                return nearest
        return function(value)

    def eval_kronecker(self, node: Kronecker) -> int:
        """1 where two indices are equal, else 0."""
        left, right = (self.whole(self.evaluate(part), part) for part in (node.left, node.right))
        return int(left == right)

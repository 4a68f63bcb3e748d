"""Functions that need no declaration: sine, softmax, determinant, norm, maximum and so on."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.lists import values_of
from texcheck.evaluation.numbers import real_number, same, whole_number
from texcheck.evaluation.powers import EXPONENTIALS, exponential, square_root
from texcheck.nodes import Node
from texcheck.values import Value, as_array, describe, is_number, mapped
from texcheck.vocabulary import EXTREMES, INNER


def special() -> Any:
    """SciPy's special functions; few formulas have one, and the import takes half a second."""
    import scipy.special

    return scipy.special


ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "arctan": np.arctan,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "erf": lambda x: special().erf(x),
    "sign": np.sign,
    "ReLU": lambda x: np.maximum(x, 0),
    "Re": np.real,
    "Im": np.imag,
}

# The order that NumPy knows for the printed subscript of a norm.
VECTOR_NORMS: dict[str, Any] = {"": 2, "2": 2, "1": 1, "\\infty": np.inf}
MATRIX_NORMS: dict[str, Any] = {"F": "fro", "2": 2}


def evaluate_known_call(evaluator: Evaluator, node: nodes.KnownCall) -> Value:
    """A function that every book knows, such as the sine."""
    name = node.name
    if name == "abs" and (size := size_of_set(evaluator, node)) is not None:
        return size
    arguments = values_of(evaluator, node.arguments)
    if name in EXTREMES:
        return extreme(evaluator, name, arguments, node)
    if name in PAIRED and len(arguments) == 2:
        return PAIRED[name](evaluator, arguments[0], arguments[1], node)
    if len(arguments) != 1:
        raise evaluator.fail(f"{name} takes one argument, got {len(arguments)}", node)
    value = arguments[0]
    by_name = {
        "sqrt": square_root,
        "conj": conjugated,
        "abs": absolute,
        "factorial": factorial,
    }
    if name in by_name:
        return by_name[name](evaluator, value, node)
    if name in ("floor", "ceil"):
        return rounded(evaluator, value, getattr(math, name), node)
    if name == "round":
        for entry in as_array(value).flat:
            note_rounding(evaluator, entry, node)
        return mapped(value, np.round)
    if name in EXPONENTIALS:
        return exponential(evaluator, name, value, node)
    if name in ELEMENTWISE:
        if name in ("erf", "sign", "ReLU") and np.iscomplexobj(as_array(value)):
            raise evaluator.fail(f"{name} of a complex number is not defined", node)
        if name in ("Re", "Im") and not np.iscomplexobj(as_array(value)):
            raise evaluator.fail(f"{name} of a real value does nothing; leave it out", node)
        return mapped(value, ELEMENTWISE[name])
    return linear_function(evaluator, name, value, node)


def size_of_set(evaluator: Evaluator, node: nodes.KnownCall) -> int | None:
    """How many members a declared set between bars has; None where no set is between them."""
    (inner,) = node.arguments
    value = evaluator.values.get(inner.name) if isinstance(inner, nodes.Symbol) else None
    return len(value) if isinstance(value, (set, frozenset)) else None


def factorial(evaluator: Evaluator, value: Value, node: Node) -> Value:
    """A factorial of a whole number that is not negative."""
    number = whole_number(evaluator, value, node)
    if not 0 <= number <= 1000:
        raise evaluator.fail("a factorial needs a whole number from 0 to 1000", node)
    return math.factorial(number)


def binomial(evaluator: Evaluator, top: Value, bottom: Value, node: Node) -> Value:
    """A binomial coefficient of whole numbers that are not negative."""
    n = whole_number(evaluator, top, node)
    k = whole_number(evaluator, bottom, node)
    if not (0 <= n <= 1000 and k >= 0):
        raise evaluator.fail("a binomial needs whole numbers from 0 to 1000", node)
    return math.comb(n, k)


def inner_product(evaluator: Evaluator, left: Value, right: Value, node: Node) -> Value:
    """The inner product of two real vectors; of complex ones there are two."""
    if np.iscomplexobj(as_array(left)) or np.iscomplexobj(as_array(right)):
        raise evaluator.fail(f"which of the two is conjugated? declare {INNER}", node)
    return evaluator.arithmetic.dot(left, right, node.position)


PAIRED: dict[str, Callable[[Evaluator, Value, Value, Node], Value]] = {
    "binom": binomial,
    "inner": inner_product,
}


def extreme(evaluator: Evaluator, name: str, arguments: list[Value], node: Node) -> Value:
    """The largest or smallest of some values, or of the entries of one."""
    if any(np.iscomplexobj(as_array(value)) for value in arguments):
        raise evaluator.fail(f"the {name} of complex numbers is not defined", node)
    if len(arguments) == 1 or not all(is_number(value) for value in arguments):
        raise evaluator.fail(
            f"the {name} needs several numbers; for entries of an array print an index below it",
            node,
        )
    chosen = max(arguments) if name == "max" else min(arguments)
    alone = [k for k, value in enumerate(arguments) if not same(value, chosen)]
    if len(alone) == len(arguments) - 1:
        went(evaluator, node, *({*range(len(arguments))} - {*alone}))
    return chosen


def went(evaluator: Evaluator, node: Node, *ways: int) -> None:
    """Note which way a call went, for those who ask whether it went every way."""
    evaluator.memory.ways.setdefault(node, set()).update(ways)


def linear_function(evaluator: Evaluator, name: str, value: Value, node: Node) -> Value:
    """Softmax, diagonal, trace, determinant or rank."""
    if name == "softmax":
        if is_number(value):
            raise evaluator.fail(f"softmax needs a vector or a matrix, got {describe(value)}", node)
        return mapped(value, functools.partial(special().softmax, axis=-1))
    if name == "diag" and evaluator.arithmetic.is_vector(value):
        return np.diag(as_array(value))
    square = isinstance(value, np.ndarray) and value.ndim == 2
    if not square or (name != "rank" and value.shape[0] != value.shape[1]):
        needed = {"rank": "a matrix", "diag": "a vector or a square matrix"}
        raise evaluator.shape_error(
            f"{name} needs {needed.get(name, 'a square matrix')}, got {describe(value)}",
            node.position,
        )
    if name == "tr":
        return np.trace(value).item()
    if name == "det":
        return np.linalg.det(value).item()
    if name == "rank":
        return int(np.linalg.matrix_rank(value))
    if name == "diag":
        return np.diag(value).copy()
    raise evaluator.fail(f"the function {name} is not known", node)


def conjugated(evaluator: Evaluator, value: Value, node: Node) -> Value:
    """A conjugate; of a real value it is refused."""
    if not np.iscomplexobj(as_array(value)):
        raise evaluator.fail("the conjugate of a real value does nothing; leave it out", node)
    return mapped(value, np.conj)


def absolute(evaluator: Evaluator, value: Value, node: Node) -> Value:
    """The absolute value of a number."""
    if is_number(value):
        if isinstance(value, complex):
            went(evaluator, node, -1, 1)
        elif value:
            went(evaluator, node, 1 if value > 0 else -1)
        return abs(value)
    raise evaluator.fail(
        "bars around an array: its length is \\lVert x \\rVert, its determinant \\det A", node
    )


def rounded(
    evaluator: Evaluator, value: Value, function: Callable[[Any], int], node: Node
) -> Value:
    """A number rounded by a function; one that is whole up to its last digits stays."""
    if not is_number(value) or isinstance(value, complex):
        raise evaluator.shape_error(
            f"only a real number can be rounded, got {describe(value)}", node.position
        )
    if isinstance(value, float):
        # log(8)/log(2) is 3 up to rounding; the printed formula means 3.
        nearest = round(value)
        if abs(value - nearest) <= 1e-12 * max(1.0, abs(value)):
            went(evaluator, node, 0)
            return nearest
    note_rounding(evaluator, value, node)
    return function(value)


def note_rounding(evaluator: Evaluator, value: Any, node: Node) -> None:
    """Note whether a number is whole (0), or nearer to the one below (-1) or above it (1)."""
    part = float(value) - math.floor(value)
    if part != 0.5:
        went(evaluator, node, 0 if part == 0 else 1 if part > 0.5 else -1)


def evaluate_norm(evaluator: Evaluator, node: nodes.Norm) -> Value:
    """A norm of a vector or a matrix."""
    value = evaluator.evaluate(node.inner)
    if is_number(value):
        raise evaluator.fail("a number has no norm; write \\lvert x \\rvert", node)
    array = as_array(value)
    if array.ndim > 2:
        raise evaluator.fail(f"a norm needs a vector or a matrix, got {describe(value)}", node)
    if array.ndim == 2 and 1 in array.shape and node.kind != "F":
        array = array.reshape(-1)
    if node.order is not None:
        degree = real_number(evaluator, evaluator.evaluate(node.order), node)
        if array.ndim != 1 or degree < 1:
            raise evaluator.fail("a norm of order p needs a vector, and p of 1 or more", node)
        return float(np.linalg.norm(array, degree))
    orders = VECTOR_NORMS if array.ndim == 1 else MATRIX_NORMS
    order = orders.get(node.kind)
    if order is None:
        known = " or ".join(f"\\lVert … \\rVert_{subscript}" for subscript in orders if subscript)
        raise evaluator.fail(f"which norm of {describe(value)}? write {known}", node)
    return float(np.linalg.norm(array, order))

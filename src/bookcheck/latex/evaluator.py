"""Walk the expression tree with concrete values."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import integrate, special

from bookcheck.latex import patterns
from bookcheck.latex.errors import LatexError, ShapeError
from bookcheck.latex.nodes import Node, names_in
from bookcheck.latex.reader import canonical_name, operator_name
from bookcheck.latex.values import (
    Arithmetic,
    Crossed,
    Depends,
    Dotted,
    Random,
    as_array,
    describe,
    is_number,
    is_real,
    plain,
    unify,
)

CONSTANTS: dict[str, Any] = {
    "pi": math.pi,
    "e": math.e,
    "infinity": math.inf,
    "imaginary unit": 1j,
}
MOST_OUTCOMES = 200_000
MOST_TERMS = 200_000
# Whole numbers stay exact up to this many bits (4,214 digits: Python writes no longer ones);
# beyond, a float says whether they are finite.
MOST_BITS = 14_000
LARGEST_FACTORIAL = 1_500
# What a declared function may say to arguments that it does not take.
REFUSALS = (TypeError, ValueError, LookupError, ArithmeticError, RuntimeError)
# The central difference of order eight: exact enough to compare at 1e-9 without complex steps,
# which conjugates, absolute values and comparisons would silently break.
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)
STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))


def softmax(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
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


class Evaluator:
    """Evaluates nodes of one formula under one convention for 1-D arrays."""

    def __init__(
        self,
        text: str,
        table: Mapping[str, Any],
        first_index: int,
        convention: str,
        broadcast: bool = False,
    ) -> None:
        self.text = text
        self.values: dict[str, Any] = dict(table)
        self.declared: Mapping[str, Any] = table
        self.first_index = first_index
        self.arithmetic = Arithmetic(convention, self.shape_error, broadcast)

    def fail(self, message: str, where: Node | int) -> LatexError:
        position = where if isinstance(where, int) else where.position
        return LatexError(message, position, self.text)

    def shape_error(self, message: str, position: int) -> ShapeError:
        return ShapeError(message, position, self.text)

    @contextlib.contextmanager
    def bound(self, changed: Mapping[str, Any]) -> Iterator[None]:
        before = self.values
        self.values = {**before, **changed}
        try:
            yield
        finally:
            self.values = before

    def evaluate(self, node: Node) -> Any:
        method: Callable[[Node], Any] = getattr(self, "eval_" + node.kind)
        try:
            value = method(node)
        except FloatingPointError as error:
            raise self.fail(f"not a finite number: {error}", node) from None
        except OverflowError:
            raise self.fail("a number too large to be evaluated", node) from None
        except ZeroDivisionError as error:
            raise self.fail(str(error), node) from None
        if isinstance(value, (int, Fraction)) and self.bits(value) > MOST_BITS:
            raise self.fail("a number too large to be written", node)
        if isinstance(value, (np.ndarray, Crossed)) and as_array(value).size == 0:
            raise self.fail("an array without entries", node)
        return value

    # -- leaves ------------------------------------------------------------------------------

    def eval_number(self, node: Node) -> Any:
        return node.parts[0]

    def eval_constant(self, node: Node) -> Any:
        return CONSTANTS[node.parts[0]]

    def eval_symbol(self, node: Node) -> Any:
        name = node.parts[0]
        value = self.values[name]
        if isinstance(value, Depends):
            arguments = [self.argument(self.dependency(key, node)) for key in value.names]
            return self.answered(name, value.function, arguments, node)
        if isinstance(value, Random):
            raise self.fail(f"the random variable {name} stands outside an expectation", node)
        if isinstance(value, (range, set, frozenset)):
            raise self.fail(f"{name} is a set and has no value", node)
        return value

    def dependency(self, key: str, node: Node) -> Any:
        name = canonical_name(key)
        if name not in self.values:
            raise self.fail(f"{node.parts[0]} depends on {key}, which is not declared", node)
        return self.evaluate(Node("symbol", (name,), node.position))

    def argument(self, value: Any) -> Any:
        """A value as a bound function receives it: plain numbers and arrays."""
        if isinstance(value, Fraction):
            return int(value) if value.denominator == 1 else float(value)
        if isinstance(value, (Crossed, Dotted)):
            return as_array(value)
        return value

    # -- sums and products -------------------------------------------------------------------

    def eval_sum_of(self, node: Node) -> Any:
        result: Any = None
        for sign, term in node.parts:
            value = self.evaluate(term)
            if result is None:
                result = value if sign == "+" else self.arithmetic.scale(value, -1)
            elif sign == "+":
                result = self.arithmetic.add(result, value, term.position)
            else:
                result = self.arithmetic.subtract(result, value, term.position)
        return result

    def eval_dotted_sum(self, node: Node) -> Any:
        terms = self.expanded_list(node.parts[0], node)
        return self.total(terms, node)

    def eval_dotted_product(self, node: Node) -> Any:
        factors = self.expanded_list(node.parts[0], node)
        if not all(is_number(value) for value in factors):
            raise self.fail("a product of arrays with dots; write \\prod", node)
        return math.prod(factors)

    def total(self, terms: list[Any], node: Node) -> Any:
        result = terms[0]
        for value in terms[1:]:
            result = self.arithmetic.add(result, value, node.position)
        return result

    def expanded_list(self, entries: tuple[Node | None, ...], node: Node) -> list[Any]:
        gap = entries.index(None)
        printed = self.with_separate_indices([entry for entry in entries if entry is not None])
        expanded = patterns.expand(printed[:gap], printed[gap:], self.whole_or_none)
        if expanded is None:
            raise self.fail("the entries beside the dots show no pattern", node)
        return [self.evaluate(entry) for entry in expanded]

    def with_separate_indices(self, entries: list[Node]) -> list[Node]:
        """``a_{1n}`` as ``a_{1,n}`` beside ``a_{11}``, so that entries beside dots compare."""
        arrays: dict[Node, np.ndarray[Any, Any]] = {}
        for part in (part for entry in entries for part in entry.walk()):
            if part.kind == "index" and names_in(part.parts[0]) <= set(self.values):
                array = as_array(self.evaluate(part.parts[0]))
                with contextlib.suppress(LatexError):
                    if len(self.split_indices(array, part.parts[1], part)) > 1:
                        arrays[part.parts[0]] = array

        def separated(part: Any) -> Any:
            if isinstance(part, tuple):
                return tuple(separated(item) for item in part)
            if not isinstance(part, Node):
                return part
            if part.kind == "index" and part.parts[0] in arrays:
                base, indices, powered = part.parts
                indices = self.split_indices(arrays[base], indices, part, mixed=True)
                return part.rebuilt((base, indices, powered))
            return part.rebuilt(separated(part.parts))

        return [separated(entry) for entry in entries]

    def whole_or_none(self, node: Any) -> int | None:
        if not isinstance(node, Node):
            return None
        try:
            return self.whole(self.evaluate(node), node)
        except LatexError:
            return None

    def whole(self, value: Any, node: Node) -> int:
        if isinstance(value, (int, np.integer)):
            return int(value)
        if isinstance(value, (float, Fraction, np.floating)) and math.isfinite(value):
            nearest = round(float(value))
            if abs(float(value) - nearest) <= 1e-12 * max(1, abs(nearest)):
                return nearest
        raise self.fail(f"a whole number is needed here, got {describe(value)}", node)

    def eval_product(self, node: Node) -> Any:
        operator, left_node, right_node = node.parts
        left, right = self.evaluate(left_node), self.evaluate(right_node)
        arithmetic, position = self.arithmetic, node.position
        declared = self.values.get(operator_name(operator))
        if declared is not None:
            return self.answered(
                operator, declared, [self.argument(left), self.argument(right)], node
            )
        if operator == "juxtaposed":
            return arithmetic.multiply(left, right, position)
        if operator == "dot":
            return arithmetic.dot(left, right, position)
        if operator == "star" and (is_number(left) or is_number(right)):
            return arithmetic.multiply(left, right, position)
        if operator == "hadamard":
            return arithmetic.hadamard(left, right, position)
        if operator == "outer":
            raise self.fail(
                r"\otimes may be an outer, a Kronecker or an entrywise product; declare \otimes",
                node,
            )
        if operator in ("/", "divide"):
            return self.divide(left, right, position)
        if operator == "times" and is_number(left) and is_number(right):
            return arithmetic.multiply(left, right, position)
        if operator == "mod" and is_number(left) and is_number(right):
            if isinstance(left, complex) or isinstance(right, complex):
                raise self.fail("a remainder of complex numbers", node)
            left, right = unify(left, right)
            return left % right
        raise self.fail(
            f"the operator {operator!r} between {describe(left)} and {describe(right)}", node
        )

    def divide(self, left: Any, right: Any, position: int) -> Any:
        if not is_number(right):
            raise self.shape_error(f"division by {describe(right)}", position)
        if right == 0:
            raise self.fail("division by zero", position)
        if isinstance(left, (int, Fraction)) and isinstance(right, (int, Fraction)):
            quotient = Fraction(left) / Fraction(right)
            return int(quotient) if quotient.denominator == 1 else quotient
        inverse = Fraction(1, right) if isinstance(right, int) else 1 / right
        if isinstance(left, np.ndarray) and left.dtype != object:
            return left / (float(right) if isinstance(right, Fraction) else right)
        if is_number(left) and not isinstance(left, (int, Fraction)):
            return left / (float(right) if isinstance(right, Fraction) else right)
        if isinstance(left, int) and not isinstance(right, (int, Fraction)):
            return left / right
        if isinstance(left, Fraction):
            return float(left) / right
        return self.arithmetic.scale(left, inverse)

    def eval_quotient(self, node: Node) -> Any:
        top, bottom = (self.evaluate(part) for part in node.parts)
        return self.divide(top, bottom, node.position)

    def eval_power(self, node: Node) -> Any:
        base_node, exponent_node, *indexed = node.parts
        if base_node.kind == "constant" and base_node.parts[0] == "e":
            return self.exponential("exp", self.evaluate(exponent_node), node)
        base, exponent = self.evaluate(base_node), self.evaluate(exponent_node)
        if isinstance(base, np.ndarray) and base.ndim == 2 and is_number(exponent):
            power = self.whole(exponent, exponent_node)
            if base.shape[0] != base.shape[1]:
                raise self.shape_error(f"a power of {describe(base)}", node.position)
            if power < 0:
                return np.linalg.matrix_power(self.inverse(base, node), -power)
            return np.linalg.matrix_power(base, power)
        if is_number(base) and is_number(exponent):
            if indexed and indexed[0] and self.indexes_square(base_node):
                raise self.fail("an entry's power or a power's entry? write (A^2)_{ij}", node)
            return self.number_power(base, exponent, node)
        if is_number(base) and self.arithmetic.is_vector(exponent):
            self.arithmetic.require_broadcast(
                f"raise {describe(base)} to {describe(exponent)}", node.position
            )
            if isinstance(base, complex) or base <= 0:
                raise self.fail("a vector as exponent needs a positive base", node)
            powers = np.power(float(base), as_array(exponent))
            return Crossed(powers) if isinstance(exponent, Crossed) else powers
        raise self.shape_error(
            f"{describe(base)} to the power of {describe(exponent)}; "
            r"an entrywise power is written ^{\odot 2}",
            node.position,
        )

    def indexes_square(self, node: Node) -> bool:
        """Whether a node is an entry of a square matrix, of which powers exist as well."""
        if not self.indexes_matrix(node):
            return False
        rows, columns = self.evaluate(node.parts[0]).shape
        return bool(rows == columns)

    def indexes_matrix(self, node: Node) -> bool:
        if node.kind != "index":
            return False
        base = self.evaluate(node.parts[0])
        return isinstance(base, np.ndarray) and base.ndim == 2

    def inverse(self, matrix: np.ndarray[Any, Any], node: Node) -> np.ndarray[Any, Any]:
        try:
            result = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            raise self.fail("the matrix has no inverse", node) from None
        return np.asarray(result)

    def number_power(self, base: Any, exponent: Any, node: Node) -> Any:
        if base == 0 and not isinstance(exponent, complex) and exponent < 0:
            raise self.fail("a negative power of zero", node)
        exact = isinstance(base, (int, Fraction))
        if exact and isinstance(exponent, int) and self.bits(base) * abs(exponent) <= MOST_BITS:
            value = Fraction(base) ** exponent
            return int(value) if value.denominator == 1 else value
        if isinstance(exponent, Fraction):
            exponent = float(exponent)
        if isinstance(base, Fraction):
            base = float(base)
        if not isinstance(base, complex) and not isinstance(exponent, complex):
            if base < 0 and exponent != int(exponent):
                raise self.fail(f"a broken power of the negative number {base:.6g}", node)
            return float(base) ** exponent
        return base**exponent

    def bits(self, value: int | Fraction) -> int:
        return max(abs(value.numerator), value.denominator).bit_length()

    def eval_elementwise_power(self, node: Node) -> Any:
        base, exponent = (self.evaluate(part) for part in node.parts)
        if is_number(base) or not is_number(exponent):
            raise self.shape_error("an entrywise power needs an array and a number", node.position)
        return self.mapped(base, lambda x: x ** float(exponent))

    def eval_factorial(self, node: Node) -> Any:
        value = self.whole(self.evaluate(node.parts[0]), node)
        if not 0 <= value <= LARGEST_FACTORIAL:
            raise self.fail(f"the factorial of {value}", node)
        return math.factorial(value)

    def eval_binomial(self, node: Node) -> Any:
        upper, lower = (self.whole(self.evaluate(part), part) for part in node.parts)
        if not (0 <= upper <= LARGEST_FACTORIAL and lower >= 0):
            raise self.fail(f"the binomial coefficient of {upper} and {lower}", node)
        return math.comb(upper, lower)

    def eval_root(self, node: Node) -> Any:
        inner, degree_node = node.parts
        value = self.evaluate(inner)
        degree = 2 if degree_node is None else self.evaluate(degree_node)

        def root(x: Any) -> Any:
            if not np.iscomplexobj(x) and np.any(np.asarray(x) < 0):
                raise self.fail("the root of a negative number", node)
            return np.sqrt(x) if degree == 2 else np.power(x, 1 / float(degree))

        if isinstance(value, (int, Fraction)) and value >= 0 and degree == 2:
            top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
            if top * top == value.numerator and bottom * bottom == value.denominator:
                return top if bottom == 1 else Fraction(top, bottom)
        return self.mapped(value, root)

    def mapped(self, value: Any, function: Callable[[Any], Any]) -> Any:
        """Apply a function to every entry and keep the direction of a vector."""
        if isinstance(value, Crossed):
            return Crossed(function(value.array))
        if isinstance(value, Dotted):
            return Dotted(function(value.entries), value.row_gap, value.column_gap)
        if isinstance(value, np.ndarray):
            if value.dtype == object:
                value = value.astype(np.float64)
            return np.asarray(function(value))
        number = float(value) if isinstance(value, (int, Fraction)) else value
        return np.asarray(function(number)).item()

    # -- turning and indexing ----------------------------------------------------------------

    def eval_transpose(self, node: Node) -> Any:
        inner, indexed = node.parts
        if indexed and self.indexes_matrix(inner):
            value = self.evaluate(inner)
            if is_number(value):
                raise self.fail("write (A^\\top)_{ij}", node)
            return self.arithmetic.transpose(value, node.position)
        return self.arithmetic.transpose(self.evaluate(inner), node.position)

    def eval_conjugate(self, node: Node) -> Any:
        return self.conjugated(self.evaluate(node.parts[0]), node)

    def conjugated(self, value: Any, node: Node) -> Any:
        if not np.iscomplexobj(as_array(value)):
            raise self.fail("the conjugate of a real value does nothing", node)
        return self.mapped(value, np.conj)

    def eval_bar(self, node: Node) -> Any:
        value = self.evaluate(node.parts[0])
        if not np.iscomplexobj(as_array(value)):
            raise self.fail(
                "\\bar over a real symbol: declare the whole symbol (\\bar{x}), "
                "or write \\overline for a conjugate",
                node,
            )
        return self.mapped(value, np.conj)

    def eval_star(self, node: Node) -> Any:
        value = self.evaluate(node.parts[0])
        if isinstance(value, np.ndarray) and value.ndim > 1:
            raise self.fail("^* of a matrix: write \\overline{A} or A^\\dagger", node)
        return self.conjugated(value, node)

    def eval_hermitian(self, node: Node) -> Any:
        if self.indexes_matrix(node.parts[0]):
            raise self.fail("write (A^\\dagger)_{ij}", node)
        value = self.conjugated(self.evaluate(node.parts[0]), node)
        return value if is_number(value) else self.arithmetic.transpose(value, node.position)

    def eval_index(self, node: Node) -> Any:
        base_node, indices, _ = node.parts
        value = self.evaluate(base_node)
        if isinstance(value, Crossed):
            value = value.array
        if not isinstance(value, np.ndarray):
            raise self.fail(f"an index on {describe(value)}", node)
        indices = self.split_indices(value, indices, node)
        if len(indices) > value.ndim:
            raise self.fail(f"{len(indices)} indices on {describe(value)}", node)
        keys = tuple(
            self.index_key(index, value.shape[axis], node) for axis, index in enumerate(indices)
        )
        result = value[keys]
        return result.item() if isinstance(result, np.generic) else result

    def split_indices(
        self,
        value: np.ndarray[Any, Any],
        indices: tuple[Node, ...],
        node: Node,
        *,
        mixed: bool = False,
    ) -> tuple[Node, ...]:
        """The indices of an array; ``mixed`` lets ``a_{1n}`` be two of them, not a product."""
        if len(indices) != 1 or indices[0].kind != "run_together":
            return indices
        items, product = indices[0].parts
        if value.ndim == 1:
            if product is None:
                raise self.fail("this index is not a product", node)
            return (product,)
        symbols = all(item.kind in ("symbol", "index") for item in items)
        digits = all(item.kind == "number" for item in items) and max(value.shape) <= 9
        if len(items) == value.ndim and (symbols or digits or mixed or product is None):
            return tuple(items)
        raise self.fail(
            f"these indices on {describe(value)} are ambiguous; write commas between them", node
        )

    def index_key(self, index: Node, size: int, node: Node) -> Any:
        if index.kind == "slice":
            low, high = index.parts
            start = 0 if low is None else self.place(low, size, node)
            stop = size if high is None else self.place(high, size, node) + 1
            return slice(start, stop)
        return self.place(index, size, node)

    def place(self, index: Node, size: int, node: Node) -> int:
        number = self.whole(self.evaluate(index), index)
        place = number - self.first_index
        if not 0 <= place < size:
            raise self.fail(
                f"index {number} is outside {self.first_index}…{self.first_index + size - 1}", node
            )
        return place

    # -- functions ---------------------------------------------------------------------------

    def arguments(self, nodes: tuple[Node, ...]) -> list[Any]:
        result: list[Any] = []
        for node in nodes:
            if node.kind == "dotted_list":
                result += self.expanded_list(node.parts[0], node)
            else:
                result.append(self.evaluate(node))
        return result

    def eval_call(self, node: Node) -> Any:
        name, argument_nodes = node.parts
        arguments = [self.argument(value) for value in self.arguments(argument_nodes)]
        return self.answered(name, self.values[name], arguments, node)

    def answered(
        self, name: str, function: Callable[..., Any], arguments: list[Any], node: Node
    ) -> Any:
        """What a declared function says to these arguments."""
        try:
            return plain(function(*arguments))
        except (LatexError, RecursionError):
            raise
        except REFUSALS as error:
            raise self.fail(f"{name} refused its arguments: {error}", node) from error

    def eval_known(self, node: Node) -> Any:
        name, argument_nodes, base = node.parts
        arguments = self.arguments(argument_nodes)
        if name in EXTREME_FUNCTIONS:
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
            return (
                result
                if not base
                else self.divide(result, self.logarithm_of_base(base[0]), node.position)
            )
        if name in ELEMENTWISE:
            if name in ("erf", "sign", "sgn", "relu", "ReLU", "sigmoid") and np.iscomplexobj(
                as_array(value)
            ):
                raise self.fail(f"{name} of a complex number", node)
            if name in ("Re", "Im") and not np.iscomplexobj(as_array(value)):
                raise self.fail(f"{name} of a real value does nothing", node)
            return self.mapped(value, ELEMENTWISE[name])
        return self.linear_function(name, value, node)

    def is_real_number(self, value: Any) -> bool:
        return is_number(value) and not isinstance(value, complex)

    def logarithm_of_base(self, node: Node) -> float:
        base = self.evaluate(node)
        if not is_number(base) or isinstance(base, complex) or base <= 0:
            raise self.fail(f"a logarithm with {describe(base)} as its base", node)
        return math.log(base)

    def exponential(self, name: str, value: Any, node: Node) -> Any:
        if isinstance(value, Dotted) or (isinstance(value, np.ndarray) and value.ndim > 1):
            raise self.fail(
                f"{name} of a matrix: of every entry or of the matrix? declare \\{name}", node
            )
        if name != "exp" and not np.iscomplexobj(as_array(value)):
            entries = as_array(value)
            if np.any(entries.astype(float) <= 0):
                raise self.fail("the logarithm of a number that is not positive", node)
        return self.mapped(value, EXPONENTIALS[name])

    def extreme(self, name: str, arguments: list[Any], node: Node) -> Any:
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

    def linear_function(self, name: str, value: Any, node: Node) -> Any:
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

    def eval_absolute(self, node: Node) -> Any:
        value = self.evaluate(node.parts[0])
        if is_number(value):
            return abs(value)
        if isinstance(value, np.ndarray) and value.ndim == 2:
            raise self.fail("|A| of a matrix: write \\det, or declare the symbol", node)
        raise self.fail(
            "|x| of a vector: its length is \\lVert x \\rVert, its entries are |x_i|", node
        )

    def eval_norm(self, node: Node) -> Any:
        kind, inner = node.parts
        value = self.evaluate(inner)
        if is_number(value):
            raise self.fail("a norm of a number; write |x|", node)
        array = as_array(value)
        if isinstance(value, Dotted) or array.ndim > 2:
            raise self.fail(f"a norm of {describe(value)}", node)
        if array.ndim == 2 and 1 in array.shape and kind != "F":
            array = array.reshape(-1)
        if array.ndim == 1:
            order = {"": 2, "2": 2, "1": 1, "inf": np.inf}.get(kind)
        else:
            order = {"F": "fro", "2": 2, "1": 1, "inf": np.inf}.get(kind)  # type: ignore[assignment]
        if order is None:
            raise self.fail(f"which norm of {describe(value)}? write \\|…\\|_2 or \\|…\\|_F", node)
        return float(np.linalg.norm(array, order))

    def eval_inner(self, node: Node) -> Any:
        left, right = (self.evaluate(part) for part in node.parts)
        a, b = as_array(left), as_array(right)
        if np.iscomplexobj(a) or np.iscomplexobj(b):
            raise self.fail("an inner product of complex vectors: write the conjugate out", node)
        if a.ndim != 1 or a.shape != b.shape:
            raise self.shape_error(
                f"an inner product of {describe(left)} and {describe(right)}", node.position
            )
        return (a @ b).item()

    def eval_floor(self, node: Node) -> Any:
        return self.rounded(node, math.floor)

    def eval_ceiling(self, node: Node) -> Any:
        return self.rounded(node, math.ceil)

    def rounded(self, node: Node, function: Callable[[Any], int]) -> Any:
        value = self.evaluate(node.parts[0])
        if not is_number(value) or isinstance(value, complex):
            raise self.shape_error(f"rounding of {describe(value)}", node.position)
        if isinstance(value, float):
            # log(8)/log(2) is 3 up to rounding; the printed formula means 3.
            nearest = round(value)
            if abs(value - nearest) <= 1e-12 * max(1.0, abs(value)):
                return nearest
        return function(value)

    def eval_kronecker(self, node: Node) -> int:
        left, right = (self.whole(self.evaluate(part), part) for part in node.parts)
        return int(left == right)

    def eval_indicator(self, node: Node) -> int:
        return int(all(self.condition(test) for test in node.parts))

    def eval_tuple(self, node: Node) -> Any:
        if node.parts[0].kind == "dotted_list":
            return self.dotted_tuple(node.parts[0], node)
        values = self.arguments(node.parts)
        if not all(is_number(value) for value in values):
            raise self.shape_error(
                "a list of numbers is needed between these brackets", node.position
            )
        return np.array([float(v) if not isinstance(v, complex) else v for v in values])

    def dotted_tuple(self, entries: Node, node: Node) -> Any:
        """A list with dots: filled by its pattern, else known at its printed entries only."""
        row = tuple("dots" if entry is None else entry for entry in entries.parts[0])
        value = self.eval_matrix(Node("matrix", ((row,),), node.position))
        return value if isinstance(value, Dotted) else value.reshape(-1)

    def eval_cases(self, node: Node) -> Any:
        chosen: list[Node] = []
        for value, tests in node.parts:
            if (tests and all(self.condition(test) for test in tests)) or (
                not tests and not chosen
            ):
                chosen.append(value)
        if not chosen:
            raise self.fail("no case applies", node)
        results = [self.evaluate(value) for value in chosen]
        if any(not np.array_equal(as_array(results[0]), as_array(r)) for r in results[1:]):
            raise self.fail("two cases apply and give different values", node)
        return results[0]

    # -- matrices ----------------------------------------------------------------------------

    def eval_matrix(self, node: Node) -> Any:
        (rows,) = node.parts
        dots = any(isinstance(cell, str) for row in rows for cell in row)
        if not dots:
            return self.assembled([[self.evaluate(cell) for cell in row] for row in rows], node)
        row_gap, column_gap, grid = self.printed_grid(rows, node)
        expanded = None
        if row_gap is not None and row_gap == column_gap:
            expanded = patterns.expand_block_diagonal(grid, row_gap, self.whole_or_none)
        if expanded is None:
            expanded = patterns.expand_dense(grid, row_gap, column_gap, self.whole_or_none)
        if expanded is not None:
            return self.assembled([[self.evaluate(cell) for cell in row] for row in expanded], node)
        entries = [[self.evaluate(cell) for cell in row] for row in grid]
        if not all(is_number(value) for row in entries for value in row):
            raise self.fail("the dots of this block matrix show no pattern", node)
        loose = [[float(v) if isinstance(v, Fraction) else v for v in row] for row in entries]
        return Dotted(np.array(loose), row_gap, column_gap)

    def printed_grid(
        self, rows: tuple[tuple[Any, ...], ...], node: Node
    ) -> tuple[int | None, int | None, list[list[Node]]]:
        """Where the dots stand, and the printed entries without them."""

        def only_dots(line: Any) -> bool:
            marks = [cell for cell in line if isinstance(cell, str)]
            return len(marks) == len(line) and any(cell != "empty" for cell in marks)

        row_gaps = [r for r, row in enumerate(rows) if only_dots(row)]
        columns = list(zip(*rows, strict=True))
        column_gaps = [c for c, column in enumerate(columns) if only_dots(column)]
        if len(columns) == 1:
            column_gaps = []
        if len(rows) == 1:
            row_gaps, column_gaps = [], [c for c, col in enumerate(columns) if only_dots(col)]
        if len(row_gaps) > 1 or len(column_gaps) > 1:
            raise self.fail("a matrix with more than one row or column of dots", node)
        zero = Node("number", (0,), node.position)
        grid: list[list[Node]] = []
        for r, row in enumerate(rows):
            if r in row_gaps:
                continue
            cells: list[Node] = []
            for c, cell in enumerate(row):
                if c in column_gaps:
                    continue
                if isinstance(cell, str) and cell != "empty":
                    raise self.fail("dots that do not fill a row or a column of the matrix", node)
                if cell == "empty" and not (row_gaps and column_gaps):
                    raise self.fail("an empty entry of a matrix", node)
                cells.append(zero if isinstance(cell, str) else cell)
            grid.append(cells)
        if not row_gaps and not column_gaps:
            raise self.fail("an empty entry of a matrix", node)
        row_gap = row_gaps[0] if row_gaps else None
        column_gap = column_gaps[0] if column_gaps else None
        if row_gap in (0, len(rows) - 1) or column_gap in (0, len(columns) - 1):
            raise self.fail("dots need entries before and after them", node)
        flat = iter(self.with_separate_indices([cell for row in grid for cell in row]))
        return row_gap, column_gap, [[next(flat) for _ in row] for row in grid]

    def assembled(self, rows: list[list[Any]], node: Node) -> Any:
        flat = [value for row in rows for value in row]
        if all(is_number(value) for value in flat):
            if any(isinstance(value, Fraction) for value in flat):
                rows = [[float(v) if isinstance(v, Fraction) else v for v in row] for row in rows]
            array = np.array(rows)
            return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        if any(isinstance(value, Dotted) for value in flat):
            raise self.fail("a matrix with dots inside a matrix", node)
        grids = [[v if is_number(v) else self.arithmetic.grid(v) for v in row] for row in rows]
        heights = [self.block_size(row, 0, node) for row in grids]
        widths = [self.block_size(list(col), 1, node) for col in zip(*grids, strict=True)]
        blocks = []
        for row, height in zip(grids, heights, strict=True):
            line = []
            for value, width in zip(row, widths, strict=True):
                if is_number(value):
                    if value != 0 and (height, width) != (1, 1):
                        raise self.shape_error("a number in place of a block", node.position)
                    value = np.full((height, width), float(value))
                if value.shape != (height, width):
                    raise self.shape_error("blocks of different sizes", node.position)
                line.append(value)
            blocks.append(line)
        return np.block(blocks)

    def block_size(self, values: list[Any], axis: int, node: Node) -> int:
        sizes = {value.shape[axis] for value in values if not is_number(value)}
        if len(sizes) > 1:
            raise self.shape_error("blocks of different sizes", node.position)
        return sizes.pop() if sizes else 1

    # -- indices that run --------------------------------------------------------------------

    def eval_reduction(self, node: Node) -> Any:
        kind, names, ranges, tests, body = node.parts
        values: list[Any] = []
        where: list[tuple[int, ...]] = []
        for assignment in self.assignments(names, ranges, tests, body, node):
            with self.bound(assignment):
                values.append(self.evaluate(body))
            where.append(tuple(assignment.values()))
            if len(values) > MOST_TERMS:
                raise self.fail(f"more than {MOST_TERMS} terms", node)
        if kind == "sum":
            return self.total(values, node) if values else 0
        if kind == "product":
            result: Any = 1
            for value in values:
                result = self.arithmetic.multiply(result, value, node.position)
            return result
        if not values:
            raise self.fail(f"the {kind} over no index at all", node)
        if kind in ("argmax", "argmin"):
            if not all(is_number(value) for value in values) or len(names) != 1:
                raise self.fail(f"{kind} needs one index and numbers", node)
            chosen = (np.argmax if kind == "argmax" else np.argmin)([float(v) for v in values])
            return where[int(chosen)][0]
        return values[0] if len(values) == 1 else self.extreme(kind, values, node)

    def assignments(
        self,
        names: tuple[str, ...],
        ranges: tuple[Any, ...],
        tests: tuple[Node, ...],
        body: Node | None,
        node: Node,
    ) -> Iterator[dict[str, int]]:
        """All values of the running indices that satisfy the conditions."""
        if not names:
            yield {}
            return
        name, stated = names[0], ranges[0]
        if stated is not None:
            low, high = (self.whole(self.evaluate(end), end) for end in stated)
            choices = range(low, high + 1)
        else:
            choices = self.choices(name, set(names[1:]), tests, body, node)
        later = set(names[1:])
        ready = [test for test in tests if not names_in(test) & later]
        waiting = tuple(test for test in tests if names_in(test) & later)
        for value in choices:
            with self.bound({name: value}):
                if not all(self.condition(test) for test in ready):
                    continue
                for rest in self.assignments(names[1:], ranges[1:], waiting, body, node):
                    yield {name: value, **rest}

    def choices(
        self, name: str, later: set[str], tests: tuple[Node, ...], body: Node | None, node: Node
    ) -> Any:
        """The range of an index: from its conditions, or from the arrays it indexes."""
        low: int | None = None
        high: int | None = None
        subject = Node("symbol", (name,))
        for test in tests:
            sides, relations, *_ = test.parts
            for k, side in enumerate(sides):
                if side != subject:
                    continue
                if k < len(relations) and relations[k] == "in":
                    members = self.members(sides[k + 1])
                    if members is not None:
                        return members
                for bounds in (
                    self.bound_beyond(sides[k + 1 :], relations[k:], later | {name}),
                    self.bound_beyond(
                        sides[:k][::-1], [FLIPPED[r] for r in relations[:k][::-1]], later | {name}
                    ),
                ):
                    low = max((b for b in (low, bounds[0]) if b is not None), default=None)
                    high = min((b for b in (high, bounds[1]) if b is not None), default=None)
        if low is not None and high is not None:
            return range(low, high + 1)
        size = self.indexed_size(name, body, node)
        start = self.first_index if low is None else low
        stop = self.first_index + size - 1 if high is None else high
        return range(start, stop + 1)

    def bound_beyond(
        self, sides: Sequence[Node], relations: Sequence[str], unknown: set[str]
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
            if names_in(side) & unknown:
                continue
            value = self.evaluate(side)
            if not is_number(value) or isinstance(value, complex) or not math.isfinite(value):
                break
            highest = math.ceil(value) - 1 if strict else math.floor(value)
            lowest = math.floor(value) + 1 if strict else math.ceil(value)
            if not direction:
                return lowest, highest
            return (None, highest) if direction == "<" else (lowest, None)
        return None, None

    def indexed_size(self, name: str, body: Node | None, node: Node) -> int:
        """The length of the axis that an index without a stated range runs over."""
        sizes: set[int] = set()
        for part in body.walk() if body is not None else ():
            if part.kind != "index":
                continue
            base_node, indices, _ = part.parts
            wanted = Node("symbol", (name,))
            if not any(wanted in list(index.walk()) for index in indices):
                continue
            if not names_in(base_node) <= set(self.values):
                continue
            value = self.evaluate(base_node)
            array = as_array(value)
            for axis, index in enumerate(self.split_indices(array, indices, part)):
                if index == wanted and axis < array.ndim:
                    sizes.add(array.shape[axis])
        if len(sizes) != 1:
            found = f"its arrays have lengths {sorted(sizes)}" if sizes else "it indexes no array"
            raise self.fail(f"the range of {name} is not stated and {found}", node)
        return sizes.pop()

    def members(self, node: Node) -> Any:
        """The elements of a finite set of indices, or ``None``."""
        if node.kind == "listed_set" and node.parts[1] is None:
            return [self.whole(value, node) for value in self.arguments(node.parts[0])]
        if node.kind == "declared_set" and node.parts[0].kind == "symbol":
            value = self.values[node.parts[0].parts[0]]
            if isinstance(value, (range, set, frozenset)):
                return sorted(value)
        return None

    # -- relations ---------------------------------------------------------------------------

    def condition(self, test: Node) -> bool:
        """Whether a condition on numbers holds, without any tolerance for inequalities."""
        sides, relations, *_ = test.parts
        for k, relation in enumerate(relations):
            left = self.evaluate(sides[k])
            if relation in ("in", "notin"):
                if self.is_member(left, sides[k + 1], test) != (relation == "in"):
                    return False
                continue
            right = self.evaluate(sides[k + 1])
            if relation in ("divides", "ndivides"):
                if self.divides(left, right, test) != (relation == "divides"):
                    return False
                continue
            if not (is_number(left) and is_number(right)):
                raise self.fail("a condition must compare numbers", test)
            if relation not in ("=", "!="):
                if not (is_real(as_array(left)) and is_real(as_array(right))):
                    raise self.fail("an inequality between complex numbers", test)
                left, right = (v.real if isinstance(v, complex) else v for v in (left, right))
            if relation not in CONDITIONS:
                raise self.fail(f"the relation {relation} as a condition", test)
            if not CONDITIONS[relation](left, right):
                return False
        return True

    def divides(self, left: Any, right: Any, test: Node) -> bool:
        divisor, number = self.whole(left, test), self.whole(right, test)
        if divisor == 0:
            raise self.fail("0 divides nothing", test)
        return number % divisor == 0

    def is_member(self, value: Any, node: Node, test: Node) -> bool:
        if node.kind == "number_set":
            return self.in_number_set(value, node)
        if node.kind == "parity":
            remainder = {"even": 0, "odd": 1}[node.parts[0]]
            return self.whole(value, test) % 2 == remainder
        entries = as_array(value).reshape(-1)
        powered = node.kind == "listed_set" and node.parts[1] is not None
        if not is_number(value) and node.kind in ("interval", "listed_set") and not powered:
            self.arithmetic.require_broadcast(
                f"look for {describe(value)} in a set of numbers", test.position
            )
        if node.kind == "interval":
            if not is_real(entries):
                return False
            entries = np.real(entries)
            low, high, (closed_low, closed_high) = node.parts
            a, b = self.evaluate(low), self.evaluate(high)
            above = entries >= a if closed_low else entries > a
            below = entries <= b if closed_high else entries < b
            return bool(np.all(above & below))
        if node.kind == "listed_set":
            members = self.arguments(node.parts[0])
            if not all(is_number(member) for member in members):
                raise self.fail("the members of a set must be numbers", node)
            if node.parts[1] is not None:
                size = self.whole(self.evaluate(node.parts[1]), node)
                if as_array(value).shape != (size,):
                    return False
            return all(any(CONDITIONS["="](e, m) for m in members) for e in entries)
        elements = self.members(node)
        if elements is None:
            raise self.fail("this is not a set that can be checked", node)
        return self.whole(value, test) in elements

    def in_number_set(self, value: Any, node: Node) -> bool:
        field, shape_nodes = node.parts
        shape = tuple(self.whole(self.evaluate(part), part) for part in shape_nodes)
        array = as_array(value)
        if isinstance(value, Dotted):
            raise self.fail("the shape of a matrix whose dots show no pattern", node)
        if array.shape != shape:
            return False
        if field in ("R", "Z", "N") and not is_real(array):
            return False
        if field in ("Z", "N"):
            array = np.real(array).astype(np.float64)
            return bool(np.all(array == np.round(array)) and (field == "Z" or np.all(array >= 0)))
        return True

    # -- calculus and probability ------------------------------------------------------------

    def eval_integral(self, node: Node) -> Any:
        name, low_node, high_node, body = node.parts
        low, high = self.evaluate(low_node), self.evaluate(high_node)
        if not all(is_number(end) and not isinstance(end, complex) for end in (low, high)):
            raise self.fail("the bounds of an integral must be real numbers", node)

        def integrand(part: Callable[[Any], float]) -> Callable[[float], float]:
            def value_at(t: float) -> float:
                with self.bound({name: t}), np.errstate(under="ignore", over="ignore"):
                    value = self.evaluate(body)
                if not is_number(value):
                    raise self.fail(f"an integral of {describe(value)}", node)
                return float(part(value))

            return value_at

        with warnings.catch_warnings():
            warnings.simplefilter("error", integrate.IntegrationWarning)
            try:
                result = self.quadrature(integrand(np.real), float(low), float(high), node)
                imaginary = self.quadrature(integrand(np.imag), float(low), float(high), node)
            except integrate.IntegrationWarning as error:
                raise self.fail(f"the integral does not settle: {error}", node) from None
        return complex(result, imaginary) if imaginary else result

    def quadrature(
        self, function: Callable[[float], float], low: float, high: float, node: Node
    ) -> float:
        size, _ = integrate.quad(
            lambda t: abs(function(t)), low, high, epsabs=0.0, epsrel=1e-2, limit=200
        )
        size = abs(size)
        value, error = integrate.quad(
            function, low, high, epsabs=1e-12 * size, epsrel=1e-11, limit=200
        )
        if error > 1e-9 * size:
            raise self.fail(f"the integral is known only to {error:.1e}", node)
        return float(value)

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

    def eval_derivative(self, node: Node) -> Any:
        body, variables = node.parts
        variable, *others = variables
        inner = body if not others else node.rebuilt((body, tuple(others)))
        name, place = self.variable(variable, node)
        if name not in self.reached(names_in(body)):
            raise self.fail(
                f"the expression does not depend on {name}; "
                f'bind its symbols with depends("{name}", …)',
                node,
            )
        value = self.evaluate(Node("symbol", (name,), node.position))
        if place is not None or is_number(value):
            return self.slope(inner, name, value, place, node)
        array = as_array(value)
        slopes = [
            as_array(self.slope(inner, name, value, index, node))
            for index in np.ndindex(array.shape)
        ]
        stacked = np.stack(slopes, axis=-1)
        if stacked.ndim == 1:
            return stacked.reshape(array.shape)
        if array.ndim == 1 and stacked.ndim == 2:
            return stacked
        raise self.fail("the derivative of an array by a matrix; write it entry by entry", node)

    def variable(self, node: Node, where: Node) -> tuple[str, tuple[int, ...] | None]:
        if node.kind == "symbol":
            return node.parts[0], None
        if node.kind == "index" and node.parts[0].kind == "symbol":
            base, indices, _ = node.parts
            array = as_array(self.evaluate(base))
            indices = self.split_indices(array, indices, node)
            if len(indices) == array.ndim:
                place = tuple(
                    self.place(index, array.shape[axis], node) for axis, index in enumerate(indices)
                )
                return base.parts[0], place
        raise self.fail("a derivative by something that is not a symbol or an entry", where)

    def slope(
        self, body: Node, name: str, value: Any, place: tuple[int, ...] | None, node: Node
    ) -> Any:
        @functools.cache
        def at(offset: float) -> Any:
            if place is None:
                moved = value + offset
            else:
                moved = as_array(value).astype(np.result_type(as_array(value), np.float64)).copy()
                moved[place] += offset
            with self.bound({name: moved}):
                return self.evaluate(body)

        def estimate(step: float) -> Any:
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
            noise = 1e-14 * float(np.max(np.abs(as_array(at(0.0))))) / step
            gap = float(np.max(np.abs(as_array(fine) - as_array(coarse))))
            if narrow > 0.4 * wide and narrow > 1e-6 * step * size + noise * step:
                problem = self.fail("the derivative at a corner of the graph", node)
            elif gap <= 1e-7 * size + noise:
                return fine
            else:
                problem = self.fail(
                    f"the derivative does not settle (differences of {gap:.1e})", node
                )
        assert problem is not None
        raise problem

    def eval_moment(self, node: Node) -> Any:
        kind, over, arguments, given = node.parts
        names = self.reached(set().union(*(names_in(part) for part in (*arguments, *given))))
        random = {name: self.values[name] for name in names if name in self.values}
        random = {name: value for name, value in random.items() if isinstance(value, Random)}
        if over:
            missing = set(over) - set(random)
            if missing:
                raise self.fail(f"{sorted(missing)} is not a random variable in this", node)
            random = {name: value for name, value in random.items() if name in over}
        if not random:
            raise self.fail("no random variable stands in this expectation", node)
        outcomes = self.given(list(self.outcomes(random, node)), given, node)
        if kind == "probability":
            return self.weighted(outcomes, lambda: self.holds_all(arguments), node)
        first = arguments[0]
        mean = self.weighted(outcomes, lambda: self.evaluate(first), node)
        if kind == "expectation":
            return mean
        second = arguments[-1]
        other = (
            mean
            if second is first
            else self.weighted(outcomes, lambda: self.evaluate(second), node)
        )
        if not is_number(mean) or not is_number(other):
            raise self.fail("the variance of an array; write it entry by entry", node)
        return self.weighted(
            outcomes,
            lambda: (self.evaluate(first) - mean) * (self.evaluate(second) - other),
            node,
        )

    def given(
        self,
        outcomes: list[tuple[dict[str, Any], float]],
        tests: tuple[Node, ...],
        node: Node,
    ) -> list[tuple[dict[str, Any], float]]:
        """The outcomes under which the conditions after ``\\mid`` hold, weighted to sum to 1."""
        if not tests:
            return outcomes
        kept = []
        for assignment, weight in outcomes:
            with self.bound(assignment):
                if self.holds_all(tests):
                    kept.append((assignment, weight))
        total = sum(weight for _, weight in kept)
        if not total:
            raise self.fail("a condition that never holds", node)
        return [(assignment, weight / total) for assignment, weight in kept]

    def holds_all(self, tests: tuple[Node, ...]) -> int:
        return int(all(self.condition(test) for test in tests))

    def outcomes(
        self, random: dict[str, Random], node: Node
    ) -> Iterator[tuple[dict[str, Any], float]]:
        variables = list({id(value): value for value in random.values()}.values())
        count = math.prod(variable.count() for variable in variables)
        if count > MOST_OUTCOMES:
            raise self.fail(f"{count} outcomes are too many to enumerate", node)
        for joint in itertools.product(*(list(variable.joint()) for variable in variables)):
            drawn = {
                id(variable): value for variable, (value, _) in zip(variables, joint, strict=True)
            }
            weight = math.prod(weight for _, weight in joint)
            yield {name: plain(drawn[id(value)]) for name, value in random.items()}, weight

    def weighted(
        self,
        outcomes: list[tuple[dict[str, Any], float]],
        function: Callable[[], Any],
        node: Node,
    ) -> Any:
        total: Any = None
        for assignment, weight in outcomes:
            with self.bound(assignment):
                part = self.arithmetic.scale(function(), weight)
            total = part if total is None else self.arithmetic.add(total, part, node.position)
        return total


EXTREME_FUNCTIONS = {"max", "min"}
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
FLIPPED |= {name: name for name in ("!=", "approx", "in", "notin")}
CONDITIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b or abs(a - b) <= 1e-12 * max(abs(a), abs(b)),
    "!=": lambda a, b: a != b and abs(a - b) > 1e-12 * max(abs(a), abs(b)),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}

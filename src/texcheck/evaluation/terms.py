"""Numbers, symbols, sums, products, powers and roots."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from texcheck.evaluation.core import MOST_BITS, Core
from texcheck.nodes import (
    Binomial,
    Constant,
    ElementwisePower,
    Factorial,
    Index,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Root,
    SumOf,
    Symbol,
)
from texcheck.reading.factors import canonical_name, operator_name
from texcheck.values import (
    Array,
    Crossed,
    Depends,
    Random,
    Value,
    as_array,
    describe,
    is_number,
    unify,
)

CONSTANTS: dict[str, Value] = {
    "pi": math.pi,
    "e": math.e,
    "infinity": math.inf,
    "imaginary unit": 1j,
}
LARGEST_FACTORIAL = 1_500


class Terms(Core):
    """Numbers, symbols, sums, products, powers and roots."""

    def eval_number(self, node: Number) -> Value:
        """A number as it is printed."""
        return node.value

    def eval_constant(self, node: Constant) -> Value:
        """π, e or the imaginary unit."""
        return CONSTANTS[node.name]

    def eval_symbol(self, node: Symbol) -> Value:
        """What a symbol is bound to."""
        name = node.name
        value = self.values[name]
        if isinstance(value, Depends):
            arguments = [self.argument(self.dependency(key, node)) for key in value.names]
            return self.answered(name, value.function, arguments, node)
        if isinstance(value, Random):
            raise self.fail(f"the random variable {name} stands outside an expectation", node)
        if isinstance(value, (range, set, frozenset)):
            raise self.fail(f"{name} is a set and has no value", node)
        return value

    def dependency(self, key: str, node: Symbol) -> Value:
        """The value of a symbol on which another depends."""
        name = canonical_name(key)
        if name not in self.values:
            raise self.fail(f"{node.name} depends on {key}, which is not declared", node)
        return self.evaluate(Symbol(name, position=node.position))

    def eval_sum_of(self, node: SumOf) -> Value:
        """Terms with their signs."""
        result: Any = None
        for sign, term in node.terms:
            value = self.evaluate(term)
            if result is None:
                result = value if sign == "+" else self.arithmetic.scale(value, -1)
            elif sign == "+":
                result = self.arithmetic.add(result, value, term.position)
            else:
                result = self.arithmetic.subtract(result, value, term.position)
        return result

    def eval_product(self, node: Product) -> Value:
        """A product by its printed operator."""
        operator, left, right = node.operator, self.evaluate(node.left), self.evaluate(node.right)
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

    def divide(self, left: Value, right: Value, position: int) -> Value:
        """A quotient, exact where both numbers are."""
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

    def eval_quotient(self, node: Quotient) -> Value:
        """A fraction."""
        top, bottom = self.evaluate(node.top), self.evaluate(node.bottom)
        return self.divide(top, bottom, node.position)

    def eval_power(self, node: Power) -> Value:
        """A power of a number or of a square matrix."""
        if isinstance(node.base, Constant) and node.base.name == "e":
            return self.exponential("exp", self.evaluate(node.exponent), node)
        base, exponent = self.evaluate(node.base), self.evaluate(node.exponent)
        if isinstance(base, np.ndarray) and base.ndim == 2 and is_number(exponent):
            power = self.whole(exponent, node.exponent)
            if base.shape[0] != base.shape[1]:
                raise self.shape_error(f"a power of {describe(base)}", node.position)
            if power < 0:
                return np.linalg.matrix_power(self.inverse(base, node), -power)
            return np.linalg.matrix_power(base, power)
        if is_number(base) and is_number(exponent):
            if node.indexed and self.indexes_square(node.base):
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
        if not (isinstance(node, Index) and self.indexes_matrix(node)):
            return False
        rows, columns = as_array(self.evaluate(node.base)).shape
        return bool(rows == columns)

    def indexes_matrix(self, node: Node) -> bool:
        """Whether a node is an entry or a row of a matrix."""
        if not isinstance(node, Index):
            return False
        base = self.evaluate(node.base)
        return isinstance(base, np.ndarray) and base.ndim == 2

    def inverse(self, matrix: Array, node: Node) -> Array:
        """The inverse of a matrix, or an error."""
        try:
            result = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            raise self.fail("the matrix has no inverse", node) from None
        return np.asarray(result)

    def number_power(self, base: Any, exponent: Any, node: Node) -> Value:
        """A power of a number, exact where it can be."""
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

    def eval_elementwise_power(self, node: ElementwisePower) -> Value:
        """A power of every entry."""
        base, exponent = self.evaluate(node.base), self.evaluate(node.exponent)
        if is_number(base) or not is_number(exponent):
            raise self.shape_error("an entrywise power needs an array and a number", node.position)
        return self.mapped(base, lambda x: x ** float(exponent))

    def eval_factorial(self, node: Factorial) -> Value:
        """A factorial, of a small whole number."""
        value = self.whole(self.evaluate(node.inner), node)
        if not 0 <= value <= LARGEST_FACTORIAL:
            raise self.fail(f"the factorial of {value}", node)
        return math.factorial(value)

    def eval_binomial(self, node: Binomial) -> Value:
        """A binomial coefficient."""
        upper, lower = (self.whole(self.evaluate(part), part) for part in (node.upper, node.lower))
        if not (0 <= upper <= LARGEST_FACTORIAL and lower >= 0):
            raise self.fail(f"the binomial coefficient of {upper} and {lower}", node)
        return math.comb(upper, lower)

    def eval_root(self, node: Root) -> Value:
        """A root, exact where it can be."""
        value = self.evaluate(node.inner)
        degree = 2 if node.degree is None else self.evaluate(node.degree)

        def root(x: Any) -> Value:
            if not np.iscomplexobj(x) and np.any(np.asarray(x) < 0):
                raise self.fail("the root of a negative number", node)
            return np.sqrt(x) if degree == 2 else np.power(x, 1 / float(degree))

        if isinstance(value, (int, Fraction)) and value >= 0 and degree == 2:
            top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
            if top * top == value.numerator and bottom * bottom == value.denominator:
                return top if bottom == 1 else Fraction(top, bottom)
        return self.mapped(value, root)

"""What all parts of the evaluator share: the values of symbols, errors with their place."""

from __future__ import annotations

import contextlib
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from texcheck.arithmetic import Arithmetic
from texcheck.errors import LatexError, ShapeError
from texcheck.nodes import (
    Call,
    Chain,
    Constant,
    DottedList,
    Node,
    Nodes,
    Symbol,
)
from texcheck.rounding import Noise
from texcheck.values import (
    Array,
    Crossed,
    Dotted,
    Value,
    as_array,
    describe,
    is_number,
    plain,
)

# Whole numbers stay exact up to this many bits (4,214 digits: Python writes no longer ones);
# beyond, a float says whether they are finite.
MOST_BITS = 14_000
# What a declared function may say to arguments that it does not take.
REFUSALS = (TypeError, ValueError, LookupError, ArithmeticError, RuntimeError)


class Core(ABC):
    """What all parts of the evaluator share; the abstract methods are the seams between them."""

    def __init__(
        self,
        text: str,
        table: Mapping[str, Any],
        first_index: int,
        convention: str,
        broadcast: bool = False,
        noise: Noise | None = None,
    ) -> None:
        self.text = text
        self.noise = noise
        # Whether a printed or declared value is infinite or undefined, so that a result may be.
        self.infinite = self.undefined = False
        # Results of many evaluations with their error, by node and by the values around it.
        self.estimates: dict[tuple[Node, int], tuple[Value, float]] = {}
        self.surroundings = itertools.count()
        self.surrounding = next(self.surroundings)
        self.values: dict[str, Any] = dict(table)
        self.declared: Mapping[str, Any] = table
        self.first_index = first_index
        self.arithmetic = Arithmetic(convention, self.shape_error, broadcast)

    def fail(self, message: str, where: Node | int) -> LatexError:
        """The error of this formula at a node."""
        position = where if isinstance(where, int) else where.position
        return LatexError(message, position, self.text)

    def shape_error(self, message: str, position: int) -> ShapeError:
        """The error of shapes that do not fit."""
        return ShapeError(message, position, self.text)

    @contextlib.contextmanager
    def bound(self, changed: Mapping[str, Any]) -> Iterator[None]:
        """Let symbols have other values inside the block."""
        before = self.values, self.surrounding
        self.values, self.surrounding = {**self.values, **changed}, next(self.surroundings)
        try:
            yield
        finally:
            self.values, self.surrounding = before

    @contextlib.contextmanager
    def with_noise(self, noise: Noise | None) -> Iterator[None]:
        """Let every inexact value inside the block have this noise, or none."""
        before = self.noise
        self.noise = noise
        try:
            yield
        finally:
            self.noise = before

    def estimated(self, node: Node, estimate: Callable[[], tuple[Value, float]]) -> Value:
        """A value that takes many evaluations and knows its error, such as an integral.

        It is computed once, without noise, which is then put on the result.
        """
        key = node, self.surrounding
        if key not in self.estimates:
            with self.with_noise(None):
                self.estimates[key] = estimate()
        value, error = self.estimates[key]
        return value if self.noise is None else self.noise.shifted(value, error)

    def evaluate(self, node: Node) -> Value:
        """The value of a node; what is not finite is an error."""
        try:
            value = self.value_of(node)
        except OverflowError:
            raise self.fail("a number too large to be evaluated", node) from None
        except ZeroDivisionError as error:
            raise self.fail(str(error), node) from None
        if isinstance(value, (int, Fraction)) and self.bits(value) > MOST_BITS:
            raise self.fail("a number too large to be written", node)
        if isinstance(value, (np.ndarray, Crossed)) and as_array(value).size == 0:
            raise self.fail("an array without entries", node)
        self.require_finite(value, node)
        return value if self.noise is None else self.noise.disturbed(value)

    def require_finite(self, value: Value, node: Node) -> None:
        """Refuse an infinite or undefined result, unless a printed or declared value is so too.

        The result decides, not the processor's flags: those differ between processors.
        """
        if isinstance(value, float):
            if math.isfinite(value):
                return
            array: Any = value
        elif isinstance(value, (np.ndarray, Crossed)) and as_array(value).dtype.kind in "fc":
            array = as_array(value)
        elif isinstance(value, complex):
            array = value
        else:
            return
        if np.all(np.isfinite(array)):
            return
        undefined = bool(np.any(np.isnan(array)))
        if isinstance(node, (Symbol, Call, Constant)):
            self.infinite, self.undefined = True, self.undefined or undefined
        elif undefined and not self.undefined:
            raise self.fail("the result is not a number, as in 0/0 or ∞ − ∞", node)
        elif not self.infinite:
            raise self.fail("a number too large to be evaluated", node)

    def argument(self, value: Value) -> Value:
        """A value as a bound function receives it: plain numbers and arrays."""
        if isinstance(value, Fraction):
            return int(value) if value.denominator == 1 else float(value)
        if isinstance(value, (Crossed, Dotted)):
            return as_array(value)
        return value

    def answered(
        self, name: str, function: Callable[..., Any], arguments: list[Value], node: Node
    ) -> Value:
        """What a declared function says to these arguments."""
        try:
            return plain(function(*arguments))
        except (LatexError, RecursionError):
            raise
        except REFUSALS as error:
            raise self.fail(f"{name} refused its arguments: {error}", node) from error

    def arguments(self, nodes: Nodes) -> list[Value]:
        """The values of a list in which dots may stand."""
        result: list[Value] = []
        for node in nodes:
            if isinstance(node, DottedList):
                result += self.expanded_list(node.entries, node)
            else:
                result.append(self.evaluate(node))
        return result

    def whole(self, value: Value, node: Node) -> int:
        """A value as a whole number, or an error."""
        if isinstance(value, (int, np.integer)):
            return int(value)
        if isinstance(value, (float, Fraction, np.floating)) and math.isfinite(value):
            nearest = round(float(value))
            if abs(float(value) - nearest) <= 1e-12 * max(1, abs(nearest)):
                return nearest
        raise self.fail(f"a whole number is needed here, got {describe(value)}", node)

    def mapped(self, value: Value, function: Callable[[Any], Any]) -> Value:
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

    def is_real_number(self, value: Value) -> bool:
        """Whether a value is one real number."""
        return is_number(value) and not isinstance(value, complex)

    def bits(self, value: int | Fraction) -> int:
        """The length of an exact number."""
        return max(abs(value.numerator), value.denominator).bit_length()

    def total(self, terms: list[Value], node: Node) -> Value:
        """The sum of some values."""
        result = terms[0]
        for value in terms[1:]:
            result = self.arithmetic.add(result, value, node.position)
        return result

    # -- the other parts of the evaluator ------------------------------------------------------

    @abstractmethod
    def value_of(self, node: Node) -> Value:
        """The value of a node, by the method for its kind."""

    @abstractmethod
    def divide(self, left: Value, right: Value, position: int) -> Value:
        """A quotient, exact where both sides are."""

    @abstractmethod
    def exponential(self, name: str, value: Value, node: Node) -> Value:
        """exp, log or ln of every entry of a number or a vector."""

    @abstractmethod
    def extreme(self, name: str, arguments: list[Value], node: Node) -> Value:
        """The largest or smallest of some values."""

    @abstractmethod
    def expanded_list(self, entries: tuple[Node | None, ...], node: Node) -> list[Value]:
        """The values of a list with dots, all of them."""

    @abstractmethod
    def indexes_matrix(self, node: Node) -> bool:
        """Whether a node is an index of a matrix."""

    @abstractmethod
    def split_indices(
        self, value: Array, indices: Nodes, node: Node, *, mixed: bool = False
    ) -> Nodes:
        """The indices of an array, one for each axis."""

    @abstractmethod
    def place(self, index: Node, size: int, node: Node) -> int:
        """Where an index points, counted from 0."""

    @abstractmethod
    def reached(self, names: set[str]) -> set[str]:
        """The symbols that a set of symbols is computed from, themselves included."""

    @abstractmethod
    def condition(self, test: Chain) -> bool:
        """Whether a condition holds."""

    @abstractmethod
    def members(self, node: Node) -> list[int] | None:
        """The whole numbers in a finite set."""

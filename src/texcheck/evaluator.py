"""Walk the expression tree with concrete values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from texcheck.evaluation.calculus import Calculus
from texcheck.evaluation.conditions import Conditions
from texcheck.evaluation.functions import Functions
from texcheck.evaluation.lists import Lists
from texcheck.evaluation.probability import Probability
from texcheck.evaluation.ranges import Ranges
from texcheck.evaluation.terms import Terms
from texcheck.evaluation.turning import Turning
from texcheck.nodes import (
    Absolute,
    Bar,
    Binomial,
    Call,
    Cases,
    Ceiling,
    Conjugate,
    Constant,
    Derivative,
    DottedProduct,
    DottedSum,
    ElementwisePower,
    Factorial,
    Floor,
    Hermitian,
    Index,
    Indicator,
    Inner,
    Integral,
    KnownCall,
    Kronecker,
    Matrix,
    Moment,
    Node,
    Norm,
    Number,
    Power,
    Product,
    Quotient,
    Reduction,
    Root,
    Star,
    SumOf,
    Symbol,
    Transpose,
    TupleOf,
)
from texcheck.values import Value


class Evaluator(Terms, Lists, Turning, Functions, Ranges, Conditions, Calculus, Probability):
    """Evaluates nodes of one formula under one convention for 1-D arrays."""

    def value_of(self, node: Node) -> Value:
        """The value of a node by the method for its kind."""
        method = METHODS.get(type(node))
        if method is None:  # a slice, a set or a pair of indices where a value is needed
            raise self.fail("this has no value of its own", node)
        return method(self, node)


# Which method evaluates which kind of node.
METHODS: dict[type[Node], Callable[[Any, Any], Value]] = {
    Number: Terms.eval_number,
    Constant: Terms.eval_constant,
    Symbol: Terms.eval_symbol,
    SumOf: Terms.eval_sum_of,
    DottedSum: Lists.eval_dotted_sum,
    DottedProduct: Lists.eval_dotted_product,
    Product: Terms.eval_product,
    Quotient: Terms.eval_quotient,
    Power: Terms.eval_power,
    ElementwisePower: Terms.eval_elementwise_power,
    Factorial: Terms.eval_factorial,
    Binomial: Terms.eval_binomial,
    Root: Terms.eval_root,
    Transpose: Turning.eval_transpose,
    Conjugate: Turning.eval_conjugate,
    Bar: Turning.eval_bar,
    Star: Turning.eval_star,
    Hermitian: Turning.eval_hermitian,
    Index: Turning.eval_index,
    Call: Functions.eval_call,
    KnownCall: Functions.eval_known,
    Absolute: Functions.eval_absolute,
    Norm: Functions.eval_norm,
    Inner: Functions.eval_inner,
    Floor: Functions.eval_floor,
    Ceiling: Functions.eval_ceiling,
    Kronecker: Functions.eval_kronecker,
    TupleOf: Lists.eval_tuple,
    Matrix: Lists.eval_matrix,
    Cases: Conditions.eval_cases,
    Reduction: Ranges.eval_reduction,
    Integral: Calculus.eval_integral,
    Derivative: Calculus.eval_derivative,
    Moment: Probability.eval_moment,
    Indicator: Conditions.eval_indicator,
}

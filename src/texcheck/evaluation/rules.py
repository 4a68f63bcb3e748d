"""Which function evaluates which construct."""

from __future__ import annotations

from texcheck import nodes
from texcheck.evaluation.conditions import evaluate_cases, evaluate_indicator
from texcheck.evaluation.derivatives import evaluate_derivative
from texcheck.evaluation.evaluator import Rule
from texcheck.evaluation.expectations import evaluate_moment
from texcheck.evaluation.functions import evaluate_known_call, evaluate_norm
from texcheck.evaluation.indices import evaluate_index
from texcheck.evaluation.integrals import evaluate_integral
from texcheck.evaluation.lists import evaluate_dotted, evaluate_tuple
from texcheck.evaluation.matrices import evaluate_matrix
from texcheck.evaluation.numbers import evaluate_constant, evaluate_number
from texcheck.evaluation.operations import evaluate_product, evaluate_sum, evaluate_transpose
from texcheck.evaluation.powers import evaluate_power
from texcheck.evaluation.reductions import evaluate_reduction
from texcheck.evaluation.symbols import evaluate_call, evaluate_symbol
from texcheck.nodes import Node

RULES: dict[type[Node], Rule] = {
    nodes.Number: evaluate_number,
    nodes.Constant: evaluate_constant,
    nodes.Symbol: evaluate_symbol,
    nodes.SumOf: evaluate_sum,
    nodes.Product: evaluate_product,
    nodes.Power: evaluate_power,
    nodes.Transpose: evaluate_transpose,
    nodes.Index: evaluate_index,
    nodes.Call: evaluate_call,
    nodes.KnownCall: evaluate_known_call,
    nodes.Norm: evaluate_norm,
    nodes.TupleOf: evaluate_tuple,
    nodes.Dotted: evaluate_dotted,
    nodes.Matrix: evaluate_matrix,
    nodes.Reduction: evaluate_reduction,
    nodes.Indicator: evaluate_indicator,
    nodes.Cases: evaluate_cases,
    nodes.Integral: evaluate_integral,
    nodes.Derivative: evaluate_derivative,
    nodes.Moment: evaluate_moment,
}

"""Symbols and functions that the check declares."""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from texcheck import nodes
from texcheck.errors import LatexError
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.lists import values_of
from texcheck.nodes import Node
from texcheck.parser import canonical_name
from texcheck.values import UNFILLED, Crossed, Depends, Random, Value, as_array, plain

# So many calls of each function are remembered, to be repeated with other arguments.
MOST_CALLS = 40
# What a declared function may say to arguments that it does not take.
REFUSALS = (TypeError, ValueError, LookupError, ArithmeticError, RuntimeError)


def evaluate_symbol(evaluator: Evaluator, node: nodes.Symbol) -> Value:
    """What a symbol is bound to."""
    name = node.name
    value = evaluator.values[name]
    if isinstance(value, Depends):
        arguments = [as_argument(dependency(evaluator, key, node)) for key in value.names]
        return answered(evaluator, name, value.function, arguments, node)
    if isinstance(value, Random):
        raise evaluator.fail(f"the random variable {name} is printed outside an expectation", node)
    if isinstance(value, (range, set, frozenset)):
        raise evaluator.fail(f"{name} is a set and has no value", node)
    return value


def dependency(evaluator: Evaluator, key: str, node: nodes.Symbol) -> Value:
    """The value of a symbol on which another depends."""
    name = canonical_name(key)
    if name not in evaluator.values:
        raise evaluator.fail(f"{node.name} depends on {key}, which is not declared", node)
    return evaluator.evaluate(nodes.Symbol(name, position=node.position))


def evaluate_call(evaluator: Evaluator, node: nodes.Call) -> Value:
    """A declared function at its arguments."""
    arguments = [as_argument(value) for value in values_of(evaluator, node.arguments)]
    function = evaluator.values[node.name]
    calls = evaluator.memory.calls.setdefault(node.name, [])
    if len(calls) < MOST_CALLS and not node.given:
        calls.append(arguments)
    if node.given:
        given = tuple(as_argument(value) for value in values_of(evaluator, node.given))
        function = functools.partial(function, given=given)
    return answered(evaluator, node.name, function, arguments, node)


def as_argument(value: Value) -> Value:
    """A value as a bound function receives it: plain numbers and arrays."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    if isinstance(value, Crossed):
        return as_array(value)
    return value


def answered(
    evaluator: Evaluator,
    name: str,
    function: Callable[..., Any],
    arguments: list[Value],
    node: Node,
) -> Value:
    """What a declared function says to these arguments."""
    try:
        return plain(function(*arguments))
    except (LatexError, RecursionError):
        raise
    except REFUSALS as error:
        if UNFILLED in str(error):
            raise evaluator.fail(f"the function {name!r} {UNFILLED}", node) from None
        raise evaluator.fail(f"{name} refused its arguments: {error}", node) from error

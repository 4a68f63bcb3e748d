"""Entries of arrays: which indices are printed, and where they lead."""

from __future__ import annotations

import numpy as np

from texcheck import nodes
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.numbers import whole_number
from texcheck.nodes import Node, Nodes
from texcheck.values import Array, Crossed, Value, describe


def evaluate_index(evaluator: Evaluator, node: nodes.Index) -> Value:
    """An entry, a row or a part of an array."""
    # The noise of a declared array is put on the entry, not on all entries for each of them.
    with evaluator.with_noise(None if isinstance(node.base, nodes.Symbol) else evaluator.noise):
        value = evaluator.evaluate(node.base)
    if isinstance(value, Crossed):
        value = value.array
    if not isinstance(value, np.ndarray):
        raise evaluator.fail(f"there is an index on {describe(value)}, which has no entries", node)
    indices = split_indices(evaluator, value, node.indices, node)
    if len(indices) > value.ndim:
        raise evaluator.fail(f"there are {len(indices)} indices on {describe(value)}", node)
    keys = tuple(
        place_of(evaluator, index, value.shape[axis], node) for axis, index in enumerate(indices)
    )
    result = value[keys]
    return result.item() if isinstance(result, np.generic) else result


def split_indices(evaluator: Evaluator, value: Array, indices: Nodes, node: Node) -> Nodes:
    """The indices of an array: ``ij`` is a product below a vector and two indices of a matrix."""
    if len(indices) != 1 or not isinstance(indices[0], nodes.RunTogether):
        return indices
    items = indices[0].items
    product = indices[0].whole
    if value.ndim == 1:
        if product is None:
            raise evaluator.fail("these are several indices of a vector; write one", node)
        return (product,)
    symbols = all(isinstance(item, (nodes.Symbol, nodes.Index)) for item in items)
    digits = all(isinstance(item, nodes.Number) for item in items) and max(value.shape) <= 9
    if len(items) == value.ndim and (symbols or digits or product is None):
        return tuple(items)
    raise evaluator.fail(
        f"these indices on {describe(value)} are ambiguous; write commas between them", node
    )


def place_of(evaluator: Evaluator, index: Node, size: int, node: Node) -> int:
    """Where an index leads, counted from the formula's first index."""
    number = whole_number(evaluator, evaluator.evaluate(index), index)
    place = number - evaluator.first_index
    if not 0 <= place < size:
        last_index = evaluator.first_index + size - 1
        raise evaluator.fail(
            f"index {number} is outside {evaluator.first_index}…{last_index}", node
        )
    return place

"""How far indices run: by their bounds, their conditions or the arrays that they index."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from texcheck import nodes
from texcheck.evaluation.conditions import FLIPPED, is_met
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.indices import split_indices
from texcheck.evaluation.numbers import whole_number
from texcheck.evaluation.sets import members_of
from texcheck.nodes import Bounds, Chain, Node, Symbol, names_in
from texcheck.values import as_array, is_number


def assignments(
    evaluator: Evaluator,
    names: tuple[str, ...],
    ranges: tuple[Bounds | None, ...],
    tests: tuple[Chain, ...],
    body: Node | None,
    node: Node,
) -> Iterator[dict[str, int]]:
    """All values of the running indices that satisfy the conditions."""
    if not names:
        yield {}
        return
    name, stated = names[0], ranges[0]
    if stated is not None:
        low, high = (whole_number(evaluator, evaluator.evaluate(end), end) for end in stated)
        choices: Sequence[int] = range(low, high + 1)
    else:
        choices = choices_of(evaluator, name, set(names[1:]), tests, body, node)
    later = set(names[1:])
    ready = [test for test in tests if not nodes.names_in(test) & later]
    waiting = tuple(test for test in tests if nodes.names_in(test) & later)
    for value in choices:
        with evaluator.bound({name: value}):
            if not all(is_met(evaluator, test) for test in ready):
                continue
            for rest in assignments(evaluator, names[1:], ranges[1:], waiting, body, node):
                yield {name: value, **rest}


def choices_of(
    evaluator: Evaluator,
    name: str,
    later: set[str],
    tests: tuple[Chain, ...],
    body: Node | None,
    node: Node,
) -> Sequence[int]:
    """The range of an index: from its conditions, or from the arrays it indexes."""
    low: int | None = None
    high: int | None = None
    subject = nodes.Symbol(name)
    for test in tests:
        sides, relations = test.sides, test.relations
        for k, side in enumerate(sides):
            if side != subject:
                continue
            if k < len(relations) and relations[k] == "in":
                members = members_of(evaluator, sides[k + 1])
                if members is not None:
                    return members
            for bounds in (
                bounds_beyond(evaluator, sides[k + 1 :], relations[k:], later | {name}),
                bounds_beyond(
                    evaluator,
                    sides[:k][::-1],
                    [FLIPPED.get(r, r) for r in relations[:k][::-1]],
                    later | {name},
                ),
            ):
                low = max((b for b in (low, bounds[0]) if b is not None), default=None)
                high = min((b for b in (high, bounds[1]) if b is not None), default=None)
    if low is not None and high is not None:
        return range(low, high + 1)
    size = indexed_size(evaluator, name, body, node)
    start = evaluator.first_index if low is None else low
    stop = evaluator.first_index + size - 1 if high is None else high
    return range(start, stop + 1)


def bounds_beyond(
    evaluator: Evaluator, sides: Sequence[Node], relations: Sequence[str], unknown: set[str]
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
        if nodes.names_in(side) & unknown:
            continue
        value = evaluator.evaluate(side)
        if not is_number(value) or isinstance(value, complex) or not math.isfinite(value):
            break
        highest = math.ceil(value) - 1 if strict else math.floor(value)
        lowest = math.floor(value) + 1 if strict else math.ceil(value)
        if not direction:
            return lowest, highest
        return (None, highest) if direction == "<" else (lowest, None)
    return None, None


def indexed_size(evaluator: Evaluator, name: str, body: Node | None, node: Node) -> int:
    """The length of the axis that an index without a stated range runs over."""
    sizes: set[int] = set()
    for part in body.walk() if body is not None else ():
        if not isinstance(part, nodes.Index) or name not in nodes.names_in_all(part.indices):
            continue
        if not nodes.names_in(part.base) <= set(evaluator.values):
            continue
        array = as_array(evaluator.evaluate(part.base))
        for axis, index in enumerate(split_indices(evaluator, array, part.indices, part)):
            if index == nodes.Symbol(name) and axis < array.ndim:
                sizes.add(array.shape[axis])
    if len(sizes) != 1:
        found = f"its arrays have lengths {sorted(sizes)}" if sizes else "it indexes no array"
        raise evaluator.fail(f"the range of {name} is not stated and {found}", node)
    return sizes.pop()


def covers(node: Chain, evaluator: Evaluator) -> bool:
    """Whether a printed range of an index is exactly the range that the check declares for it.

    Printed are ``i = 0, 1, \\ldots, n`` and ``0 \\le i < n``; any other chain covers what it must.
    """
    sides, relations = node.sides, node.relations
    place = 0 if relations == ("in",) else 1
    if place == 1 and not (len(relations) == 2 and set(relations) <= {"<", "<="}):
        return True
    index = sides[place]
    declared = evaluator.declared.get(index.name) if isinstance(index, Symbol) else None
    if not (isinstance(index, Symbol) and isinstance(declared, range)):
        return True
    if place == 0:
        members = members_of(evaluator, sides[1])
        return members is None or sorted(members) == sorted(declared)
    others = names_in(sides[0]) | names_in(sides[2])
    if any(isinstance(evaluator.declared.get(name), range) for name in others):
        return True
    found = assignments(evaluator, (index.name,), (None,), (node,), None, node)
    return [assignment[index.name] for assignment in found] == sorted(declared)

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
    *,
    names: tuple[str, ...],
    ranges: tuple[Bounds | None, ...],
    tests: tuple[Chain, ...],
    body: Node | None,
    node: Node,
) -> Iterator[dict[str, int]]:
    """All values of the running indices that satisfy the conditions.

    ``body`` is what they run over: an index without a stated range runs as far as its arrays.
    """
    if not names:
        yield {}
        return
    name = names[0]
    stated = ranges[0]
    later = set(names[1:])
    if stated is not None:
        low = whole_number(evaluator, evaluator.evaluate(stated[0]), stated[0])
        end = evaluator.evaluate(stated[1])
        if isinstance(end, float) and math.isinf(end):
            raise evaluator.fail(
                "infinitely many terms cannot be computed one by one; let the index end at a "
                "number, or print what the terms add up to",
                stated[1],
            )
        high = whole_number(evaluator, end, stated[1])
        forbid_backwards(evaluator, stated, low, high)
        choices: Sequence[int] = range(low, high + 1)
    else:
        choices = choices_of(evaluator, name, later=later, tests=tests, body=body, node=node)
    ready = [test for test in tests if not nodes.names_in(test) & later]
    waiting = tuple(test for test in tests if nodes.names_in(test) & later)
    for value in choices:
        with evaluator.bound({name: value}):
            if not all(is_met(evaluator, test) for test in ready):
                continue
            others = assignments(
                evaluator,
                names=names[1:],
                ranges=ranges[1:],
                tests=waiting,
                body=body,
                node=node,
            )
            for other in others:
                yield {name: value, **other}


def forbid_backwards(evaluator: Evaluator, stated: Bounds, low: int, high: int) -> None:
    """``\\prod_{t=T-1}^{1}`` runs down to one reader, and over nothing to another."""
    if low > high and names_in(stated[0]) and not names_in(stated[1]):
        raise evaluator.fail(
            f"the index runs from {low} down to {high}; print the smaller bound below", stated[0]
        )


def choices_of(
    evaluator: Evaluator,
    name: str,
    *,
    later: set[str],
    tests: tuple[Chain, ...],
    body: Node | None,
    node: Node,
) -> Sequence[int]:
    """The range of an index: from its conditions, or from the arrays it indexes."""
    lows: list[int] = []
    highs: list[int] = []
    unknown = later | {name}
    subject = nodes.Symbol(name)
    for test in tests:
        sides = test.sides
        relations = test.relations
        for k, side in enumerate(sides):
            if side != subject:
                continue
            if k < len(relations) and relations[k] == "in":
                members = members_of(evaluator, sides[k + 1])
                if members is not None:
                    return members
            # To the left of the index the chain is read backwards.
            turned = [FLIPPED.get(relation, relation) for relation in relations[:k][::-1]]
            for low, high in (
                bounds_beyond(evaluator, sides[k + 1 :], relations[k:], unknown),
                bounds_beyond(evaluator, sides[:k][::-1], turned, unknown),
            ):
                lows += [] if low is None else [low]
                highs += [] if high is None else [high]
    if lows and highs:
        return range(max(lows), min(highs) + 1)
    size = indexed_size(evaluator, name, body, node)
    start = max(lows, default=evaluator.first_index)
    stop = min(highs, default=evaluator.first_index + size - 1)
    return range(start, stop + 1)


def bounds_beyond(
    evaluator: Evaluator, sides: Sequence[Node], relations: Sequence[str], unknown: set[str]
) -> tuple[int | None, int | None]:
    """The lowest and highest whole number that a chain ``index R side R side …`` allows.

    Sides that hold other running indices are passed over as long as the direction stays.
    """
    direction = ""
    strict = False
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


def covers(evaluator: Evaluator, node: Chain) -> bool:
    """Whether a printed range of an index is exactly the range that the check declares for it.

    Printed are ``i = 0, 1, \\ldots, n`` and ``0 \\le i < n``; any other chain covers what it must.
    """
    sides = node.sides
    relations = node.relations
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
    found = assignments(
        evaluator, names=(index.name,), ranges=(None,), tests=(node,), body=None, node=node
    )
    return [assignment[index.name] for assignment in found] == sorted(declared)

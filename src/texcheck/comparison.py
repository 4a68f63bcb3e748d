"""Two sides and the relation between them: does it hold, up to rounding?"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from texcheck.approximation import (
    HOW,
    Shares,
    better,
    is_printed,
    rounds_to,
    share_between,
)
from texcheck.decimals import Numbers, Rounding, Roundings, decimals_in, with_numbers
from texcheck.errors import LatexError, ShapeError
from texcheck.evaluation.evaluator import Evaluator
from texcheck.evaluation.sets import is_member
from texcheck.nodes import Chain, Node, Number, Symbol
from texcheck.relation import MANY, ORDER, Relation, Seen, levels_of, result_of
from texcheck.rounding import LARGEST_SHARE, SAMPLES, Noise, badly_conditioned, room_between
from texcheck.values import Array, Crossed, as_array, is_exact, is_number, is_real


@dataclass
class Finding:
    """What a comparison of two sides found; the fields are those of ``Relation``."""

    deviation: float
    holds: bool
    note: str = ""
    slack: float = math.inf
    attained: bool = False
    differ: bool = True
    share: float = 0.0
    needed: bool = False


def states_a_sign(side: Node) -> bool:
    """Whether a side is 0: ``x > 0`` is no bound that could be nearer."""
    return isinstance(side, Number) and side.value == 0


def smallest_slack(relation: str, a: Array, b: Array, gap: Array) -> float:
    """How near two sides come, as a share of the larger; 0 = 0 says nothing of a bound.

    Whole numbers with ``<`` between them cannot be nearer than 1.
    """
    size = np.maximum(np.abs(a), np.abs(b))
    if relation in ("<", ">"):
        whole = (a == np.round(a)) & (b == np.round(b))
        gap = np.where(whole & (gap == 1), 0.0, gap)
    telling = np.isfinite(gap) & (size > 0)
    return float(np.min(gap[telling] / size[telling])) if np.any(telling) else math.inf


def verdict(relation: str, a: Array, b: Array, gap: Array, room: Array) -> Finding:
    """Whether an equality or inequality of real or complex entries holds within the room."""
    if relation == "=":
        return Finding(deviation=float(np.max(gap)), holds=bool((gap <= room).all()))
    if relation == "!=":
        return Finding(deviation=0.0, holds=bool((gap > room).any()))
    upwards = relation in ("<", "<=")
    smaller = a if upwards else b
    larger = b if upwards else a
    if relation in ("<", ">"):
        # Sides that agree within the room are equal, so that neither is the smaller.
        holds = bool(np.all((smaller < larger) & (gap > room)))
    else:
        holds = bool(np.all((smaller <= larger) | (gap <= room)))
    return Finding(
        deviation=float(np.max(np.where(smaller > larger, gap, 0.0))),
        holds=holds,
        slack=smallest_slack(relation, a, b, gap),
        attained=bool((gap <= room).any()),
        differ=bool((gap > room).any()),
    )


def clearly_fails(relation: str, a: Array, b: Array, gap: Array) -> bool:
    """Whether a relation fails by more than rounding may make out in a check."""
    far = gap > LARGEST_SHARE * np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0)
    if relation in ("<", "<="):
        far &= a > b
    elif relation in (">", ">="):
        far &= a < b
    return relation != "!=" and bool(far.any())


@dataclass
class Sides:
    """Both sides of a relation at one value of the indices, as ``texcheck.decimals`` asks for them.

    ``room``: how far sides may differ by rounding, with noise from ``pair``.
    """

    pair: Callable[[Noise | None, Numbers], tuple[Array, Array]]
    room: Callable[[tuple[Array, Array], Array, Callable[[Noise], tuple[Array, Array]]], Array]

    def sides(self, numbers: Numbers) -> tuple[Array, Array]:
        """The values of both sides."""
        return self.pair(None, numbers)

    def equal(self, numbers: Numbers) -> bool:
        """Whether both sides are equal up to rounding."""
        a, b = self.sides(numbers)
        gap = np.where(a == b, 0.0, np.abs(a - b))
        if np.isnan(gap).any() or clearly_fails("=", a, b, gap):
            return False
        room = self.room((a, b), gap, lambda noise: self.pair(noise, numbers))
        return bool((gap <= room).all())


def not_equal(rounding: Rounding, share: float, number: int) -> str:
    """Why ``\\approx`` is not true as it is printed, and what to do."""
    printed = ", ".join(one.printed for one in rounding.decimals)
    exact = (
        f"no numbers that round to {printed} make them equal" if printed else "nothing is rounded"
    )
    return (
        f"the sides differ by {share:.2g} of the larger one, and {exact}; correct it, or say how "
        f"near they are: {HOW.format(number=number, share=1.5 * share)}"
    )


class Comparison:
    """Compares the sides of one text: equal up to rounding, near up to a share.

    ``approx``: the shares by which sides of an ``\\approx`` may differ, by the number of the
    relation, which ``numbers`` tells of its place; ``roundings``: what other values, on which the
    same text was tried, told of the decimals beside an ``\\approx``.

    A ``hasty`` comparison, of misprints, asks for no rounding where the sides differ in the sixth
    digit: they could only be refused as badly conditioned.
    """

    def __init__(
        self,
        text: str,
        *,
        approx: Shares | None = None,
        numbers: Mapping[int, int] | None = None,
        roundings: Roundings | None = None,
        sampling_error: float = 0.0,
        hasty: bool = False,
    ) -> None:
        self.text = text
        self.approx = approx or {}
        self.numbers = numbers or {}
        self.roundings: Roundings = {} if roundings is None else roundings
        # Whether a relation is claimed for the values that are tried.
        self.claimed = True
        self.sampling_error = sampling_error
        self.hasty = hasty and not sampling_error
        self.noises = [Noise(seed) for seed in range(SAMPLES)]

    @contextlib.contextmanager
    def only_if(self, claimed: bool) -> Iterator[None]:
        """Let relations be claimed inside the block, or only tried."""
        before = self.claimed
        self.claimed = claimed
        try:
            yield
        finally:
            self.claimed = before

    def chain(self, node: Chain, evaluator: Evaluator, case: Mapping[str, int]) -> list[Relation]:
        """One entry for each relation of a chain, at one value of the indices."""
        result: list[Relation] = []
        # The side that the next relation is about: the last one that is no set.
        left = evaluator.side(node.sides[0])
        place = 0
        for k, relation in enumerate(node.relations):
            side = node.sides[k + 1]
            right = None
            if relation in ("in", "notin"):
                holds = is_member(evaluator, left, side, node) == (relation == "in")
                found = Finding(deviation=0.0 if holds else math.inf, holds=holds)
            else:
                right = evaluator.side(side)
                found = self.found(node, k, place, evaluator, case)
            if states_a_sign(node.sides[k]) or states_a_sign(side):
                found.slack = 0.0
            levels: frozenset[complex] = frozenset()
            if relation == "=" and all(one.free_names for one in node.sides):
                levels = levels_of(left) if levels_of(left) == levels_of(right) else MANY
            near: dict[tuple[str, int], float] = {}
            if relation in ORDER:
                near = self.nearness(node.sides[k], side, found.slack, case)
            result.append(
                Relation(
                    relation=relation,
                    left_text=node.texts[k],
                    right_text=node.texts[k + 1],
                    left=result_of(left),
                    right=result_of(right),
                    deviation=found.deviation,
                    holds=found.holds,
                    position=node.places[k],
                    note=found.note,
                    seen=Seen(
                        slack=found.slack,
                        near=near,
                        attained=found.attained,
                        differ=found.differ,
                        share=found.share,
                        needed=found.needed,
                        levels=levels,
                    ),
                )
            )
            if right is not None:
                left = right
                place = k + 1
        return result

    def nearness(
        self, left: Node, right: Node, slack: float, case: Mapping[str, int]
    ) -> dict[tuple[str, int], float]:
        """How near both sides are at these values of the indices on which they depend.

        ``0 \\le i < n`` is no bound but a range of i.
        """
        names = left.free_names | right.free_names
        names -= {side.name for side in (left, right) if isinstance(side, Symbol)}
        return {(name, value): slack for name, value in case.items() if name in names}

    def found(
        self, node: Chain, k: int, place: int, evaluator: Evaluator, case: Mapping[str, int]
    ) -> Finding:
        """What ``compare`` finds, for relations that an earlier text printed as well."""
        if node.relations[k] == "approx" or evaluator.noise is not None:
            return self.compare(node, k, place, evaluator)
        left, _ = evaluator.known_node(node.sides[place])
        right, _ = evaluator.known_node(node.sides[k + 1])
        key = (node.relations[k], id(left), id(right), *case.items())
        known: dict[Any, Finding] = evaluator.memory.known
        if key not in known:
            known[key] = self.compare(node, k, place, evaluator)
        return replace(known[key])

    def compare(self, node: Chain, k: int, place: int, evaluator: Evaluator) -> Finding:
        """Whether the chain's relation k holds between side ``place`` and the next one.

        A note says when the shapes do not fit.
        """
        relation = node.relations[k]
        position = node.places[k]
        left = evaluator.side(node.sides[place])
        right = evaluator.side(node.sides[k + 1])

        local = evaluator.local

        def pair(noise: Noise | None, numbers: Numbers | None = None) -> tuple[Array, Array]:
            with evaluator.with_noise(noise or evaluator.noise), evaluator.bound(local):
                noisy_left = evaluator.side(with_numbers(node.sides[place], numbers or {}))
                noisy_right = evaluator.side(with_numbers(node.sides[k + 1], numbers or {}))
            a, b = self.aligned(relation, noisy_left, noisy_right, evaluator, position)
            if relation in ("=", "!=", "approx"):
                return a, b
            if not (is_real(a) and is_real(b)):
                raise LatexError(
                    "an inequality needs real numbers, and a side is complex", position, self.text
                )
            return np.real(a), np.real(b)

        try:
            a, b = pair(None)
        except ShapeError as error:
            return Finding(deviation=math.inf, holds=False, note=error.message)
        except OverflowError:
            raise LatexError("a number is too large to be compared", position, self.text) from None
        gap = np.where(a == b, 0.0, np.abs(a - b))
        if np.isnan(gap).any():
            return Finding(deviation=math.inf, holds=False)
        if relation == "approx":
            found = Finding(float(np.max(gap)), holds=False)
            found.differ = bool(np.any(gap > self.room((a, b), gap, pair, None)))
            self.approximate(found, (a, b), (node, k, place), pair)
            return found
        if is_number(left) and is_number(right) and is_exact(left) and is_exact(right):
            # As floats, two large whole numbers may be the same.
            gap = np.asarray(float(abs(left - right)))
            room = np.zeros(())
        elif self.hasty and clearly_fails(relation, a, b, gap):
            return Finding(deviation=float(np.max(gap)), holds=False)
        else:
            room = self.room((a, b), gap, pair, position)
        found = verdict(relation, a, b, gap, room)
        if self.sampling_error and found.holds:
            largest = max(np.max(np.abs(a)), np.max(np.abs(b)))
            found.share = float(found.deviation / largest) if largest else 0.0
        return found

    def approximate(
        self,
        found: Finding,
        sides: tuple[Array, Array],
        where: tuple[Chain, int, int],
        pair: Callable[..., tuple[Array, Array]],
    ) -> None:
        """Whether two sides are as near as ``\\approx`` says, or as the check says of it."""
        node, k, place = where
        texts = (node.texts[place], node.texts[k + 1])
        number = self.numbers.get(node.places[k], 0)
        share, _ = self.approx.get(number, (0.0, ""))
        differs = share_between(*sides)
        if is_printed(texts):
            found.holds = rounds_to(*sides, texts)
            found.needed = not found.holds
            if share and found.needed:
                found.holds = rounds_to(*sides, texts, share)
                found.share = differs
            found.note = "" if found.holds else better(texts, sides)
            return
        both = (node.sides[place], node.sides[k + 1])
        rounding = self.roundings.setdefault(
            (node.places, k), Rounding(decimals_in(both, self.text))
        )
        instance = Sides(
            pair, lambda values, gap, noisy: self.room(values, gap, noisy, node.places[k])
        )
        found.holds = rounding.admits(instance, self.claimed)
        found.needed = not found.holds
        found.share = differs
        if share and found.needed:
            found.holds = bool(differs <= share)
        elif found.needed and not self.hasty:
            found.note = rounding.instead(instance) or not_equal(rounding, differs, number or 1)

    def room(
        self,
        sides: tuple[Array, Array],
        gap: Array,
        pair: Callable[[Noise], tuple[Array, Array]],
        position: int | None,
    ) -> Array:
        """How far the sides may differ by rounding; refused where that says too little.

        Whole numbers that noise does not move were computed from whole numbers: they are exact.
        """
        if self.sampling_error:
            largest = max(np.max(np.abs(side)) for side in sides)
            return np.full(gap.shape, self.sampling_error * largest)
        noisy: list[tuple[Array, Array]] = []
        for noise in self.noises:
            noisy.append(pair(noise))
            room = room_between(sides, noisy)
            # So far apart that no further sample could tell it is rounding.
            if (gap > 1e6 * room).any():
                return room
            if (gap <= room).all():
                break  # A further sample could only make the room larger.
        agree = gap <= room
        a, b = np.broadcast_arrays(*sides)
        if position is not None and badly_conditioned((a[agree], b[agree]), room[agree]):
            raise LatexError(
                "badly conditioned: rounding alone may change more than the sixth digit; "
                "choose values without so much cancellation",
                position,
                self.text,
            )
        return room

    def aligned(
        self, relation: str, left: Any, right: Any, evaluator: Evaluator, position: int
    ) -> tuple[Array, Array]:
        """Both sides with one shape."""
        a = as_array(left)
        b = as_array(right)
        if is_number(left) and is_number(right):
            return a, b
        if is_number(left) or is_number(right):
            number = left if is_number(left) else right
            # x = 0 and x ≠ 0 speak of the array of zeros.
            if relation not in ("=", "!=") or number != 0:
                raise ShapeError(
                    "a number cannot be compared with an array; only 0 can, by = or \\ne",
                    position,
                    self.text,
                )
            return a, b
        same_kind = isinstance(left, Crossed) == isinstance(right, Crossed)
        if a.shape != b.shape or (a.ndim == 1 and not same_kind):
            a = evaluator.arithmetic.grid(left)
            b = evaluator.arithmetic.grid(right)
        if a.shape != b.shape:
            raise ShapeError(
                f"the sides have the shapes {a.shape} and {b.shape}", position, self.text
            )
        return a, b

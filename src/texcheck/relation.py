"""One relation of a display: what its sides are, whether it holds, what its instances showed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from texcheck.values import Crossed, as_array

# Relations that say which side is the larger.
ORDER = ("<", "<=", ">", ">=")
SHOWN = {
    "<=": r"\le",
    ">=": r"\ge",
    "!=": r"\ne",
    "approx": r"\approx",
    "in": r"\in",
    "notin": r"\notin",
}


@dataclass
class Seen:
    """What the instances of a relation have shown, on one input or on several.

    ``slack``: how near the sides of an inequality come, as a share of the larger one; ``near``: the
    same for each value of each index; ``attained``: whether they meet, as those of ``\\le`` must
    and those of ``<`` cannot; ``differ``: whether they are ever unequal; ``outcomes``: whether the
    premise and the conclusion of an implication held; ``share``: by which share of the larger side
    the expressions beside ``\\approx`` differ at most; ``needed``: whether they are no roundings;
    ``levels``: the numbers that both sides of
    an ``=`` are, two at most, without those of a chain of which a side is a plain number.
    """

    slack: float = math.inf
    near: dict[tuple[str, int], float] = field(default_factory=dict)
    attained: bool = False
    differ: bool = False
    outcomes: frozenset[tuple[bool, bool]] = frozenset()
    share: float = 0.0
    needed: bool = False
    levels: frozenset[complex] = frozenset()

    def joined(self, other: Seen) -> Seen:
        """What two sets of instances have shown together."""
        near = dict(self.near)
        for key, slack in other.near.items():
            near[key] = min(slack, near.get(key, math.inf))
        return Seen(
            slack=min(self.slack, other.slack),
            near=near,
            attained=self.attained or other.attained,
            differ=self.differ or other.differ,
            outcomes=self.outcomes | other.outcomes,
            share=max(self.share, other.share),
            needed=self.needed or other.needed,
            levels=self.levels if len(self.levels) > 1 else self.levels | other.levels,
        )


@dataclass
class Relation:
    """One relation of a display: both sides' values, their deviation, and whether it holds.

    Where the display states a range (``i = 0, \\ldots, d/2-1``), the values are those of the
    instance with the largest deviation and ``instances`` counts all of them; ``seen`` tells what
    all instances have shown.
    """

    relation: str
    left_text: str
    right_text: str
    left: Any
    right: Any
    deviation: float
    holds: bool
    position: int
    instances: int = 1
    note: str = ""
    seen: Seen = field(default_factory=lambda: Seen())
    # The indices at which it is as it is.
    case: Mapping[str, int] = field(default_factory=dict)

    @property
    def sign(self) -> str:
        """The relation as it is printed."""
        return SHOWN.get(self.relation, self.relation)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "fails"
        detail = f"; {self.note}" if self.note else ""
        return (
            f"{self.left_text} {self.sign} {self.right_text} {verdict}: "
            f"{shown(self.left)} against {shown(self.right)}, "
            f"deviation {self.deviation:.3g}{detail}"
        )


def shown(value: Any) -> str:
    """A value as an error prints it."""
    if value is None:
        return "a set"
    return np.array2string(as_array(value), precision=6, threshold=12)


def result_of(value: Any) -> Any:
    """A value as the caller receives it: a number or an array."""
    if isinstance(value, Crossed):
        return value.array
    return float(value) if type(value) is Fraction else value


# The levels of sides that are no one number.
MANY = frozenset((0.0, 1.0))


def levels_of(value: Any) -> frozenset[complex]:
    """The number that a side of an ``=`` is, or that all its entries are."""
    array = as_array(value)
    first = array.flat[0] if array.size else 0.0
    return frozenset((complex(first),)) if np.all(array == first) else MANY


def levelled(levels: frozenset[complex], inputs: int) -> str:
    """What is wrong with an equation whose sides are one number everywhere; else empty."""
    if len(levels) != 1:
        return ""
    (level,) = levels
    if level != 0 and inputs == 1:
        return ""
    return (
        f"has the value {level.real:.7g} on both sides everywhere, so that other texts with this "
        'value would hold as well; draw values for which it varies, or say why not: fixed={"=": '
        '"why"}'
    )


def severity(relation: Relation) -> tuple[bool, float]:
    """The order in which relations are worse."""
    return (not relation.holds, relation.deviation)


def worse(one: Relation, other: Relation) -> Relation:
    """The worse of two instances of a relation, with what both have shown."""
    if one is other:
        return one
    seen = one.seen.joined(other.seen)
    chosen = max(one, other, key=severity)
    chosen.seen = seen
    return chosen

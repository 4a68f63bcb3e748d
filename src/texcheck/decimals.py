r"""Decimals in an expression beside ``\approx``: each stands for all numbers that round to it.

``d_g \approx 2.67 d`` holds where some number between 2.665 and 2.675 makes it an equality, at all
values of its symbols the same one. A whole number is exact: it rounds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from texcheck.errors import LatexError, ShapeError
from texcheck.nodes import Chain, Node, Number
from texcheck.values import Array

PRINTED = re.compile(
    r"(?P<whole>\d+(?:(?:\{,\}|,|\\,)\d{3})*)\.(?P<decimals>\d+)(?:[eE](?P<power>[+-]?\d+))?"
)
# How often the numbers are improved, and at how many instances together, at most.
STEPS = 8
MOST_INSTANCES = 2000
# In units of the last digit: how far a rounding may be off, how far a better number is looked for,
# and the step of a slope.
HALF = 0.5 + 1e-9
FAR = 1e4
STEP = 1e-2

Numbers = Mapping[int, float]


@dataclass(frozen=True)
class Decimal:
    """A printed decimal: its place, its value, the unit of its last digit."""

    position: int
    value: float
    unit: float
    printed: str

    def moved(self, units: int) -> str:
        """The decimal with another last digit; empty where it would be below 0."""
        match = PRINTED.fullmatch(self.printed)
        assert match is not None
        places = len(match["decimals"])
        power = self.printed[match.end("decimals") :]
        digits = int(re.sub(r"\D", "", match["whole"]) + match["decimals"]) + units
        whole, rest = divmod(digits, 10**places)
        return f"{whole}.{rest:0{places}d}{power}" if digits >= 0 else ""

    def rounded(self, number: float) -> str:
        """A number with as many digits behind the point as are printed here."""
        return self.moved(round((number - self.value) / self.unit))


def is_excused(name: str, excused: Collection[str]) -> bool:
    """Whether a misprint is said to be true as well, alone or with its place: "…, after x"."""
    return any(one == name or one.startswith(f"{name}, ") for one in excused)


def decimal_at(text: str, number: Number) -> Decimal | None:
    """The decimal that is printed where a number stands; None where it is no decimal."""
    match = PRINTED.match(text, number.position)
    if match is None:
        return None
    places = len(match["decimals"])
    power = int(match["power"] or 0)
    whole = re.sub(r"\D", "", match["whole"])
    value = float(f"{whole}.{match['decimals']}e{power}")
    if value != number.value:
        return None
    return Decimal(number.position, value, 10.0 ** (power - places), match[0])


def decimals_in(sides: Sequence[Node], text: str) -> list[Decimal]:
    """The decimals that are printed in some sides."""
    numbers = (part for side in sides for part in side.walk() if isinstance(part, Number))
    found = {one.position: one for part in numbers if (one := decimal_at(text, part)) is not None}
    return [found[position] for position in sorted(found)]


def beside_nearness(chain: Chain) -> Iterator[Node]:
    """The sides of a chain that stand beside ``\\approx``."""
    for k, relation in enumerate(chain.relations):
        if relation == "approx":
            yield from chain.sides[k : k + 2]


def with_numbers(part: Any, numbers: Numbers) -> Any:
    """A tree with other numbers at some places."""
    if isinstance(part, Number) and part.position in numbers:
        return Number(numbers[part.position], position=part.position)
    if isinstance(part, tuple):
        return tuple(with_numbers(one, numbers) for one in part)
    if not isinstance(part, Node) or not numbers:
        return part
    return part.rebuilt(with_numbers(part.parts, numbers))


class Instance(Protocol):
    """Both sides at one value of the symbols, with any numbers in place of the decimals."""

    def sides(self, numbers: Numbers) -> tuple[Array, Array]:
        """The values of both sides."""
        ...

    def equal(self, numbers: Numbers) -> bool:
        """Whether both sides are equal up to rounding."""
        ...


@dataclass
class Rounding:
    """The decimals of one ``\\approx``, and numbers that make it an equality wherever it was seen.

    ``failed``: there are none.
    """

    decimals: list[Decimal]
    numbers: dict[int, float] = field(default_factory=dict)
    instances: list[Instance] = field(default_factory=list)
    failed: bool = False

    def admits(self, instance: Instance, learning: bool) -> bool:
        """Whether some numbers make it an equality here too; ``learning``: they must from now on.

        What follows from a premise need not hold where that is false.
        """
        if self.failed and learning:
            return False
        numbers: dict[int, float] | None = self.numbers
        if not instance.equal(self.numbers):
            numbers = self.fitting([*self.instances, instance], HALF)
        if not learning:
            return numbers is not None
        if numbers is None:
            self.failed = True
            return False
        self.numbers = numbers
        if len(self.instances) < MOST_INSTANCES:
            self.instances.append(instance)
        return True

    def instead(self, instance: Instance) -> str:
        """What should be printed, where other numbers make it an equality; empty where none do.

        So too where the values do not yet tell the numbers from each other.
        """
        instances = [*self.instances, instance]
        numbers = self.fitting(instances, FAR)
        if numbers is None:
            return ""
        units = np.array([one.unit for one in self.decimals])
        found = np.array([numbers[one.position] for one in self.decimals])
        _, slopes = self.linear(instances, found, units)
        if np.linalg.matrix_rank(slopes) < len(units):
            return ""
        told = [
            f"{one.printed} is no rounding of {number:.7g}"
            + (f": print {better}, or more digits" if better else "")
            for one, number in zip(self.decimals, found, strict=True)
            if (better := one.rounded(number)) != one.printed
        ]
        return "; ".join(told)

    def fitting(self, instances: Sequence[Instance], room: float) -> dict[int, float] | None:
        """Numbers at most so many last digits from the printed ones with which all are equal."""
        if not self.decimals:
            return None
        # Here, as it takes long to import and few texts need it.
        from scipy.optimize import lsq_linear

        units = np.array([one.unit for one in self.decimals])
        center = np.array([one.value for one in self.decimals])
        values = center.copy()
        for _ in range(STEPS):
            try:
                gaps, slopes = self.linear(instances, values, units)
            except (LatexError, ShapeError):
                return None
            if not (np.isfinite(gaps).all() and np.isfinite(slopes).all() and slopes.any()):
                return None
            moved = (values - center) / units
            bounds = (-room - moved - 1e-12, room - moved + 1e-12)
            found = lsq_linear(slopes, -gaps, bounds=bounds, method="bvls")
            values = values + units * found.x
            numbers = self.at(values)
            if all(instance.equal(numbers) for instance in instances):
                return numbers
        return None

    def linear(
        self, instances: Sequence[Instance], values: Array, units: Array
    ) -> tuple[Array, Array]:
        """How far the sides differ, as a share, and what one last digit more would change."""
        gaps = []
        slopes = []
        for instance in instances:
            a, b = instance.sides(self.at(values))
            size = np.maximum(np.abs(a), np.abs(b))
            size = np.where(size > 0, size, 1.0)
            gaps.append(parts((a - b) / size))
            columns = []
            for place in range(len(units)):
                step = STEP * units * (np.arange(len(units)) == place)
                above, below = (instance.sides(self.at(values + s * step)) for s in (1, -1))
                slope = ((above[0] - above[1]) - (below[0] - below[1])) / (2 * STEP * size)
                columns.append(parts(slope))
            slopes.append(np.stack(columns, axis=1))
        return np.concatenate(gaps), np.concatenate(slopes)

    def at(self, values: Array) -> dict[int, float]:
        """The numbers by their places."""
        return {
            one.position: float(value) for one, value in zip(self.decimals, values, strict=True)
        }


def parts(array: Array) -> Array:
    """The real and imaginary parts of all entries."""
    flat = np.asarray(array).ravel()
    return np.concatenate([flat.real, flat.imag]) if np.iscomplexobj(flat) else flat


# The decimals of each ≈ of a text, by the places of its relations and its number among them.
Roundings = dict[tuple[tuple[int, ...], int], Rounding]

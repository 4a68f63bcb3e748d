"""What angles have to do with the positions that were asked for, and the faults that shows."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rope_doctor.faults import HALF_TYPES, Fault, allowed
from rope_doctor.probe import Measured, angles_at, misfits, rotated_as

SHORT_PI = (3.14, 3.1416, 3.14159, 3.142, 3.1415, 3.141, 22 / 7)


def misplaced(
    measured: Measured, exact: Tensor | None, before: Sequence[Tensor] = ()
) -> list[Fault]:
    """What the angles have to do with the positions that were asked for.

    before: frequencies by a rule, where the measured ones look rounded.
    """
    gaps = misfits(measured, exact)
    worst = gaps.amax(-1).tolist()
    limits = [allowed(m, measured) for m in measured.positions]
    # Without a rule the measured frequencies are good for the positions they were measured at.
    last = measured.positions[-1] if exact is not None else 16_384
    wrong = [
        row
        for row, m in enumerate(measured.positions)
        if worst[row] > limits[row] and m <= last and limits[row] < 0.5
    ]
    if not wrong:
        return []
    found = {row: rotated_as(measured, row, exact) for row in wrong}
    # Beyond the largest float16 number, rounded positions are infinite.
    near = [row for row in wrong if measured.positions[row] < 65_000]
    elsewhere = any(found[row] != measured.positions[row] for row in near)
    if elsewhere and None not in [found[row] for row in near]:
        places = {m: float(m) for row, m in enumerate(measured.positions) if row not in wrong}
        for row, place in found.items():
            if place is not None:
                places[measured.positions[row]] = float(place)
        return [_wrong_positions(places)]
    if dynamic(measured, exact) is not None:
        return []
    half = list[Fault]()
    for theta in [*before, exact]:
        half = half or _half_angles(measured, theta, wrong)
    for theta in [exact, *before]:
        half = half or _short_pi(measured, theta)
    return half or [_wrong_pairs(measured, gaps, limits, wrong)]


def dynamic(measured: Measured, exact: Tensor | None) -> int | None:
    """The first position from which frequencies fall with the length, as in dynamic NTK scaling.

    None if they do not, or if the NTK-aware rule does not explain all of them.
    """
    gaps = misfits(measured, exact).amax(-1).tolist()
    pairs = len(measured.pairs)
    if pairs < 2 or exact is None or len(exact) != pairs:
        return None
    share = torch.arange(pairs, dtype=torch.float64) / (pairs - 1)
    sign = 1.0 if measured.forward else -1.0
    observed = measured.angles
    first = None
    for row, m in enumerate(measured.positions):
        slowest = sign * float(observed[row, -1])
        if gaps[row] <= allowed(m, measured):
            if first is not None:  # it does not stay so
                return None
            continue
        if slowest <= 0:
            return None
        grown = m * float(exact[-1]) / slowest
        angles = sign * m * exact * torch.pow(grown, -share)
        if grown < 1 or float((1 - (angles - observed[row]).cos()).max()) > 1e-3:
            return None
        first = m if first is None else first
    return first


def _wrong_positions(places: dict[int, float]) -> Fault:
    """Which rule turns the positions that were asked for into those that were used."""
    wrong = {m: place for m, place in places.items() if place != m}
    first = min(wrong)
    seen = f"position {first:,} is rotated as position {wrong[first]:,.0f}"
    for dtype in HALF_TYPES:
        if all(_rounded_position(m, dtype) == place for m, place in places.items()):
            return Fault(
                "half positions",
                f"they are rounded to {dtype}; {seen}",
                "keep positions integers, or float32, until they are multiplied",
            )
    limit = max(places.values())
    if all(place == limit for place in wrong.values()) and first > limit:
        return Fault(
            "clamped positions",
            f"none is beyond {limit:.0f}; {seen}",
            "make the table longer, or raise an error beyond it",
        )
    for bits in (8, 16):
        half = 2 ** (bits - 1)
        if all((m + half) % (2 * half) - half == place for m, place in places.items()):
            return Fault(
                "positions overflow", f"they are int{bits} numbers; {seen}", "use int64 positions"
            )
    largest = first - round(wrong[first])
    for size in range(2, max(largest, 2) + 1):
        if all(m % size == place for m, place in places.items()):
            return Fault(
                f"positions modulo {size}",
                seen,
                "make the table longer; a window or a ring buffer of the cache must not wrap "
                "positions",
            )
    table = _negative_rows(places, first)
    if table is not None:
        return Fault(
            "positions overflow",
            f"{seen}: from {first:,} on they wrap round to −{first:,}, and what is negative is "
            f"read from the end of a table of {table:,} rows, as when an index overflows an "
            "integer type",
            "compute the index in int64",
        )
    return Fault("wrong positions", seen, "multiply the frequencies by the positions as given")


def _negative_rows(places: dict[int, float], first: int) -> int | None:
    """The rows of a table, if positions wrap round at `first` and negative ones count from its end.

    None if they do not.
    """
    rows = set()
    for m, place in places.items():
        wrapped = (m + first) % (2 * first) - first
        if wrapped >= 0 and wrapped != place:
            return None
        if wrapped < 0:
            rows.add(place - wrapped)
    return int(rows.pop()) if len(rows) == 1 else None


def _rounded_position(m: int, dtype: torch.dtype) -> float:
    return float(torch.tensor(m).to(dtype))


def rounded_ways(theta: Tensor, dtype: torch.dtype) -> dict[str, Callable[[Tensor], Tensor]]:
    """What may be rounded to a half type on the way to an angle → angles of positions (n, 1)."""
    half = theta.to(dtype)
    return {
        "products of positions and frequencies": lambda m: (m * theta).to(dtype),
        "factors and products of positions and frequencies": lambda m: m.to(dtype) * half,
        "positions": lambda m: m.to(dtype).double() * theta,
        "frequencies": lambda m: m * half.double(),
        "positions and frequencies": lambda m: m.to(dtype).double() * half.double(),
    }


def _half_angles(measured: Measured, exact: Tensor | None, wrong: list[int]) -> list[Fault]:
    """Whether angles were rounded to a half type on the way."""
    signed = torch.tensor(measured.signed, dtype=torch.float64)
    if exact is not None:
        signed = exact[: len(signed)] * (1.0 if measured.forward else -1.0)
    rows = [row for row in wrong if measured.positions[row] <= 60_000]
    if not rows:
        return []
    positions = torch.tensor([measured.positions[row] for row in rows])[:, None]
    observed = measured.angles[rows]
    for dtype in HALF_TYPES:
        for what, angles_of in rounded_ways(signed, dtype).items():
            if float((1 - (angles_of(positions).double() - observed).cos()).max()) < 1e-3:
                return [
                    Fault(
                        "half angles",
                        f"{what} are rounded to {dtype}; position "
                        f"{measured.positions[rows[0]]} is off first",
                        "multiply positions and frequencies in float32 or float64",
                    )
                ]
    return []


def _short_pi(measured: Measured, exact: Tensor | None) -> list[Fault]:
    """Whether angles were reduced by a 2π of few digits."""
    positions = torch.tensor(measured.positions)
    angles = angles_at(positions, measured, exact)
    limits = torch.tensor([allowed(m, measured) for m in positions.tolist()])[:, None]
    for short in SHORT_PI:
        period = 2 * short
        reduced = angles.remainder(period) if measured.forward else -(-angles).remainder(period)
        off = (2 * ((reduced - measured.angles) / 2).sin()).abs()
        # Where an angle is a multiple of the period, rounding decides on which side it falls.
        if float((off > limits).double().mean()) < 0.02:
            return [
                Fault(
                    "short π",
                    f"angles are reduced modulo {period:.6g} = 2 · {short:.6g} in place of 2π, so "
                    "errors grow with the position",
                    "leave the reduction to cos and sin, or use 2 · math.pi",
                )
            ]
    return []


def _wrong_pairs(measured: Measured, gaps: Tensor, limits: list[float], wrong: list[int]) -> Fault:
    """Errors that no other position explains: some pairs, or all beyond some position."""
    off = gaps[wrong] > torch.tensor([limits[row] for row in wrong])[:, None]
    pairs = off.any(0).nonzero().flatten().tolist()
    first = measured.positions[wrong[0]]
    largest = float(gaps[wrong].max())
    if 2 * len(pairs) <= len(measured.pairs):
        return Fault(
            "some pairs are off",
            f"{len(pairs)} of {len(measured.pairs)} pairs, {pairs[0]} to {pairs[-1]}, do not keep "
            f"their frequency: off by up to {largest:.2g} from position {first:,} on",
            "all pairs rotate by the position times their frequency",
        )
    near = max((m for m in measured.positions if m < first), default=0)
    if near <= 1:
        turning = [pair for pair, value in enumerate(measured.signed) if value]
        pair = turning[-1] if turning else 0
        slowest = measured.angles[:, pair] / (measured.signed[pair] or 1.0)
        row = measured.positions.index(16)
        if abs(float(slowest[row]) - 16) < 0.1:
            return Fault(
                "angles are off",
                f"by up to {largest:.2g} from position {first:,} on, though slow pairs keep their "
                "frequency on the whole",
                "compute cos and sin of each angle, not from a coarse table or a short series",
            )
        return Fault(
            "not proportional",
            "angles do not grow in proportion to the position: position 16 rotates the slowest "
            f"pair {float(slowest[row]):.3g} times as far as position 1, so scores depend on more "
            "than the distance",
            "the angle is the position times the frequency",
        )
    return Fault(
        "wrong beyond a position",
        f"up to position {near:,} the angles follow their frequencies, from {first:,} on they are "
        f"off by up to {largest:.2g}",
        "look for a table that ends, a frequency that changes with the length (dynamic scaling), "
        "or angles that are added up step by step",
    )

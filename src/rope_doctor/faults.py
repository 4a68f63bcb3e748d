"""What is wrong with what was measured, and how to repair it. Words about it are in `report`."""

import math
from typing import NamedTuple

import torch

from attention_to_rope import rotary_frequencies
from rope_doctor.calling import FIRST_LENGTHS
from rope_doctor.probe import TOGETHER, Measured
from rope_doctor.spectrum import Spectrum, close, decimals_of, held_by

HALF_TYPES = (torch.bfloat16, torch.float16)


class Fault(NamedTuple):
    """A mistake by its name, what shows it, and what to change."""

    name: str
    found: str
    repair: str

    def __str__(self) -> str:
        return f"{self.name}: {self.found}. Repair: {self.repair}"


def allowed(position: int, measured: Measured) -> float:
    """The error that float32 angles explain at this position, and what a rounded table adds."""
    return 2e-5 + 1.5e-6 * position + _rounding(measured)


def structure(measured: Measured) -> list[Fault]:
    """What is wrong with the matrices themselves; the first that is found explains the others."""
    if measured.layout is None:
        found = "the dimensions do not rotate in pairs of one layout"
        sums = {a + b for a, b in measured.pairs}
        if len(sums) == 1:
            found = f"pairs are mirrored: dimension i meets {sums.pop()} − i, as after flip(-1)"
        return [
            Fault(
                "no layout",
                found,
                "pair dimension i with i + d/2 (half), or 2i with 2i + 1 (interleaved)",
            )
        ]
    vanished = _vanished(measured)
    if vanished:
        return vanished
    moved = _moved_dimensions(measured)
    if moved:
        return moved
    mixed = _outside_pairs(measured)
    if mixed:
        return mixed
    if measured.overwritten:
        return [
            Fault(
                "overwritten",
                "the second dimension of each pair is computed from the rotated first one",
                "keep x_a before it is written: a, b = x_a.clone(), x_b.clone()",
            )
        ]
    lost = _reflected(measured) or _lost_sign(measured)
    if lost:
        return lost
    if not measured.pairs_agree:
        return [
            Fault(
                "mixed layouts",
                "the two dimensions of a pair rotate by different angles; the table is laid out "
                "for another pairing than the rotation",
                "cat((θ, θ)) goes with halves, repeat_interleave(2) with neighbours",
            )
        ]
    if not measured.orthogonal:
        return [_no_rotation(measured)]
    if measured.swapped:
        return [
            Fault(
                "cos and sin swapped",
                "every pair is a quarter of a turn off at position 0",
                "x_a cos − x_b sin and x_a sin + x_b cos; look at the order of the arguments",
            )
        ]
    return [*_start(measured), *_lengths(measured), *_directions(measured)]


def _vanished(measured: Measured) -> list[Fault]:
    """Positions at which rotated vectors are zero."""
    a, b = torch.tensor(measured.pairs).T
    sizes = torch.hypot(measured.matrices[:, a, a], measured.matrices[:, a, b]).amax(-1).tolist()
    empty = [m for m, size in zip(measured.positions, sizes, strict=True) if size < 1e-6]
    if not empty or 0 in empty:
        return []
    words = f"rotated vectors are zero from position {empty[0]:,} on: the table ends before it"
    if empty[0] in FIRST_LENGTHS:
        words += (
            f"; the first call had {empty[0]} positions, so it is filled as far as the first "
            "call needs, and depends on it"
        )
    return [Fault("vectors vanish", words, "fill the table on, or raise an error beyond it")]


def _reflected(measured: Measured) -> list[Fault]:
    """Whether one of the two cosines of a pair has a minus, so that pairs are mirrored."""
    a, b = torch.tensor(measured.pairs).T
    first, second = measured.matrices[:, a, a], measured.matrices[:, b, b]
    if float((first + second).abs().max()) > 1e-3 * measured.factor:
        return []
    which = "second" if float(second[0].mean()) < 0 else "first"
    return [
        Fault(
            "sign of the cosine",
            f"the {which} dimension of each pair takes −cos, so pairs are mirrored, not rotated",
            "x_a cos − x_b sin and x_a sin + x_b cos: both cosines have a plus",
        )
    ]


def _lost_sign(measured: Measured) -> list[Fault]:
    """Whether cos or sin is never negative, though the other shows that pairs turn round."""
    a, b = torch.tensor(measured.pairs).T
    parts = {"cos": measured.matrices[:, a, a], "sin": measured.matrices[:, a, b]}
    for name, other in (("cos", "sin"), ("sin", "cos")):
        turning = (parts[other] > 1e-3).sum(0).clamp_max(9) + (parts[other] < -1e-3).sum(0) * 100
        round_and_round = (turning % 100 >= 5) & (turning // 100 >= 5)
        part = parts[name][:, round_and_round]
        alike = part.min() > -1e-6 or part.max() < 1e-6 if part.numel() else False
        if alike and float(part.abs().max()) > 0.5:
            return [
                Fault(
                    f"sign of the {'cosine' if name == 'cos' else 'sine'}",
                    f"{name} never changes its sign, though {other} does: it is the square root of "
                    f"1 − {other}², which has lost it",
                    f"compute {name} from the angle",
                )
            ]
    return []


def _drift(measured: Measured) -> Fault | None:
    """Whether lengths are right near position 0 and go astray from there on, pair by pair."""
    a, b = torch.tensor(measured.pairs).T
    lengths = torch.hypot(measured.matrices[:, a, a], measured.matrices[:, a, b])
    off = (lengths / lengths[0] - 1).abs().amax(-1).tolist()
    near = [gap for gap, m in zip(off, measured.positions, strict=True) if m <= 12]
    middle = [gap for gap, m in zip(off, measured.positions, strict=True) if 12 < m <= 300]
    far = [(gap, m) for gap, m in zip(off, measured.positions, strict=True) if m > 300]
    if not middle or not far or max(near) > 0.02:
        return None
    if not 2 * max(near) < max(middle) < max(far)[0]:
        return None
    return Fault(
        "table drifts",
        f"lengths are right near position 0, to {max(near):.0e}, and off by {max(far)[0]:.2g} at "
        f"position {max(far)[1]:,}: cos and sin are made step by step from those of the position "
        "before, and rounding errors add up",
        "compute each angle from its own position",
    )


def _moved_dimensions(measured: Measured) -> list[Fault]:
    """Dimensions that do not rotate and come back at another place.

    That rotated ones come back in another order among themselves is a note.
    """
    turning = {dim for pair in measured.pairs for dim in pair}
    whole = len(measured.order)
    sorted_by_place = [dim // 2 + dim % 2 * (whole // 2) for dim in range(whole)]
    if {measured.order[dim] for dim in turning} == turning or measured.order == sorted_by_place:
        return []
    first = measured.order[min(turning)]
    return [
        Fault(
            "order of dimensions",
            f"the rotated dimensions come back from {first} on, and those that do not rotate in "
            "their place; scores stay between queries and keys of this function alone",
            "put the parts together as they were split: cat((rotated, x[..., rotary_dim:]), -1)",
        )
    ]


def _outside_pairs(measured: Measured) -> list[Fault]:
    """Dimensions that take part in others than their pair, or pairs that do not rotate."""
    dim = measured.matrices.shape[-1]
    a, b = torch.tensor(measured.pairs).T
    outside = measured.matrices.clone()
    outside.diagonal(dim1=-2, dim2=-1).zero_()
    outside[:, a, b] = 0
    outside[:, b, a] = 0
    if float(outside.abs().max()) > 1e-3 * measured.factor:
        found = "each rotated dimension holds parts of dimensions outside its pair"
        without_mean = torch.eye(dim, dtype=torch.float64) - 1 / dim
        if float((measured.matrices[0] - without_mean).abs().max()) < 1e-4:
            found = "the mean of each vector is removed before the rotation"
        return [Fault("more than a rotation", found, "rotate the vectors as they are given")]
    missing = measured.first_dim + measured.span - dim
    if measured.layout == "half" and missing > 0:
        return [
            Fault(
                "pairs left out",
                f"the first {missing} of {measured.span // 2} pairs, the fastest, do not rotate",
                "rotate all pairs from the first on",
            )
        ]
    return []


def _product_of_both(measured: Measured) -> bool:
    """Whether the sine multiplies what the cosine has multiplied: entries c and c · s."""
    a, b = torch.tensor(measured.pairs).T
    cos = measured.matrices[:, a, a]
    mixed = measured.matrices[:, a, b]
    return bool((mixed**2 - cos**2 * (1 - cos**2)).abs().max() < 1e-4)


def _lengths_are_angles(measured: Measured) -> bool:
    """Whether lengths grow with the position and angles do not: torch.polar(angle, length)."""
    a, b = torch.tensor(measured.pairs).T
    lengths = torch.hypot(measured.matrices[:, a, a], measured.matrices[:, a, b])
    places = [measured.positions.index(m) for m in (0, 1, 2, 4) if m in measured.positions]
    if len(places) < 4:
        return False
    none, one, two, four = lengths[places]
    grows = torch.cat((none.abs(), two / one - 2, four / one - 4))
    return bool(grows.abs().max() < 1e-3)


def _factor_of_one(measured: Measured) -> str | None:
    """Whether a factor multiplies cos and not sin, or the other way round, in words."""
    a, b = torch.tensor(measured.pairs).T
    cos = measured.matrices[:, a, a]
    sin = measured.matrices[:, a, b]
    at_zero = float(cos[0].median())
    telling = sin.abs() > 0.5
    if at_zero < 0.1 or int(telling.sum()) < 4:
        return None
    of_sine = float((sin[telling] ** 2 / (1 - cos[telling] ** 2).clamp_min(1e-9)).median() ** 0.5)
    for name, of_cos, of_sin in (("cos", at_zero, 1.0), ("sin", 1.0, of_sine)):
        left = (cos / of_cos) ** 2 + (sin / of_sin) ** 2 - 1
        if abs(of_cos * of_sin - 1) > 1e-2 and float(left.abs().max()) < 1e-3:
            other = "sin" if name == "cos" else "cos"
            return f"{name} is multiplied by {of_cos * of_sin:.4f}, but {other} is not"
    return None


def _no_rotation(measured: Measured) -> Fault:
    one = _factor_of_one(measured)
    if one is not None:
        return Fault(
            "no rotation",
            f"lengths of vectors change with the position: {one}",
            "a factor of the table, such as YaRN's, multiplies cos and sin alike",
        )
    if _lengths_are_angles(measured):
        return Fault(
            "length and angle swapped",
            "lengths grow with the position, from 0 on, and all pairs rotate by one angle: the "
            "arguments of torch.polar(length, angle) are exchanged",
            "torch.polar(torch.ones_like(angles), angles)",
        )
    if _product_of_both(measured):
        return Fault(
            "no rotation",
            "lengths of vectors change with the position: the sine multiplies vectors that the "
            "cosine has multiplied already, x cos + rotate_half(x cos) sin",
            "rotate_half takes the vectors as they were given: x cos + rotate_half(x) sin",
        )
    drift = _drift(measured)
    if drift is not None:
        return drift
    found = "lengths of vectors change with the position"
    repair = "x_a cos − x_b sin and x_a sin + x_b cos, with one cos and one sin for both"
    if measured.minus_missing:
        found += "; both sine terms have one sign: the minus is missing"
        repair = "rotate_half gives (−x_b, x_a): one of the two sine terms has a minus"
    return Fault("no rotation", found, repair)


def _directions(measured: Measured) -> list[Fault]:
    """Pairs that rotate against the others."""
    against = [
        index
        for index, value in enumerate(measured.signed)
        if value and (value > 0) != measured.forward
    ]
    if not against:
        return []
    return [
        Fault(
            "sign of some pairs",
            f"{len(against)} of {len(measured.signed)} pairs, the first is pair {against[0]}, "
            "rotate in the other direction",
            "all pairs take the same sign of the sine",
        )
    ]


def _start(measured: Measured) -> list[Fault]:
    """Position 0 must leave vectors as they are."""
    starts = torch.tensor(measured.starts, dtype=torch.float64)
    steps = torch.tensor(measured.signed, dtype=torch.float64)
    if abs(measured.shift) <= 0.01 and float(starts.abs().max()) < 0.01:
        return []
    left = 1 - (starts - steps * measured.shift).cos()
    if not measured.alone and not measured.forward and round(measured.shift) == 1 - TOGETHER:
        return [
            Fault(
                "positions reversed",
                "in a call of n tokens, position m is rotated as n − 1 − m: counted from the "
                "last token",
                "use the positions in the order in which they are given",
            )
        ]
    if float(left.max()) < 1e-4:
        return [
            Fault(
                "shifted positions",
                f"position 0 is rotated as position {measured.shift:.2f}; scores stay if queries "
                "and keys shift alike, but a cache made elsewhere does not fit",
                "count positions from 0",
            )
        ]
    return [
        Fault(
            "rotated at position 0",
            f"pairs start with angles of up to {float(starts.abs().max()):.3g}, which no position "
            "explains",
            "the angle is the position times the frequency, and nothing else",
        )
    ]


def _lengths(measured: Measured) -> list[Fault]:
    """Lengths must not depend on the position, and other dimensions must stay as they are."""
    faults = []
    if measured.factor_moves > 1e-3 * measured.factor + _rounding(measured):
        faults.append(
            Fault(
                "length by position",
                f"the factor of rotated vectors changes by {measured.factor_moves:.3g} from "
                "position to position",
                "cos² + sin² must be the same at all positions; scale queries elsewhere",
            )
        )
    smallest, largest = measured.rest
    alike = all(abs(value - measured.factor) < 1e-4 for value in measured.rest)
    if max(abs(smallest - 1), abs(largest - 1)) > 1e-4 and not alike:
        faults.append(
            Fault(
                "other dimensions",
                f"those that do not rotate are multiplied by {smallest:.4g} … {largest:.4g}",
                "hand them on as they are: cat((rotated, x[..., rotary_dim:]), -1)",
            )
        )
    return faults


def _rounding(measured: Measured) -> float:
    if measured.coarse is not None:
        return 0.02
    return 0.0 if measured.rounded_to is None else 4 * float(torch.finfo(measured.rounded_to).eps)


def rounding(measured: Measured, vectors_held_by: torch.dtype | None = None) -> list[Fault]:
    """A table of half numbers, or of few decimals; or vectors that are rounded themselves."""
    if vectors_held_by is not None:
        return [
            Fault(
                "rounded vectors",
                f"float32 vectors are cast to {vectors_held_by}, before the rotation or after it",
                "rotate in float32, and give back the type that was given",
            )
        ]
    repair = "build the table in float32 or float64 and round the rotated vectors once"
    if measured.coarse is not None:
        return [Fault("rounded table", measured.coarse, repair)]
    if measured.rounded_to is None:
        return []
    return [
        Fault(
            "rounded table",
            f"cos and sin hold {measured.rounded_to} numbers even for float32 vectors",
            repair,
        )
    ]


def rounded_frequencies(dtype: torch.dtype | None) -> list[Fault]:
    """Frequencies that a half type holds, such as after `.half()` on a module."""
    if dtype is None:
        return []
    return [
        Fault(
            "half frequencies",
            f"all frequencies are {dtype} numbers: inv_freq was rounded, by .half(), .bfloat16() "
            "or a cast of the whole module",
            "keep inv_freq in float32, or compute it anew after the cast",
        )
    ]


def few_decimals(measured: Measured, spectrum: Spectrum) -> list[Fault]:
    """Frequencies that were written with few decimals, so that no rule gives them."""
    if not spectrum.doubts:
        return []
    decimals = decimals_of(torch.tensor(measured.frequencies, dtype=torch.float64))
    if decimals is None:
        return []
    return [
        Fault(
            "rounded frequencies",
            f"all frequencies have {decimals} decimals, too few for slow pairs",
            "compute inv_freq in float32 or float64: θ_i = base^(−2i/d)",
        )
    ]


def too_fast(spectrum: Spectrum) -> list[Fault]:
    """Pairs that rotate by more than half a turn per position."""
    if spectrum.too_fast is None:
        return []
    return [Fault("too fast", spectrum.too_fast, "θ_i = base^(−2i/d), at most 1 per position")]


def infinite(first: int | None) -> list[Fault]:
    """Rotated vectors that are no numbers."""
    if first is None:
        return []
    return [
        Fault(
            "not finite",
            f"rotated vectors are infinite or no numbers from position {first:,} on",
            "look for a type that overflows, or a division by zero",
        )
    ]


def other_angles(measured: Measured, width: int) -> list[Fault]:
    """Whether the angles are those of the table, or the frequencies, that the doctor gave."""
    given = rotary_frequencies(width)[: len(measured.signed)]
    still = measured.span // 2 - len(measured.signed)
    if measured.layout == "half" and still > 0:
        return [
            Fault(
                "pairs left out",
                f"the slowest {still} of {measured.span // 2} pairs stand still, though the table "
                "that was given rotates them",
                "rotate all pairs of the table",
            )
        ]
    theta = torch.tensor(measured.frequencies, dtype=torch.float64)
    if close(theta, given, 1e-2 if _rounding(measured) else 5e-5):
        return []
    return [
        Fault(
            "other angles than given",
            "pairs do not rotate by the angles of the table that was given",
            "use column i of cos and sin for pair i, each once",
        )
    ]


def outliers(spectrum: Spectrum) -> list[Fault]:
    """Pairs that do not follow the rule of the others."""
    places = spectrum.wrong_pairs
    if not places:
        return []
    return [
        Fault(
            "some pairs are off",
            f"{len(places)} pairs, {places[0]} to {places[-1]}, have other frequencies than base "
            f"{spectrum.base:g} gives, which the other pairs follow",
            "one formula for all pairs: θ_i = base^(−2i/d); look at how sections are put together",
        )
    ]


def compared(queries: Measured, keys: Measured, dim: int) -> list[Fault]:
    """Where keys are rotated otherwise than queries, so that scores are wrong."""
    faults = []
    if queries.layout != keys.layout or queries.order != keys.order:
        faults.append(
            Fault(
                "layouts of queries and keys differ",
                f"queries rotate in the layout {queries.layout}, keys in {keys.layout}"
                + ("" if queries.order == keys.order else "; they come back in another order"),
                "one layout for both",
            )
        )
    if queries.forward != keys.forward:
        faults.append(
            Fault(
                "sign",
                "queries and keys rotate in opposite directions",
                "the same sign of the sine for both",
            )
        )
    if (queries.first_dim, queries.span) != (keys.first_dim, keys.span):
        faults.append(
            Fault(
                "rotary dimensions of queries and keys differ",
                f"{queries.span} from {queries.first_dim} on, and {keys.span} from "
                f"{keys.first_dim} on",
                "rotate the same dimensions of both",
            )
        )
    faults += _other_frequencies(queries, keys)
    ratio = keys.factor / queries.factor
    scaled = math.isclose(ratio, math.sqrt(dim), rel_tol=1e-4)  # the scale of the scores
    if abs(ratio - 1) > 1e-4 + _rounding(queries) and not scaled:
        faults.append(
            Fault(
                "factors of queries and keys differ",
                f"queries are multiplied by {queries.factor:.4f}, keys by {keys.factor:.4f}",
                "YaRN's and LongRoPE's factor multiplies cos and sin, for both alike",
            )
        )
    return faults


def _other_frequencies(queries: Measured, keys: Measured) -> list[Fault]:
    theta_q = torch.tensor(queries.frequencies, dtype=torch.float64)
    theta_k = torch.tensor(keys.frequencies, dtype=torch.float64)
    rounded = max(_rounding(queries), _rounding(keys)) > 0
    if theta_q.shape != theta_k.shape or close(theta_k, theta_q, 1e-2 if rounded else 5e-5):
        return []
    ratio = theta_k / theta_q
    found = (
        f"those of the keys are {float(ratio.min()):.4g} … {float(ratio.max()):.4g} times as large"
    )
    repair = "compute both from one table"
    for side, theta in (("queries", theta_q), ("keys", theta_k)):
        rounded_to = None if rounded else held_by(theta)
        if rounded_to is not None:
            found = f"half frequencies: those of the {side} are rounded to {rounded_to}"
            repair = "keep inv_freq in float32, for both alike"
    if close(ratio, torch.full_like(ratio, 2.0), 1e-3):
        repair = "rotate keys once: are they rotated again when they leave the cache?"
    return [Fault("frequencies of queries and keys differ", found, repair)]


def both_sides(queries: list[Fault], keys: list[Fault]) -> list[Fault]:
    """The faults of queries and keys, those of one side alone with its name."""
    faults = []
    for fault in queries:
        alike = fault.name in {other.name for other in keys}
        side = "" if alike else "only the queries: "
        faults.append(fault._replace(found=side + fault.found))
    names = {fault.name for fault in queries}
    for fault in keys:
        if fault.name not in names:
            faults.append(fault._replace(found="only the keys: " + fault.found))
    return faults

"""Measure somebody else's rotation from outside: which pairs rotate, by how much, in what order.

A rotation is a matrix per position. Unit vectors, one per head, show it whole: row j of the matrix
is what the function makes of the j-th unit vector. Queries and keys are measured alike. Nothing
here judges; `faults` does.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from attention_to_rope.rope import Layout
from rope_doctor.calling import Calling, is_orthogonal

POWERS = (0, *(2**k for k in range(15)))
# Positions that show clamped, wrapped and rounded ones; each is asked for alone.
ODD = (
    3, 5, 6, 7, 9, 12, 31, 100, 255, 257, 511, 1001, 2047, 4097, 8191, 10_001, 16_383, 33_001,
    65_537, 131_071,
)  # fmt: skip
SINGLE = tuple(sorted({*POWERS, *ODD}))
# Steps of tables that are kept as integers.
GRIDS = (
    (127, "int8"), (128, "int8"), (255, "uint8"), (256, "uint8"), (32_767, "int16"),
    (32_768, "int16"),
)  # fmt: skip
# Into how many steps tables of sines divide a turn, the fewest first.
STEPS = (64, 100, 128, 200, 256, 360, 512, 720, 1000, 1024, 2048, 3600, 4096, 8192, 10_000, 16_384)
LONGEST_TABLE = 2**18  # rows among which one that is read in place of another is looked for
TOGETHER = 257  # positions of one call, where none can be asked for alone
SIDES = ("queries", "keys")
# Results that differ by less are the same rotation. A sum in another order changes a last bit, and
# where the table is held in bfloat16, that moves a number of size 4 by 1/64; a wrong angle moves
# results by about 1.
SAME = 0.05


class NoRotationError(ValueError):
    """What the function does cannot be described by pairs and angles; the text is the fault."""

    def __init__(self, found: str, repair: str) -> None:
        super().__init__(found)
        self.found = found
        self.repair = repair


class Samples(NamedTuple):
    """Matrices (n, d, d) of queries and keys at some positions, as far as there is an answer."""

    positions: tuple[int, ...]
    queries: Tensor
    keys: Tensor
    alone: bool  # each position was asked for in a call of its own
    infinite_from: int | None = None  # the first position with entries that are no numbers


class Measured(NamedTuple):
    """What the matrices of one side show. Pairs are ordered by their first dimension."""

    layout: Layout | None
    forward: bool
    first_dim: int  # where the rotary dimensions of the head begin
    span: int  # how many dimensions the pairs reach over: 2 · their number, unless slow ones rest
    pairs: list[tuple[int, int]]
    signed: list[float]  # angle per position of each pair that rotates
    starts: list[float]  # its angle at position 0
    factor: float  # the length of a rotated vector over its length before
    factor_moves: float  # by how much that factor changes from position to position
    rest: tuple[float, float]  # the smallest and the largest factor of the other dimensions
    shift: float  # position 0 is rotated as if it were this position
    rounded_to: torch.dtype | None  # a half type that holds all entries exactly
    coarse: str | None  # what else shows that a table was rounded
    order: list[int]  # where each dimension of a rotated vector goes
    pairs_agree: bool  # both dimensions of a pair rotate by one angle
    swapped: bool  # every pair starts a quarter of a turn ahead: cos and sin are exchanged
    orthogonal: bool  # at each position lengths change by one factor, angles between vectors stay
    minus_missing: bool  # both sine terms of a pair have one sign
    overwritten: bool  # the second half was computed from the first one's new values
    positions: tuple[int, ...]
    matrices: Tensor  # (n, d, d), their columns in `order`
    alone: bool

    @property
    def frequencies(self) -> list[float]:
        """The angles per position without their sign."""
        return [abs(value) for value in self.signed]

    @property
    def angles(self) -> Tensor:
        """The angle of each pair at each position beyond that of position 0. (n, pairs)"""
        first, second = torch.tensor(self.pairs).T
        found = torch.atan2(self.matrices[:, first, second], self.matrices[:, first, first])
        return found - torch.tensor(self.starts, dtype=torch.float64)


def _changes(matrices: Tensor) -> bool:
    return bool((matrices - matrices[:1]).abs().max() > 1e-6)


def sample(calling: Calling, dim: int) -> Samples:
    """The matrices of positions that are asked for alone, or else of the first ones in one call."""
    if calling.kind != "none":
        found = [calling.matrices(torch.tensor([0]), dim)]
        for position in SINGLE[1:]:
            try:
                found.append(calling.matrices(torch.tensor([position]), dim))
            except Exception:  # a table that ends before this position
                break
        numbers = [bool(q.isfinite().all() and k.isfinite().all()) for q, k in found]
        count = numbers.index(False) if False in numbers else len(found)
        infinite_from = SINGLE[count] if count < len(found) else None
        queries, keys = (torch.cat(side[: max(count, 3)]) for side in zip(*found, strict=True))
        if _changes(queries) or _changes(keys):
            return Samples(SINGLE[: len(queries)], queries, keys, True, infinite_from)
    queries, keys = calling.matrices(torch.arange(TOGETHER), dim)
    positions = tuple(position for position in SINGLE if position < TOGETHER)
    chosen = torch.tensor(positions)
    return Samples(positions, queries[chosen], keys[chosen], alone=False)


def _partners(matrices: Tensor) -> dict[int, int]:
    """For each dimension that rotates, the dimension it rotates into."""
    size = matrices.abs().amax(0)
    size.fill_diagonal_(0)
    partner = size.argmax(-1)
    return {j: int(partner[j]) for j in range(len(size)) if float(size[j].max()) > 1e-9}


def _layout(partners: dict[int, int]) -> tuple[Layout | None, int, int]:
    """Layout, first dimension and span: neighbours, or a constant distance apart."""
    first = min(partners)
    distances = {b - a for a, b in partners.items() if b > a}
    if any(partners.get(b) != a for a, b in partners.items()) or len(distances) != 1:
        return None, first, len(partners)
    distance = distances.pop()
    if distance == 1 and len(partners) > 2:
        return "interleaved", first, len(partners)
    return "half", first, 2 * distance


def _order(at_zero: Tensor) -> list[int]:
    """Where the matrix of position 0 puts each dimension, if it only changes their order.

    Some functions rotate neighbours and give halves: scores do not notice.
    """
    order = at_zero.argmax(-1)
    reorders = torch.equal(at_zero.abs() > 1e-6, torch.eye(len(at_zero))[order] > 0)
    return order.tolist() if reorders else list(range(len(at_zero)))


def _fastest_angle(matrix: Tensor) -> float:
    """The angle of the first pair of one matrix; the fastest pair turns by 1 per position."""
    partners = _partners(matrix[None])
    if not partners:
        return 0.0
    a = min(partners)
    return math.atan2(float(matrix[a, partners[a]]), float(matrix[a, a]))


def _check_first_position(samples: Samples, matrices: Tensor, side: str) -> None:
    """Raise if position 0 alone does not follow the rule of the positions after it."""
    by_position = dict(zip(samples.positions, matrices, strict=True))
    if not set(range(8)) <= set(by_position):
        return
    rows = [by_position[m] for m in range(8)]
    if not is_orthogonal(torch.stack(rows)) or len(set(_order(rows[0]))) < len(rows[0]):
        return
    step = torch.linalg.solve(rows[6], rows[7])  # the rotation by one position
    expected = [rows[7]]
    for _ in range(15):  # positions 6 to 0, and then on to negative ones
        expected.append(expected[-1] @ step.mT)
    off = [float((rows[m] - expected[7 - m]).abs().max()) > SAME for m in range(8)]
    plain = rows[0].clone()
    plain.diagonal().zero_()
    if off != [True] + [False] * 7 or float(plain.abs().max()) < 1e-6:
        return
    still = [float((other - torch.diag_embed(other.diagonal())).abs().max()) for other in expected]
    shift = still.index(min(still)) - 7
    if shift and min(still) < 1e-3:  # another position than 0 leaves vectors as they are
        raise NoRotationError(
            f"shifted positions: the {side} of position {-shift} are rotated as position 0, those "
            f"of position {1 - shift} as position 1, and so on by {shift:+d}; position 0 is "
            "rotated otherwise, as the last row of a table that is read at −1",
            "count positions from 0",
        )
    gaps = [float((rows[0] - other).abs().max()) for other in expected[:8]]
    place = 7 - gaps.index(min(gaps))
    text = f"are rotated as position {place}" if min(gaps) < SAME else "are rotated otherwise"
    raise NoRotationError(
        f"position 0 alone is wrong: the {side} of position 0 {text}, all others by one rule",
        "position 0 is a position as any other: mark padding in the mask of the attention, and "
        "not by the position",
    )


def _check_positions_count(samples: Samples, matrices: Tensor, side: str) -> None:
    """Raise if the first positions are alike and later ones are not."""
    by_position = dict(zip(samples.positions, matrices, strict=True))
    changed = [
        position
        for position, matrix in by_position.items()
        if (matrix - matrices[0]).abs().max() > 1e-6
    ]
    if not changed or changed[0] == 1:
        return
    first = changed[0]
    angle = _fastest_angle(by_position[first])
    misses = [abs(math.remainder(turn - first, 2 * math.pi)) for turn in (angle, -angle)]
    if first > 2 and min(misses) < 0.01:
        raise NoRotationError(
            f"positions are rounded down to multiples of {first}: the {side} of positions 0 to "
            f"{first - 1} are rotated alike, position {first} as itself; all tokens of a page or "
            f"block of {first} take the position of its start",
            f"add the place within the page: start of the page + position % {first}",
        )
    next_one = by_position.get(first + 1)
    if next_one is not None and (next_one - by_position[first]).abs().max() > 1e-6:
        raise NoRotationError(
            f"offset {first - 1} too small: the {side} of positions 0 to {first - 1} are rotated "
            "alike, later ones each by its own angle",
            "look at the length given to the cache: a new token's position is the number of "
            "tokens before it",
        )
    raise NoRotationError(
        f"positions are divided as integers: the {side} of positions 0 to {first - 1} are "
        "rotated alike",
        "divide the frequencies or positions as floats (/, not //)",
    )


def measure(samples: Samples, side: str) -> Measured:
    """Read layout, direction, frequencies, factor, shift and rounding from the matrices."""
    matrices = samples.queries if side == "queries" else samples.keys
    if not _changes(matrices):
        raise NoRotationError(
            f"{side} not rotated: they come back the same at every position",
            f"rotate the {side} by their positions too",
        )
    _check_first_position(samples, matrices, side)
    _check_positions_count(samples, matrices, side)
    rounded_to = _rounded_to(matrices)
    order = _order(matrices[0])
    matrices = matrices[..., order]
    partners = _partners(matrices)
    if not partners:
        raise NoRotationError(
            f"no sine term in the {side}: each dimension is multiplied by a number of its own and "
            "none is mixed with its partner",
            "add the sine term: x_a cos − x_b sin and x_a sin + x_b cos",
        )
    layout, first_dim, span = _layout(partners)
    pairs = sorted((a, b) for a, b in partners.items() if a < b)
    if not pairs:
        _check_tables_padded(partners, matrices.shape[-1], side)
        raise NoRotationError(
            f"no rotation of the {side}: dimensions are mixed in one direction only",
            "both dimensions of a pair take part in both results",
        )
    a, b = torch.tensor(pairs).T
    angles = torch.atan2(matrices[:, a, b], matrices[:, a, a])
    powers = [samples.positions.index(m) for m in POWERS if m in samples.positions]
    doubling = tuple(samples.positions[i] for i in powers)
    coarse = None if rounded_to else _coarse(matrices, a, b)
    # Far out, rounded positions and products hide the steps.
    near = angles[[row for row, m in enumerate(samples.positions) if m <= 1024]]
    steps = None if rounded_to or coarse else _steps_of_a_turn(near)
    if steps is not None:
        coarse = f"angles are rounded to multiples of 2π/{steps}, as from a table of {steps} sines"
    share, largest = (2e-5, 1e-3) if coarse is None and rounded_to is None else (0.02, 0.02)
    if steps is not None:  # two roundings, of this angle and of the one that it is foretold by
        share, largest = math.inf, 1.6 * 2 * math.pi / steps
    signed = [_frequency(one, doubling, share, largest) for one in angles[powers].T.tolist()]
    lengths = torch.hypot(matrices[:, a, a], matrices[:, a, b])
    factor = float(lengths.median())
    by_position = lengths.mean(-1)
    disagreement = float((matrices[:, a, a] - matrices[:, b, b]).abs().max())
    rotating = matrices[:, sorted(partners)][:, :, sorted(partners)]
    resting = [j for j in range(matrices.shape[-1]) if j not in partners]
    rest = matrices[:, resting, resting]
    starts = angles[0]
    return Measured(
        layout=layout,
        forward=sum(signed) > 0,
        first_dim=first_dim,
        span=span,
        pairs=pairs,
        signed=signed,
        starts=starts.tolist(),
        factor=factor,
        factor_moves=float(by_position.max() - by_position.min()),
        rest=(float(rest.min()), float(rest.max())) if resting else (1.0, 1.0),
        shift=_shift(signed, starts.tolist()),
        rounded_to=rounded_to,
        coarse=coarse,
        order=order,
        pairs_agree=disagreement < 1e-3 * factor,
        swapped=bool(((starts.abs() - math.pi / 2).abs() < 1e-3).all()),
        orthogonal=layout is None or is_orthogonal(rotating),
        minus_missing=bool((matrices[:, a, b] - matrices[:, b, a]).abs().max() < 1e-4),
        overwritten=_overwritten(matrices, a, b),
        positions=samples.positions,
        matrices=matrices,
        alone=samples.alone,
    )


def _check_tables_padded(partners: dict[int, int], dim: int, side: str) -> None:
    """Raise if the first dimensions take their sine part from the other half of the whole head."""
    turned = sorted(partners.values())
    far = {a - b for a, b in partners.items()}
    if turned != list(range(len(turned))) or far != {dim // 2} or len(turned) % 2:
        return
    half = len(turned) // 2
    raise NoRotationError(
        f"padded table: cos and sin rotate {len(turned)} dimensions of the {side}, but each takes "
        f"its sine term from {dim // 2} dimensions away, which do not rotate: the halves are those "
        f"of the whole head, the partner is i + {dim // 2} in place of i + {half}",
        f"rotate x[..., :{len(turned)}] alone, with halves of {half}, and join the rest behind it",
    )


def _rounded_to(matrices: Tensor) -> torch.dtype | None:
    """The half type that holds all entries of the first matrices exactly, if there is one."""
    near = matrices[:6]
    for dtype in (torch.bfloat16, torch.float16):
        if torch.equal(near.to(dtype).double(), near):
            return dtype
    return None


def _coarse(matrices: Tensor, a: Tensor, b: Tensor) -> str | None:
    """Whether cos or sin alone holds half numbers, or both hold few decimals."""
    near = matrices[1:7]
    cos = near[:, a, a]
    sin = near[:, a, b]
    for dtype in (torch.bfloat16, torch.float16):
        for name, part in (("cos", cos), ("sin", sin)):
            if torch.equal(part.to(dtype).double(), part):
                return f"{name} holds {dtype} numbers"
    for decimals in (2, 3, 4):
        steps = torch.stack((cos, sin)) * 10**decimals
        if (steps - steps.round()).abs().max() < 1e-2:
            return f"cos and sin have {decimals} decimals"
    for levels, name in GRIDS:
        steps = torch.stack((cos, sin)) * levels
        if (steps - steps.round()).abs().max() < 1e-2:
            return f"cos and sin are multiples of 1/{levels}, as from {name} numbers"
    return None


def _overwritten(matrices: Tensor, a: Tensor, b: Tensor) -> bool:
    """Whether x_b' was computed from x_a' in place of x_a: the matrix shows c·s and c − s²."""
    cos = matrices[:, a, a]
    sin = -matrices[:, b, a]
    first = (matrices[:, a, b] - cos * sin).abs().max()
    second = (matrices[:, b, b] - (cos - sin * sin)).abs().max()
    return bool(max(first, second) < 1e-4)


def _shift(frequencies: list[float], starts: list[float]) -> float:
    """The position as which position 0 is rotated: the slowest pair is the last to come round."""
    turning = [(abs(f), start / f) for f, start in zip(frequencies, starts, strict=True) if f]
    return min(turning)[1] if turning else 0.0


def _steps_of_a_turn(angles: Tensor) -> int | None:
    """Into how many steps a turn is divided if all angles are whole steps; None if not."""
    if len(angles) < 8 or angles.shape[-1] < 4:
        return None
    for steps in STEPS:
        places = angles * (steps / (2 * math.pi))
        if float((places - places.round()).abs().max()) < 0.02:
            return steps
    return None


def _frequency(
    angles: list[float], positions: tuple[int, ...], share: float, largest: float
) -> float:
    """The angle per position: each doubling of the position refines what the last one gave.

    share, largest: by how much an angle may miss what is expected, of it and at all.
    """
    frequency = math.remainder(angles[1] - angles[0], 2 * math.pi)
    for angle, position in zip(angles[2:], positions[2:], strict=True):
        expected = frequency * position
        miss = math.remainder(angle - angles[0] - expected, 2 * math.pi)
        # A rounded table misses by 0.01 at most, float32 angles by 1e-6 of the angle; clamped or
        # wrapped positions by more.
        limit = largest if share == math.inf else min(largest, share * abs(expected))
        if abs(miss) > limit + 2e-6:
            break
        frequency = (expected + miss) / position
    return frequency


def predicted(measured: Measured, angles: Tensor) -> Tensor:
    """The matrices (n, d, d) that pairs, factor and these angles (n, pairs) say."""
    dim = measured.matrices.shape[-1]
    matrices = torch.eye(dim, dtype=torch.float64).repeat(len(angles), 1, 1)
    a, b = torch.tensor(measured.pairs).T
    whole = angles + torch.tensor(measured.starts, dtype=torch.float64)
    cos = whole.cos() * measured.factor
    sin = whole.sin() * measured.factor
    matrices[:, a, a] = cos
    matrices[:, a, b] = sin
    matrices[:, b, a] = -sin
    matrices[:, b, b] = cos
    return matrices


def angles_at(positions: Tensor, measured: Measured, exact: Tensor | None) -> Tensor:
    """m θ_i for each position and pair, with exact frequencies where their rule is known."""
    signed = torch.tensor(measured.signed, dtype=torch.float64)
    if exact is not None and len(exact) >= len(signed):  # keys may have more pairs than queries
        signed = exact[: len(signed)] * (1.0 if measured.forward else -1.0)
    return positions.double()[:, None] * signed


def misfits(measured: Measured, exact: Tensor | None) -> Tensor:
    """How far each pair is from its frequency, at each position. (n, pairs)

    The largest of the four entries of a pair, in units of the factor.
    """
    angles = angles_at(torch.tensor(measured.positions), measured, exact)
    gap = (measured.matrices - predicted(measured, angles)).abs() / measured.factor
    a, b = torch.tensor(measured.pairs).T
    return torch.stack((gap[:, a, a], gap[:, a, b], gap[:, b, a], gap[:, b, b])).amax(0)


def rotated_as(measured: Measured, row: int, exact: Tensor | None) -> int | None:
    """The whole position as which the sample `row` is rotated; None if there is none."""
    m = measured.positions[row]
    chosen = torch.linspace(0, len(measured.pairs) - 1, min(12, len(measured.pairs))).long()
    steps = angles_at(torch.tensor([1]), measured, exact)[0, chosen]
    observed = measured.angles[row, chosen]
    limit = (0.01 + 1.5e-6 * m) ** 2
    for first, last in ((-m, 2 * m), (2 * m + 1, LONGEST_TABLE)):
        candidates = torch.arange(first, max(last, first) + 1, dtype=torch.float64)
        for step, angle in zip(steps.tolist(), observed.tolist(), strict=True):
            gaps = 1 - (candidates * step - angle).cos()  # about half the squared angle
            candidates = candidates[gaps <= limit]
        if len(candidates):
            gaps = 1 - (candidates[:, None] * steps - observed).cos()
            return int(candidates[gaps.amax(-1).argmin()])
    return None


def vectors(*shape: int, seed: int) -> Tensor:
    """Random vectors, the same in every run."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float32)


def errors(
    calling: Calling,
    sides: tuple[Measured, ...],
    exact: Tensor | None,
    positions: tuple[int, ...],
    dtype: torch.dtype,
    *,
    other_angles: Callable[[Tensor], Tensor] | None = None,
) -> dict[int, float]:
    """How far rotated queries and keys (or queries alone) are from exact angles, by position.

    Ends before the first position without an answer. other_angles: gives those to compare with in
    place of the exact ones, from positions (n, 1), before their sign.
    """
    dim = sides[0].matrices.shape[-1]
    x = vectors(1, 2, 1, dim, seed=1).to(dtype)
    found = {}
    for m in positions:
        try:
            results = _at(calling, x, m)
        except Exception:  # a table that ends before this position, or another dtype
            break
        gaps = []
        for measured, result in zip(sides, results, strict=False):
            angles = angles_at(torch.tensor([m]), measured, exact)
            if other_angles is not None:
                sign = 1.0 if measured.forward else -1.0
                angles = sign * other_angles(torch.tensor([[m]])).double()
            matrix = predicted(_with_round_factor(measured), angles)[0]
            truth = x[0, :, 0].double() @ matrix
            gaps.append(float((result[0, :, 0].double()[..., measured.order] - truth).abs().max()))
        found[m] = max(gaps)
    return found


def _with_round_factor(measured: Measured) -> Measured:
    """Start at an exact angle and factor where the measured ones differ from them by rounding."""
    factor = 1.0 if abs(measured.factor - 1) < 1e-5 else measured.factor
    starts = [0.0 if abs(start) < 1e-6 else start for start in measured.starts]
    return measured._replace(factor=factor, starts=starts)


def _at(calling: Calling, x: Tensor, position: int) -> tuple[Tensor, Tensor]:
    """x rotated at one position as queries and as keys; alone, or at the end of a sequence."""
    if calling.kind != "none":
        return calling.turn(x, x, torch.tensor([position]))
    length = min(position, 20_000) + 1
    if length <= position:
        raise ValueError("too long for one call")
    sequence = x.repeat_interleave(length, 2)
    queries, keys = calling.turn(sequence, sequence, torch.arange(length))
    return queries[:, :, -1:], keys[:, :, -1:]

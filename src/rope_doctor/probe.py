"""Measure somebody else's rotation from outside: which pairs rotate, by how much, in what order.

A rotation is a matrix per position. Unit vectors, one per head, show it whole: row j of the matrix
is what the function makes of the j-th unit vector. Everything else here reads these matrices.
"""

import inspect
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_to_rope import rotary_frequencies, rotary_table
from attention_to_rope.rope import Layout

Turn = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # x (b, h, n, d), positions → q', k'
KEY_NAMES = ("k", "key", "keys", "xk", "key_states", "k_states")
COS_NAMES, SIN_NAMES = ("cos", "cosine"), ("sin", "sine")
POSITION_NAMES = ("positions", "position_ids", "position", "pos", "input_pos", "pos_ids", "index")
OFFSET_NAMES = ("offset", "start_pos", "seq_offset", "start")
COMPLEX_NAMES = ("freqs_cis", "freqs_complex")
# Single positions at which a function must agree with its own frequencies. Odd and large ones show
# positions that are clamped, taken modulo, or rounded to a half type.
ASKED = (0, 1, 2, 3, 5, 8, 31, 100, 255, 257, 511, 1001, 2047, 4097, 8191, 10_001, 16_383)

NEAR = ASKED.index(31)


class NotARotationError(ValueError):
    """What the function does cannot be described by pairs and angles; the text is the fault."""


class Calling(NamedTuple):
    """How a function wants to be called, and the function in the doctor's own form."""

    turn: Turn
    words: str
    takes_positions: bool  # any positions, not only 0 … n − 1
    takes_batches: bool  # positions (b, n)
    base_is_given: bool  # cos and sin come from the caller, so the base is not the function's own


class Measured(NamedTuple):
    """What the matrices show. Pairs are ordered by their first dimension."""

    layout: Layout | None
    forward: bool
    first_dim: int  # where the rotary dimensions of the head begin
    span: int  # how many dimensions the pairs reach over: 2 · their number, unless slow ones rest
    frequencies: list[float]  # of the pairs that rotate
    factor: float  # the length of a rotated vector over its length before
    shift: float  # position 0 is rotated as if it were this position
    rounded_to: torch.dtype | None  # a half type that holds all entries exactly
    order: list[int] | None  # where each dimension of a rotated vector goes, None if it stays
    pairs_agree: bool  # both dimensions of a pair rotate by one angle
    swapped: bool  # every pair starts a quarter of a turn ahead: cos and sin have changed places
    orthogonal: bool  # all lengths change by one factor, and angles between vectors stay
    effective: dict[int, float]  # position asked for → position by which was rotated


def _tables(positions: Tensor, dim: int) -> Iterator[tuple[Tensor, Tensor, str]]:
    """cos and sin in the widths and shapes that people use."""
    cos, sin = rotary_table(positions, rotary_frequencies(dim))
    widths: dict[str, Callable[[Tensor], Tensor]] = {
        "d, halves alike": lambda t: torch.cat((t, t), -1),
        "d/2": lambda t: t,
        "d, neighbours alike": lambda t: t.repeat_interleave(2, -1),
    }
    shapes: dict[str, Callable[[Tensor], Tensor]] = {
        "(1, n, …)": lambda t: t[None],
        "(n, …)": lambda t: t,
        "(1, 1, n, …)": lambda t: t[None, None],
        "(1, n, 1, …)": lambda t: t[None, :, None],
    }
    for (width, widen), (shape, reshape) in itertools.product(widths.items(), shapes.items()):
        yield reshape(widen(cos)), reshape(widen(sin)), f"cos and sin {shape} of width {width}"


def _complex_tables(positions: Tensor, dim: int) -> list[tuple[Tensor, str]]:
    """cos + i sin in the shapes that people use."""
    table = torch.complex(*rotary_table(positions, rotary_frequencies(dim)))
    return [
        (table, "(n, d/2)"),
        (table[None], "(1, n, d/2)"),
        (table[None, :, None], "(1, n, 1, d/2)"),
    ]


def _calls(function: Callable[..., Any]) -> Iterator[Calling]:
    """Every way to call the function that its parameters' names allow, the likeliest first."""
    # What a module is called with is in the signature of its forward.
    named = function.forward if isinstance(function, nn.Module) else function
    names = [
        parameter.name
        for parameter in inspect.signature(named).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if not names:
        return
    lower = [name.lower() for name in names]
    two = len(lower) > 1 and lower[1] in KEY_NAMES
    cos, sin, position, offset, table = (
        next((name for name in lower if name in group), None)
        for group in (COS_NAMES, SIN_NAMES, POSITION_NAMES, OFFSET_NAMES, COMPLEX_NAMES)
    )
    if position is None and not two and len(lower) == 2 and not (cos or offset or table):
        position = lower[1]  # f(x, anything): the second is the position

    def build(order: str, kind: str, variant: int) -> Turn:
        def turn(x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
            def fresh() -> Tensor:  # the function may write into what it is given
                return x.clone() if order == "bhnd" else x.transpose(1, 2).clone()

            arguments: dict[str, Any] = {names[0]: fresh()}
            if two:
                arguments[names[1]] = fresh()
            if kind == "table":
                tables = list(_tables(positions, x.shape[-1]))[variant]
                arguments[names[lower.index(str(cos))]] = tables[0].to(x.dtype)
                arguments[names[lower.index(str(sin))]] = tables[1].to(x.dtype)
            if kind == "complex":
                given = _complex_tables(positions, x.shape[-1])[variant][0]
                arguments[names[lower.index(str(table))]] = given
            if kind == "positions":
                given = positions if variant == 0 or positions.ndim == 2 else positions[None]
                arguments[names[lower.index(str(position))]] = given.clone()
            if kind == "offset":
                arguments[names[lower.index(str(offset))]] = int(positions.flatten()[0])
            with torch.no_grad():
                result = function(**arguments)
            if result is None:  # it wrote into its arguments
                result = tuple(arguments[name] for name in names[: 1 + two])
            pair = result if isinstance(result, tuple | list) else (result, result)
            pair = pair if len(pair) > 1 else (pair[0], pair[0])
            first, second = (y if order == "bhnd" else y.transpose(1, 2) for y in pair[:2])
            if first.shape != x.shape:
                raise ValueError(f"shape {tuple(first.shape)} for {tuple(x.shape)}")
            return first, second

        return turn

    vectors = "f(q, k" if two else "f(x"
    for order in ("bhnd", "bnhd"):
        shape = f"{', '.join(order)}"
        if cos and sin:
            for i, (*_, words) in enumerate(_tables(torch.arange(2), 4)):
                said = f"{vectors}, cos, sin) with vectors ({shape}), {words}"
                yield Calling(build(order, "table", i), said, True, False, True)
        elif table:
            for i, (_, words) in enumerate(_complex_tables(torch.arange(2), 4)):
                said = f"{vectors}, {table}) with vectors ({shape}), cos + i sin {words}"
                yield Calling(build(order, "complex", i), said, True, False, True)
        elif position:
            for i, words in enumerate(("(n,)", "(b, n)")):
                said = f"{vectors}, {position}) with vectors ({shape}), positions {words}"
                yield Calling(build(order, "positions", i), said, True, True, False)
        elif offset:
            said = f"{vectors}, {offset}) with vectors ({shape})"
            yield Calling(build(order, "offset", 0), said, True, False, False)
        else:
            said = f"{vectors}) with vectors ({shape}); positions are always 0 … n − 1"
            yield Calling(build(order, "plain", 0), said, False, False, False)


def find_calling(function: Callable[..., Any], head_dim: int) -> Calling:
    """The first way of calling under which the function rotates vectors, or an error that helps.

    Where the caller gives the table, a wrong shape of it may be broadcast to nonsense, so a way
    under which lengths stay is preferred to the first that depends on the position.
    """
    tried, others = [], []
    for calling in _calls(function):
        try:
            matrices = matrices_at(calling, torch.arange(3), head_dim)
        except Exception as error:  # whatever somebody else's function raises
            tried.append(f"  {calling.words}: {type(error).__name__}: {str(error)[:60]}")
            continue
        if (matrices[1:] - matrices[:1]).abs().max() <= 1e-6:
            tried.append(f"  {calling.words}: the position changes nothing")
            continue
        if not calling.base_is_given or is_orthogonal(matrices):
            return calling
        others.append(calling)
    if others:
        return others[0]
    raise ValueError(
        "the function rotates nothing in any way of calling that its parameters' names suggest.\n"
        + "\n".join(tried[:6] or ["  none of its parameters has a name to call it by"])
        + "\nWrap it: def adapter(x, positions): ...  with x (b, h, n, d) and positions (n,), "
        "giving x rotated"
    )


def matrices_at(calling: Calling, positions: Tensor, dim: int, *, which: int = 0) -> Tensor:
    """The matrix of each position, float64 (n, d, d): row j is the image of unit vector j."""
    # In float32 whatever torch's default is: a half type would look like a rounded table.
    units = torch.eye(dim, dtype=torch.float32)[None, :, None, :]
    units = units.repeat_interleave(len(positions), dim=2)
    rotated = calling.turn(units, positions)[which]
    return rotated[0].transpose(0, 1).double()


def is_orthogonal(matrices: Tensor) -> bool:
    """Whether the matrices rotate: all lengths change by one factor, all angles stay."""
    gram = matrices @ matrices.mT
    scale = gram.diagonal(dim1=-2, dim2=-1).mean()
    unit = torch.eye(matrices.shape[-1], dtype=scale.dtype) * scale
    return bool((gram - unit).abs().max() < 0.02 * scale)


def _one_by_one(calling: Calling, positions: tuple[int, ...], dim: int, which: int) -> Tensor:
    """The matrices of rising positions, as far as the function has an answer."""
    found = [matrices_at(calling, torch.tensor(positions[:1]), dim, which=which)]
    for position in positions[1:]:
        try:
            found.append(matrices_at(calling, torch.tensor([position]), dim, which=which))
        except Exception:  # a table that ends before this position
            break
    return torch.cat(found)


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


def measure(calling: Calling, dim: int, *, which: int = 0) -> Measured:
    """Read layout, direction, frequencies, factor, shift and rounding from the matrices."""
    powers = (0, *(2**k for k in range(15)))
    single = _one_by_one(calling, powers, dim, which) if calling.takes_positions else None
    alone = single is not None and bool((single - single[:1]).abs().max() > 1e-6)
    if single is not None and alone:
        matrices, positions = single, powers[: len(single)]
    else:  # positions 0 … n − 1 in one call are all that makes a difference
        matrices = matrices_at(calling, torch.arange(257), dim, which=which)
        positions = (0, *(2**k for k in range(9)))
        matrices = matrices[torch.tensor(positions)]
    rounded = [
        dtype
        for dtype in (torch.bfloat16, torch.float16)
        if torch.equal(matrices[:4].to(dtype).double(), matrices[:4])
    ]
    order = _order(matrices[0])
    if order is not None:
        matrices = matrices[..., order]
    partners = _partners(matrices)
    if not partners and (matrices - matrices[:1]).abs().max() > 1e-6:
        raise NotARotationError(
            "no sine term: each dimension is multiplied by a number of its own and none is mixed "
            "with its partner"
        )
    if not partners:
        raise ValueError(f"the {('queries', 'keys')[which]} are not rotated")
    layout, first_dim, span = _layout(partners)
    pairs = sorted((a, b) for a, b in partners.items() if a < b)
    if not pairs:
        raise NotARotationError("no pairs: dimensions are mixed in one direction only")
    angles = [torch.atan2(matrices[:, a, b], matrices[:, a, a]).tolist() for a, b in pairs]
    frequencies = [_frequency(list(of_pair), list(positions)) for of_pair in angles]
    starts = [of_pair[0] for of_pair in angles]
    a, b = pairs[0]
    factor = float(torch.hypot(matrices[:, a, a], matrices[:, a, b]).median())
    diagonal = matrices.diagonal(dim1=-2, dim2=-1)
    disagreement = max(float((diagonal[:, a] - diagonal[:, b]).abs().max()) for a, b in pairs)
    rotating = matrices[:, sorted(partners)][:, :, sorted(partners)]
    return Measured(
        layout=layout,
        forward=sum(frequencies) > 0,
        first_dim=first_dim,
        span=span,
        frequencies=[abs(value) for value in frequencies],
        factor=factor,
        shift=_shift(frequencies, starts),
        rounded_to=rounded[0] if rounded else None,
        order=order,
        pairs_agree=disagreement < 1e-3 * factor,
        swapped=all(abs(abs(start) - math.pi / 2) < 1e-3 for start in starts),
        orthogonal=layout is None or is_orthogonal(rotating),
        effective=_effective(calling, dim, which, order, pairs, frequencies, starts)
        if alone
        else {},
    )


def _effective(
    calling: Calling,
    dim: int,
    which: int,
    order: list[int] | None,
    pairs: list[tuple[int, int]],
    frequencies: list[float],
    starts: list[float],
) -> dict[int, float]:
    """By which position the function rotates when it is asked for each of `ASKED` alone.

    The slowest pair tells: its angle has not come round once.
    """
    matrices = _one_by_one(calling, ASKED, dim, which)
    matrices = matrices if order is None else matrices[..., order]
    turning = [i for i, f in enumerate(frequencies) if abs(f) * ASKED[-1] < 3 and abs(f) > 1e-7]
    if not turning:
        return {}
    i = max(turning, key=lambda i: abs(frequencies[i]))
    a, b = pairs[i]
    angles = torch.atan2(matrices[:, a, b], matrices[:, a, a]) - starts[i]
    per_position = angles[NEAR] / ASKED[NEAR]  # near positions are seldom wrong
    found = (angles / per_position).tolist()
    return dict(zip(ASKED, found, strict=False))


def _shift(frequencies: list[float], starts: list[float]) -> float:
    """The position as which position 0 is rotated: the slowest pair is the last to come round."""
    turning = [(abs(f), start / f) for f, start in zip(frequencies, starts, strict=True) if f]
    return min(turning)[1] if turning else 0.0


def _order(at_zero: Tensor) -> list[int] | None:
    """Where the matrix of position 0 puts each dimension, if it only changes their places.

    Some functions rotate neighbours and give halves: scores do not notice.
    """
    places = at_zero.argmax(-1)
    unit = torch.eye(len(at_zero))
    scale = at_zero.max()
    moved = not torch.equal(places, torch.arange(len(at_zero)))
    return places.tolist() if moved and torch.equal(at_zero / scale, unit[places]) else None


def _frequency(angles: list[float], positions: list[int]) -> float:
    """The angle per position: each doubling of the position refines what the last one gave."""
    frequency = math.remainder(angles[1] - angles[0], 2 * math.pi)
    for angle, position in zip(angles[2:], positions[2:], strict=True):
        expected = frequency * position
        miss = math.remainder(angle - angles[0] - expected, 2 * math.pi)
        # A rounded table misses by 0.01 at most; clamped or wrapped positions by much more.
        if abs(miss) > min(0.02, 0.02 * abs(expected)) + 1e-6:
            break
        frequency = (expected + miss) / position
    return frequency

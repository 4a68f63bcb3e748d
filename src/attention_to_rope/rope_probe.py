"""Measure somebody else's rotation from outside: which pairs turn, by how much, in what direction.

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

from attention_to_rope.rope import Layout, rotary_frequencies, rotary_table

Turn = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # x (b, h, n, d), positions → q', k'
KEY_NAMES = ("k", "key", "keys", "xk", "key_states", "k_states")
COS_NAMES, SIN_NAMES = ("cos", "cosine"), ("sin", "sine")
POSITION_NAMES = ("positions", "position_ids", "position", "pos", "input_pos", "pos_ids", "index")
OFFSET_NAMES = ("offset", "start_pos", "seq_offset", "start")
COMPLEX_NAMES = ("freqs_cis", "freqs_complex")


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
    first_dim: int  # where the turned part of the head begins
    span: int  # how many dimensions the pairs reach over: 2 · their number, unless slow ones rest
    frequencies: list[float]  # of the pairs that turn
    factor: float  # the length of a turned vector over its length before
    shift: float  # position 0 is turned as if it were this position
    rounded_to: torch.dtype | None  # a half type that holds all entries exactly
    order: list[int] | None  # where each dimension of a turned vector goes, None if it stays
    pairs_agree: bool  # both dimensions of a pair turn by one angle
    swapped: bool  # every pair starts a quarter of a turn ahead: cos and sin have changed places


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
    return [(table, "(n, d/2)"), (table[None, :, None], "(1, n, 1, d/2)")]


def _calls(function: Callable[..., Any]) -> Iterator[Calling]:
    """Every way to call the function that its parameters' names allow, the likeliest first."""
    # What a module is called with stands at its forward.
    named = function.forward if isinstance(function, nn.Module) else function
    names = [
        parameter.name
        for parameter in inspect.signature(named).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
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
            moved = x if order == "bhnd" else x.transpose(1, 2)
            arguments: dict[str, Any] = {names[0]: moved}
            if two:
                arguments[names[1]] = moved
            if kind == "table":
                tables = list(_tables(positions, x.shape[-1]))[variant]
                arguments[names[lower.index(str(cos))]] = tables[0].to(x.dtype)
                arguments[names[lower.index(str(sin))]] = tables[1].to(x.dtype)
            if kind == "complex":
                given = _complex_tables(positions, x.shape[-1])[variant][0]
                arguments[names[lower.index(str(table))]] = given
            if kind == "positions":
                given = positions if variant == 0 or positions.ndim == 2 else positions[None]
                arguments[names[lower.index(str(position))]] = given
            if kind == "offset":
                arguments[names[lower.index(str(offset))]] = int(positions.flatten()[0])
            result = function(**arguments)
            pair = result if isinstance(result, tuple | list) else (result, result)
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
    """The first way of calling under which the function turns vectors, or an error that helps."""
    tried = []
    for calling in _calls(function):
        try:
            matrices = matrices_at(calling, torch.arange(3), head_dim)
        except Exception as error:  # whatever a stranger's function raises
            tried.append(f"  {calling.words}: {type(error).__name__}: {str(error)[:80]}")
            continue
        gram = matrices @ matrices.mT
        scale = gram.diagonal(dim1=-2, dim2=-1).mean()
        unit = torch.eye(head_dim, dtype=scale.dtype) * scale
        moves = (matrices[1] - matrices[0]).abs().max() > 1e-6
        if moves and (calling.base_is_given is False or (gram - unit).abs().max() < 0.05 * scale):
            return calling
        tried.append(f"  {calling.words}: no rotation that depends on the position")
    raise ValueError(
        "the function turns nothing in any way of calling that its parameters' names suggest.\n"
        + "\n".join(tried[:6] or ["  none of its parameters has a name to call it by"])
        + "\nWrap it: def adapter(x, positions): ...  with x (b, h, n, d) and positions (n,), "
        "giving x turned"
    )


def matrices_at(calling: Calling, positions: Tensor, dim: int, *, which: int = 0) -> Tensor:
    """The matrix of each position, float64 (n, d, d): row j is the image of unit vector j."""
    # In float32 whatever torch's default is: a half type would look like a rounded table.
    units = torch.eye(dim, dtype=torch.float32)[None, :, None, :]
    units = units.repeat_interleave(len(positions), dim=2)
    with torch.no_grad():
        turned = calling.turn(units, positions)[which]
    return turned[0].transpose(0, 1).double()


def _one_by_one(calling: Calling, positions: Tensor, dim: int, which: int) -> Tensor:
    """The matrices of rising positions, as far as the function has an answer."""
    found = [matrices_at(calling, positions[:1], dim, which=which)]
    for position in positions[1:].unsqueeze(-1):
        try:
            found.append(matrices_at(calling, position, dim, which=which))
        except Exception:  # a table that ends before this position
            break
    return torch.cat(found)


def _partners(matrices: Tensor) -> dict[int, int]:
    """For each dimension that turns, the dimension it turns into."""
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
    if calling.takes_positions:
        positions = torch.tensor([0, *(2**k for k in range(15))])
        matrices = _one_by_one(calling, positions, dim, which)
        positions = positions[: len(matrices)]
    else:
        positions = torch.tensor([0, *(2**k for k in range(9))])
        matrices = matrices_at(calling, torch.arange(257), dim, which=which)[positions]
    rounded = [
        dtype
        for dtype in (torch.bfloat16, torch.float16)
        if torch.equal(matrices[:4].to(dtype).double(), matrices[:4])
    ]
    order = _order(matrices[0])
    if order is not None:
        matrices = matrices[..., order]
    partners = _partners(matrices)
    if not partners:
        raise ValueError(f"the {('queries', 'keys')[which]} are not turned")
    layout, first_dim, span = _layout(partners)
    pairs = sorted((a, b) for a, b in partners.items() if a < b)
    frequencies, starts = [], []
    for a, b in pairs:
        angles = torch.atan2(matrices[:, a, b], matrices[:, a, a]).tolist()
        frequencies.append(_frequency(angles, positions.tolist()))
        starts.append(angles[0])
    a, b = pairs[0]
    factor = float(torch.hypot(matrices[:, a, a], matrices[:, a, b]).median())
    diagonal = matrices.diagonal(dim1=-2, dim2=-1)
    disagreement = max(float((diagonal[:, a] - diagonal[:, b]).abs().max()) for a, b in pairs)
    return Measured(
        layout,
        sum(frequencies) > 0,
        first_dim,
        span,
        [abs(value) for value in frequencies],
        factor,
        _shift(frequencies, starts),
        rounded[0] if rounded else None,
        order,
        disagreement < 1e-3 * factor,
        all(abs(abs(start) - math.pi / 2) < 1e-3 for start in starts),
    )


def _shift(frequencies: list[float], starts: list[float]) -> float:
    """The position as which position 0 is turned: the slowest pair is the last to come round."""
    turning = [(abs(f), start / f) for f, start in zip(frequencies, starts, strict=True) if f]
    return min(turning)[1] if turning else 0.0


def _order(still: Tensor) -> list[int] | None:
    """Where the matrix of position 0 puts each dimension, if it only changes their places.

    Some functions turn neighbours and give halves: scores do not notice.
    """
    places = still.argmax(-1)
    unit = torch.eye(len(still))
    scale = still.max()
    moved = not torch.equal(places, torch.arange(len(still)))
    return places.tolist() if moved and torch.equal(still / scale, unit[places]) else None


def _frequency(angles: list[float], positions: list[int]) -> float:
    """The angle per position: each doubling of the position refines what the last one gave."""
    frequency = math.remainder(angles[1] - angles[0], 2 * math.pi)
    for angle, position in zip(angles[2:], positions[2:], strict=True):
        expected = frequency * position
        miss = math.remainder(angle - angles[0] - expected, 2 * math.pi)
        if abs(miss) > 0.5:
            break
        frequency = (expected + miss) / position
    return frequency

"""Measure somebody else's rotation from outside: which pairs rotate, by how much, in what order.

A rotation is a matrix per position. Unit vectors, one per head, show it whole: row j of the matrix
is what the function makes of the j-th unit vector. Everything else here reads these matrices.
"""

import inspect
import math
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_to_rope import rotary_frequencies, rotary_table
from attention_to_rope.rope import Layout

Turn = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # x (b, h, n, d), positions → q', k'
KEY_NAMES = ("k", "key", "keys", "xk", "key_states", "k_states")
# How a function learns the positions → the names of the parameters for it, the surest first.
KINDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "table": (("cos", "cosine"), ("sin", "sine")),
    "complex": (("freqs_cis", "freqs_ci", "freqs_complex"),),
    "positions": (
        ("positions", "position_ids", "position", "pos", "input_pos", "pos_ids", "index"),
    ),
    "offset": (("offset", "start_pos", "seq_offset", "start"),),
}
TABLES = ("table", "complex")  # here the caller gives the frequencies, not the function
# Single positions at which a function must agree with its own frequencies. Odd and large ones show
# positions that are clamped, taken modulo, or rounded to a half type.
ASKED = (0, 1, 2, 3, 5, 8, 31, 100, 255, 257, 511, 1001, 2047, 4097, 8191, 10_001, 16_383)
NEAR = ASKED.index(31)


class NoRotationError(ValueError):
    """What the function does cannot be described by pairs and angles; the text is the fault."""


class Calling(NamedTuple):
    """How a function wants to be called, and the function in the doctor's own form."""

    turn: Turn
    words: str
    kind: str  # of `KINDS`, or "none": positions are always 0 … n − 1

    def matrices(self, positions: Tensor, dim: int, *, which: int = 0) -> Tensor:
        """The matrix of each position, float64 (n, d, d): row j is the image of unit vector j."""
        # In float32 whatever torch's default is: a half type would look like a rounded table.
        units = torch.eye(dim, dtype=torch.float32)[None, :, None, :]
        units = units.repeat_interleave(len(positions), dim=2)
        return self.turn(units, positions)[which][0].transpose(0, 1).double()


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
    order: list[int]  # where each dimension of a rotated vector goes
    pairs_agree: bool  # both dimensions of a pair rotate by one angle
    swapped: bool  # every pair starts a quarter of a turn ahead: cos and sin are exchanged
    orthogonal: bool  # all lengths change by one factor, and angles between vectors stay
    effective: dict[int, float]  # position asked for → position by which was rotated


def _given(kind: str, positions: Tensor, x: Tensor) -> list[tuple[tuple[Any, ...], str]]:
    """What tells a function the positions, in every form that people use, and in words."""
    if kind == "none":
        return [((), "; positions are always 0 … n − 1")]
    if kind == "offset":
        return [((int(positions.flatten()[0]),), "")]
    if kind == "positions":
        rows = positions if positions.ndim == 2 else positions[None]
        return [((positions.clone(),), ", positions (n,)"), ((rows.clone(),), ", positions (b, n)")]
    table = torch.stack(rotary_table(positions, rotary_frequencies(x.shape[-1])))  # (2, n, d/2)
    if kind == "complex":
        turn = torch.complex(*table)
        shapes = {
            "(n, d/2)": turn,
            "(1, n, d/2)": turn[None],
            "(1, n, 1, d/2)": turn[None, :, None],
        }
        return [((form,), f", cos + i sin {words}") for words, form in shapes.items()]
    forms = []
    for width, wide in {
        "d, halves alike": torch.cat((table, table), -1).to(x.dtype),
        "d/2": table.to(x.dtype),
        "d, neighbours alike": table.repeat_interleave(2, -1).to(x.dtype),
    }.items():
        for shape, (cos, sin) in {
            "(1, n, …)": wide[:, None],
            "(n, …)": wide,
            "(1, 1, n, …)": wide[:, None, None],
            "(1, n, 1, …)": wide[:, None, :, None],
        }.items():
            forms.append(((cos, sin), f", cos and sin {shape} of width {width}"))
    return forms


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
    vectors = names[: 2 if len(names) > 1 and names[1].lower() in KEY_NAMES else 1]
    kind = "none"
    taken = list[str]()
    for possible, groups in KINDS.items():
        found = [[name for name in names if name.lower() in group][:1] for group in groups]
        if kind == "none" and all(found):
            kind = possible
            taken = [name for (name,) in found]
    if kind == "none" and len(names) == 2 and len(vectors) == 1:
        # f(x, anything): the second is the position.
        kind = "positions"
        taken = names[1:]

    def build(order: str, variant: int) -> Turn:
        def turn(x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
            # The function may write into what it is given.
            arguments: dict[str, Any] = {
                name: x.clone() if order == "bhnd" else x.transpose(1, 2).clone()
                for name in vectors
            }
            given = _given(kind, positions, x)[variant][0]
            with torch.no_grad():
                result = function(**arguments, **dict(zip(taken, given, strict=True)))
            if result is None:  # it wrote into its arguments
                result = tuple(arguments.values())
            pair = result if isinstance(result, tuple | list) else (result,)
            first, second = (
                y if order == "bhnd" else y.transpose(1, 2) for y in (pair[0], pair[:2][-1])
            )
            if first.shape != x.shape:
                raise ValueError(f"shape {tuple(first.shape)} for {tuple(x.shape)}")
            return first, second

        return turn

    said = ", ".join(["q, k" if len(vectors) == 2 else "x", *(name.lower() for name in taken)])
    for order in ("bhnd", "bnhd"):
        for variant, (_, words) in enumerate(_given(kind, torch.arange(2), torch.zeros(4))):
            words = f"f({said}) with vectors ({', '.join(order)}){words}"
            yield Calling(build(order, variant), words, kind)


def find_calling(function: Callable[..., Any], head_dim: int) -> Calling:
    """The first way of calling under which the function rotates vectors, or an error that helps.

    Where the caller gives the table, a wrong shape of it may be broadcast to nonsense, so a way
    under which lengths stay is preferred to the first that depends on the position.
    """
    tried = []
    others = []
    for calling in _calls(function):
        try:
            matrices = calling.matrices(torch.arange(3), head_dim)
        except Exception as error:  # whatever somebody else's function raises
            tried.append(f"{calling.words}: {type(error).__name__}: {str(error)[:120]}")
            continue
        if (matrices[1:] - matrices[:1]).abs().max() <= 1e-6:
            tried.append(f"{calling.words}: the position changes nothing")
        elif calling.kind not in TABLES or is_orthogonal(matrices):
            return calling
        else:
            others.append(calling)
    if others:
        return others[0]
    indented = partial(textwrap.fill, width=100, initial_indent="  ", subsequent_indent="    ")
    raise ValueError(
        "the function rotates nothing in any way of calling that its parameters' names suggest.\n"
        + "\n".join(indented(line) for line in tried[:6] or ["it has no parameter with a name"])
        + "\nWrap it: def adapter(x, positions): ...  with x (b, h, n, d) and positions (n,), "
        "giving x rotated"
    )


def is_orthogonal(matrices: Tensor) -> bool:
    """Whether the matrices rotate: all lengths change by one factor, all angles stay."""
    gram = matrices @ matrices.mT
    scale = gram.diagonal(dim1=-2, dim2=-1).mean()
    unit = torch.eye(matrices.shape[-1], dtype=scale.dtype) * scale
    return bool((gram - unit).abs().max() < 0.02 * scale)


def _one_by_one(calling: Calling, positions: tuple[int, ...], dim: int, which: int) -> Tensor:
    """The matrices of rising positions, as far as the function has an answer."""
    found = [calling.matrices(torch.tensor(positions[:1]), dim, which=which)]
    for position in positions[1:]:
        try:
            found.append(calling.matrices(torch.tensor([position]), dim, which=which))
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
    single = _one_by_one(calling, powers, dim, which) if calling.kind != "none" else None
    alone = single is not None and bool((single - single[:1]).abs().max() > 1e-6)
    if single is not None and alone:
        matrices = single
        positions = powers[: len(single)]
    else:  # positions 0 … n − 1 in one call are all that makes a difference
        matrices = calling.matrices(torch.arange(257), dim, which=which)
        positions = (0, *(2**k for k in range(9)))
        matrices = matrices[torch.tensor(positions)]
    rounded = [
        dtype
        for dtype in (torch.bfloat16, torch.float16)
        if torch.equal(matrices[:4].to(dtype).double(), matrices[:4])
    ]
    order = _order(matrices[0])
    asked = _one_by_one(calling, ASKED, dim, which) if alone else matrices
    matrices = matrices[..., order]
    asked = asked[..., order]
    partners = _partners(matrices)
    if not partners and (matrices - matrices[:1]).abs().max() > 1e-6:
        raise NoRotationError(
            "no sine term: each dimension is multiplied by a number of its own and none is mixed "
            "with its partner"
        )
    if not partners:
        raise ValueError(f"the {('queries', 'keys')[which]} are not rotated")
    layout, first_dim, span = _layout(partners)
    pairs = sorted((a, b) for a, b in partners.items() if a < b)
    if not pairs:
        raise NoRotationError("no pairs: dimensions are mixed in one direction only")
    a, b = torch.tensor(pairs).T
    angles, asked_angles = (torch.atan2(m[:, a, b], m[:, a, a]) for m in (matrices, asked))
    starts = angles[0]
    frequencies = [_frequency(of_pair, positions) for of_pair in angles.T.tolist()]
    factor = float(torch.hypot(matrices[:, a[0], a[0]], matrices[:, a[0], b[0]]).median())
    disagreement = float((matrices[:, a, a] - matrices[:, b, b]).abs().max())
    rotating = matrices[:, sorted(partners)][:, :, sorted(partners)]
    return Measured(
        layout=layout,
        forward=sum(frequencies) > 0,
        first_dim=first_dim,
        span=span,
        frequencies=[abs(value) for value in frequencies],
        factor=factor,
        shift=_shift(frequencies, starts.tolist()),
        rounded_to=rounded[0] if rounded else None,
        order=order,
        pairs_agree=disagreement < 1e-3 * factor,
        swapped=bool(((starts.abs() - math.pi / 2).abs() < 1e-3).all()),
        orthogonal=layout is None or is_orthogonal(rotating),
        effective=_effective(asked_angles - starts, frequencies) if alone else {},
    )


def _effective(angles: Tensor, frequencies: list[float]) -> dict[int, float]:
    """By which position the function rotates when it is asked for each of `ASKED` alone.

    The fastest pair whose angle has not come round once tells, by its angle at a near position.
    """
    slow = [i for i, f in enumerate(frequencies) if 1e-7 < abs(f) < 3 / ASKED[-1]]
    if not slow or len(angles) <= NEAR:
        return {}
    i = max(slow, key=lambda i: abs(frequencies[i]))
    found = angles[:, i] / angles[NEAR, i] * ASKED[NEAR]
    return dict(zip(ASKED, found.tolist(), strict=False))


def _shift(frequencies: list[float], starts: list[float]) -> float:
    """The position as which position 0 is rotated: the slowest pair is the last to come round."""
    turning = [(abs(f), start / f) for f, start in zip(frequencies, starts, strict=True) if f]
    return min(turning)[1] if turning else 0.0


def _order(at_zero: Tensor) -> list[int]:
    """Where the matrix of position 0 puts each dimension, if it only changes their order.

    Some functions rotate neighbours and give halves: scores do not notice.
    """
    order = at_zero.argmax(-1)
    reorders = torch.equal(at_zero / at_zero.max(), torch.eye(len(at_zero))[order])
    return order.tolist() if reorders else list(range(len(at_zero)))


def _frequency(angles: list[float], positions: tuple[int, ...]) -> float:
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

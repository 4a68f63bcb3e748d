"""Calls of one function compared with each other: alone and in a sequence, row by row, twice."""

import math

import torch
from torch import Tensor

from rope_doctor.calling import TABLES, Calling
from rope_doctor.faults import Fault, allowed
from rope_doctor.probe import SAME, SIDES, Measured, angles_at, predicted, vectors

SCATTERED = (7, 3, 12, 3)
DOCUMENTS = (4, 3, 5)  # tokens of packed documents
TOKENS_FIRST = "(n, b, h, d)"  # an order of axes in which a batch may be taken for the tokens
# Queries at m and keys at n, near and far, at small and large positions.
DISTANCES = ((3, 1), (100, 99), (1000, 0), (4000, 3000), (16_000, 15_990), (30_000, 29_000))


def grouped(calling: Calling, dim: int) -> list[Fault]:
    """Whether keys with fewer heads than queries rotate as with equally many."""
    if not calling.both:
        return []
    q, k = vectors(2, 1, 4, 5, dim, seed=6).unbind(0)
    positions = torch.arange(5)
    try:
        alike = calling.turn(q, k, positions)[1][:, :2]
        fewer = calling.turn(q, k[:, :2], positions)[1]
    except Exception:  # it wants as many heads
        return []
    if (alike - fewer).abs().max() < SAME:
        return []
    return [
        Fault(
            "grouped keys",
            "keys with fewer heads than queries are rotated differently",
            "take the shape for the keys from the keys",
        )
    ]


def _repeated(calling: Calling, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """One vector at many positions, rotated as queries and as keys, (n, d) each."""
    many = x.repeat(1, 1, len(positions), 1)
    queries, keys = calling.turn(many, many, positions)
    return queries[0, 0].double(), keys[0, 0].double()


def _like(whole: Tensor, vector: Tensor) -> int | None:
    """The position of the sequence as which a vector was rotated; None if there is none."""
    gaps = (whole - vector).abs().amax(-1)
    best = int(gaps.argmin())
    return best if float(gaps[best]) < SAME else None


def offsets(calling: Calling, dim: int, *, longest: int = 2100) -> tuple[str, list[Fault]]:
    """Whether later positions alone, one or several, are rotated as inside a longer sequence."""
    if calling.kind == "none":
        return "cannot be given: positions are always 0 … n − 1", []
    x = vectors(1, 1, 1, dim, seed=3)
    whole: tuple[Tensor, Tensor] | None = None
    for length in (2100, 600, 64, 16):
        if length > longest:
            continue
        try:
            whole = _repeated(calling, x, torch.arange(length))
            break
        except Exception:  # a table that ends before this length
            continue
    if whole is None:
        return "not tested: no answer for 16 positions in one call", []
    last = len(whole[0]) - 1
    parts: list[tuple[int, ...]] = [(8, 9, 10, 11), (9,), (last,)]
    if calling.kind != "offset":
        parts.append(SCATTERED)
    alike = _all_alike(calling, x, whole)
    if alike:
        return alike[0].found, alike
    by_length = _by_length(calling, x) if last >= 24 else []
    if by_length:
        return by_length[0].found, by_length
    for part in parts:
        alone = _repeated(calling, x, torch.tensor(part))
        for side, sequence, found in zip(SIDES, whole, alone, strict=True):
            fault = _offset_fault(part, side, sequence, found)
            if (
                fault is not None
                and fault.name == "positions ignored"
                and TOKENS_FIRST in calling.words
            ):
                more = "; if that axis is your batch, its rows are taken for positions"
                fault = fault._replace(found=fault.found + more)
            if fault is not None:
                fault = _of_documents(calling, x, whole) or fault if part == SCATTERED else fault
                fault = _other_axes(calling, dim, fault)
                return fault.found, [fault]
    packed = None if calling.kind == "offset" else _of_documents(calling, x, whole)
    if packed is not None:
        return packed.found, [packed]
    return "later positions alone are rotated as inside the whole sequence", []


def _all_alike(calling: Calling, x: Tensor, whole: tuple[Tensor, Tensor]) -> list[Fault]:
    """Whether all tokens of a call are rotated by the position of one of them."""
    last = len(whole[0]) - 1
    ends = [_repeated(calling, x, torch.tensor([m])) for m in (0, last)]
    for side, name in enumerate(SIDES):
        if float((whole[side] - whole[side][:1]).abs().max()) > SAME:
            continue
        if float((ends[0][side] - ends[1][side]).abs().max()) < SAME:  # it does not rotate at all
            continue
        of_last = float((whole[side][:1] - ends[1][side]).abs().max()) < SAME
        which = "last" if of_last else "first"
        return [
            Fault(
                "one position for all",
                f"all {name} of a call are rotated alike, by the position of the {which} token",
                "rotate each token by its own position",
            )
        ]
    return []


def _by_length(calling: Calling, x: Tensor) -> list[Fault]:
    """Whether the start of a chunk moves by the number of its tokens."""
    start, lengths = 12, (2, 3, 5)
    singles = [_repeated(calling, x, torch.tensor([m])) for m in range(2 * start)]
    for side, name in enumerate(SIDES):
        places = torch.cat([single[side] for single in singles])
        seen = []
        for length in lengths:
            chunk = _repeated(calling, x, torch.arange(start, start + length))[side]
            first = _like(places, chunk[0])
            if first is not None and _like(places, chunk[-1]) == first + length - 1:
                seen.append(first)
        moved = [(place - seen[0]) for place in seen]
        for sign, words in ((-1, "subtracted from"), (1, "added to")):
            if moved == [sign * (length - lengths[0]) for length in lengths]:
                at = ", ".join(map(str, seen))
                return [
                    Fault(
                        "offset moved by the length of the call",
                        f"the {name} of chunks of 2, 3 and 5 tokens from position {start} on begin "
                        f"as the single tokens of positions {at}: the number of tokens is {words} "
                        "the offset",
                        "the offset is the number of tokens before the chunk: use it as the start",
                    )
                ]
    return []


def _of_documents(calling: Calling, x: Tensor, whole: tuple[Tensor, Tensor]) -> Fault | None:
    """Whether the first tokens of packed documents, and these alone, have wrong positions."""
    asked = [m for length in DOCUMENTS for m in range(length)]
    later = [sum(DOCUMENTS[:i]) for i in range(1, len(DOCUMENTS))]
    alone = _repeated(calling, x, torch.tensor(asked))
    for side, sequence, found in zip(SIDES, whole, alone, strict=True):
        seen = [_like(sequence, vector) for vector in found]
        wrong = [i for i, (place, m) in enumerate(zip(seen, asked, strict=True)) if place != m]
        if wrong == later:
            return Fault(
                "packed documents",
                f"the {side} of the first token of each later document are rotated otherwise: "
                f"positions {asked} as {['otherwise' if p is None else p for p in seen]}",
                "look at the side on which boundaries are searched: a document begins with its "
                "first token",
            )
    return None


def _other_axes(calling: Calling, dim: int, fault: Fault) -> Fault:
    """The fault, with what happens if heads are where this call had tokens."""
    if fault.name != "consecutive positions assumed" or "(b, n, h, d)" not in calling.words:
        return fault
    heads = vectors(1, 1, 1, dim, seed=19).repeat(1, 3, 4, 1)  # four heads of three tokens
    try:
        turned = calling.turn(heads, heads, torch.tensor([5, 6, 7, 8]))[0]
        alike = bool((turned - turned[:, :1]).abs().max() < SAME)
        # Three tokens of four heads in the order (b, h, n, d): taken as four tokens of three heads.
        taken = calling.turn(heads, heads, torch.tensor([5, 6, 7]))[0]
    except Exception:  # it looks at the number of positions
        return fault
    if not alike or (taken - turned).abs().max() > SAME:
        return fault
    more = (
        "; if your vectors are (b, h, n, d), heads are taken as positions: head h is rotated as "
        "the first position + h, and all tokens of a head alike"
    )
    return fault._replace(found=fault.found + more)


def _offset_fault(part: tuple[int, ...], side: str, whole: Tensor, alone: Tensor) -> Fault | None:
    """The first difference between a part of a sequence alone and inside the whole."""
    if (whole[list(part)] - alone).abs().max() < SAME:
        return None
    seen = [_like(whole, vector) for vector in alone]
    asked = ", ".join(map(str, part))
    text = f"the {side} of positions {asked} alone are not rotated as inside the whole sequence"
    if None not in seen:
        text = f"the {side} of positions {asked} alone are rotated as {seen} of the whole sequence"
    consecutive = list(range(part[0] * len(part), part[0] * len(part) + len(part)))
    if len(part) > 1 and part[0] and seen == consecutive:
        return Fault(
            "offset times length",
            f"{text}: {part[0]} is multiplied by the number of tokens in the call, {len(part)}",
            "the offset is the position of the first token, not the number of chunks before it",
        )
    by = {place - m for place, m in zip(seen, part, strict=True) if place is not None}
    if seen == list(range(len(part))):
        if len(part) == 1:
            return Fault(
                "single-token decoding",
                f"{text}: a new token is rotated as if it were the first",
                "give each new token its position, the number of tokens before it",
            )
        return Fault(
            "positions ignored",
            f"{text}: they are counted from 0",
            "compute the angles from the positions that are given",
        )
    rested = [i for i, place in enumerate(seen) if place != part[i]]
    if rested and rested[0] and all(seen[i] == 0 for i in rested) and rested[-1] == len(part) - 1:
        return Fault(
            "some tokens are not rotated",
            f"{text}: the last {len(rested)} of {len(part)} tokens come back as they were given",
            "rotate all tokens of a call",
        )
    if part == SCATTERED and seen == sorted(part):
        return Fault(
            "positions sorted",
            f"{text}: they are taken in rising order",
            "use the positions in the order in which they are given",
        )
    last = len(whole) - 1
    if seen == [last - m for m in part] or seen == [last - m for m in reversed(part)]:
        return Fault(
            "positions reversed",
            f"{text}: inside a sequence they are counted from its end",
            "use the positions in the order in which they are given",
        )
    if part == SCATTERED and seen == list(reversed(part)):
        return Fault(
            "positions reversed",
            f"{text}: where a position repeats, as in padding, they are read backwards",
            "use the positions in the order in which they are given",
        )
    if part == SCATTERED and seen[0] == part[0]:
        return Fault(
            "consecutive positions assumed",
            f"{text}; packed documents and left padding need each position",
            "read every position, not the first or the last alone",
        )
    if len(by) == 1 and None not in seen:
        one = "single-token decoding, offset" if len(part) == 1 else "offset"
        moved = by.pop()
        if moved == part[0]:
            text += "; the first position is added twice"
        return Fault(
            f"{one} off by {moved:+d}",
            text,
            "look at the length given to the cache: a new token's position is the number of "
            "tokens before it",
        )
    name = "single-token decoding" if len(part) == 1 else "offset ignored or wrong"
    return Fault(
        name,
        f"{text}: the angles depend on the other positions of the call, or on its length",
        "compute the angles of a token from its own position alone",
    )


def rows(calling: Calling, dim: int) -> tuple[str, list[Fault]]:
    """Whether each row of a batch is rotated by its own positions."""
    if calling.kind not in ("positions", *TABLES):
        return "rows share their positions", []
    x = torch.ones(2, 3, 3, dim, dtype=torch.float32)  # heads: they may be flattened with rows
    positions = torch.tensor([[0, 1, 2], [50, 51, 52]])
    try:
        both = calling.turn(x, x, positions)
        single_rows = [calling.turn(x[:1], x[:1], positions[row]) for row in (0, 1)]
    except Exception as error:  # whatever somebody else's function raises
        return f"positions (b, n) are refused ({type(error).__name__}); rows share theirs", []
    for row, alone in enumerate(single_rows):
        for side, together, single in zip(SIDES, both, alone, strict=True):
            if (together[row] - single[0]).abs().max() >= SAME:
                text = "positions (b, n) are taken, but rows are not rotated by their own"
                place = SIDES.index(side)
                seen = [
                    [i for i in (0, 1) if (head - single_rows[i][place][0, 0]).abs().max() < SAME]
                    for head in together[row]
                ]
                return text, [
                    Fault(
                        "batch",
                        f"{text}: the {side} of row {row} differ{_of_rows(seen)}",
                        "build cos and sin from all rows of the positions, (b, n, d/2), and add "
                        "the axis of the heads behind the batch",
                    )
                ]
    return "each row has its own positions", []


def _of_rows(seen: list[list[int]]) -> str:
    """By the positions of which row the heads of a row are rotated, in words."""
    if not all(seen):
        return ""
    rows = [found[0] for found in seen]
    if len(set(rows)) == 1:
        return f"; they are rotated by the positions of row {rows[0]}"
    return (
        f"; its heads are rotated by the positions of rows {rows}: where rows and heads are "
        "flattened, repeat_interleave(heads, 0) gives each head its row's, and repeat does not"
    )


def shifts(calling: Calling, dim: int) -> tuple[str, list[Fault]]:
    """Whether scores stay when all positions move together."""
    if calling.kind == "none":
        return "not tested: positions cannot be given", []
    q, k = vectors(2, 1, 1, 8, dim, seed=0)
    scores: dict[int, Tensor] = {}
    for shift in (0, 1000, 100, 8):
        at = torch.arange(shift, shift + 8)
        try:
            rotated_q, rotated_k = calling.turn(q, k, at)
        except Exception:  # a table that ends before this position
            continue
        scores[shift] = rotated_q.double() @ rotated_k.double().mT
        move = float((scores[shift] - scores[0]).abs().max() / scores[0].abs().max())
        said = f"a shift by {shift} moves scores by {move:.0e} of the largest"
        if move >= 0.02:  # a rounded table moves them by 0.003
            return f"NO: {said}", [
                Fault(
                    "not relative",
                    f"scores change when all positions move together; {said}",
                    "rotate queries and keys by the same frequencies, each at its own position",
                )
            ]
        if shift:
            return f"yes: {said}", []
    return "not tested: no answer at position 8", []


def scores(
    calling: Calling, sides: tuple[Measured, Measured], exact: Tensor | None
) -> tuple[str, list[Fault]]:
    """Whether a query at m against a key at n gives what the measured rotation says."""
    measured = sides[0]
    if not measured.alone:
        return "not tested: one position cannot be asked for alone", []
    dim = measured.matrices.shape[-1]
    q, k = vectors(2, 1, 1, 1, dim, seed=4)
    both = measured._replace(
        factor=sides[0].factor * sides[1].factor, starts=[0.0] * len(measured.pairs)
    )
    worst = 0.0
    tried = []
    for m, n in DISTANCES:
        try:
            rotated_q = calling.turn(q, k, torch.tensor([m]))[0].double()
            rotated_k = calling.turn(q, k, torch.tensor([n]))[1].double()
        except Exception:  # a table that ends before this position
            break
        angles = angles_at(torch.tensor([m - n]), measured, exact)
        expected = float(q.double() @ predicted(both, angles)[0] @ k.double().mT)
        gap = abs(float(rotated_q.flatten() @ rotated_k.flatten()) - expected)
        limit = 3 * math.sqrt(dim) * allowed(max(m, n), measured)
        tried.append(f"{m - n} apart")
        worst = max(worst, gap)
        if gap > limit * both.factor:
            text = (
                f"a query at {m} and a key at {n} score {gap:.2g} away from what the measured "
                "rotation of the queries gives"
            )
            return f"NO: {text}", [
                Fault("scores", text, "rotate keys as the queries, each at its own position")
            ]
    return f"as the measured rotation says, to {worst:.0e} ({', '.join(tried)})", []


def gradients(calling: Calling, dim: int) -> tuple[list[Fault], list[str]]:
    """Whether gradients are those of a rotation; a note if there are none."""
    x = vectors(1, 2, 3, dim, seed=8).requires_grad_()
    direction = vectors(1, 2, 3, dim, seed=9)
    positions = torch.arange(3)
    try:
        rotated = calling.turn(x, x.detach(), positions)[0]
        weights = vectors(*rotated.shape, seed=10)
        if not rotated.requires_grad:
            return [], ["no gradient comes back through the rotation: good for inference only"]
        (gradient,) = torch.autograd.grad((rotated * weights).sum(), x)
        moved = calling.turn(direction, direction, positions)[0]
    except Exception:  # a kernel without a gradient, or a write into a leaf
        return [], []
    # A rotation is linear: its gradient along a direction is the rotated direction.
    gap = float(((gradient * direction).sum() - (moved * weights).sum()).abs())
    if gap < 1e-2:
        return [], []
    return [
        Fault(
            "gradient",
            f"along a random direction it is off by {gap:.2g}",
            "rotate the gradient by the opposite angles; leave out detach()",
        )
    ], []


def autocast_notes(calling: Calling, dim: int) -> list[str]:
    """Whether automatic mixed precision rounds the angles."""
    x = vectors(1, 1, 1, dim, seed=11)
    for position in (4095, 1000, 100):
        try:
            plain = calling.turn(x, x, torch.tensor([position]))[0]
            with torch.autocast("cpu", dtype=torch.bfloat16):
                mixed = calling.turn(x, x, torch.tensor([position]))[0]
        except Exception:  # a table that ends before this position
            continue
        if float((plain - mixed).abs().max()) < 0.1:
            return []
        return [
            "under torch.autocast the angles are computed in bfloat16, and collapse: switch it off "
            "around them (torch.autocast(device_type, enabled=False))"
        ]
    return []

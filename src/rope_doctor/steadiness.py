"""Whether a result depends on the vector and its position alone, and whether it only rotates."""

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from rope_doctor.calling import Calling
from rope_doctor.probe import SAME, SIDES, NoRotationError, vectors


def check_steady(calling: Calling, dim: int) -> None:
    """Raise if a result depends on more than the vector and its position."""
    x = vectors(1, 1, 4, dim, seed=2).repeat(1, 40, 1, 1)
    positions = torch.arange(4)
    once = calling.turn(x, x, positions)
    again = calling.turn(x, x, positions)
    if not all(torch.equal(a, b) for a, b in zip(once, again, strict=True)):
        _check_growing(once, again, calling.turn(x, x, positions))
        if _goes_on(calling, dim):
            raise NoRotationError(
                "earlier calls matter: a call goes on where the one before it ended, so its "
                "positions grow from call to call",
                "count from 0 in each call, or take the positions; reset a cache for a new text",
            )
        raise NoRotationError(
            "noise: two equal calls give different results",
            "leave out dropout and whatever else is random or adds up from call to call",
        )
    differ = [
        side
        for side, y in zip(SIDES, once, strict=True)
        if (y - y[:, :1]).abs().max() > SAME and (calling.both or side == SIDES[0])
    ]
    if differ:
        raise NoRotationError(
            "heads differ: equal vectors in different heads rotate differently: "
            f"{' and '.join(differ)}{_which_heads(calling, dim, SIDES.index(differ[0]))}",
            "the angles depend on the position, not on the head: look at the axes of cos and sin",
        )
    if calling.both:
        _check_independent(calling, dim)
    _check_heads_kept(calling, dim)
    _check_rows(calling, dim)
    _check_state(calling, x, once)
    _check_positions_kept(calling, dim)
    _check_linear(calling, dim)
    _check_remarks(calling)


def _check_growing(*calls: tuple[Tensor, Tensor]) -> None:
    """Raise if the results of equal calls grow or shrink by one factor from call to call."""
    for side, results in zip(SIDES, zip(*calls, strict=True), strict=True):
        first, second = (
            float((before * after).sum() / (before * before).sum())
            for before, after in pairwise(results)
        )
        left = float((results[2] - second * results[1]).abs().max() / results[2].abs().max())
        same = math.isclose(first, second, rel_tol=1e-4)
        if same and left < 1e-3 and abs(first - 1) > 1e-5:
            raise NoRotationError(
                f"earlier calls matter: equal calls give the {side} {first:.6g} times as long, "
                "from call to call: a factor is multiplied into a table that stays, and grows",
                "multiply a copy of the table, or once where it is made",
            )


def _which_heads(calling: Calling, dim: int, side: int) -> str:
    """Which of eight heads rotate as one head alone does, and what the others do, in words."""
    count, length = 8, 5
    x = vectors(1, 1, 1, dim, seed=17).repeat(1, count, length, 1)
    positions = torch.arange(length)
    try:
        one = torch.zeros_like(x)
        one[:, 0] = x[:, 0]
        spread = calling.turn(one, one, positions)[side][0].abs().amax((-2, -1)) > SAME
        whole = calling.turn(x, x, positions)[side][0]
        longer = x[:, :1, :1].repeat(1, 1, 64, 1)
        places = calling.turn(longer, longer, torch.arange(64))[side][0, 0]
    except Exception:  # it wants another number of heads or tokens
        return ""
    if bool(spread[1:].any()):
        return (
            "; a vector in head 0 comes back in other heads too, so the heads are rotated as one "
            "long vector: split them before the rotation"
        )
    seen = [_places(head, places) for head in whole]
    # What a change of shape does that does not exchange heads and tokens: each order of the axes.
    scrambled: dict[str, Callable[[int, int], int]] = {
        f"({length}h + m) // {count}": lambda head, m: (length * head + m) // count,
        f"({count}m + h) % {length}": lambda head, m: (count * m + head) % length,
    }
    for formula, place in scrambled.items():
        if seen == [[place(head, m) for m in range(length)] for head in range(count)]:
            return (
                f"; in a call of {length} tokens and {count} heads, token m of head h is rotated "
                f"as position {formula}: heads and tokens are scrambled by reshape or view; "
                "exchange the axes by transpose(1, 2)"
            )
    going_on = _frequencies_go_on(calling, dim, side)
    if going_on:
        return going_on
    said = [_of_head(head, x[0, 0], places) for head in whole]
    parts = []
    first = 0
    for head in range(1, count + 1):
        if head == count or said[head] != said[first]:
            name = f"head {first} is" if head == first + 1 else f"heads {first} to {head - 1} are"
            parts.append(f"{name} {said[first]}")
            first = head
    return f"; of {count} heads, {'; '.join(parts)}"


def _frequencies_go_on(calling: Calling, dim: int, side: int) -> str:
    """Whether each head goes on with the frequencies where the head before it ended, in words."""
    heads = 4
    units = torch.eye(dim, dtype=torch.float32)[:, None, None].repeat(1, heads, 2, 1)
    positions = torch.arange(2)
    rows = [calling.turn(row[None], row[None], positions)[side] for row in units]
    matrices = torch.cat(rows)[:, :, 1].transpose(0, 1).double()  # (heads, d, d) at position 1
    mixed = matrices - torch.diag_embed(matrices.diagonal(dim1=-2, dim2=-1))
    partner = mixed[0].abs().argmax(-1)
    first = (torch.arange(dim) < partner).nonzero().flatten()
    if len(first) != dim // 2:
        return ""
    theta = torch.atan2(mixed[:, first, partner[first]], matrices[:, first, first]).abs()
    ratios = theta.flatten()[1:] / theta.flatten()[:-1]
    whole = theta.flatten().log()
    steps = torch.arange(len(whole), dtype=whole.dtype) / (len(whole) - 1)
    falls = bool((ratios < 1).all()) and float(theta[-1, -1]) > 1e-7
    if not falls or float((whole - whole[-1] * steps).abs().max()) > 0.02:
        return ""
    ends = [f"{float(one[0]):.3g} … {float(one[-1]):.3g}" for one in theta]
    return (
        f"; frequencies go on from head to head, as those of one long vector: {ends[0]} in head 0, "
        f"{ends[1]} in head 1; split the heads before the rotation, or give each the same "
        "frequencies"
    )


def _places(rotated: Tensor, places: Tensor) -> list[int] | None:
    """The positions as which the tokens of one head are rotated; None if there are none."""
    gaps = (rotated[:, None] - places).abs().amax(-1)
    return gaps.argmin(-1).tolist() if gaps.amin(-1).max() < SAME else None


def _of_head(rotated: Tensor, given: Tensor, places: Tensor) -> str:
    """What happens to the tokens of one head, which are all one vector."""
    if (rotated - places[: len(rotated)]).abs().max() < SAME:
        return "right"
    if (rotated - given).abs().max() < SAME:
        return "not rotated"
    seen = _places(rotated, places)
    if seen is None:
        return "rotated otherwise"
    return f"rotated at positions {list(range(len(rotated)))} as if they were {seen}"


def _goes_on(calling: Calling, dim: int) -> bool:
    """Whether a second call is rotated as if it followed the first one in the same text."""
    x = vectors(1, 1, 1, dim, seed=14).repeat(1, 1, 6, 1)
    calls = list(calling.turn(x, x, torch.arange(6)))  # of one vector at a time: two calls
    if calling.both:
        calls[1] = calling.turn(x, x, torch.arange(6))[0]
    first, second = (result[0, 0] for result in calls)
    # A product of two rotated copies of a vector depends on their distance alone.
    by_distance = first[0] @ first[1:3].mT
    return bool((first[-1] @ second[:2].mT - by_distance).abs().max() < SAME)


def _check_heads_kept(calling: Calling, dim: int) -> None:
    """Raise if heads change places, as when parts of them are joined in another order."""
    x = vectors(1, 4, 3, dim, seed=15)
    for head in range(4):
        one = torch.zeros_like(x)
        one[:, head] = x[:, head]
        for side, y in zip(SIDES, calling.turn(one, one, torch.arange(3)), strict=True):
            place = int(y.abs().sum((0, 2, 3)).argmax())
            if place != head:
                raise NoRotationError(
                    f"heads change places: head {head} of the {side} comes back as head {place}",
                    "join the parts in the order in which the heads were split",
                )


def _check_rows(calling: Calling, dim: int) -> None:
    """Raise if the rows of a batch rotate otherwise than alone, at the same positions."""
    x = vectors(3, 2, 5, dim, seed=7)
    positions = torch.arange(5)
    # Where tokens of all rows are in one axis, as in vLLM, each needs its position.
    ways = [positions, positions.repeat(3, 1)] if calling.kind == "positions" else [positions]
    differ = []
    for way in ways:
        try:
            together = calling.turn(x, x, way)
            alone = calling.turn(x[2:], x[2:], positions)
        except Exception:  # vectors without a batch axis, or positions in another form
            continue
        gaps = [(a[2:] - b).abs().max() for a, b in zip(together, alone, strict=True)]
        differ.append(bool(max(gaps) > SAME))
    if differ and all(differ):
        raise NoRotationError(
            "rows differ: a row of a batch is rotated otherwise than alone, at the same positions"
            + _which_rows(calling, dim),
            "the angles depend on the position, not on the row: look at the axes of cos and sin",
        )


def _which_rows(calling: Calling, dim: int) -> str:
    """As which positions the rows of a batch are rotated, in words, where that can be seen."""
    count, length = 3, 5
    x = vectors(1, 1, 1, dim, seed=18).repeat(count, 1, length, 1)
    try:
        both = calling.turn(x, x, torch.arange(length))
        longer = x[:1, :, :1].repeat(1, 1, 64, 1)
        of_both = calling.turn(longer, longer, torch.arange(64))
    except Exception:  # it wants another number of rows or tokens
        return ""
    whose = ""
    seen: list[list[int] | None] = []
    for side, rotated, alone in zip(SIDES, both, of_both, strict=True):
        seen = [_places(row, alone[0, 0]) for row in rotated[:, 0]]
        whose = f" of the {side}" if calling.both else ""
        if seen != [list(range(length))] * count:
            break
    if None in seen:
        return ""
    text = f"; in a batch of {count}, tokens {list(range(length))}{whose} are rotated as "
    text += ", ".join(f"{places} in row {row}" for row, places in enumerate(seen))
    if seen == [[count * m + row for m in range(length)] for row in range(count)]:
        text += ": positions grow by the number of rows from token to token"
    if seen == [[length * row + m for m in range(length)] for row in range(count)]:
        text += ": positions go on from row to row"
    return text


def _check_state(calling: Calling, x: Tensor, once: tuple[Tensor, Tensor]) -> None:
    """Raise if an equal call gives another result after calls with larger positions."""
    for far in (40, 5000, 100_000):
        try:
            one = x[:, :1, :1]
            calling.turn(one, one, torch.tensor([far]))
            longer = torch.arange(min(far, 200))
            repeated = one.repeat(1, 1, len(longer), 1)
            calling.turn(repeated, repeated, longer)
        except Exception:  # a table that ends before this position
            break
    later = calling.turn(x, x, torch.arange(4))
    if any((a - b).abs().max() > SAME for a, b in zip(once, later, strict=True)):
        raise NoRotationError(
            "earlier calls matter: the same call gives another result after a longer text",
            "do not change frequencies or tables that stay behind: compute them from the position",
        )


def _check_independent(calling: Calling, dim: int) -> None:
    """Raise if queries come back as keys, or depend on the keys."""
    q, other_q, k, other_k = vectors(4, 4, 3, dim, seed=5).unbind(0)
    positions = torch.arange(3)
    rotated_q, rotated_k = calling.turn(q[None], k[None], positions)
    if torch.equal(rotated_q, rotated_k):
        raise NoRotationError(
            "one for both: the rotated queries and keys are the same tensor",
            "rotate the keys themselves",
        )
    by_k = calling.turn(q[None], other_k[None], positions)
    by_q = calling.turn(other_q[None], k[None], positions)
    other = [bool((by_k[0] - rotated_q).abs().max() > SAME)]  # side by side, what the other changes
    other.append(bool((by_q[1] - rotated_k).abs().max() > SAME))
    own = [bool((by_q[0] - rotated_q).abs().max() > SAME)]
    own.append(bool((by_k[1] - rotated_k).abs().max() > SAME))
    if not any(other):
        return
    if all(other) and not any(own):
        raise NoRotationError(
            "queries and keys are exchanged: what comes back first depends on the keys alone, and "
            "what comes back second on the queries alone",
            "give the rotated queries first, then the keys",
        )
    said = [
        f"the rotated {side} depend on the {there}{' too' if mine else ', not on themselves'}"
        for side, there, mine, mixed in zip(SIDES, SIDES[::-1], own, other, strict=True)
        if mixed
    ]
    raise NoRotationError(
        f"mixed up: {', and '.join(said)}",
        "rotate each from its own vectors: rotate_half(k) for the keys, rotate_half(q) for queries",
    )


def _check_positions_kept(calling: Calling, dim: int) -> None:
    """Raise if a call repeats the angles of an earlier one of the same length."""
    if calling.kind == "none":
        return
    count = 11  # no call had this length before
    longer = vectors(1, 1, count + 1, dim, seed=12)
    x, shorter = longer[:, :, :count], longer[:, :, :3]
    later = torch.arange(50, 50 + count)
    try:
        start = calling.turn(shorter, shorter, torch.arange(3))
        fresh = calling.turn(x, x, later)
        calling.turn(shorter, shorter, torch.arange(3))
        at_start = calling.turn(x, x, torch.arange(count))
        after = calling.turn(x, x, later)
        first_at_start = calling.turn(longer, longer, torch.arange(count + 1))
    except Exception:  # a table that ends before this position
        return
    changed = any((a - b).abs().max() > SAME for a, b in zip(fresh, after, strict=True))
    # Kept from the first call of this length on: then the start is rotated as what came before it.
    kept = all(torch.equal(a, b) for a, b in zip(fresh, at_start, strict=True))
    wrong, wrong_first = (
        any((a - b[:, :, :3]).abs().max() > SAME for a, b in zip(start, other, strict=True))
        for other in (at_start, first_at_start)
    )
    if changed or (kept and wrong and not wrong_first):
        raise NoRotationError(
            "earlier calls matter: a call repeats the angles of an earlier one of the same length, "
            "at other positions",
            "do not keep angles by the length of a call: compute or look them up by position",
        )


def _check_linear(calling: Calling, dim: int) -> None:
    """Raise if vectors are not only multiplied: something is added, or lengths are normalised."""
    x = vectors(1, 2, 3, dim, seed=13)
    positions = torch.arange(3)
    of_zeros = calling.turn(torch.zeros_like(x), torch.zeros_like(x), positions)
    if any(y.abs().max() > 1e-3 for y in of_zeros):
        raise NoRotationError(
            "something is added: vectors of zeros do not come back as zeros, so it is no rotation",
            "multiply by cos and sin; sines that are added are the sinusoidal encoding",
        )
    once = calling.turn(x, x, positions)
    doubled = calling.turn(2 * x, 2 * x, positions)
    if any((2 * a - b).abs().max() > 1e-2 for a, b in zip(once, doubled, strict=True)):
        raise NoRotationError(
            "not linear: vectors of twice the length do not come back with twice the length",
            "a rotation keeps lengths: normalise queries and keys before it, if at all",
        )


def _check_remarks(calling: Calling) -> None:
    """Raise if calls did more than rotate queries and keys."""
    if "values" in calling.remarks:
        raise NoRotationError(
            "values are rotated: they do not come back as they were given",
            "rotate queries and keys only",
        )
    if "inputs" in calling.remarks:
        raise NoRotationError(
            "inputs are overwritten: the vectors given are changed, though others are returned",
            "write into new tensors, or return those that were given",
        )

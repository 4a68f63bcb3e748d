"""What `rope` asks of its arguments, gathered here so that the formulas there can be read."""

import torch
from torch import Tensor

from attention_to_rope.checks import (
    FLOAT_TYPES,
    check_axis,
    check_choice,
    check_count,
    check_float,
    check_positive,
    check_same_device,
    values_are_known,
    working_dtype,
)

LAYOUTS = ("half", "interleaved")


def check_even(dim: int, *, name: str = "rotary dim") -> None:
    """Raise unless `dim` is even: dimensions turn in pairs."""
    if dim % 2:
        raise ValueError(
            f"{name} must be even, got {dim}; dimensions turn in pairs, so use {dim - 1} or "
            f"{dim + 1}"
        )


def check_rotary_dim(dim: int) -> None:
    """Raise unless `dim` is an even whole number of at least 2."""
    check_count("rotary dim", dim, at_least=2)
    check_even(dim)


def check_frequencies(frequencies: Tensor) -> None:
    """Raise unless `frequencies` is (d/2,) in float64; where looking costs no wait, finite too."""
    check_float("frequencies", frequencies)
    if frequencies.dtype != torch.float64:
        raise TypeError(
            f"frequencies must be float64, got {frequencies.dtype}: a rounding of θ grows with the "
            "position; take them from rotary_frequencies"
        )
    if frequencies.ndim != 1 or frequencies.shape[0] == 0:
        raise ValueError(
            f"frequencies must have shape (d/2,) with d ≥ 2, got {tuple(frequencies.shape)}"
        )
    if frequencies.device.type == "cpu" and values_are_known(frequencies):
        check_finite("frequencies", frequencies.tolist())


def check_float_dtype(dtype: torch.dtype) -> None:
    """Raise unless `dtype` is one of the floating-point types."""
    if dtype not in FLOAT_TYPES:
        raise TypeError(
            f"dtype must be floating point (float16, bfloat16, float32, float64), got {dtype}"
        )


def check_angle_dtype(dtype: torch.dtype) -> None:
    """Raise unless `dtype` is wide enough for angles: float64, or float32 as checkpoints had it."""
    if dtype not in (torch.float64, torch.float32):
        raise TypeError(
            f"angle_dtype must be torch.float64 or torch.float32, got {dtype}: in half types whole "
            "runs of positions get one angle"
        )


def check_share(share: float) -> None:
    """Raise unless `share` is a part of the head: above 0, at most 1."""
    check_positive("share", share)
    if share > 1:
        raise ValueError(f"share must be at most 1, got {share}; it is the part that turns")


def check_finite(name: str, values: list[float]) -> None:
    """Raise at the first value that is NaN or infinite."""
    for i, value in enumerate(values):
        if not abs(value) < float("inf"):
            raise ValueError(f"{name} must be finite, got {value} at index {i}")


def check_table(table: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """cos and sin of a table, or raise unless they are two tensors (..., N, d/2) alike."""
    if not isinstance(table, tuple) or len(table) != 2:
        raise TypeError(
            f"table must be a pair (cos, sin) as rotary_table gives, got {type(table).__name__}"
        )
    cos, sin = table
    check_float("cos", cos)
    check_float("sin", sin)
    if cos.shape != sin.shape:
        raise ValueError(
            f"cos and sin must have the same shape, got {tuple(cos.shape)} and {tuple(sin.shape)}"
        )
    if cos.ndim < 2:
        raise ValueError(
            f"cos and sin must have shape (N, d/2) or (B, N, d/2), got {tuple(cos.shape)}; for one "
            "position use cos[None]"
        )
    return cos, sin


def fit_table(
    x: Tensor,
    table: tuple[Tensor, Tensor],
    layout: str,
    rotary_dim: int | None,
    sequence_axis: int,
) -> tuple[Tensor, Tensor]:
    """cos and sin with axes of size 1 where x has heads, after all checks of x against them."""
    check_choice("layout", layout, LAYOUTS)
    check_float("x", x)
    cos, sin = check_table(table)
    if x.ndim < 2:
        raise ValueError(f"x must have shape (..., N, d), got {tuple(x.shape)}")
    check_axis("sequence_axis", sequence_axis, x)
    axis = sequence_axis % x.ndim
    if axis == x.ndim - 1:
        raise ValueError(
            f"sequence_axis must name an axis of x before the last, got {sequence_axis} for "
            f"{x.ndim} axes; -2 for (..., H, N, d), -3 for (..., N, H, d)"
        )
    _check_width(x.shape[-1], cos.shape[-1], rotary_dim)
    if cos.shape[-2] != x.shape[axis]:
        raise ValueError(
            f"the table holds {cos.shape[-2]} positions but x has {x.shape[axis]} on axis "
            f"{sequence_axis}; build it from the positions of x"
        )
    leading = cos.shape[:-2]
    if len(leading) > axis or leading != x.shape[: len(leading)]:
        raise ValueError(
            f"the table's batch axes {tuple(leading)} must equal the first axes of x, whose shape "
            f"is {tuple(x.shape)}"
        )
    wanted = working_dtype(x.dtype)
    if cos.dtype != wanted or sin.dtype != wanted:
        raise TypeError(
            f"x of {x.dtype} needs a table of {wanted}, got {cos.dtype}; "
            f"build it with rotary_table(..., dtype={x.dtype})"
        )
    check_same_device("x", x, "table", cos)
    heads_before, heads_behind = (1,) * (axis - len(leading)), (1,) * (x.ndim - 2 - axis)
    shape = (*leading, *heads_before, cos.shape[-2], *heads_behind, cos.shape[-1])
    return cos.reshape(shape), sin.reshape(shape)


def _check_width(head_dim: int, pairs: int, rotary_dim: int | None) -> None:
    """Raise unless `pairs` pairs turn what is to be turned: the head, or its first `rotary_dim`."""
    if rotary_dim is None:
        check_even(head_dim)
        rotary_dim = head_dim
    else:
        check_rotary_dim(rotary_dim)
        if rotary_dim > head_dim:
            raise ValueError(f"rotary dim {rotary_dim} exceeds the head dim {head_dim} of x")
    if 2 * pairs != rotary_dim:
        raise ValueError(
            f"a table of {pairs} pairs turns {2 * pairs} dimensions, but {rotary_dim} are to be "
            f"turned (head dim {head_dim}); build the table for this dim, or pass "
            f"rotary_dim={2 * pairs} to leave the rest of the head unturned"
        )

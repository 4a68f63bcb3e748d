"""Checks of arguments that modules share: each error says what was expected and what arrived."""

import numbers
import sys

import numpy as np
import torch
from torch import Tensor, nn

HALF_TYPES = (torch.float16, torch.bfloat16)
INTEGER_TYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOAT_TYPES = (*HALF_TYPES, torch.float32, torch.float64)


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype to compute in: half types are computed in float32 and rounded once at the end."""
    return torch.float32 if dtype in HALF_TYPES else dtype


def values_are_known(tensor: Tensor) -> bool:
    """Whether numbers stand in memory: not if there are none, in compile, vmap, fake or "meta"."""
    # A fake tensor is of another class; what vmap and grad wrap has no address.
    if torch.compiler.is_compiling() or type(tensor) not in (Tensor, nn.Parameter):
        return False
    try:
        return tensor.data_ptr() != 0
    except RuntimeError:
        return False


def extremes(tensor: Tensor) -> tuple[int, int] | None:
    """The smallest and largest of integers, or None where looking is impossible or slow.

    Looking at a tensor on an accelerator would wait for the device.
    """
    if tensor.device.type != "cpu" or not values_are_known(tensor):
        return None
    try:
        low, high = torch.aminmax(tensor)
        return int(low), int(high)
    except RuntimeError:  # make_fx gives real tensors and refuses to tell their values
        return None


def check_float(name: str, tensor: Tensor) -> None:
    """Raise unless `tensor` is a real floating-point tensor."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    if tensor.dtype not in FLOAT_TYPES:
        raise TypeError(
            f"{name} must be floating point (float16, bfloat16, float32, float64), "
            f"got {tensor.dtype}; convert it with {name}.float()"
        )
    if tensor.layout != torch.strided:
        raise TypeError(
            f"{name} must be a dense tensor, got {tensor.layout}; convert it with {name}.to_dense()"
        )


def check_same_kind(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Raise unless both tensors have one dtype and one device: nothing is promoted in silence.

    Under autocast, torch chooses the dtypes.
    """
    if tensor.dtype != other.dtype and not torch.is_autocast_enabled(tensor.device.type):
        raise TypeError(
            f"{name} and {other_name} must have the same dtype, got {tensor.dtype} and "
            f"{other.dtype}; convert one with .to(dtype)"
        )
    check_same_device(name, tensor, other_name, other)


def check_same_device(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Raise unless both tensors are on one device."""
    if tensor.device != other.device:
        raise ValueError(
            f"{name} and {other_name} must be on the same device, got {tensor.device} and "
            f"{other.device}; move one with .to(device)"
        )


def check_count(name: str, value: int, *, at_least: int = 1) -> None:
    """Raise unless `value` is a whole number (no bool) that is large enough."""
    # A traced size (torch.SymInt) and NumPy's whole numbers are ints for this purpose.
    if isinstance(value, bool) or not isinstance(value, int | torch.SymInt | numbers.Integral):
        raise TypeError(f"{name} must be an int, got {type(value).__name__} ({value!r})")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value}")


def check_positive(name: str, value: float) -> None:
    """Raise unless `value` is a finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float | numbers.Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__} ({value!r})")
    if not 0 < value <= sys.float_info.max:
        raise ValueError(f"{name} must be finite and above 0, got {value}")


def check_flag(name: str, value: bool) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__} ({value!r})")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}")


def check_heads(d: int, heads: int) -> None:
    """Raise unless `heads` divides the model dim `d`."""
    check_count("d", d)
    check_count("heads", heads)
    if d % heads:
        raise ValueError(
            f"heads must divide d, got d={d} and heads={heads}; the head dim is d_k = d / heads"
        )


def check_positions(
    positions: Tensor, *, name: str = "positions", not_negative: bool = False
) -> None:
    """Raise unless `positions` is a non-empty integer tensor with every |position| ≤ 2³¹.

    Floating-point positions collide: bfloat16 holds only 769 of the positions 0…4095.
    """
    if not isinstance(positions, Tensor):
        raise TypeError(
            f"{name} must be an integer tensor such as torch.arange(N), "
            f"got {type(positions).__name__}"
        )
    if positions.dtype not in INTEGER_TYPES:
        raise TypeError(
            f"{name} must have an integer dtype, got {positions.dtype}; floating-point positions "
            f"collide, so pass {name} as torch.int64"
        )
    if positions.ndim < 1:
        raise ValueError(
            f"{name} must have shape (N,) or (B, N), got a scalar; use torch.tensor([n])"
        )
    if positions.shape[-1] == 0:
        raise ValueError(f"{name} must hold at least one position, got {tuple(positions.shape)}")
    limit = 2**31
    least = 0 if not_negative else -limit
    low, high = extremes(positions) or (0, 0)
    if low < least or high > limit:
        raise ValueError(
            f"{name} must lie in {least}…{limit}, got values from {low} to {high}; beyond "
            f"{limit}, float64 angles are not exact to 1e-6"
        )


def check_integer_type(name: str, tensor: Tensor) -> None:
    """Raise unless `tensor` is a tensor of whole numbers."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be an integer tensor, got {type(tensor).__name__}")
    if tensor.dtype not in INTEGER_TYPES:
        raise TypeError(
            f"{name} must be an integer tensor, got {tensor.dtype}; convert it with {name}.long()"
        )


def check_integers(name: str, tensor: Tensor, low: int, high: int) -> None:
    """Raise unless `tensor` holds integers from `low` to `high`, both included."""
    check_integer_type(name, tensor)
    smallest, largest = extremes(tensor) or (low, high)
    if smallest < low or largest > high:
        raise ValueError(
            f"{name} must lie in {low}…{high}, got values from {smallest} to {largest}"
        )


def check_attention_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise unless q (..., N_q, d_k), k (..., N_k, d_k), v (..., N_k, d_v) fit each other."""
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        check_float(name, tensor)
        if tensor.ndim < 2:
            raise ValueError(f"{name} must have shape (..., N, d), got {tuple(tensor.shape)}")
        if tensor.shape[-2] == 0 or tensor.shape[-1] == 0:
            raise ValueError(
                f"{name} must have at least one position and one dimension, "
                f"got shape {tuple(tensor.shape)}"
            )
    check_same_kind("q", q, "k", k)
    check_same_kind("q", q, "v", v)
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"q and k must have the same head dim d_k, got {q.shape[-1]} and {k.shape[-1]}"
        )
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"k and v must have the same length, got {k.shape[-2]} and {v.shape[-2]} positions"
        )
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise ValueError(
            f"q, k, v must have the same leading axes, got {tuple(q.shape[:-2])}, "
            f"{tuple(k.shape[:-2])}, {tuple(v.shape[:-2])}; for grouped queries use repeat_heads"
        )


def check_score_shape(name: str, tensor: Tensor, q: Tensor, k: Tensor) -> None:
    """Raise unless a mask or bias fits the scores of q and k."""
    check_fits_scores(name, tensor, (*q.shape[:-1], k.shape[-2]))


def check_fits_scores(name: str, tensor: Tensor, expected: tuple[int, ...]) -> None:
    """Raise unless `tensor` is (N_q, N_k) or has all axes of the scores; size 1 repeats."""
    shape = tuple(tensor.shape)
    if tensor.ndim not in (2, len(expected)):
        raise ValueError(
            f"{name} must have 2 axes (N_q, N_k) or {len(expected)} axes like the scores "
            f"{tuple(expected)}, got shape {shape}; add an axis of size 1 where it repeats: "
            f"{name}[:, None] for the heads, {name}[None] for the batch"
        )
    repeatable = zip(shape[:-1], expected[-tensor.ndim : -1], strict=True)
    if shape[-1] != expected[-1] or any(size not in (1, full) for size, full in repeatable):
        raise ValueError(
            f"{name} of shape {shape} does not fit scores of shape {tuple(expected)}: its last "
            f"axis must be N_k = {expected[-1]}, every other axis 1 or equal"
        )


def check_mask_type(mask: Tensor, *, name: str = "mask") -> None:
    """Raise unless `mask` is a boolean tensor."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name} must be a boolean torch.Tensor, got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        hint = (
            "pass it as bias=" if mask.dtype.is_floating_point else f"convert it with {name}.bool()"
        )
        raise TypeError(
            f"{name} must be boolean with True = attend, got {mask.dtype}; an additive mask is a "
            f"bias: {hint}"
        )


def check_mask(mask: Tensor, q: Tensor, k: Tensor) -> None:
    """Raise unless `mask` is boolean and fits the scores of q and k."""
    check_mask_type(mask)
    check_same_device("q", q, "mask", mask)
    check_score_shape("mask", mask, q, k)


def check_bias(bias: Tensor, q: Tensor, k: Tensor) -> None:
    """Raise unless `bias` has the dtype of q, or the one it is computed in, and fits the scores."""
    check_float("bias", bias)
    check_same_device("q", q, "bias", bias)
    if bias.dtype not in (q.dtype, working_dtype(q.dtype)):
        raise TypeError(f"bias must have the dtype of q, {q.dtype}; got {bias.dtype}")
    check_score_shape("bias", bias, q, k)


def check_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
) -> None:
    """Raise unless queries, keys, values, mask and bias fit each other."""
    check_attention_shapes(q, k, v)
    if mask is not None:
        check_mask(mask, q, k)
    if bias is not None:
        check_bias(bias, q, k)


def check_sink(sink: Tensor | None, q: Tensor) -> None:
    """Raise unless `sink` is one score per query, (..., N_q, 1); axes of size 1 repeat."""
    if sink is None:
        return
    check_float("sink", sink)
    check_same_device("q", q, "sink", sink)
    if sink.dtype not in (q.dtype, working_dtype(q.dtype)):
        raise TypeError(f"sink must have the dtype of q, {q.dtype}; got {sink.dtype}")
    check_fits_scores("sink", sink, (*q.shape[:-1], 1))


def check_axis(name: str, axis: int, tensor: Tensor) -> None:
    """Raise unless `axis` names an axis of `tensor`."""
    if isinstance(axis, bool) or not isinstance(axis, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {type(axis).__name__} ({axis!r})")
    if not -tensor.ndim <= axis < tensor.ndim:
        raise ValueError(
            f"{name} must name an axis of the tensor, got {axis} for shape {tuple(tensor.shape)}"
        )


def check_sequence_positions(
    positions: Tensor, batch: int, length: int, *, device: torch.device
) -> None:
    """Raise unless `positions` has shape (N,) or (B, N), on this device: nothing repeats."""
    check_positions(positions)
    if positions.device != device:
        raise ValueError(
            f"positions must be on the device of the tokens, {device}, got {positions.device}; "
            "move them with .to(device)"
        )
    if tuple(positions.shape) not in ((length,), (batch, length)):
        raise ValueError(
            f"positions must have shape ({length},) or ({batch}, {length}), one for every token; "
            f"got {tuple(positions.shape)}"
        )

"""Rotations in plain PyTorch, for the doctor's tests to plant faults into."""

import torch


def with_table(x, cos, sin, layout="half"):
    """x rotated by a table, in plain PyTorch: the library's checks of shapes take their time."""
    if cos.ndim == 3:
        cos, sin = cos[:, None], sin[:, None]
    if layout == "half":
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)


def rope(x, positions, *, theta, layout="half", sign=1.0, factor=1.0, rotary_dim=None):
    """A rotation to plant faults into: x (b, h, n, d), positions (n,) or (b, n)."""
    angles = positions[..., None] * theta
    cos = (factor * angles.cos()).float()
    sin = (factor * sign * angles.sin()).float()
    rotated = with_table(x[..., :rotary_dim], cos, sin, layout)
    return rotated if rotary_dim is None else torch.cat((rotated, x[..., rotary_dim:]), -1)

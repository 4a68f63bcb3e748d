"""Rotary embedding with more than one coordinate: rows and columns of an image, time of a video.

Every pair still rotates by one angle, but different pairs read different coordinates: pair i of a
token at coordinates p rotates by $\\theta_i\\, p_{a(i)}$. Models differ in the list a.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from attention_to_rope.rope import RotaryTable, rotary_table


def axes_in_sections(sections: Sequence[int]) -> list[int]:
    """The axis of each pair when axes take whole sections: time the fastest pairs, width the last.

    Qwen2-VL's M-RoPE has sections of 16, 24, 24 pairs for time, height, width.

    >>> axes_in_sections([1, 2, 2])
    [0, 1, 1, 2, 2]
    """
    return [axis for axis, count in enumerate(sections) for _ in range(count)]


def axes_interleaved(sections: Sequence[int]) -> list[int]:
    """The axis of each pair when axes alternate, so that each has fast and slow pairs.

    Axis a > 0 takes the pairs a, a + A, a + 2A, … until it has its number; axis 0 takes all that
    is left. Qwen3-VL has 24, 20, 20 pairs: THWTHW…THWTTTT.

    >>> axes_interleaved([3, 2, 2])
    [0, 1, 2, 0, 1, 2, 0]
    """
    axes = [0] * sum(sections)
    for axis, count in enumerate(sections[1:], start=1):
        for pair in range(axis, len(sections) * count, len(sections)):
            axes[pair] = axis
    return axes


def axial_table(
    coordinates: Integer[Tensor, "axes *batch n"],
    frequencies: Float[Tensor, " pairs"],
    axes: Sequence[int],
    *,
    dtype: torch.dtype = torch.float32,
    attention_factor: float = 1.0,
) -> RotaryTable:
    r"""cos and sin of $\theta_i\, p_{a(i)}$; give the table to `rotate`.

    coordinates: one row per axis; axes: the axis a(i) of each pair. If all axes carry the same
    index, as text does, this is `rotary_table`: the scores depend on differences of coordinates,
    axis by axis.

    >>> corner = axial_table(torch.tensor([[0], [3]]), torch.ones(2).double(), [0, 1])
    >>> corner.cos
    tensor([[ 1.0000, -0.9900]])
    """
    if len(axes) != len(frequencies):
        raise ValueError(
            f"axes must name an axis for each of the {len(frequencies)} pairs, got {len(axes)}"
        )
    last = coordinates.shape[0] - 1
    if any(not 0 <= axis <= last for axis in axes):
        raise ValueError(
            f"axes must lie between 0 and {last}, got {min(axes)} to {max(axes)}: each is a row "
            "of the coordinates"
        )
    every_axis = rotary_table(
        coordinates, frequencies, dtype=dtype, attention_factor=attention_factor
    )  # (axes, ..., n, pairs) each
    cos = [every_axis.cos[axis, ..., pair] for pair, axis in enumerate(axes)]  # (..., n) each
    sin = [every_axis.sin[axis, ..., pair] for pair, axis in enumerate(axes)]
    return RotaryTable(torch.stack(cos, dim=-1), torch.stack(sin, dim=-1))  # (..., n, pairs)

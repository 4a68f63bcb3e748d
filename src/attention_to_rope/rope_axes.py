"""Rotary embedding with more than one coordinate: rows and columns of an image, time of a video.

Every pair still turns by one angle, but different pairs read different coordinates: pair i of a
token at coordinates p turns by $\\theta_i\\, p_{a(i)}$. What differs between models is the list a.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from attention_to_rope.checks import check_count, check_positions
from attention_to_rope.rope import RotaryTable, rotary_table
from attention_to_rope.rope_checks import check_frequencies


def axes_in_sections(sections: Sequence[int]) -> list[int]:
    """The axis of each pair when axes take whole sections: time the fastest pairs, width the last.

    Qwen2-VL's M-RoPE has sections of 16, 24, 24 pairs for time, height, width.

    >>> axes_in_sections([1, 2, 2])
    [0, 1, 1, 2, 2]
    """
    _check_sections(sections)
    return [axis for axis, count in enumerate(sections) for _ in range(count)]


def axes_interleaved(sections: Sequence[int]) -> list[int]:
    """The axis of each pair when axes take turns, so that each has fast and slow pairs.

    Axis a > 0 takes the pairs a, a + A, a + 2A, … until it has its number; axis 0 takes all that
    is left. Qwen3-VL has 24, 20, 20 pairs: THWTHW…THWTTTT.

    >>> axes_interleaved([3, 2, 2])
    [0, 1, 2, 0, 1, 2, 0]
    """
    _check_sections(sections)
    axes = [0] * sum(sections)
    for axis, count in enumerate(sections[1:], start=1):
        taken = range(axis, len(sections) * count, len(sections))
        if taken and taken[-1] >= len(axes):
            raise ValueError(
                f"sections {list(sections)} leave no room for axis {axis}: its pair {taken[-1]} "
                f"lies beyond the last, {len(axes) - 1}; give axis 0 more pairs"
            )
        for pair in taken:
            axes[pair] = axis
    return axes


def _check_sections(sections: Sequence[int]) -> None:
    if not isinstance(sections, Sequence) or not sections:
        raise TypeError(f"sections must be a list of pairs per axis, got {sections!r}")
    for count in sections:
        check_count("a section", count)


def axial_table(
    coordinates: Tensor,
    frequencies: Tensor,
    axes: Sequence[int],
    *,
    dtype: torch.dtype = torch.float32,
    attention_factor: float = 1.0,
) -> RotaryTable:
    r"""cos and sin of $\theta_i\, p_{a(i)}$; give the table to `rotate`.

    coordinates (A, N) or (A, B, N), integers, one row per axis; frequencies (d/2,) in float64; axes
    the axis a(i) of each pair. If all axes carry the same index, as text does, this is
    `rotary_table`: the scores depend on differences of coordinates, axis by axis.
    """
    check_positions(coordinates, name="coordinates")
    check_frequencies(frequencies)
    if coordinates.ndim not in (2, 3):
        raise ValueError(
            f"coordinates must have shape (A, N) or (A, B, N), got {tuple(coordinates.shape)}"
        )
    if len(axes) != len(frequencies):
        raise ValueError(
            f"axes must name the axis of each of the {len(frequencies)} pairs, got {len(axes)}"
        )
    count = coordinates.shape[0]
    if not all(isinstance(axis, int) and 0 <= axis < count for axis in axes):
        raise ValueError(f"axes must lie in 0…{count - 1}, the rows of coordinates; got {axes}")
    tables = [
        rotary_table(row, frequencies, dtype=dtype, attention_factor=attention_factor)
        for row in coordinates
    ]
    own = torch.tensor(list(axes), device=coordinates.device)
    index = own.expand(tables[0].cos.shape)[None]
    cos, sin = (torch.stack(parts).gather(0, index)[0] for parts in zip(*tables, strict=True))
    return RotaryTable(cos, sin)

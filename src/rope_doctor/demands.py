"""What a configuration demands beyond the frequencies of a short text: lengths and sections."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from rope_doctor.calling import Calling
from rope_doctor.configuration import frequencies_at, longest_text, sections
from rope_doctor.faults import allowed
from rope_doctor.probe import Measured

BY_LENGTH = ("dynamic", "longrope")  # scalings whose frequencies depend on the length of the text
AXES = ("time", "height", "width")


def other_lengths(
    measured: Measured, config: Mapping[str, Any], layer_type: str | None
) -> list[str]:
    """What has to change where frequencies depend on the length; nothing if all angles agree.

    Each position was asked for alone, so the length of its text is the position plus one.
    """
    sign = 1.0 if measured.forward else -1.0
    for row, m in enumerate(measured.positions):
        frequencies = frequencies_at(config, layer_type, m + 1)
        if len(frequencies) != len(measured.pairs):
            return []
        expected = sign * m * frequencies
        gap = float((2 * ((expected - measured.angles[row]) / 2).sin().abs()).max())
        if gap > allowed(m, measured):
            return [
                f"scaling: frequencies depend on the length of the text; for a text of {m + 1:,} "
                f"positions the model has others than were measured, angles are off by {gap:.2g}"
            ]
    return []


def short_table(calling: Calling, dim: int, config: Mapping[str, Any]) -> list[str]:
    """Whether a position that the configuration allows has no answer."""
    longest = longest_text(config)
    if longest is None or calling.kind not in ("positions", "offset"):
        return []
    x = torch.ones(1, 1, 1, dim, dtype=torch.float32)
    try:
        calling.turn(x, x, torch.tensor([longest - 1]))
    except Exception as error:  # whatever somebody else's function raises
        return [
            f"table: position {longest - 1:,} raises {type(error).__name__}, but "
            f"max_position_embeddings is {longest:,}: make the table longer"
        ]
    return []


def other_sections(
    calling: Calling, measured: Measured, dim: int, config: Mapping[str, Any]
) -> list[str]:
    """Whether pairs take time, height and width as M-RoPE's sections say."""
    wanted = sections(config)
    if wanted is None or calling.kind != "positions" or len(wanted) != len(measured.pairs):
        return []
    first, second = torch.tensor(measured.pairs).T
    turned = []
    for axis in range(3):
        positions = torch.zeros(3, 1, 1, dtype=torch.long)
        positions[axis] = 1
        try:
            matrices, _ = calling.matrices(positions, dim)
        except Exception:  # positions of text only
            return []
        turned.append(matrices[0, first, second].abs() > 1e-9)
    changes = []
    for axis, pairs in enumerate(turned):
        needed = torch.tensor(wanted) == axis
        if not torch.equal(pairs, needed):
            changes.append(
                f"sections of M-RoPE: {AXES[axis]} rotates pairs {_range(pairs)}, to pairs "
                f"{_range(needed)}"
            )
    return changes


def _range(chosen: Tensor) -> str:
    places = chosen.nonzero().flatten().tolist()
    return f"{places[0]} … {places[-1]} ({len(places)})" if places else "none"

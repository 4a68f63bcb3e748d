"""Tables of cos and sin in every form that functions are given."""

from typing import Any

import torch
from torch import Tensor

from attention_to_rope import rotary_frequencies, rotary_table


def table_forms(positions: Tensor, dim: int, kind: str, dtype: torch.dtype) -> dict[str, Any]:
    """What tells a function the angles, in every form that people use; the words say which."""
    table = torch.stack(rotary_table(positions, rotary_frequencies(dim)))  # (2, …, n, d/2)
    rows = table if positions.ndim == 2 else table[:, None]  # (2, b, n, d/2)
    forms: dict[str, Any] = {}
    if kind == "complex":
        turn = torch.complex(rows[0], rows[1])
        if positions.ndim == 1:
            forms[", cos + i sin (n, d/2)"] = (turn[0],)
        forms[", cos + i sin (b, n, d/2)"] = (turn,)
        forms[", cos + i sin (b, n, 1, d/2)"] = (turn[:, :, None],)
        if positions.ndim == 1:
            forms[", cos and sin (n, d/2, 2)"] = (torch.view_as_real(turn[0]),)
        return forms
    if kind == "angles":
        angles = positions.unsqueeze(-1) * rotary_frequencies(dim)
        rows = (angles if positions.ndim == 2 else angles[None]).float()[None]
    widths = {
        "d, halves alike": torch.cat((rows, rows), -1),
        "d/2": rows,
        "d, neighbours alike": rows.repeat_interleave(2, -1),
    }
    what = "angles" if kind == "angles" else "cos and sin"
    for width, wide in widths.items():
        wide = wide if kind == "angles" else wide.to(dtype)
        shapes = {"(b, n, …)": wide}
        if positions.ndim == 1:
            shapes["(n, …)"] = wide[:, 0]
        shapes["(b, 1, n, …)"] = wide[:, :, None]
        shapes["(b, n, 1, …)"] = wide[:, :, :, None]
        if positions.ndim == 1:
            shapes["(n, 1, 1, …)"] = wide[:, 0, :, None, None]
        for shape, told in shapes.items():
            forms[f", {what} {shape} of width {width}"] = tuple(told)
    return forms

"""Settings of published models, each value with the file it was read from, and what follows.

`models.jsonl` holds one model a line. `layers` groups the layers of one kind: how many (`count`),
`kv_heads`, `head_dim`, `window` (tokens seen; all, if missing) and `rope` (null: not rotated), or
`latent` and `rotary` for latent attention, or `recurrent` for layers without a growing cache.
`sources` names, for every kind of value, the file and commit it was read in. What could not be read
is missing.
"""

import json
import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from torch import Tensor

from attention_to_rope.checkpoints import rotary_settings

Model = Mapping[str, Any]
BYTES = 2  # of a number in bfloat16


def read_models() -> list[dict[str, Any]]:
    """All models, in the order of the file."""
    text = (files("bookkit") / "models.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read_model(name: str) -> dict[str, Any]:
    """The model of this name."""
    return {model["name"]: model for model in read_models()}[name]


def frequencies(group: Mapping[str, Any]) -> Tensor:
    """The angle per position of each pair that rotates in one group of layers, scaled. (pairs,)"""
    head_dim = group.get("rotary") or group["head_dim"]
    found = rotary_settings({"head_dim": head_dim, "rope_parameters": group["rope"]}).frequencies
    return found[found > 0]


def far_layers(model: Model) -> Mapping[str, Any]:
    """The rotated layers that see furthest: without a window, where there are such."""
    rotated = [group for group in model["layers"] if group.get("rope")]
    return max(rotated, key=lambda group: group.get("window", math.inf))


def slowest_wavelength(model: Model) -> float:
    r"""Tokens in which the slowest pair completes a rotation: $2\pi / \theta_{\min}$."""
    return 2 * math.pi / float(frequencies(far_layers(model)).min())


def pairs_that_rotate_fully(model: Model) -> tuple[int, int] | None:
    r"""How many pairs complete a rotation in what the layer sees, $N \theta \ge 2\pi$; of how many.

    None if the context is not known. Pairs that do not rotate are counted in the second number.
    """
    group = far_layers(model)
    if "context" not in model:
        return None
    seen = min(model["context"], group.get("window", math.inf))
    head_dim = group.get("rotary") or group["head_dim"]
    complete = int((seen * frequencies(group) >= 2 * math.pi).sum())
    return complete, head_dim // 2


def cache_bytes_per_token(model: Model) -> float | None:
    """Bytes of keys and values in bfloat16 for each token of a full context.

    None for an encoder, or where heads, or the context that a window is compared with, are missing.
    """
    groups = [group for group in model["layers"] if not group.get("recurrent")]
    windowed = any("window" in group for group in groups)
    known = all("latent" in group or "kv_heads" in group for group in groups)
    if not model.get("causal", True) or not known or (windowed and "context" not in model):
        return None
    length = model.get("context", 1)
    numbers = 0
    for group in groups:
        kept = min(length, group.get("window", length))
        latent = "latent" in group and group["latent"] + group["rotary"]
        numbers += group["count"] * kept * (latent or 2 * group["kv_heads"] * group["head_dim"])
    return float(BYTES * numbers / length)

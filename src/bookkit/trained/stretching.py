"""The rules that stretch RoPE, by their names in the records."""

from torch import Tensor

from attention_to_rope.context_extension import (
    llama3,
    ntk_aware,
    ntk_by_parts,
    position_interpolation,
    yarn,
    yarn_attention_factor,
)
from bookkit.trained.model import TRAINED_LENGTH


def stretched(
    frequencies: Tensor, rule: str, scale: float, length: int = TRAINED_LENGTH
) -> tuple[Tensor, float]:
    """The frequencies of a rule for texts `scale` times as long, and its factor on the table."""
    if rule in ("none", "cut") or scale == 1:
        return frequencies, 1.0
    if rule == "PI":
        return position_interpolation(frequencies, scale), 1.0
    if rule == "NTK-aware":
        return ntk_aware(frequencies, scale), 1.0
    by_wavelength = {"by parts": ntk_by_parts, "Llama 3": llama3}.get(rule, yarn)
    changed = by_wavelength(frequencies, scale, original_length=length)
    return changed, yarn_attention_factor(scale) if rule == "YaRN" else 1.0

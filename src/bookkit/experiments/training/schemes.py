"""The seven positional schemes, each as the one argument that changes between models."""

from collections.abc import Callable

from attention_to_rope import (
    ALiBi,
    Learned,
    PositionalScheme,
    Rotary,
    Sinusoidal,
    T5Bias,
    rotary_frequencies,
)
from attention_to_rope.transformer import Architecture

Maker = Callable[[Architecture, int, int], PositionalScheme]


def _rotary(architecture: Architecture, share: float) -> Rotary:
    d_k = architecture.d // architecture.heads
    turned = int(d_k * share)
    return Rotary(rotary_frequencies(turned), layout="half", rotary_dim=turned)


# Each maker takes the architecture, the longest length it will ever see, and a seed.
SCHEMES: dict[str, Maker] = {
    "none": lambda architecture, longest, seed: PositionalScheme(),
    "learned": lambda architecture, longest, seed: Learned(longest, architecture.d, seed=seed),
    "sinusoidal": lambda architecture, longest, seed: Sinusoidal(),
    "T5": lambda architecture, longest, seed: T5Bias(
        architecture.heads, bidirectional=False, seed=seed
    ),
    "ALiBi": lambda architecture, longest, seed: ALiBi(architecture.heads),
    "RoPE": lambda architecture, longest, seed: _rotary(architecture, 1.0),
    "half RoPE": lambda architecture, longest, seed: _rotary(architecture, 0.5),
}

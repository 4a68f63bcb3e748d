"""Which one setting of a configuration was read otherwise, if that gives what was measured."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import torch

from attention_to_rope.checkpoints import rotary_settings
from attention_to_rope.checkpoints.rotary import without_other_scales
from rope_doctor.probe import Measured
from rope_doctor.spectrum import LENGTHS, close

USUAL = {"beta_fast": 32, "beta_slow": 1, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
TURNS = (0.5, 1, 2, 4, 8, 16, 24, 32, 48, 64, 128)
# Keys of a scaling → the values that people give them.
VALUES: dict[str, dict[str, tuple[Any, ...]]] = {
    "yarn": {
        "beta_fast": TURNS,
        "beta_slow": TURNS,
        "original_max_position_embeddings": LENGTHS,
        "factor": (2, 4, 8, 16, 32, 40, 64),
    },
    "llama3": {
        "low_freq_factor": TURNS,
        "high_freq_factor": TURNS,
        "original_max_position_embeddings": LENGTHS,
        "factor": (2, 4, 8, 16, 32, 40, 64),
    },
}


def mistaken_setting(
    measured: Measured, config: Mapping[str, Any], layer_type: str | None
) -> list[str]:
    """The setting whose other value gives the measured frequencies, in words; or nothing."""
    theta = torch.tensor(measured.frequencies, dtype=torch.float64)
    for change, other in _other_configurations(without_other_scales(config)):
        try:
            frequencies = rotary_settings(other, layer_type=layer_type).frequencies
        except ValueError:  # such a value is none
            continue
        if close(theta, frequencies[frequencies > 0]):
            return [f"scaling: the measured frequencies are those of {change}"]
    return []


def _other_configurations(config: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Configurations with one or two settings of the scaling changed."""
    nested = config.get("text_config")
    text: Mapping[str, Any] = nested if isinstance(nested, Mapping) else config
    for key in ("rope_parameters", "rope_scaling"):
        held = text.get(key)
        if not isinstance(held, Mapping):
            continue
        for words, changed in _other_scalings(held):
            other = {**text, key: {**held, **changed}}
            yield words, ({**config, "text_config": other} if text is not config else other)


def _other_scalings(held: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What to change in one dictionary of rope parameters, in words and as keys."""
    known = {**USUAL, **held}
    values = VALUES.get(str(held.get("rope_type") or held.get("type")), {})
    if "short_factor" in held and "long_factor" in held:
        exchanged = {"short_factor": held["long_factor"], "long_factor": held["short_factor"]}
        yield "short_factor and long_factor exchanged", exchanged
    for key, candidates in values.items():
        for value in candidates:
            yield f"{key} {value}, the configuration has {known.get(key, 'none')}", {key: value}
    for fast, slow in product(TURNS, TURNS) if "beta_fast" in values else ():
        words = f"beta_fast {fast} and beta_slow {slow}, the configuration has "
        words += f"{known['beta_fast']} and {known['beta_slow']}"
        yield words, {"beta_fast": fast, "beta_slow": slow}

"""Rotary settings out of a Hugging Face style configuration: a dictionary in, frequencies out.

A missing base, an unknown kind of scaling and an unknown key that may change the rotation are
errors. Other keys that are missing have the defaults of `transformers`.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from attention_to_rope.checkpoints.model_types import (
    HALF_MODELS,
    INTERLEAVED_MODELS,
    KNOWN_MODELS,
    SCORE_FACTOR_MODELS,
    SWITCHED_MODELS,
)
from attention_to_rope.checkpoints.refusals import ConfigError
from attention_to_rope.checkpoints.rotary_config import LayerRotation, layer_rotation
from attention_to_rope.checkpoints.rotary_keys import first_given, model_type
from attention_to_rope.context_extension import (
    FAST_TURNS,
    SLOW_TURNS,
    dynamic_ntk,
    llama3,
    longrope,
    longrope_attention_factor,
    position_interpolation,
    yarn,
    yarn_attention_factor,
)
from attention_to_rope.rope import Layout, proportional_frequencies, rotary_frequencies

# The keys of rope parameters that all kinds of scaling may have, and those of each kind.
COMMON_KEYS = {
    "rope_type",
    "type",
    "rope_theta",
    "partial_rotary_factor",
    "original_max_position_embeddings",
    "max_position_embeddings",  # stands there in some; no code reads it there
    "mrope_section",
    "mrope_interleaved",
}
# What changes attention in another way than by a rotation, and what to do about it.
NOT_A_ROTATION = {
    "llama_4_scaling_beta": (
        "multiplies the queries at position m by 1 + β ln(1 + ⌊m / L₀⌋), with the trained length "
        "L₀, which is no rotation: do it in the attention, and leave the key out here"
    ),
}
KEYS = {
    "default": set(),
    "linear": {"factor"},
    "dynamic": {"factor"},
    "yarn": {
        "factor",
        "attention_factor",
        "beta_fast",
        "beta_slow",
        "mscale",
        "mscale_all_dim",
        "truncate",
    },
    "longrope": {"factor", "attention_factor", "short_factor", "long_factor"},
    "llama3": {"factor", "low_freq_factor", "high_freq_factor"},
    "proportional": {"factor"},
}
OTHER_NAMES = {"mrope": "default", "su": "longrope", "none": "default"}


class RotarySettings(NamedTuple):
    """What a model's rotation needs; hand the parts to `Rotary` or `rotary_table`.

    attention_factor multiplies the table; score_factor multiplies the scale of the softmax
    (DeepSeek's `mscale_all_dim`), 1 in most models. A layer that does not rotate has no
    frequencies, and rotary_dim 0. layout: that of the code of `transformers` for this type of
    model, None if it is not known; `Rotary` then asks for it.
    """

    frequencies: Float64[Tensor, " pairs"]
    attention_factor: float
    score_factor: float
    head_dim: int
    rotary_dim: int
    base: float
    kind: str
    layout: Layout | None


def rotary_settings(
    config: Mapping[str, Any],
    *,
    layer_type: str | None = None,
    layer: int | None = None,
    length: int | None = None,
) -> RotarySettings:
    """Read base, scaling, rotary part and head dim from a configuration such as `config.json`.

    layer_type, layer: needed where layers differ, a kind such as `full_attention` or
    `sliding_attention`, or the number of a layer. length: the current length, for scaling that
    depends on it (dynamic, longrope).

    >>> rotary_settings({"head_dim": 4, "rope_theta": 100.0}).frequencies
    tensor([1.0000, 0.1000], dtype=torch.float64)
    """
    found = layer_rotation(config, layer_type=layer_type, layer=layer)
    layout = _layout(found.config)
    if found.rotary_dim == 0:
        none = torch.zeros(0, dtype=torch.float64)
        return RotarySettings(none, 1.0, 1.0, found.head_dim, 0, found.base, "none", layout)
    kind = _kind(found.parameters)
    if found.rotary_dim % 2:
        raise ConfigError("not_even", value=found.rotary_dim)
    _positive("rope_theta", found.base)
    if kind == "proportional":
        frequencies = proportional_frequencies(found.head_dim, found.base, share=found.share)
    else:
        frequencies = rotary_frequencies(found.rotary_dim, found.base)
    scaled = _scaled(frequencies, kind, found, length)
    _positive("attention_factor", scaled.attention_factor)
    return RotarySettings(
        frequencies=scaled.frequencies,
        attention_factor=scaled.attention_factor,
        score_factor=scaled.score_factor,
        head_dim=found.head_dim,
        rotary_dim=found.rotary_dim,
        base=found.base,
        kind=kind,
        layout=layout,
    )


def without_other_scales(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without the keys of `NOT_A_ROTATION`, which `layer_groups` reads."""

    def clean(held: Any) -> Any:
        if not isinstance(held, Mapping):
            return held
        return {key: clean(value) for key, value in held.items() if key not in NOT_A_ROTATION}

    kept = ("rope_parameters", "rope_scaling", "text_config")
    return {key: clean(value) if key in kept else value for key, value in config.items()}


def _kind(parameters: Mapping[str, Any]) -> str:
    """The kind of scaling, after a look at all keys of the rope parameters."""
    named = str(parameters.get("rope_type") or parameters.get("type") or "default")
    kind = OTHER_NAMES.get(named, named)
    if kind not in KEYS:
        raise ConfigError("unknown_rule", kinds=", ".join(KEYS), value=repr(kind))
    for key, what in NOT_A_ROTATION.items():
        if parameters.get(key) is not None:
            raise ConfigError("not_a_rotation", key=repr(key), what=what)
    unknown = sorted(set(parameters) - KEYS[kind] - COMMON_KEYS)
    if unknown:
        raise ConfigError("unknown_parameters", kind=repr(kind), keys=unknown)
    return kind


def _layout(config: Mapping[str, Any]) -> Layout | None:
    """The layout that transformers' code for this type of model has; None if it is not known."""
    model = model_type(config)
    switch = config.get("rope_interleave")
    if model in SWITCHED_MODELS:
        return "half" if switch is False else "interleaved"
    if switch is not None:  # a switch that the code of this type does not have
        return None
    if model in INTERLEAVED_MODELS:
        return "interleaved"
    if model in HALF_MODELS:
        return "half"
    return None


def _need(config: Mapping[str, Any], key: str, kind: str) -> Any:
    """The value of a key without which this kind of scaling is not defined."""
    if config.get(key) is None:
        raise ConfigError("missing_parameter", kind=repr(kind), key=repr(key))
    return config[key]


def _positive(key: str, value: Any) -> float:
    """The value as a number, which must be positive and finite."""
    number = float(value)
    if not 0 < number < math.inf:
        raise ConfigError("not_positive", key=key, value=value)
    return number


def _check_length(kind: str, trained: int, least: int) -> None:
    if trained < least:
        raise ConfigError("length_too_short", kind=repr(kind), least=least, value=trained)


def _check_limits(kind: str, slow: float, fast: float) -> None:
    if not 0 < slow <= fast:
        raise ConfigError("limits_in_wrong_order", kind=repr(kind), slow=slow, fast=fast)


def _check_pairs(kind: str, found: LayerRotation) -> None:
    pairs = found.rotary_dim // 2
    if pairs < 2:
        raise ConfigError("two_pairs_needed", kind=repr(kind), value=pairs)


class _Scaled(NamedTuple):
    """What scaling changes; the factors as in `RotarySettings`."""

    frequencies: Float64[Tensor, " pairs"]
    attention_factor: float = 1.0
    score_factor: float = 1.0


def _scaled(frequencies: Tensor, kind: str, found: LayerRotation, length: int | None) -> _Scaled:
    """The frequencies after the scaling of this kind, with its factors."""
    config = found.config
    parameters = found.parameters
    if kind == "default":
        return _Scaled(frequencies)
    if kind == "proportional":
        scale = _positive("factor", first_given(parameters.get("factor"), 1.0))
        return _Scaled(position_interpolation(frequencies, scale))
    if kind == "linear":
        scale = _positive("factor", _need(parameters, "factor", kind))
        return _Scaled(position_interpolation(frequencies, scale))
    if kind == "dynamic":
        trained = int(_need(config, "max_position_embeddings", kind))
        scale = _positive("factor", _need(parameters, "factor", kind))
        _check_length(kind, trained, least=1)
        _check_pairs(kind, found)
        current = trained if length is None else length
        return _Scaled(dynamic_ntk(frequencies, scale, length=current, original_length=trained))
    key = "original_max_position_embeddings"
    outside = None if found.nested else config.get(key)  # as transformers reads it
    trained = first_given(outside, parameters.get(key))
    trained = int(trained or _need(config, "max_position_embeddings", kind))
    _check_length(kind, trained, least=2)
    if kind == "llama3":
        scale = _positive("factor", _need(parameters, "factor", kind))
        slow = float(_need(parameters, "low_freq_factor", kind))
        fast = float(_need(parameters, "high_freq_factor", kind))
        _check_limits(kind, slow, fast)
        slowed = llama3(frequencies, scale, original_length=trained, slow=slow, fast=fast)
        return _Scaled(slowed)
    given = parameters.get("factor")
    if given is None:
        given = _need(config, "max_position_embeddings", kind) / trained
    scale = _positive("factor", given)
    if kind == "longrope":
        return _longrope(frequencies, scale, trained, parameters, length)
    _check_pairs(kind, found)
    if found.base <= 1:
        raise ConfigError("base_too_small", kind=repr(kind), value=found.base)
    scaled = _yarn(frequencies, scale, trained, parameters)
    model = model_type(config)
    if model in KNOWN_MODELS and model not in SCORE_FACTOR_MODELS:  # its code has no such factor
        return scaled._replace(score_factor=1.0)
    return scaled


def _longrope(
    frequencies: Tensor,
    scale: float,
    trained: int,
    parameters: Mapping[str, Any],
    length: int | None,
) -> _Scaled:
    """LongRoPE: one list of factors up to the trained length, another one beyond."""
    name = "short_factor" if length is None or length <= trained else "long_factor"
    given = _need(parameters, name, "longrope")
    if len(given) != len(frequencies) or not all(factor > 0 for factor in given):
        raise ConfigError("wrong_factors", key=name, pairs=len(frequencies))
    factors = torch.tensor(given, dtype=torch.float64)
    attention_factor = parameters.get("attention_factor")
    if attention_factor is None:
        attention_factor = longrope_attention_factor(scale, trained)
    return _Scaled(longrope(frequencies, factors), attention_factor=float(attention_factor))


def _yarn(
    frequencies: Tensor, scale: float, trained: int, parameters: Mapping[str, Any]
) -> _Scaled:
    """YaRN with its factor on the table, a part of which DeepSeek moves to the scores."""
    slow = float(parameters.get("beta_slow") or SLOW_TURNS)
    fast = float(parameters.get("beta_fast") or FAST_TURNS)
    _check_limits("yarn", slow, fast)
    scaled = yarn(
        frequencies,
        scale,
        original_length=trained,
        slow=slow,
        fast=fast,
        truncate=bool(parameters.get("truncate", True)),
    )
    weight = parameters.get("mscale")
    weight_everywhere = parameters.get("mscale_all_dim")
    everywhere = 1.0
    if weight_everywhere:
        everywhere = yarn_attention_factor(scale, float(weight_everywhere))
        _positive("mscale_all_dim's factor", everywhere)
    attention_factor = yarn_attention_factor(scale)
    if weight and weight_everywhere:  # DeepSeek divides it between the table and all scores
        attention_factor = yarn_attention_factor(scale, float(weight)) / everywhere
    if parameters.get("attention_factor") is not None:
        attention_factor = float(parameters["attention_factor"])
    return _Scaled(scaled, attention_factor=attention_factor, score_factor=everywhere**2)

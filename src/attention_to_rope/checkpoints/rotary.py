"""Rotary settings out of a Hugging Face style configuration: a dictionary in, frequencies out.

A missing base, an unknown kind of scaling and an unknown key of the rope parameters are errors.
Other keys that are missing have the defaults of `transformers`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from attention_to_rope.context_extension import (
    dynamic_ntk,
    llama3,
    longrope,
    longrope_attention_factor,
    position_interpolation,
    yarn,
    yarn_attention_factor,
)
from attention_to_rope.rope import Layout, proportional_frequencies, rotary_frequencies

# fmt: off
# Which pairs the code of transformers 5.22 rotates, read there.
INTERLEAVED_MODELS = frozenset({
    "codegen", "cohere", "cohere2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_v4",
    "ernie4_5", "glm", "glm4", "glm4_moe_lite", "gptj", "helium", "llama4", "llama4_text",
    "mistral4", "roformer",
})
HALF_MODELS = frozenset({
    "gemma", "gemma2", "gemma3", "gemma3_text", "glm4_moe", "gpt_neox", "gpt_oss", "llama",
    "mistral", "mixtral", "olmo2", "olmo3", "phi", "phi3", "qwen2", "qwen3", "qwen3_5",
    "qwen3_next", "smollm3", "stablelm",
})
# Their classes rotate a part of the head even where the configuration does not say so.
PARTIAL_MODELS = frozenset({
    "glm", "glm4", "glm4_moe", "gpt_neox", "nemotron", "persimmon", "phi", "qwen3_5",
    "qwen3_next", "stablelm",
})
# fmt: on
# Their configurations may switch to halves with "rope_interleave": false.
SWITCHED_MODELS = frozenset({"deepseek_v3", "glm4_moe_lite", "mistral4"})
# The keys of rope parameters that all kinds of scaling may have, and those of each kind.
COMMON_KEYS = {
    "rope_type",
    "type",
    "rope_theta",
    "partial_rotary_factor",
    "original_max_position_embeddings",
    "mrope_section",
    "mrope_interleaved",
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
    (DeepSeek's `mscale_all_dim`), 1 in most models. layout: None if the model type is not known.
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
    config: Mapping[str, Any], *, layer_type: str | None = None, length: int | None = None
) -> RotarySettings:
    """Read base, scaling, rotary part and head dim from a configuration such as `config.json`.

    layer_type: needed where layers differ, `full_attention` or `sliding_attention`. length: the
    current length, for scaling that depends on it (dynamic, longrope).

    >>> rotary_settings({"head_dim": 4, "rope_theta": 100.0}).frequencies
    tensor([1.0000, 0.1000], dtype=torch.float64)
    """
    parameters = _parameters(config, layer_type)
    named = str(parameters.get("rope_type") or parameters.get("type") or "default")
    kind = OTHER_NAMES.get(named, named)
    if kind not in KEYS:
        raise ValueError(f"rope_type must be one of {', '.join(KEYS)}; got {kind!r}")
    unknown = sorted(set(parameters) - KEYS[kind] - COMMON_KEYS)
    if unknown:
        raise ValueError(f"the rope parameters of type {kind!r} hold unknown keys: {unknown}")
    base = _base(config, parameters)
    head_dim = _head_dim(config)
    share = _share(config, parameters)
    if kind == "proportional":
        rotary_dim = head_dim
        frequencies = proportional_frequencies(rotary_dim, base, share=share)
    else:
        rotary_dim = int(head_dim * share)
        frequencies = rotary_frequencies(rotary_dim, base)
    scaled = _scaled(frequencies, kind, config, parameters, length)
    return RotarySettings(
        frequencies=scaled.frequencies,
        attention_factor=scaled.attention_factor,
        score_factor=scaled.score_factor,
        head_dim=head_dim,
        rotary_dim=rotary_dim,
        base=base,
        kind=kind,
        layout=_layout(config),
    )


def _layout(config: Mapping[str, Any]) -> Layout | None:
    """The layout that transformers' code for this type of model has; None if it is not known."""
    model = config.get("model_type")
    if model in SWITCHED_MODELS and config.get("rope_interleave") is False:
        return "half"
    if model in INTERLEAVED_MODELS:
        return "interleaved"
    if model in HALF_MODELS:
        return "half"
    return None


def _parameters(config: Mapping[str, Any], layer_type: str | None) -> Mapping[str, Any]:
    """The rope parameters of one kind of layer, from either of the two ways of writing them."""
    parameters = config.get("rope_parameters") or config.get("rope_scaling") or {}
    nested = {key: value for key, value in parameters.items() if isinstance(value, Mapping)}
    local_base = config.get("rope_local_base_freq")
    if local_base is not None and not nested:  # Gemma 3 before transformers 5
        nested = {"full_attention": parameters, "sliding_attention": {"rope_theta": local_base}}
    if not nested:
        return parameters
    if layer_type not in nested:
        raise ValueError(f"layers differ: layer_type must be one of {', '.join(sorted(nested))}")
    return nested[layer_type]


def _first(*values: Any) -> Any:
    """The first value that is given; None if none is."""
    return next((value for value in values if value is not None), None)


def _base(config: Mapping[str, Any], parameters: Mapping[str, Any]) -> float:
    """The base b of the frequencies."""
    base = _first(
        parameters.get("rope_theta"), config.get("rope_theta"), config.get("rotary_emb_base")
    )
    if base is None:
        raise ValueError('config names no base: add "rope_theta"; classes have different defaults')
    return float(base)


def _head_dim(config: Mapping[str, Any]) -> int:
    """How many dimensions a head has, or those of it that latent attention can rotate."""
    # Latent attention rotates dimensions of its own.
    given = config.get("qk_rope_head_dim") or config.get("head_dim")
    if given:
        return int(given)
    if "hidden_size" not in config or "num_attention_heads" not in config:
        raise ValueError('config names no head dim: add "head_dim"')
    return int(config["hidden_size"] // config["num_attention_heads"])


def _share(config: Mapping[str, Any], parameters: Mapping[str, Any]) -> float:
    """The part of each head that rotates."""
    key = "partial_rotary_factor"
    share = _first(parameters.get(key), config.get(key), config.get("rotary_pct"))
    if share is not None:
        return float(share)
    model = config.get("model_type")
    if model in PARTIAL_MODELS:
        raise ValueError(f"models of type {model!r} rotate a part of each head: add {key!r}")
    return 1.0


def _need(config: Mapping[str, Any], key: str, kind: str) -> Any:
    """The value of a key without which this kind of scaling is not defined."""
    if config.get(key) is None:
        raise ValueError(f"scaling of type {kind!r} needs {key!r}, which the config does not name")
    return config[key]


class _Scaled(NamedTuple):
    """What scaling changes; the factors as in `RotarySettings`."""

    frequencies: Float64[Tensor, " pairs"]
    attention_factor: float = 1.0
    score_factor: float = 1.0


def _scaled(
    frequencies: Tensor,
    kind: str,
    config: Mapping[str, Any],
    parameters: Mapping[str, Any],
    length: int | None,
) -> _Scaled:
    """The frequencies after the scaling of this kind, with its factors."""
    if kind == "default":
        return _Scaled(frequencies)
    if kind == "proportional":
        return _Scaled(frequencies / float(parameters.get("factor", 1.0)))
    if kind == "linear":
        scale = float(_need(parameters, "factor", kind))
        return _Scaled(position_interpolation(frequencies, scale))
    if kind == "dynamic":
        trained = int(_need(config, "max_position_embeddings", kind))
        scale = float(_need(parameters, "factor", kind))
        current = trained if length is None else length
        return _Scaled(dynamic_ntk(frequencies, scale, length=current, original_length=trained))
    key = "original_max_position_embeddings"
    trained = _first(config.get(key), parameters.get(key))
    trained = int(trained or _need(config, "max_position_embeddings", kind))
    if kind == "llama3":
        scaled = llama3(
            frequencies,
            float(_need(parameters, "factor", kind)),
            original_length=trained,
            slow=float(_need(parameters, "low_freq_factor", kind)),
            fast=float(_need(parameters, "high_freq_factor", kind)),
        )
        return _Scaled(scaled)
    scale = parameters.get("factor") or _need(config, "max_position_embeddings", kind) / trained
    if kind == "longrope":
        return _longrope(frequencies, scale, trained, parameters, length)
    return _yarn(frequencies, scale, trained, parameters)


def _longrope(
    frequencies: Tensor,
    scale: float,
    trained: int,
    parameters: Mapping[str, Any],
    length: int | None,
) -> _Scaled:
    """LongRoPE: one list of factors up to the trained length, another one beyond."""
    name = "short_factor" if length is None or length <= trained else "long_factor"
    factors = torch.tensor(_need(parameters, name, "longrope"), dtype=torch.float64)
    attention_factor = parameters.get("attention_factor")
    if attention_factor is None:
        attention_factor = longrope_attention_factor(scale, trained)
    return _Scaled(longrope(frequencies, factors), attention_factor=float(attention_factor))


def _yarn(
    frequencies: Tensor, scale: float, trained: int, parameters: Mapping[str, Any]
) -> _Scaled:
    """YaRN with its factor on the table, a part of which DeepSeek moves to the scores."""
    scaled = yarn(
        frequencies,
        scale,
        original_length=trained,
        slow=float(parameters.get("beta_slow") or 1.0),
        fast=float(parameters.get("beta_fast") or 32.0),
        truncate=bool(parameters.get("truncate", True)),
    )
    weight = parameters.get("mscale")
    weight_everywhere = parameters.get("mscale_all_dim")
    everywhere = 1.0
    if weight_everywhere:
        everywhere = yarn_attention_factor(scale, float(weight_everywhere))
    attention_factor = yarn_attention_factor(scale)
    if weight and weight_everywhere:  # DeepSeek divides it between the table and all scores
        attention_factor = yarn_attention_factor(scale, float(weight)) / everywhere
    if parameters.get("attention_factor") is not None:
        attention_factor = float(parameters["attention_factor"])
    return _Scaled(scaled, attention_factor=attention_factor, score_factor=everywhere**2)

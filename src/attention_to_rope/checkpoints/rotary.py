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
COMMON_KEYS = {"rope_type", "type", "rope_theta", "partial_rotary_factor"}
COMMON_KEYS |= {"original_max_position_embeddings", "mrope_section", "mrope_interleaved"}
YARN_KEYS = {"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"}
KEYS = {
    "default": set(),
    "linear": {"factor"},
    "dynamic": {"factor"},
    "yarn": {"factor"} | YARN_KEYS,
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
    rotary_dim = head_dim if kind == "proportional" else int(head_dim * share)
    scaled = _scaled(kind, config, parameters, rotary_dim, base, share, length)
    return RotarySettings(*scaled, head_dim, rotary_dim, base, kind, _layout(config))


def _layout(config: Mapping[str, Any]) -> Layout | None:
    """The layout that transformers' code for this type of model has; None if it is not known."""
    model = config.get("model_type")
    if model in SWITCHED_MODELS and config.get("rope_interleave") is False:
        return "half"
    if model in INTERLEAVED_MODELS:
        return "interleaved"
    return "half" if model in HALF_MODELS else None


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
    base = _first(
        parameters.get("rope_theta"), config.get("rope_theta"), config.get("rotary_emb_base")
    )
    if base is None:
        raise ValueError('config names no base: add "rope_theta"; classes have different defaults')
    return float(base)


def _head_dim(config: Mapping[str, Any]) -> int:
    # Latent attention rotates dimensions of its own.
    given = config.get("qk_rope_head_dim") or config.get("head_dim")
    if not given and not ("hidden_size" in config and "num_attention_heads" in config):
        raise ValueError('config names no head dim: add "head_dim"')
    return int(given or config["hidden_size"] // config["num_attention_heads"])


def _share(config: Mapping[str, Any], parameters: Mapping[str, Any]) -> float:
    key = "partial_rotary_factor"
    share = _first(parameters.get(key), config.get(key), config.get("rotary_pct"))
    if share is None and config.get("model_type") in PARTIAL_MODELS:
        raise ValueError(f"models of type {config['model_type']!r} rotate a part: add {key!r}")
    return 1.0 if share is None else float(share)


def _need(config: Mapping[str, Any], key: str, kind: str) -> Any:
    if config.get(key) is None:
        raise ValueError(f"scaling of type {kind!r} needs {key!r}, which the config does not name")
    return config[key]


def _scaled(
    kind: str,
    config: Mapping[str, Any],
    parameters: Mapping[str, Any],
    rotary_dim: int,
    base: float,
    share: float,
    length: int | None,
) -> tuple[Tensor, float, float]:
    """Frequencies, the factor of the table and the factor of the scores."""
    if kind == "proportional":
        frequencies = proportional_frequencies(rotary_dim, base, share=share)
        return frequencies / float(parameters.get("factor", 1.0)), 1.0, 1.0
    frequencies = rotary_frequencies(rotary_dim, base)
    if kind == "default":
        return frequencies, 1.0, 1.0
    if kind == "linear":
        return position_interpolation(frequencies, _need(parameters, "factor", kind)), 1.0, 1.0
    if kind == "dynamic":
        trained = int(_need(config, "max_position_embeddings", kind))
        scale = float(_need(parameters, "factor", kind))
        current = trained if length is None else length
        scaled = dynamic_ntk(frequencies, scale, length=current, original_length=trained)
        return scaled, 1.0, 1.0
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
        return scaled, 1.0, 1.0
    scale = parameters.get("factor") or _need(config, "max_position_embeddings", kind) / trained
    if kind == "longrope":
        name = "short_factor" if length is None or length <= trained else "long_factor"
        factors = torch.tensor(_need(parameters, name, kind), dtype=torch.float64)
        factor = _first(
            parameters.get("attention_factor"), longrope_attention_factor(scale, trained)
        )
        return longrope(frequencies, factors), float(factor), 1.0
    return _yarn(frequencies, scale, trained, parameters)


def _yarn(
    frequencies: Tensor, scale: float, trained: int, parameters: Mapping[str, Any]
) -> tuple[Tensor, float, float]:
    scaled = yarn(
        frequencies,
        scale,
        original_length=trained,
        slow=float(parameters.get("beta_slow") or 1.0),
        fast=float(parameters.get("beta_fast") or 32.0),
        truncate=bool(parameters.get("truncate", True)),
    )
    weight, everywhere = parameters.get("mscale"), parameters.get("mscale_all_dim")
    shared = yarn_attention_factor(scale, float(everywhere)) if everywhere else 1.0
    factor = yarn_attention_factor(scale)
    if weight and everywhere:  # DeepSeek divides the factor between the table and all scores
        factor = yarn_attention_factor(scale, float(weight)) / shared
    if parameters.get("attention_factor") is not None:
        factor = float(parameters["attention_factor"])
    return scaled, factor, shared**2

"""Rotary settings out of a Hugging Face style configuration: a dictionary in, frequencies out.

Nothing is guessed: a missing base, an unknown kind of scaling or an unknown key is an error.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_to_rope.context_extension import (
    dynamic_ntk,
    llama3,
    longrope,
    longrope_attention_factor,
    position_interpolation,
    yarn,
    yarn_attention_factor,
    yarn_factors,
)
from attention_to_rope.rope import Layout, proportional_frequencies, rotary_frequencies

# fmt: off
# Which pairs the code of transformers 5.22 turns, read there.
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
# Their classes turn a part of the head even where the configuration does not say so.
PARTIAL_MODELS = frozenset({
    "glm", "glm4", "glm4_moe", "gpt_neox", "nemotron", "persimmon", "phi", "qwen3_5",
    "qwen3_next", "stablelm",
})
# fmt: on
COMMON_KEYS = frozenset(
    [
        "rope_type",
        "type",
        "rope_theta",
        "partial_rotary_factor",
        "original_max_position_embeddings",
        "mrope_section",
        "mrope_interleaved",
    ]
)
KEYS = {
    "default": frozenset(),
    "linear": frozenset({"factor"}),
    "dynamic": frozenset({"factor"}),
    "yarn": frozenset(
        [
            "factor",
            "attention_factor",
            "beta_fast",
            "beta_slow",
            "mscale",
            "mscale_all_dim",
            "truncate",
        ]
    ),
    "longrope": frozenset(["factor", "attention_factor", "short_factor", "long_factor"]),
    "llama3": frozenset(["factor", "low_freq_factor", "high_freq_factor"]),
    "proportional": frozenset({"factor"}),
}
OTHER_NAMES = {"mrope": "default", "su": "longrope", "none": "default"}


class RotarySettings(NamedTuple):
    """What a model's rotation needs; hand the parts to `Rotary` or `rotary_table`.

    attention_factor multiplies the table; score_factor multiplies the scale of the softmax
    (DeepSeek's `mscale_all_dim`), 1 in most models. layout: None if the model type is not known.
    """

    frequencies: Tensor
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
    """Read base, scaling, turned part and head dim from a configuration such as `config.json`.

    layer_type: needed where layers differ, `full_attention` or `sliding_attention`. length: the
    current length, for scaling that depends on it (dynamic, longrope).

    >>> rotary_settings({"head_dim": 4, "rope_theta": 100.0}).frequencies
    tensor([1.0000, 0.1000], dtype=torch.float64)
    """
    parameters = _parameters(config, layer_type)
    named = str(parameters.get("rope_type") or parameters.get("type") or "default")
    kind = OTHER_NAMES.get(named, named)
    if kind not in KEYS:
        raise ValueError(
            f"rope_type must be one of {', '.join(sorted(KEYS))}; got {kind!r}, which this "
            "function does not know"
        )
    unknown = sorted(set(parameters) - KEYS[kind] - COMMON_KEYS)
    if unknown:
        raise ValueError(f"the rope parameters of type {kind!r} hold unknown keys: {unknown}")
    base = _base(config, parameters)
    head_dim = _head_dim(config)
    share = _share(config, parameters)
    model = config.get("model_type")
    layout: Layout | None = None
    if model in INTERLEAVED_MODELS:
        layout = "interleaved"
    elif model in HALF_MODELS:
        layout = "half"
    rotary_dim = head_dim if kind == "proportional" else int(head_dim * share)
    frequencies, attention_factor, score_factor = _scaled(
        kind, config, parameters, rotary_dim, base, share, length
    )
    return RotarySettings(
        frequencies, attention_factor, score_factor, head_dim, rotary_dim, base, kind, layout
    )


def _parameters(config: Mapping[str, Any], layer_type: str | None) -> Mapping[str, Any]:
    """The rope parameters of one kind of layer, from either of the two ways of writing them."""
    if not isinstance(config, Mapping):
        raise TypeError(
            "config must be a dictionary such as config.to_dict() gives, got "
            f"{type(config).__name__}"
        )
    parameters = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(parameters, Mapping):
        raise TypeError(
            f"rope_parameters (or rope_scaling) must be a mapping, got {type(parameters).__name__}"
        )
    nested = {key: value for key, value in parameters.items() if isinstance(value, Mapping)}
    local_base = config.get("rope_local_base_freq")
    if local_base is not None and not nested:  # Gemma 3 before transformers 5
        nested = {
            "full_attention": parameters,
            "sliding_attention": {"rope_theta": local_base},
        }
    if not nested:
        return parameters
    if layer_type not in nested:
        raise ValueError(
            f"layers differ in this config: layer_type must be one of {', '.join(sorted(nested))}; "
            f"got {layer_type!r}"
        )
    return nested[layer_type]


def _base(config: Mapping[str, Any], parameters: Mapping[str, Any]) -> float:
    for place in (parameters.get("rope_theta"), config.get("rope_theta")):
        if place is not None:
            return float(place)
    if config.get("rotary_emb_base") is not None:  # GPT-NeoX
        return float(config["rotary_emb_base"])
    raise ValueError(
        'config names no base: add "rope_theta" (10000.0 is the default of most model classes, but '
        "not of all)"
    )


def _head_dim(config: Mapping[str, Any]) -> int:
    for key in ("qk_rope_head_dim", "head_dim"):  # latent attention turns a part of its own
        if config.get(key):
            return int(config[key])
    if "hidden_size" in config and "num_attention_heads" in config:
        return int(config["hidden_size"]) // int(config["num_attention_heads"])
    raise ValueError(
        'config names no head dim: add "head_dim", or "hidden_size" and "num_attention_heads"'
    )


def _share(config: Mapping[str, Any], parameters: Mapping[str, Any]) -> float:
    for place in (
        parameters.get("partial_rotary_factor"),
        config.get("partial_rotary_factor"),
        config.get("rotary_pct"),
    ):
        if place is not None:
            return float(place)
    if config.get("model_type") in PARTIAL_MODELS:
        raise ValueError(
            f"models of type {config['model_type']!r} turn a part of the head: add "
            '"partial_rotary_factor" (or "rotary_pct") to the config'
        )
    return 1.0


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
    trained = _trained_length(kind, config, parameters)
    if kind == "llama3":
        scaled = llama3(
            frequencies,
            float(_need(parameters, "factor", kind)),
            original_length=trained,
            slow=float(_need(parameters, "low_freq_factor", kind)),
            fast=float(_need(parameters, "high_freq_factor", kind)),
        )
        return scaled, 1.0, 1.0
    if parameters.get("factor") is not None:
        scale = float(parameters["factor"])
    else:
        scale = int(_need(config, "max_position_embeddings", kind)) / trained
    if kind == "longrope":
        name = "short_factor" if length is None or length <= trained else "long_factor"
        factors = torch.tensor(_need(parameters, name, kind), dtype=torch.float64)
        factor = parameters.get("attention_factor")
        if factor is None:
            factor = longrope_attention_factor(scale, trained)
        return longrope(frequencies, factors), float(factor), 1.0
    return _yarn(frequencies, scale, trained, parameters)


def _trained_length(kind: str, config: Mapping[str, Any], parameters: Mapping[str, Any]) -> int:
    for place in (config, parameters):
        if place.get("original_max_position_embeddings") is not None:
            return int(place["original_max_position_embeddings"])
    return int(_need(config, "max_position_embeddings", kind))


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
    score_factor = yarn_attention_factor(scale, float(everywhere)) ** 2 if everywhere else 1.0
    if parameters.get("attention_factor") is not None:
        return scaled, float(parameters["attention_factor"]), score_factor
    if weight and everywhere:
        factors = yarn_factors(scale, mscale=float(weight), mscale_all_dim=float(everywhere))
        return scaled, factors.table, factors.scores
    return scaled, yarn_attention_factor(scale), score_factor

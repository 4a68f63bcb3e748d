"""What a configuration says of one layer's rotation; what cannot be read is an error."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from attention_to_rope.checkpoints.config_values import check_values
from attention_to_rope.checkpoints.model_types import (
    FIXED_BASES,
    HEAD_DIM_KEYS,
    KNOWN_MODELS,
    LAYER_BASE_MODELS,
    NEW_NAME_MODELS,
    OWN_PARAMETERS_MODELS,
    PARTIAL_MODELS,
    ROTARY_DIM_MODELS,
    UNSTATED_PARTIAL_MODELS,
    WINDOW_FIRST_MODELS,
    WINDOW_ONLY_MODELS,
)
from attention_to_rope.checkpoints.refusals import ConfigError
from attention_to_rope.checkpoints.rotary_keys import (
    Config,
    check_keys,
    check_model,
    first_given,
    model_type,
    text_part,
)

FULL = "full_attention"
SLIDING = "sliding_attention"


class LayerRotation(NamedTuple):
    """What the configuration says of one layer; rotary_dim: 0 if the layer does not rotate.

    parameters: the rope parameters of this layer. nested: whether they were given by kind of layer.
    """

    config: Config
    parameters: Config
    nested: bool
    base: float
    head_dim: int
    rotary_dim: int
    share: float


def layer_rotation(config: Config, *, layer_type: str | None, layer: int | None) -> LayerRotation:
    """Read the rotation of a kind of layer, of one layer, or of all if they are alike."""
    config = text_part(config)
    check_values(config)
    check_keys(config, "the configuration")
    check_model(config)
    parameters, nested = _parameters(config, layer_type, layer)
    config = _with_overrides(config, layer_type, layer)
    base = _base(config, parameters or {}, layer_type, layer)
    rotates = parameters is not None and _rotates(config, layer_type, layer)
    head_dim = _head_dim(config, layer_type)
    if parameters is None or not rotates or base == 0 or config.get("qk_rope_head_dim") == 0:
        return LayerRotation(config, {}, nested, base, head_dim, rotary_dim=0, share=0.0)
    share = _share(config, parameters, nested)
    rotary_dim = head_dim if _is_proportional(parameters) else _rotary_dim(config, head_dim, share)
    if config.get("qk_rope_head_dim"):
        head_dim = rotary_dim
    share = 1.0 if share is None else share
    return LayerRotation(config, parameters, nested, base, head_dim, rotary_dim, share)


def _parameters(
    config: Config, layer_type: str | None, layer: int | None
) -> tuple[Config | None, bool]:
    """The rope parameters of a kind of layer, None if it does not rotate; whether kinds differ."""
    flat = _flat_parameters(config)
    nested = {key: value for key, value in flat.items() if isinstance(value, Mapping)}
    outside = {key: value for key, value in flat.items() if key not in nested}
    if not nested:
        nested = _two_bases(config, flat)
        if not nested:
            return flat, False
        outside = {}
    silent = {key for key, value in outside.items() if value is None}
    if layer_type is None and layer is not None and config.get("layer_types"):
        layer_type = config["layer_types"][layer]
    if layer_type in silent:
        return None, True
    if layer_type is None or layer_type not in nested:
        kinds = ", ".join(sorted(nested.keys() | silent))
        raise ConfigError("layer_type_needed", kinds=kinds, value=repr(layer_type))
    # transformers reads `truncate` beside the kinds of layers, the other keys inside.
    beside = outside.keys() - silent - {"rope_type", "truncate"}
    if beside:
        raise ConfigError("beside_kinds", keys=", ".join(sorted(beside)))
    parameters = dict(nested[layer_type])
    if parameters.get("truncate") is not None:
        raise ConfigError("truncate_inside", kind=layer_type)
    if "truncate" in outside:
        parameters["truncate"] = outside["truncate"]
    return parameters, True


def _flat_parameters(config: Config) -> Config:
    """`rope_parameters`, or `rope_scaling` as it was called before transformers 5."""
    new: Config = config.get("rope_parameters") or {}
    old: Config = config.get("rope_scaling") or {}
    if new and old and new != old:
        raise ConfigError("two_dictionaries")
    model = model_type(config)
    if model in NEW_NAME_MODELS and old and not new:
        raise ConfigError("new_name_only", model=model)
    if model in OWN_PARAMETERS_MODELS and not new and not old:
        raise ConfigError("own_parameters", model=repr(model))
    return new or old


def _two_bases(config: Config, parameters: Config) -> dict[str, Config]:
    """Parameters by kind of layer, where the configuration has two keys for two bases."""
    local = config.get("rope_local_base_freq")  # Gemma 3 before transformers 5
    if local is not None:
        return {FULL: parameters, SLIDING: {"rope_theta": local}}
    local = config.get("local_rope_theta")  # ModernBERT before transformers 5
    if local is not None:
        return {
            FULL: {"rope_theta": config.get("global_rope_theta"), **parameters},
            SLIDING: {"rope_theta": local},
        }
    compressed = config.get("compress_rope_theta")  # DeepSeek-V4; only compressed layers scale
    if compressed is not None:
        inside = {**parameters, "rope_theta": compressed}
        if first_given(parameters.get("rope_type"), parameters.get("type")) == "yarn":
            inside.setdefault("attention_factor", 1.0)
        return {"main": {"rope_theta": config.get("rope_theta")}, "compress": inside}
    return {}


def _chosen_layers(config: Config, layer_type: str | None, layer: int | None) -> Sequence[int]:
    """The layers that are asked for: one, those of a kind, or all."""
    if layer is not None:
        return [layer]
    types = config.get("layer_types")
    if layer_type is not None and types is not None and layer_type in types:
        return [index for index, kind in enumerate(types) if kind == layer_type]
    return range(config.get("num_hidden_layers") or 0)


def _of_layers(key: str, values: Sequence[Any], layers: Sequence[int]) -> Any:
    """The one value that a list with an entry per layer has for these layers."""
    if any(not 0 <= index < len(values) for index in layers):
        raise ConfigError("list_too_short", key=repr(key), entries=len(values), layer=layers[-1])
    chosen = [values[index] for index in layers] or list(values)
    if any(value != chosen[0] for value in chosen):
        raise ConfigError("layers_differ", key=repr(key))
    return chosen[0]


def _rotates(config: Config, layer_type: str | None, layer: int | None) -> bool:
    """Whether the layer that is asked for rotates at all."""
    layers = _chosen_layers(config, layer_type, layer)
    model = model_type(config)
    windowed = model in WINDOW_ONLY_MODELS
    windowed = windowed or (model in WINDOW_FIRST_MODELS and bool(config.get("sliding_window")))
    if windowed:
        kind = layer_type
        if kind is None and layer is not None and config.get("layer_types"):
            kind = config["layer_types"][layer]
        if kind not in (FULL, SLIDING):
            raise ConfigError(
                "window_or_full_needed",
                model=repr(model),
                sliding=SLIDING,
                full=FULL,
                value=repr(kind),
            )
        return kind == SLIDING
    key = "no_rope_layers"
    switches = config.get(key)  # in spite of its name, 1 where a layer rotates
    interval = config.get("no_rope_layer_interval")
    if not switches and interval:
        key = "no_rope_layer_interval"
        count = config.get("num_hidden_layers") or 0
        switches = [(index + 1) % interval != 0 for index in range(count)]
    if not switches:
        return True
    return bool(_of_layers(key, [bool(switch) for switch in switches], layers))


def _base(config: Config, parameters: Config, layer_type: str | None, layer: int | None) -> float:
    """The base b of the frequencies; 0 for a layer that does not rotate."""
    model = model_type(config)
    base = first_given(
        parameters.get("rope_theta"), config.get("rope_theta"), config.get("rotary_emb_base")
    )
    fixed = FIXED_BASES.get(str(model))
    if fixed is not None and base not in (None, fixed):
        raise ConfigError("fixed_base", model=repr(model), fixed=fixed, base=base)
    base = first_given(base, fixed)
    by_layer = config.get("layer_rope_theta")
    if by_layer is not None:
        own = _of_layers("layer_rope_theta", by_layer, _chosen_layers(config, layer_type, layer))
        if own and own != base and model not in LAYER_BASE_MODELS:
            raise ConfigError("base_by_layer", own=own, base=base, model=repr(model))
        base = own or 0
    if base is None:
        raise ConfigError("no_base")
    return float(base)


def _with_overrides(config: Config, layer_type: str | None, layer: int | None) -> Config:
    """The configuration with what `per_layer_config` says of the head dim of these layers."""
    per_layer = config.get("per_layer_config")
    if not per_layer:
        return config
    by_layer: dict[int, Config] = {int(index): own for index, own in per_layer.items()}
    for own in by_layer.values():
        check_keys(own, "per_layer_config")
    overrides: dict[str, Any] = {}
    layers = _chosen_layers(config, layer_type, layer)
    for key in ("head_dim", "qk_rope_head_dim"):
        values = [by_layer.get(index, {}).get(key) for index in range(max(layers, default=0) + 1)]
        value = _of_layers(f"per_layer_config: {key}", values, layers)
        if value is not None:
            overrides[key] = value
    return {**config, **overrides}


def _head_dim(config: Config, layer_type: str | None) -> int:
    """How many dimensions a head has."""
    key = HEAD_DIM_KEYS.get(str(model_type(config)), "head_dim")
    given = config.get(key)
    if layer_type == FULL and config.get("global_head_dim") is not None:
        given = config["global_head_dim"]
    if given:
        return int(given)
    if config.get("qk_rope_head_dim") is not None:  # latent attention rotates these alone
        return int(config["qk_rope_head_dim"])
    width = first_given(config.get("hidden_size"), config.get("n_embd"), config.get("d_model"))
    heads = first_given(
        config.get("num_attention_heads"), config.get("n_head"), config.get("n_heads")
    )
    if width is None or not heads:
        raise ConfigError("no_head_dim")
    return int(width // heads)


def _share(config: Config, parameters: Config, nested: bool) -> float | None:
    """The part of each head that rotates, None if the configuration does not say."""
    key = "partial_rotary_factor"
    share = first_given(parameters.get(key), config.get(key), config.get("rotary_pct"))
    model = model_type(config)
    if share is None:
        if model in UNSTATED_PARTIAL_MODELS and not nested:
            raise ConfigError("unstated_part", model=repr(model), key=repr(key))
        return None
    if not 0 < share <= 1:
        raise ConfigError("share_out_of_range", key=key, value=share)
    reads = model not in KNOWN_MODELS or model in PARTIAL_MODELS
    whole = share == 1 or config.get("qk_rope_head_dim") or config.get("rotary_dim")
    if not reads and not whole and not _is_proportional(parameters):
        raise ConfigError("share_not_read", key=key, value=share, model=model)
    return float(share)


def _is_proportional(parameters: Config) -> bool:
    """p-RoPE: the factor says how many pairs have a frequency above 0; all dimensions count."""
    return bool(first_given(parameters.get("rope_type"), parameters.get("type")) == "proportional")


def _rotary_dim(config: Config, head_dim: int, share: float | None) -> int:
    """How many dimensions of each head rotate."""
    model = model_type(config)
    by_share = None if share is None else int(head_dim * share)
    for key in ("qk_rope_head_dim", "rotary_dim"):
        named = config.get(key)
        if named is None:
            continue
        if by_share is not None and share != 1 and by_share != named:
            raise ConfigError(
                "two_rotary_dims",
                key=key,
                named=named,
                share=share,
                by_share=by_share,
                head_dim=head_dim,
            )
        ignored = model in KNOWN_MODELS and model not in ROTARY_DIM_MODELS and share is None
        if key == "rotary_dim" and ignored:
            raise ConfigError("rotary_dim_not_read", model=model)
        return int(named)
    rotary_dim = head_dim if by_share is None else by_share
    if rotary_dim % 2:
        raise ConfigError("odd_share", share=share, head_dim=head_dim, rotary_dim=rotary_dim)
    return rotary_dim

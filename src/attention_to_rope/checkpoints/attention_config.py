"""What a configuration says of the attention of its layers: heads, windows, latents, scale.

`layer_groups` gives groups of equal layers with the keys that `bookkit.models` describes, and
`kind` and `indices` beside them: what each layer keeps, and how it scores.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attention_to_rope.checkpoints.attention_types import (
    ALL_WINDOW_MODELS,
    CHUNK_MODELS,
    COMPRESS_RATES,
    COMPRESSED_KINDS,
    DEFAULT_WINDOW_MODELS,
    DOUBLED_WINDOW_HEADS_MODELS,
    LATER_WINDOW_MODELS,
    MIXED_MODELS,
    MULTIPLIER_MODELS,
    PATTERNS,
    QUERY_SCALAR_MODELS,
    ROLES,
    ROPE_KINDS,
    SAME_KEY_VALUE_MODELS,
    SINK_MODELS,
    SOFTCAP_MODELS,
    SWITCHED_WINDOW_MODELS,
    UNSCALED_MODELS,
    WINDOW_SINK_MODELS,
)
from attention_to_rope.checkpoints.config_values import check_values
from attention_to_rope.checkpoints.model_types import HEAD_DIM_KEYS, KNOWN_MODELS
from attention_to_rope.checkpoints.refusals import ConfigError
from attention_to_rope.checkpoints.rotary_keys import (
    Config,
    first_given,
    model_type,
    text_part,
)

FULL = "full_attention"
SLIDING = "sliding_attention"
CHUNKED = "chunked_attention"
ORIGINAL = "'original_max_position_embeddings'"
WINDOW_KEYS = ("sliding_window", "attention_window_size", "local_attention")
LAYER_KEYS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEAD_KEYS = ("num_attention_heads", "n_head", "n_heads")
WIDTH_KEYS = ("hidden_size", "n_embd", "d_model")
KEY_VALUE_KEYS = ("num_key_value_heads", "num_kv_heads")


def layer_groups(config: Config) -> list[dict[str, Any]]:
    """Groups of layers with equal attention, in the order of their first layers.

    >>> config = {"num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2}
    >>> layer_groups(config)[0]["kv_heads"]
    2
    """
    config = text_part(config)
    check_values(config)
    groups: list[dict[str, Any]] = []
    for index, kind in enumerate(layer_kinds(config)):
        attention = layer_attention(config, kind, index)
        for group in groups:
            alike = {key: group[key] for key in group if key not in ("count", "indices")}
            if alike == attention:
                group["count"] += 1
                group["indices"].append(index)
                break
        else:
            groups.append({**attention, "count": 1, "indices": [index]})
    return groups


def layer_kinds(config: Config) -> Sequence[str]:
    """The kind of every layer: as the configuration lists them, or by its family's rule."""
    count = first_named(config, LAYER_KEYS)
    if not count:
        raise ConfigError("no_layers")
    given = config.get("layer_types")
    if given:
        if len(given) != count:
            raise ConfigError("layer_count", key="'layer_types'", entries=len(given), layers=count)
        return list(given)
    if config.get("compress_ratios"):
        return _kinds_of_ratios(config["compress_ratios"], int(count))
    layers = range(int(count))
    model = model_type(config)
    if model in MIXED_MODELS:
        raise ConfigError("kinds_needed", model=repr(model))
    if model in CHUNK_MODELS:
        if "attention_chunk_size" not in config:
            raise ConfigError("no_window", kind=CHUNKED, key="attention_chunk_size")
        if not config["attention_chunk_size"]:
            return [FULL for _ in layers]
        return [CHUNKED if rotates else FULL for rotates in _rotating(config, int(count))]
    window = _window_in_force(config)
    if model in PATTERNS:
        return _kinds_of_pattern(config, PATTERNS[model], int(count), window)
    if model in DEFAULT_WINDOW_MODELS and WINDOW_KEYS[0] not in config:
        raise ConfigError("no_window", kind=SLIDING, key=WINDOW_KEYS[0])
    if window is None:
        return [FULL for _ in layers]
    if model in ALL_WINDOW_MODELS:
        return [SLIDING for _ in layers]
    if model in LATER_WINDOW_MODELS:
        first = config.get("max_window_layers")
        if first is None:
            raise ConfigError("no_window", kind=SLIDING, key="max_window_layers")
        return [SLIDING if layer >= first else FULL for layer in layers]
    raise ConfigError("unknown_pattern")


def _kinds_of_ratios(ratios: Sequence[int], count: int) -> list[str]:
    """The kinds of layers that compress by these rates; entries beyond the layers are others'."""
    if len(ratios) < count:
        key = "'compress_ratios'"
        raise ConfigError("layer_count", key=key, entries=len(ratios), layers=count)
    kinds = []
    for ratio in ratios[:count]:
        kind = COMPRESSED_KINDS.get(str(int(ratio)))
        if kind is None:
            raise ConfigError("no_rate", kind=str(ratio))
        kinds.append(kind)
    return kinds


def _kinds_of_pattern(
    config: Config, pattern: Mapping[str, Any], count: int, window: int | None
) -> list[str]:
    """The kinds of layers of a family in which one layer of each period is different."""
    if pattern["others"] == SLIDING and window is None:
        if any(key in config for key in WINDOW_KEYS):  # there, and off
            return [FULL] * count
        raise ConfigError("no_window", kind=SLIDING, key=WINDOW_KEYS[0])
    period = first_given(*(config.get(key) for key in pattern["keys"]), pattern["period"])
    if not isinstance(period, int) or isinstance(period, bool) or period < 1:
        raise ConfigError("unknown_pattern")
    place = 0 if pattern["place"] == "first" else period - 1
    kinds = []
    for layer in range(count):
        chosen = layer % period == place or (pattern["end"] and layer == count - 1)
        kinds.append(pattern["chosen"] if chosen else pattern["others"])
    return kinds


def _rotating(config: Config, count: int) -> list[bool]:
    """Which layers of a model with chunks rotate; `no_rope_layers` is 1 where a layer does."""
    switches = config.get("no_rope_layers")
    if switches:
        if len(switches) != count:
            key = "'no_rope_layers'"
            raise ConfigError("layer_count", key=key, entries=len(switches), layers=count)
        return [bool(switch) for switch in switches]
    interval = config.get("no_rope_layer_interval") or 4
    return [(layer + 1) % interval != 0 for layer in range(count)]


def _window_in_force(config: Config) -> int | None:
    """The window, None if there is none or if it is switched off."""
    window = first_named(config, WINDOW_KEYS)
    switch = config.get("use_sliding_window")
    model = model_type(config)
    off = model in SWITCHED_WINDOW_MODELS and not switch
    off = off or (model not in KNOWN_MODELS and switch is False)  # others do not read it
    if not window or off:
        return None
    return int(window)


def first_named(config: Config, keys: Sequence[str]) -> Any:
    """The value of the first of these keys that is given; None if none is."""
    return first_given(*(config.get(key) for key in keys))


def layer_attention(config: Config, kind: str, index: int) -> dict[str, Any]:
    """The attention of one layer."""
    if kind not in ROLES:
        raise ConfigError("unknown_layer", kind=repr(kind))
    role = ROLES[kind]
    if role in ("recurrent", "none"):
        return {"kind": kind, "role": role, "recurrent": True}
    own = _own_values(config, kind, index)
    attention = {"kind": kind, "role": role, **_heads(own, kind)}
    attention.update(_seen(own, kind, role))
    attention.update(_scoring(own, role, attention))
    attention.update(_query_scale(own, index))
    shared = config.get("num_kv_shared_layers") or 0
    count = first_named(config, LAYER_KEYS)
    sources = config.get("kv_source_layers")
    if index >= count - shared or (sources and index < len(sources) and sources[index] != index):
        attention["shared"] = True
    return attention


def _own_values(config: Config, kind: str, index: int) -> Config:
    """The configuration as this layer has it: with its own numbers, where kinds differ."""
    own = dict(config)
    if ROLES[kind] == "window":
        for key in ("num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim"):
            if config.get(f"swa_{key}") is not None:
                own[key] = config[f"swa_{key}"]
    if kind == FULL:
        if config.get("global_head_dim"):
            own["head_dim"] = config["global_head_dim"]
        if config.get("num_global_key_value_heads") and config.get("attention_k_eq_v", True):
            own["num_key_value_heads"] = config["num_global_key_value_heads"]
    for key, changes in (config.get("per_layer_config") or {}).items():
        if int(key) == index:  # "05" is layer 5
            own.update(changes)
    check_values(own)
    return own


def _heads(own: Config, kind: str) -> dict[str, Any]:
    """Query heads, and what the layer keeps of a token: a latent row, or keys and values."""
    heads = first_named(own, HEAD_KEYS)
    if not heads:
        raise ConfigError("no_heads")
    model = model_type(own)
    rotary = own.get("qk_rope_head_dim")
    if own.get("kv_lora_rank") and rotary is not None:
        key_dim = (own.get("qk_nope_head_dim") or 0) + rotary
        return {
            "heads": int(heads),
            "latent": int(own["kv_lora_rank"]),
            "rotary": int(rotary),
            "key_dim": int(key_dim),
        }
    head_dim = own.get(HEAD_DIM_KEYS.get(str(model), "head_dim"))
    width = first_named(own, WIDTH_KEYS)
    if not head_dim:
        if width is None:
            raise ConfigError("no_head_dim")
        head_dim = width // heads
    kv_heads = first_given(first_named(own, KEY_VALUE_KEYS), heads)
    if model == "falcon" and not own.get("new_decoder_architecture"):
        kv_heads = 1 if own.get("multi_query", True) else heads
    if model in DOUBLED_WINDOW_HEADS_MODELS and ROLES[kind] == "window":
        kv_heads = first_given(own.get("swa_num_key_value_heads"), 2 * kv_heads)
    found = {
        "heads": int(heads),
        "kv_heads": int(kv_heads),
        "head_dim": int(head_dim),
        "key_dim": int(head_dim),
    }
    value_dim = own.get("v_head_dim")
    if value_dim and value_dim != head_dim:
        found["value_dim"] = int(value_dim)
    if model in SAME_KEY_VALUE_MODELS:
        found["same_key_value"] = True
    return found


def _seen(own: Config, kind: str, role: str) -> dict[str, Any]:
    """Which keys a query meets: window, chunk, compressed rows, and what an indexer chooses."""
    found: dict[str, Any] = {}
    if role == "chunk":
        if not own.get("attention_chunk_size"):
            raise ConfigError("no_window", kind=kind, key="attention_chunk_size")
        found["window"] = int(own["attention_chunk_size"])
        found["chunk"] = True
    if role in ("window", "compressed"):
        window = first_named(own, WINDOW_KEYS)
        if not window:
            raise ConfigError("no_window", kind=kind, key=WINDOW_KEYS[0])
        found["window"] = int(window)
    if role == "compressed":
        rates = own.get("compress_rates") or COMPRESS_RATES
        rate = rates.get(kind)
        if not rate:
            raise ConfigError("no_rate", kind=kind)
        found["compress"] = int(rate)
    chooses = role == "full" or kind == "compressed_sparse_attention"
    if chooses and own.get("index_topk"):
        found["index"] = {
            "keys": int(own["index_topk"]),
            "heads": own.get("index_n_heads"),
            "head_dim": own.get("index_head_dim"),
        }
    return found


def _scoring(own: Config, role: str, attention: Mapping[str, Any]) -> dict[str, Any]:
    """The factor of the scores, their soft cap and a sink; the factor without YaRN's."""
    model = model_type(own)
    key_dim = attention["key_dim"]
    if not key_dim:
        raise ConfigError("no_head_dim")
    scale = key_dim**-0.5
    if model in UNSCALED_MODELS:
        scale = 1.0
    if model in MULTIPLIER_MODELS and own.get("attention_multiplier") is not None:
        scale = float(own["attention_multiplier"])
    if model in QUERY_SCALAR_MODELS and own.get("query_pre_attn_scalar"):
        scale = float(own["query_pre_attn_scalar"]) ** -0.5
    found: dict[str, Any] = {"scale": scale}
    if model in SOFTCAP_MODELS and own.get("attn_logit_softcapping"):
        found["softcap"] = float(own["attn_logit_softcapping"])
    if model in SINK_MODELS or (model in WINDOW_SINK_MODELS and role == "window"):
        found["sink"] = True
    return found


def _query_scale(own: Config, index: int) -> dict[str, Any]:
    """A factor of the queries that grows with their position; see `bookkit.models.query_scale`."""
    model = model_type(own)
    parameters = own.get("rope_parameters") or own.get("rope_scaling") or {}
    strength = parameters.get("llama_4_scaling_beta")
    if strength:
        length = parameters.get("original_max_position_embeddings")
        if not length:
            raise ConfigError("missing_parameter", kind="'yarn'", key=ORIGINAL)
        return {
            "query_scale": {
                "rule": "steps",
                "strength": float(strength),
                "length": int(length),
                "first": 0,
            }
        }
    count = int(first_named(own, LAYER_KEYS))
    tuned = model in CHUNK_MODELS and own.get("attn_temperature_tuning")
    if tuned and own.get("floor_scale") and not _rotating(own, count)[index]:
        return {
            "query_scale": {
                "rule": "steps",
                "strength": float(own.get("attn_scale") or 0.1),
                "length": int(own["floor_scale"]),
                "first": 1,
            }
        }
    return {}


def rope_kind(config: Config, kind: str) -> str:
    """The name by which the rope parameters of this kind of layer are found."""
    kinds = ROPE_KINDS.get(str(model_type(config)), {})
    return kinds.get(kind, kind)

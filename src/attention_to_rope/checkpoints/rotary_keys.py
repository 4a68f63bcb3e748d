"""Which keys of a configuration may change the rotation; one that is not known is an error.

A key that is not known and whose name contains one of `WORDS` is refused, in the configuration, in
its `text_config` and in the dictionaries of rope parameters. So is a model that does not rotate.
"""

from collections.abc import Mapping
from typing import Any

from attention_to_rope.checkpoints.model_types import (
    KNOWN_MODELS,
    NEOX_MODELS,
    UNSUPPORTED_MODELS,
)
from attention_to_rope.checkpoints.refusals import ConfigError

Config = Mapping[str, Any]
# A key with one of these in its name may change the rotation.
WORDS = ("rope", "rotary", "partial", "scaling", "theta")
# The keys with such a name that are read here, and those that change other parts of a model.
READ_KEYS = {
    "compress_rope_theta",
    "global_rope_theta",
    "layer_rope_theta",
    "local_rope_theta",
    "no_rope_layer_interval",
    "no_rope_layers",
    "partial_rotary_factor",
    "qk_rope_head_dim",
    "rope_interleave",
    "rope_local_base_freq",
    "rope_parameters",
    "rope_scaling",
    "rope_scaling_layers",
    "rope_theta",
    "rotary_dim",
    "rotary_emb_base",
    "rotary_pct",
    "rotary_value",
    "use_mem_rope",
}
OTHER_KEYS = {
    "logits_scaling",
    "moe_routed_scaling_factor",
    "moe_router_scaling_factor",
    "mtp_loss_scaling_factor",
    "routed_scaling_factor",
    "router_scaling_factor",
}


def first_given(*values: Any) -> Any:
    """The first value that is given; None if none is."""
    return next((value for value in values if value is not None), None)


def model_type(config: Config) -> str | None:
    """The type of the text model, by the name that the tables of `model_types` have."""
    name = config.get("model_type")
    for known in (name, f"{name}_text"):
        if known in KNOWN_MODELS or known in UNSUPPORTED_MODELS:
            return known
    return name


def text_part(config: Config) -> Config:
    """The configuration of the text model, if there are others beside it."""
    text = config.get("text_config")
    if not isinstance(text, Mapping):
        return config
    for key, value in config.items():
        if _may_rotate(key) and value is not None and value != text.get(key):
            raise ConfigError("beside_text_config", key=repr(key), inside=repr(text.get(key)))
    return text


def _may_rotate(key: str) -> bool:
    return key not in OTHER_KEYS and any(word in key for word in WORDS)


def check_keys(config: Config, where: str) -> None:
    """Raise for a key that may change the rotation and is not known here."""
    unknown = []
    for key, value in config.items():
        if _may_rotate(key) and key not in READ_KEYS and value is not None:
            unknown.append(key)
    if unknown:
        raise ConfigError("unknown_keys", where=where, keys=", ".join(sorted(unknown)))


def check_model(config: Config) -> None:
    """Raise if this model rotates in another way, or not at all."""
    model = model_type(config)
    if model in UNSUPPORTED_MODELS:
        raise ConfigError("unsupported_model", model=repr(model), why=UNSUPPORTED_MODELS[model])
    encoding = config.get("position_embedding_type")
    if encoding is None and model == "granitemoehybrid":
        encoding = "none"
    if encoding not in (None, "rope", "rotary"):
        raise ConfigError("position_embedding", value=repr(encoding))
    # Each key with the value that it has in a model that rotates.
    for key, rotates in (("alibi", False), ("mla_use_nope", False), ("use_mem_rope", True)):
        if config.get(key) is not None and bool(config[key]) != rotates:
            raise ConfigError("does_not_rotate", key=repr(key), value=repr(config[key]))
    if config.get("rotary_value"):
        raise ConfigError("rotates_values")
    unread: tuple[str, ...] = ()
    if model in NEOX_MODELS:
        unread = ("partial_rotary_factor", "rope_theta")
    elif model in KNOWN_MODELS:
        unread = ("rotary_emb_base", "rotary_pct")
    for key in unread:
        if config.get(key) is not None:
            raise ConfigError("unread_key", model=model, key=key)
    scaled = config.get("rope_scaling_layers")
    if scaled is not None and set(scaled) != set(range(config.get("num_hidden_layers", -1))):
        raise ConfigError("some_layers_scaled")

"""What kind of value each key of a configuration must have: one that has another is refused."""

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeGuard

from attention_to_rope.checkpoints.refusals import ConfigError

LARGEST_COUNT = 2**53 - 1  # what a number of a browser holds without rounding
# The largest count that is read, where more would only be a slip, and would fill the memory.
LARGEST = {
    "attention_head_dim": 2**16,
    "global_head_dim": 2**16,
    "head_dim": 2**16,
    "hidden_size": 2**24,
    "kv_channels": 2**16,
    "num_attention_heads": 2**16,
    "num_hidden_layers": 10_000,
    "qk_rope_head_dim": 2**16,
    "rotary_dim": 2**16,
}
COUNTS = frozenset(
    {
        *LARGEST,
        "attention_chunk_size",
        "attention_window_size",
        "d_model",
        "full_attention_interval",
        "global_attn_every_n_layers",
        "index_head_dim",
        "index_n_heads",
        "index_topk",
        "intermediate_size",
        "kv_lora_rank",
        "layer_group_size",
        "local_attention",
        "max_position_embeddings",
        "max_window_layers",
        "n_embd",
        "n_head",
        "n_heads",
        "n_layer",
        "n_layers",
        "no_rope_layer_interval",
        "num_global_key_value_heads",
        "num_key_value_heads",
        "num_kv_heads",
        "num_kv_shared_layers",
        "num_layers",
        "original_max_position_embeddings",
        "q_lora_rank",
        "qk_nope_head_dim",
        "sliding_window",
        "v_head_dim",
        "vocab_size",
    }
)
NUMBERS = frozenset(
    {
        "attention_factor",
        "attention_multiplier",
        "attn_logit_softcapping",
        "attn_scale",
        "beta_fast",
        "beta_slow",
        "compress_rope_theta",
        "factor",
        "floor_scale",
        "global_rope_theta",
        "high_freq_factor",
        "llama_4_scaling_beta",
        "local_rope_theta",
        "low_freq_factor",
        "mscale",
        "mscale_all_dim",
        "partial_rotary_factor",
        "query_pre_attn_scalar",
        "rope_local_base_freq",
        "rope_theta",
        "rotary_emb_base",
        "rotary_pct",
    }
)
LISTS = frozenset(
    {
        "compress_ratios",
        "kv_source_layers",
        "layer_rope_theta",
        "layer_types",
        "long_factor",
        "no_rope_layers",
        "rope_scaling_layers",
        "short_factor",
    }
)
TEXTS = frozenset({"model_type", "rope_type", "type"})
DICTIONARIES = frozenset({"compress_rates", "per_layer_config", "rope_parameters", "rope_scaling"})


def is_number(value: Any) -> TypeGuard[float]:
    """Whether this is a finite number; true and false are not."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_list(value: Any) -> bool:
    """Whether this is a list; a text is not."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def check_values(config: Mapping[str, Any]) -> None:
    """Raise for a value of the wrong kind, also in the dictionaries of rope parameters."""
    for key, value in config.items():
        if value is None:
            continue
        if key in COUNTS:
            _check_count(key, value)
        elif key in NUMBERS and not is_number(value):
            raise ConfigError("not_a_number", key=key, value=repr(value))
        elif key in TEXTS and not isinstance(value, str):
            raise ConfigError("not_a_text", key=key, value=repr(value))
        elif key in LISTS and not is_list(value):
            raise ConfigError("not_a_list", key=key, value=repr(value))
        elif key in LISTS:
            _check_entries(key, value)
        elif key in DICTIONARIES:
            _check_dictionary(key, value)


def _check_count(key: str, value: Any) -> None:
    if not is_number(value) or value != int(value) or value < 0:
        raise ConfigError("not_a_count", key=key, value=repr(value))
    largest = LARGEST.get(key, LARGEST_COUNT)
    if value > largest:
        raise ConfigError("too_large", key=key, value=value, largest=largest)


def _check_entries(key: str, values: Sequence[Any]) -> None:
    """Entries of `layer_types` are names, those of the other lists numbers."""
    for value in values:
        if key == "layer_types":
            right = isinstance(value, str)
        else:
            right = is_number(value) or isinstance(value, bool)
        if not right:
            raise ConfigError("not_a_list", key=key, value=repr(value))


def _check_dictionary(key: str, values: Any) -> None:
    if not isinstance(values, Mapping):
        raise ConfigError("not_a_dictionary", key=key, value=repr(values))
    check_values(values)
    for name, inside in values.items():
        if key == "per_layer_config":
            if not str(name).isdecimal() or not str(name).isascii():
                raise ConfigError("not_a_count", key=key, value=repr(name))
            if not isinstance(inside, Mapping):
                raise ConfigError("not_a_dictionary", key=key, value=repr(inside))
        if isinstance(inside, Mapping):
            check_values(inside)

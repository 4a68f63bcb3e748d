"""Configurations at random: right ones, unusual ones and wrong ones."""

import random
from typing import Any

from attention_to_rope.checkpoints.attention_types import (
    ALL_WINDOW_MODELS,
    CHUNK_MODELS,
    LATER_WINDOW_MODELS,
    PATTERNS,
    ROLES,
)
from attention_to_rope.checkpoints.model_types import KNOWN_MODELS, UNSUPPORTED_MODELS

KINDS = sorted(ROLES)
COMMON = ["llama", "qwen3", "gemma3_text", "mistral", "deepseek_v3", "gpt_oss", "cohere2"]
PATTERNED = sorted({*PATTERNS, *ALL_WINDOW_MODELS, *CHUNK_MODELS, *LATER_WINDOW_MODELS})


def some_type(chance: random.Random) -> str | None:
    """A model type; one third has a pattern of layers, one in twenty is not known."""
    choice = chance.random()
    if choice < 0.25:
        return chance.choice(COMMON)
    if choice < 0.6:
        return chance.choice(PATTERNED)
    if choice < 0.93:
        return chance.choice(sorted(KNOWN_MODELS | set(UNSUPPORTED_MODELS)))
    return chance.choice([None, "unheard_of", "__proto__", "constructor"])


def rope(chance: random.Random, pairs: int) -> dict[str, Any]:
    """Rope parameters of any rule, sometimes without a key or with a wrong value."""
    rule = chance.choice(
        ["default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "mrope", "x"]
    )
    found: dict[str, Any] = {chance.choice(["rope_type", "rope_type", "type"]): rule}
    if chance.random() < 0.8:
        found["rope_theta"] = chance.choice([1e4, 5e5, 1e6, 10000, 1.0, 0.5, -1.0, 0])
    if rule not in ("default", "mrope", "x") and chance.random() < 0.9:
        found["factor"] = chance.choice([1.0, 2.0, 4, 8.0, 40.0, 0.5, -2.0, 0])
    if chance.random() < 0.7:
        found["original_max_position_embeddings"] = chance.choice([4096, 8192, 32768, 1, 0, 2])
    if rule == "llama3":
        found["low_freq_factor"] = chance.choice([1.0, 1, 4.0, 0])
        found["high_freq_factor"] = chance.choice([4.0, 1.0, 8])
    if rule == "yarn":
        for key, values in (
            ("beta_fast", [32, 32.0, 16.0, 1]),
            ("beta_slow", [1, 1.0, 2.0, 40.0]),
            ("mscale", [1.0, 0.707, 0]),
            ("mscale_all_dim", [1.0, 0.707, -40.0]),
            ("attention_factor", [1.0, 1.2, -1.0]),
            ("truncate", [True, False]),
        ):
            if chance.random() < 0.3:
                found[key] = chance.choice(values)
    if rule == "longrope":
        for key in ("short_factor", "long_factor"):
            count = pairs if chance.random() < 0.85 else pairs + 1
            found[key] = [1 + chance.random() * 8 for _ in range(count)]
    if chance.random() < 0.1:
        found["partial_rotary_factor"] = chance.choice([0.25, 0.5, 1.0, 0.3, 2.0])
    if chance.random() < 0.03:
        found[chance.choice(["alpha", "llama_4_scaling_beta", "mrope_section"])] = 0.1
    return found


def layers(chance: random.Random, config: dict[str, Any], count: int) -> None:
    """What tells layers apart: kinds, windows, flags, layers that share."""
    if chance.random() < 0.3:
        kinds = chance.choice([["full_attention", "sliding_attention"], KINDS])
        length = count if chance.random() < 0.95 else count + 1
        config["layer_types"] = [chance.choice(kinds) for _ in range(length)]
    for key, values, share in (
        ("sliding_window", [None, 128, 1024, 4096, 0], 0.6),
        ("use_sliding_window", [True, False, None], 0.3),
        ("max_window_layers", [0, 2, 28], 0.5),
        ("sliding_window_pattern", [1, 2, 6, "LLLG", 0], 0.1),
        ("global_attn_every_n_layers", [2, 3], 0.1),
        ("full_attention_interval", [2, 4], 0.1),
        ("attention_chunk_size", [None, 8192], 0.3),
        ("no_rope_layer_interval", [0, 2, 4], 0.1),
        ("num_kv_shared_layers", [0, 1, 2], 0.1),
        ("index_topk", [2048], 0.1),
        ("compress_rates", [{"compressed_sparse_attention": 8}, {}], 0.05),
        ("attn_temperature_tuning", [True, False], 0.2),
        ("floor_scale", [8192], 0.2),
        ("attn_scale", [0.1, 0.2, 0], 0.1),
    ):
        if chance.random() < share:
            config[key] = chance.choice(values)
    if chance.random() < 0.08:
        config["no_rope_layers"] = [chance.choice([0, 1]) for _ in range(count)]
    if chance.random() < 0.05:
        config["layer_rope_theta"] = [chance.choice([0, 1e4]) for _ in range(count)]
    if chance.random() < 0.03:
        config["compress_ratios"] = [chance.choice([0, 4, 128]) for _ in range(count + 1)]
    if chance.random() < 0.03:
        config["kv_source_layers"] = [max(0, index - index % 2) for index in range(count)]
    if chance.random() < 0.05:
        config["per_layer_config"] = {
            chance.choice(["1", "01", "x"]): {"head_dim": 32, "num_key_value_heads": 1}
        }


def heads(chance: random.Random, config: dict[str, Any], head_dim: int) -> None:
    """Heads of keys and values, or a latent vector, and how scores are scaled."""
    if chance.random() < 0.7:
        config["head_dim"] = head_dim
    if chance.random() < 0.7:
        config["num_key_value_heads"] = chance.choice([1, 2, 8])
    if chance.random() < 0.15:
        config["qk_rope_head_dim"] = chance.choice([64, 32, 0])
        config["kv_lora_rank"] = chance.choice([512, 256, 0])
        config["qk_nope_head_dim"] = 128
        config["v_head_dim"] = 128
    for key, values, share in (
        ("v_head_dim", [64, 128], 0.1),
        ("global_head_dim", [512], 0.05),
        ("num_global_key_value_heads", [4], 0.05),
        ("attention_k_eq_v", [True, False], 0.05),
        ("swa_num_key_value_heads", [4], 0.05),
        ("swa_head_dim", [64], 0.05),
        ("query_pre_attn_scalar", [168, 256, 0], 0.2),
        ("attention_multiplier", [0.0078125, 1.0], 0.1),
        ("attn_logit_softcapping", [50.0, None], 0.2),
        ("multi_query", [True, False], 0.1),
        ("rotary_dim", [32, 64], 0.05),
        ("partial_rotary_factor", [0.5, 0.25, 1.0], 0.1),
        ("rope_interleave", [True, False], 0.05),
    ):
        if chance.random() < share:
            config[key] = chance.choice(values)


def spoilt(chance: random.Random, config: dict[str, Any]) -> None:
    """Make one thing wrong."""
    key = chance.choice(sorted(config))
    config[key] = chance.choice(["64", -1, 1.5, [], {}, True, None, 1e300, "", [1], {"a": 1}])


def configuration(seed: int) -> dict[str, Any]:
    """The configuration with this number."""
    chance = random.Random(seed)
    count = chance.choice([2, 4, 6, 13])
    head_dim = chance.choice([8, 64, 80, 128, 2])
    config: dict[str, Any] = {
        "num_hidden_layers": count,
        "num_attention_heads": chance.choice([8, 16, 32]),
        "hidden_size": chance.choice([1024, 2048, 2050]),
        "max_position_embeddings": chance.choice([4096, 32768, 131072]),
    }
    kind = some_type(chance)
    if kind is not None:
        config["model_type"] = kind
    if chance.random() < 0.7:
        config["rope_theta"] = chance.choice([1e4, 5e5, 1e6])
    name = chance.choice(["rope_parameters", "rope_scaling", None])
    if name is not None:
        pairs = head_dim // 2
        if chance.random() < 0.15:
            kinds = ["full_attention", "sliding_attention"]
            config[name] = {kind: rope(chance, pairs) for kind in kinds}
        else:
            config[name] = rope(chance, pairs)
    heads(chance, config, head_dim)
    layers(chance, config, count)
    for key, values, share in (
        ("rope_local_base_freq", [1e4], 0.05),
        ("compress_rope_theta", [160000.0], 0.03),
        ("original_max_position_embeddings", [4096], 0.05),
        ("alibi", [True, False], 0.03),
        ("position_embedding_type", ["rope", "absolute"], 0.03),
        ("my_rope_key", [1], 0.02),
        ("rotary_pct", [0.25], 0.03),
    ):
        if chance.random() < share:
            config[key] = chance.choice(values)
    if chance.random() < 0.15:
        spoilt(chance, config)
    if chance.random() < 0.1:
        return {"model_type": "outer", "text_config": config}
    return config

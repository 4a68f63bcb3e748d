"""Rare orders of layers and rare mistakes: the library names them, and the page agrees."""

from typing import Any

import pytest
from test_agreement import check_remarks, compare

from attention_to_rope.checkpoints import rotary_settings
from attention_to_rope.checkpoints.attention_config import layer_groups, layer_kinds
from attention_to_rope.checkpoints.config_remarks import rule_remarks
from attention_to_rope.checkpoints.refusals import ConfigError
from attention_to_rope.checkpoints.rotary import without_other_scales

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}
LLAMA_4 = {**LLAMA, "model_type": "llama4_text", "attention_chunk_size": 128}
COMPRESSED = {
    **LLAMA,
    "model_type": "deepseek_v4",
    "sliding_window": 128,
    "head_dim": 64,
    "qk_rope_head_dim": 16,
}


def without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in keys}


REFUSED = {
    "chunks of no size": (without(LLAMA_4, "attention_chunk_size"), "no_window"),
    "flags for other layers": ({**LLAMA_4, "no_rope_layers": [1, 1, 0]}, "layer_count"),
    "windows from no layer": (
        {**LLAMA, "model_type": "qwen2", "sliding_window": 64, "use_sliding_window": True},
        "no_window",
    ),
    "windows in an unknown order": (
        {**LLAMA, "model_type": "somebody_s_own", "sliding_window": 64},
        "unknown_pattern",
    ),
    "too few rates": ({**COMPRESSED, "compress_ratios": [0, 4, 128]}, "layer_count"),
    "unknown rate": ({**COMPRESSED, "compress_ratios": [0, 4, 128, 7]}, "no_rate"),
    "no heads": (without(LLAMA, "num_attention_heads"), "no_heads"),
    "no width": (without(LLAMA, "hidden_size"), "no_head_dim"),
    "latent heads of no size": (
        {**LLAMA, "kv_lora_rank": 32, "qk_rope_head_dim": 0, "qk_nope_head_dim": 0},
        "no_head_dim",
    ),
    "a word among flags": ({**LLAMA_4, "no_rope_layers": [1, 1, 1, "no"]}, "not_a_list"),
    "a number for a layer": (
        {**LLAMA, "model_type": "gemma4_text", "per_layer_config": {"2": 64}},
        "not_a_dictionary",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_its_reason(name):
    config, reason = REFUSED[name]
    with pytest.raises(ConfigError) as error:
        layer_groups(config)
    assert error.value.reason == reason


ODD = {
    "odd_share": {**LLAMA, "head_dim": 15},
    "not_even": {**LLAMA, "model_type": "minimax_m2", "head_dim": 32, "rotary_dim": 15},
}


@pytest.mark.parametrize("reason", ODD)
def test_an_odd_number_of_dimensions_has_no_pairs(reason):
    with pytest.raises(ConfigError) as error:
        rotary_settings(ODD[reason])
    assert error.value.reason == reason


CHUNKED = "chunked_attention"
FULL = "full_attention"
KINDS = {
    "one of four layers without rotation": (LLAMA_4, [CHUNKED, CHUNKED, CHUNKED, FULL]),
    "one of two": (
        {**LLAMA_4, "no_rope_layer_interval": 2},
        [CHUNKED, FULL, CHUNKED, FULL],
    ),
    "as the flags say, 1 for a rotation": (
        {**LLAMA_4, "no_rope_layers": [0, 1, 1, 1]},
        [FULL, CHUNKED, CHUNKED, CHUNKED],
    ),
    "chunks switched off": ({**LLAMA_4, "attention_chunk_size": None}, [FULL] * 4),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_layers_with_chunks(name):
    config, kinds = KINDS[name]
    assert layer_kinds(config) == kinds


def test_the_page_agrees():
    configs = [config for config, _ in [*REFUSED.values(), *KINDS.values()]]
    counts = compare([*configs, *ODD.values()])
    assert counts["groups refused"] == len(REFUSED)


def test_two_names_of_one_rule_are_a_fault():
    rope = {"rope_type": "yarn", "type": "linear", "factor": 2.0}
    config = {**LLAMA, "rope_scaling": rope}
    assert "two_kinds" in check_remarks([config])
    (said,) = [said for said in rule_remarks(config) if said.name == "two_kinds"]
    assert said.fault


def test_a_scale_of_the_queries_is_not_a_key_of_the_rotation():
    rope = {"rope_type": "default", "rope_theta": 10000.0, "llama_4_scaling_beta": 0.1}
    config = {**without(LLAMA, "rope_theta"), "rope_parameters": rope}
    kept = without_other_scales(config)
    assert kept["rope_parameters"] == {"rope_type": "default", "rope_theta": 10000.0}
    assert {**kept, "rope_parameters": rope} == config
    assert without_other_scales({**LLAMA, "rope_scaling": None})["rope_scaling"] is None

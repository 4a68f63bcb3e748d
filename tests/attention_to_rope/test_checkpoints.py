"""Configurations and weights of released models; `tests/peers` compares with transformers."""

import math

import pytest
import torch

import attention_to_rope as book
from attention_to_rope.checkpoints import load_hugging_face, rotary_settings
from attention_to_rope.context_extension import (
    dynamic_ntk,
    llama3,
    yarn,
    yarn_attention_factor,
)

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "num_key_value_heads": 1,
    "rms_norm_eps": 1e-5,
    "vocab_size": 11,
    "hidden_act": "silu",
    "rope_theta": 1e4,
    "max_position_embeddings": 64,
    # As in released configs; none of these changes a logit.
    **{"bos_token_id": 1, "eos_token_id": 2, "initializer_range": 0.02, "pretraining_tp": 1},
    "use_cache": True,
}
QWEN = LLAMA | {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "head_dim": 6,
    "use_sliding_window": True,
    "sliding_window": 2,
    "max_window_layers": 1,
}
GEMMA = {key: value for key, value in LLAMA.items() if key != "hidden_act"} | {
    "model_type": "gemma3_text",
    "architectures": ["Gemma3ForCausalLM"],
    "head_dim": 6,
    "hidden_activation": "gelu_pytorch_tanh",
    "query_pre_attn_scalar": 5,
    "rope_local_base_freq": 1e3,
    "sliding_window": 2,
    "sliding_window_pattern": 2,
}


def weights(config, **more):
    """Random tensors with the names and shapes of a checkpoint."""
    torch.manual_seed(0)
    d, hidden, heads = config["hidden_size"], config["intermediate_size"], 2
    d_k = config.get("head_dim", d // heads)
    shapes = {"model.embed_tokens.weight": (11, d), "model.norm.weight": (d,)}
    if config["model_type"] != "gemma3_text":
        shapes["lm_head.weight"] = (11, d)
    for i in range(config["num_hidden_layers"]):
        own = f"model.layers.{i}"
        norms = ["input_layernorm", "post_attention_layernorm"]
        if config["model_type"] == "gemma3_text":
            norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
        shapes |= {f"{own}.{norm}.weight": (d,) for norm in norms}
        for letter, size in (("q", heads * d_k), ("k", d_k), ("v", d_k)):
            shapes[f"{own}.self_attn.{letter}_proj.weight"] = (size, d)
            if config.get("attention_bias"):
                shapes[f"{own}.self_attn.{letter}_proj.bias"] = (size,)
        shapes[f"{own}.self_attn.o_proj.weight"] = (d, heads * d_k)
        if config.get("attention_bias"):
            shapes[f"{own}.self_attn.o_proj.bias"] = (d,)
        if config["model_type"] != "llama":
            shapes |= {f"{own}.self_attn.{letter}_norm.weight": (d_k,) for letter in "qk"}
        for name, shape in (("gate", (hidden, d)), ("up", (hidden, d)), ("down", (d, hidden))):
            shapes[f"{own}.mlp.{name}_proj.weight"] = shape
            if config.get("mlp_bias"):
                shapes[f"{own}.mlp.{name}_proj.bias"] = shape[:1]
    return {name: torch.randn(shape, dtype=torch.float64) for name, shape in shapes.items()} | more


def run_by_hand(config, w, text):
    """The three families in plain functions, one layer after the other."""
    gemma, llama = config["model_type"] == "gemma3_text", config["model_type"] == "llama"
    offset, d = 1.0 if gemma else 0.0, config["hidden_size"]
    d_k = config.get("head_dim", d // 2)

    def norm(x, name):
        return book.rms_norm(x, w[name] + offset, eps=1e-5)

    def linear(x, name):
        y = x @ w[f"{name}.weight"].mT
        return y + w[f"{name}.bias"] if f"{name}.bias" in w else y

    x = w["model.embed_tokens.weight"][text] * (d**0.5 if gemma else 1.0)
    for i in range(config["num_hidden_layers"]):
        own = f"model.layers.{i}"
        local = (i + 1) % 2 == 1 if gemma else i >= config.get("max_window_layers", 99)
        y = norm(x, f"{own}.input_layernorm.weight")
        q, k, v = (
            linear(y, f"{own}.self_attn.{letter}_proj").unflatten(-1, (-1, d_k)).transpose(1, 2)
            for letter in "qkv"
        )
        if not llama:
            q = norm(q, f"{own}.self_attn.q_norm.weight")
            k = norm(k, f"{own}.self_attn.k_norm.weight")
        base = 1e3 if gemma and local else 1e4
        table = book.rotary_table(
            torch.arange(text.shape[1]), book.rotary_frequencies(d_k, base), dtype=x.dtype
        )
        q, k = (book.rotate(z, table, layout="half") for z in (q, k))
        mask = book.sliding_window_mask(text.shape[1], window=2 if local else 99)
        scale = 5**-0.5 if gemma else d_k**-0.5
        k, v = (z.expand(-1, 2, -1, -1) for z in (k, v))
        mixed = book.attention(q, k, v, mask=mask, scale=scale).transpose(1, 2).flatten(2)
        y = linear(mixed, f"{own}.self_attn.o_proj")
        after = f"{own}.post_attention_layernorm.weight"
        x = x + (norm(y, after) if gemma else y)
        y = norm(x, f"{own}.pre_feedforward_layernorm.weight" if gemma else after)
        f = book.gelu_tanh if gemma else book.silu
        y = f(linear(y, f"{own}.mlp.gate_proj")) * linear(y, f"{own}.mlp.up_proj")
        y = linear(y, f"{own}.mlp.down_proj")
        x = x + (norm(y, f"{own}.post_feedforward_layernorm.weight") if gemma else y)
    head = w["model.embed_tokens.weight"] if gemma else w["lm_head.weight"]
    return norm(x, "model.norm.weight") @ head.mT


@pytest.mark.parametrize(
    "config",
    [
        LLAMA,
        LLAMA | {"attention_bias": True},
        LLAMA | {"attention_bias": True, "mlp_bias": True},
        QWEN,
        GEMMA,
    ],
    ids=["llama", "llama, one bias", "llama, all biases", "qwen3", "gemma3"],
)
def test_a_loaded_model_computes_what_its_family_computes(config):
    text, w = torch.tensor([[1, 5, 2, 9, 10]]), weights(config)
    model = load_hugging_face(config, w)
    torch.testing.assert_close(model(text), run_by_hand(config, w, text))
    first, caches = model.extend(text[:, :3], model.empty_caches())
    rest, _ = model.extend(text[:, 3:], caches)
    torch.testing.assert_close(torch.cat((first, rest), dim=1), model(text))
    w["model.norm.weight"].zero_()  # the model has its own copy
    assert model.norm.gain.abs().sum() > 0


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (LLAMA | {"model_type": "mamba"}, "model_type must be one of"),
        (LLAMA | {"architectures": ["MixtralForCausalLM"]}, "architectures must be"),
        (LLAMA | {"partial_rotary_factor": 0.5}, "rotates all"),
        (LLAMA | {"rope_scaling": {"partial_rotary_factor": 0.5}}, "rotates all"),
        (LLAMA | {"residual_multiplier": 2.0}, "not known for llama: residual_multiplier"),
        (LLAMA | {"vocab_size": None}, "lacks vocab_size"),
        (LLAMA | {"hidden_act": "tanh"}, "hidden_act must be one of"),
        (GEMMA | {"attn_logit_softcapping": 50.0}, "must be off"),
        (GEMMA | {"rope_local_base_freq": None, "layer_types": ["chunked"] * 2}, "layer_types"),
        (QWEN | {"sliding_window": None}, "layer_types must name"),
        (
            LLAMA | {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
            "depends on the length",
        ),
        (LLAMA | {"vocab_size": 12}, "must fit embedding.rows"),
        (LLAMA | {"num_hidden_layers": 3}, "state_dict has no 'model.layers.2"),
        (LLAMA | {"num_hidden_layers": 1}, "does not have"),
        (LLAMA | {"tie_word_embeddings": True}, "differ"),
    ],
)
def test_what_the_loader_does_not_know_it_refuses(config, message):
    own = config if config["model_type"] in ("qwen3", "gemma3_text") else LLAMA
    with pytest.raises(ValueError, match=message):
        load_hugging_face(config, weights(own))


def test_tensors_of_two_dtypes_are_refused_and_old_frequencies_ignored():
    mixed = weights(LLAMA, **{"model.norm.weight": torch.ones(8)})
    with pytest.raises(ValueError, match="one dtype"):
        load_hugging_face(LLAMA, mixed)
    stored = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(2)}
    load_hugging_face(LLAMA, weights(LLAMA, **stored))
    tied = LLAMA | {"tie_word_embeddings": True}
    w = weights(LLAMA)
    load_hugging_face(tied, w | {"lm_head.weight": w["model.embed_tokens.weight"]})


def test_gemma_reads_hidden_activation_and_no_other_key():
    text, w = torch.tensor([[1, 5, 2]]), weights(GEMMA)
    both = load_hugging_face(GEMMA | {"hidden_act": "silu"}, w)
    torch.testing.assert_close(both(text), run_by_hand(GEMMA, w, text))
    nested = {key: value for key, value in GEMMA.items() if key != "rope_local_base_freq"}
    with pytest.raises(ValueError, match="no base for local layers"):
        load_hugging_face(nested | {"rope_parameters": {"rope_theta": 1e4}}, w)
    parameters = {"full_attention": {"rope_theta": 1e4}, "sliding_attention": {"rope_theta": 1e3}}
    model = load_hugging_face(nested | {"rope_parameters": parameters}, w)
    torch.testing.assert_close(model(text), both(text))


def test_a_rotation_that_depends_on_the_length_is_fixed_for_one():
    scaling = {"rope_type": "dynamic", "factor": 4.0}
    model = load_hugging_face(LLAMA | {"rope_scaling": scaling}, weights(LLAMA), length=128)
    expected = dynamic_ntk(book.rotary_frequencies(4), 4.0, length=128, original_length=64)
    torch.testing.assert_close(model.layers[0].scheme.frequencies, expected)


BASE = {"head_dim": 64, "rope_theta": 1e4, "max_position_embeddings": 4096}
THETA = book.rotary_frequencies(64)
LONG = {"original_max_position_embeddings": 1024}


@pytest.mark.parametrize(
    ("scaling", "expected"),
    [
        ({}, (THETA, 1.0, 1.0)),
        ({"type": "linear", "factor": 4}, (THETA / 4, 1.0, 1.0)),
        ({"rope_type": "mrope", "mrope_section": [8, 12, 12]}, (THETA, 1.0, 1.0)),
        (
            {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}
            | LONG,
            (llama3(THETA, 8, original_length=1024), 1.0, 1.0),
        ),
        (
            {"rope_type": "yarn", "factor": 4} | LONG,
            (yarn(THETA, 4, original_length=1024), yarn_attention_factor(4), 1.0),
        ),
        (
            {"rope_type": "yarn"} | LONG,  # the factor is the quotient of the lengths
            (yarn(THETA, 4, original_length=1024), yarn_attention_factor(4), 1.0),
        ),
        (
            {"rope_type": "yarn", "factor": 4, "mscale": 1, "mscale_all_dim": 0.5} | LONG,
            (
                yarn(THETA, 4, original_length=1024),
                yarn_attention_factor(4) / yarn_attention_factor(4, 0.5),
                yarn_attention_factor(4, 0.5) ** 2,
            ),
        ),
        (
            {"rope_type": "yarn", "factor": 4, "attention_factor": 1.5, "truncate": False},
            (yarn(THETA, 4, original_length=4096, truncate=False), 1.5, 1.0),
        ),
        (
            {"rope_type": "su", "short_factor": [2.0] * 32, "long_factor": [3.0] * 32} | LONG,
            (THETA / 2, math.sqrt(1 + math.log(4) / math.log(1024)), 1.0),
        ),
        (
            {"rope_type": "longrope", "short_factor": [2.0] * 32, "attention_factor": 1.2} | LONG,
            (THETA / 2, 1.2, 1.0),
        ),
        (
            {"rope_type": "proportional", "partial_rotary_factor": 0.5},
            (book.proportional_frequencies(64, share=0.5), 1.0, 1.0),
        ),
    ],
)
def test_rotary_settings_read_what_a_config_says(scaling, expected):
    got = rotary_settings(BASE | {"rope_scaling": scaling})
    torch.testing.assert_close(got.frequencies, expected[0])
    assert (got.attention_factor, got.score_factor) == pytest.approx(expected[1:])


def test_where_the_parts_of_a_config_may_be():
    neox = {
        "hidden_size": 128,
        "num_attention_heads": 2,
        "rotary_emb_base": 1e4,
        "rotary_pct": 0.25,
    }
    got = rotary_settings(neox | {"model_type": "gpt_neox"})
    assert (got.head_dim, got.rotary_dim, got.layout) == (64, 16, "half")
    long = {"rope_type": "longrope", "short_factor": [2.0] * 32, "long_factor": [3.0] * 32} | LONG
    far = rotary_settings(BASE | {"rope_scaling": long}, length=2000)
    torch.testing.assert_close(far.frequencies, THETA / 3)
    dynamic = {"rope_type": "dynamic", "factor": 2.0}
    assert torch.equal(rotary_settings(BASE | {"rope_parameters": dynamic}).frequencies, THETA)


@pytest.mark.parametrize("model", ["deepseek_v3", "glm4_moe_lite", "mistral4"])
def test_rope_interleave_switches_the_layout(model):
    config = {"model_type": model, "head_dim": 64, "rope_theta": 1e4}
    assert rotary_settings(config).layout == "interleaved"
    assert rotary_settings(config | {"rope_interleave": True}).layout == "interleaved"
    assert rotary_settings(config | {"rope_interleave": False}).layout == "half"
    assert rotary_settings(config | {"model_type": "other"}).layout is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"head_dim": 64}, "names no base"),
        ({"rope_theta": 1e4}, "names no head dim"),
        (BASE | {"rope_scaling": {"rope_type": "new"}}, "must be one of"),
        (BASE | {"rope_scaling": {"rope_type": "linear", "factor": 2, "x": 1}}, "unknown keys"),
        (BASE | {"rope_scaling": {"rope_type": "linear"}}, "needs 'factor'"),
        (BASE | {"model_type": "glm"}, "partial_rotary_factor"),
        (BASE | {"rope_parameters": {"full_attention": {}}}, "layer_type must be one of"),
    ],
)
def test_nothing_is_guessed(config, message):
    with pytest.raises(ValueError, match=message):
        rotary_settings(config)

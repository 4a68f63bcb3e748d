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
    config = {"model_type": model, "head_dim": 64, "rope_parameters": {"rope_theta": 1e4}}
    assert rotary_settings(config).layout == "interleaved"
    assert rotary_settings(config | {"rope_interleave": True}).layout == "interleaved"
    assert rotary_settings(config | {"rope_interleave": False}).layout == "half"
    assert rotary_settings(config | {"model_type": "other"}).layout is None
    llama = config | {"model_type": "llama"}
    assert rotary_settings(llama).layout == "half"
    assert rotary_settings(llama | {"rope_interleave": True}).layout is None  # not in its code


@pytest.mark.usefixtures("unchecked")
def test_a_layout_that_is_not_known_is_asked_for():
    settings = rotary_settings(BASE | {"model_type": "other"})
    with pytest.raises(ValueError, match="layout must be 'half' or 'interleaved', got None"):
        book.Rotary(settings.frequencies, layout=settings.layout)


NESTED = {
    "sliding_attention": {"rope_theta": 1e4},
    "full_attention": {
        "rope_type": "proportional",
        "rope_theta": 1e6,
        "partial_rotary_factor": 0.25,
    },
}
GEMMA_4 = {"model_type": "gemma4_text", "head_dim": 256, "rope_parameters": NESTED}
DEEPSEEK_V4 = {
    "model_type": "deepseek_v4",
    "head_dim": 512,
    "qk_rope_head_dim": 64,
    "rope_theta": 1e4,
    "compress_rope_theta": 1.6e5,
    "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536},
}
SMOLLM3 = {
    "model_type": "smollm3",
    "head_dim": 64,
    "rope_theta": 5e6,
    "num_hidden_layers": 4,
    "no_rope_layers": [1, 1, 1, 0],
}
MODERNBERT = {"head_dim": 64, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0}
TYPES = ["sliding_attention"] * 5 + ["full_attention"]
GRANITE_SWA = {"model_type": "granite_swa", "head_dim": 64, "layer_rope_theta": [1e4, 5e4, 0]}


@pytest.mark.parametrize(
    ("config", "options", "rotary_dim", "base"),
    [
        ({"model_type": "minimax_m2", "head_dim": 128, "rotary_dim": 64}, {}, 64, 5e6),
        ({"model_type": "gptj", "n_embd": 4096, "n_head": 16, "rotary_dim": 64}, {}, 64, 1e4),
        ({"model_type": "jetmoe", "kv_channels": 128, "hidden_size": 2048}, {}, 128, 5e6),
        (GEMMA_4, {"layer_type": "sliding_attention"}, 256, 1e4),
        (GEMMA_4 | {"global_head_dim": 512}, {"layer_type": "full_attention"}, 512, 1e6),
        (GEMMA_4 | {"global_head_dim": 512}, {"layer_type": "sliding_attention"}, 256, 1e4),
        (
            GEMMA_4 | {"per_layer_config": {"05": {"head_dim": 512}}, "layer_types": TYPES},
            {"layer": 5},
            512,
            1e6,
        ),
        (
            GEMMA_4 | {"per_layer_config": {"05": {"head_dim": 512}}, "layer_types": TYPES},
            {"layer_type": "sliding_attention"},
            256,
            1e4,
        ),
        ({"head_dim": 128, "qk_rope_head_dim": 64, "partial_rotary_factor": 0.5}, {}, 64, 5e6),
        (DEEPSEEK_V4, {"layer_type": "main"}, 64, 1e4),
        (DEEPSEEK_V4, {"layer_type": "compress"}, 64, 1.6e5),
        (DEEPSEEK_V4 | {"rope_scaling": None}, {"layer_type": "compress"}, 64, 1.6e5),
        (SMOLLM3, {"layer": 0}, 64, 5e6),
        (SMOLLM3, {"layer": 3}, 0, 5e6),
        (SMOLLM3 | {"no_rope_layers": None, "no_rope_layer_interval": 2}, {"layer": 1}, 0, 5e6),
        (GRANITE_SWA, {"layer": 1}, 64, 5e4),
        (GRANITE_SWA, {"layer": 2}, 0, 0.0),
        (MODERNBERT, {"layer_type": "full_attention"}, 64, 160000.0),
        (MODERNBERT, {"layer_type": "sliding_attention"}, 64, 10000.0),
        ({"model_type": "cohere2", "head_dim": 64}, {"layer_type": "full_attention"}, 0, 5e6),
        ({"model_type": "cohere2", "head_dim": 64}, {"layer_type": "sliding_attention"}, 64, 5e6),
        (
            {"model_type": "exaone4", "head_dim": 64, "sliding_window": 8, "layer_types": TYPES},
            {"layer": 5},
            0,
            5e6,
        ),
        ({"model_type": "exaone4", "head_dim": 64, "sliding_window": None}, {}, 64, 5e6),
        ({"head_dim": 64, "qk_rope_head_dim": 0}, {}, 0, 5e6),
        ({"qk_rope_head_dim": 32}, {}, 32, 5e6),
        (
            {"head_dim": 8, "rope_parameters": {"full_attention": None, "sliding_attention": {}}},
            {"layer_type": "full_attention"},
            0,
            5e6,
        ),
        ({"text_config": {"head_dim": 64, "rope_theta": 5e6}}, {}, 64, 5e6),
    ],
)
def test_what_may_differ_between_layers_and_models(config, options, rotary_dim, base):
    named = {"rope_theta", "text_config", "rope_parameters", "layer_rope_theta"} & config.keys()
    if not named and config.get("model_type") != "gptj" and config is not MODERNBERT:
        config = config | {"rope_theta": 5e6}
    if "full_attention" in config.get("rope_parameters", {}) and rotary_dim == 0:
        config = config | {"rope_theta": 5e6}
    settings = rotary_settings(config, **options)
    assert (settings.rotary_dim, settings.base) == (rotary_dim, base)
    assert 2 * len(settings.frequencies) == rotary_dim


def test_deepseek_v4_scales_compressed_layers_alone():
    main = rotary_settings(DEEPSEEK_V4, layer_type="main")
    torch.testing.assert_close(main.frequencies, book.rotary_frequencies(64))
    compressed = rotary_settings(DEEPSEEK_V4, layer_type="compress")
    expected = yarn(book.rotary_frequencies(64, 1.6e5), 16, original_length=65536)
    torch.testing.assert_close(compressed.frequencies, expected)
    assert compressed.attention_factor == 1


def test_a_layer_that_does_not_rotate_changes_nothing():
    settings = rotary_settings(SMOLLM3, layer=3)
    scheme = book.Rotary(settings.frequencies, layout="half", rotary_dim=settings.rotary_dim)
    x = torch.randn(1, 2, 5, 64)
    assert torch.equal(scheme.rotate(x, torch.arange(5)), x)


def test_truncate_is_read_where_transformers_reads_it():
    inside = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4} | LONG
    nested = {"full_attention": inside, "truncate": False}
    config = {"head_dim": 64, "rope_parameters": nested}
    got = rotary_settings(config, layer_type="full_attention").frequencies
    torch.testing.assert_close(got, yarn(THETA, 4, original_length=1024, truncate=False))


def test_only_some_codes_have_the_factor_on_all_scores():
    scaling = {"rope_type": "yarn", "factor": 4, "mscale_all_dim": 0.5, "rope_theta": 1e4} | LONG
    config = {"head_dim": 64, "rope_parameters": scaling}
    assert rotary_settings(config | {"model_type": "ministral3"}).score_factor == 1
    expected = yarn_attention_factor(4, 0.5) ** 2
    assert rotary_settings(config | {"model_type": "deepseek_v3"}).score_factor == expected


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
        (BASE | {"rope_pct": 0.25}, "not known: rope_pct"),
        (BASE | {"my_scaling": 2, "theta": 3}, "not known: my_scaling, theta"),
        ({"text_config": BASE | {"rotary_fraction": 0.5}}, "not known: rotary_fraction"),
        ({"text_config": BASE, "rope_theta": 5.0}, "'rope_theta'.* beside text_config"),
        (BASE | {"per_layer_config": {"0": {"rope_bias": 1}}}, "not known: rope_bias"),
        (
            BASE | {"rope_parameters": {"rope_theta": 1e4}, "rope_scaling": {"type": "linear"}},
            "both rope_parameters and rope_scaling",
        ),
        (
            BASE | {"rope_parameters": {"rope_type": "yarn", "llama_4_scaling_beta": 0.1}},
            "llama_4_scaling_beta",
        ),
        (BASE | {"model_type": "ernie4_5_vl_moe"}, "time, height and width"),
        (BASE | {"position_embedding_type": "nope"}, "does not rotate"),
        (BASE | {"model_type": "granitemoehybrid"}, "does not rotate"),
        (BASE | {"alibi": True}, "'alibi'"),
        (BASE | {"use_mem_rope": False}, "'use_mem_rope'"),
        (BASE | {"rotary_value": True}, "rotary_value"),
        (BASE | {"model_type": "llama", "rotary_pct": 0.5}, "does not read rotary_pct"),
        (BASE | {"model_type": "gpt_neox"}, "does not read rope_theta"),
        (BASE | {"model_type": "gpt_oss"}, "parameters of their own"),
        (BASE | {"model_type": "gptj", "rope_theta": 5.0}, "have the base 10000"),
        (
            BASE | {"model_type": "cohere2_moe", "rope_scaling": {"type": "linear", "factor": 2}},
            "does not read rope_scaling",
        ),
        (BASE | {"model_type": "llama", "partial_rotary_factor": 0.5}, "all of each head"),
        (BASE | {"partial_rotary_factor": 4.0}, "at most 1"),
        (BASE | {"partial_rotary_factor": 0.33}, "must be even"),
        (BASE | {"partial_rotary_factor": 0.5, "rotary_dim": 16}, "rotary_dim 16"),
        (BASE | {"partial_rotary_factor": 0.5, "qk_rope_head_dim": 64}, "qk_rope_head_dim 64"),
        (BASE | {"model_type": "llama", "rotary_dim": 32}, "does not read rotary_dim"),
        (BASE | {"rope_scaling_layers": [0], "num_hidden_layers": 2}, "rope_scaling_layers"),
        (BASE | {"num_hidden_layers": 2, "no_rope_layers": [0, 1]}, "differ in 'no_rope_layers'"),
        (BASE | {"layer_rope_theta": [5.0, 5.0]}, "layer_rope_theta says 5.0"),
        (BASE | {"num_hidden_layers": 9, "no_rope_layers": [1, 1]}, "entries: 2"),
        (BASE | {"model_type": "cohere2"}, "layers differ in models of type 'cohere2'"),
    ],
)
def test_nothing_is_guessed(config, message):
    with pytest.raises(ValueError, match=message):
        rotary_settings(config)


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ({"full_attention": {}, "factor": 2}, "factor beside those"),
        ({"full_attention": {"truncate": False}}, "'truncate'"),
    ],
)
def test_keys_beside_and_inside_kinds_of_layers(nested, message):
    with pytest.raises(ValueError, match=message):
        rotary_settings(BASE | {"rope_parameters": nested}, layer_type="full_attention")

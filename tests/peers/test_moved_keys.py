"""What the page on configurations says of transformers: keys that moved, and flags."""

from transformers import (
    CONFIG_MAPPING,
    DeepseekV4Config,
    Gemma3TextConfig,
    GPTNeoXConfig,
    LlamaConfig,
    SmolLM3Config,
)

from bookkit.published import reported

YARN = {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536}


def configurations():
    """Every kind of configuration that can be made without arguments."""
    for name in CONFIG_MAPPING:
        try:
            yield CONFIG_MAPPING[name]()
        except Exception:  # some need arguments, or packages that are not here
            continue


def test_nearly_no_configuration_has_the_base_as_an_attribute():
    with_rope = [one for one in configurations() if getattr(one, "rope_parameters", None)]
    with_base = [one for one in with_rope if hasattr(one, "rope_theta")]
    assert len(with_rope) == reported("transformers 5.23.0", "with rope")
    assert len(with_base) == reported("transformers 5.23.0", "with rope_theta")


def test_the_old_form_is_read_into_the_new_one():
    llama = LlamaConfig(rope_theta=500_000.0)
    assert getattr(llama, "rope_theta", 10_000) == 10_000
    assert llama.rope_parameters["rope_theta"] == 500_000.0
    assert llama.rope_scaling == llama.rope_parameters  # so it is never empty
    neox = GPTNeoXConfig(rotary_pct=0.5, rotary_emb_base=20_000)
    assert neox.rope_parameters["partial_rotary_factor"] == 0.5
    assert neox.rope_parameters["rope_theta"] == 20_000
    gemma = Gemma3TextConfig(rope_theta=2e6, rope_local_base_freq=3e4).rope_parameters
    assert gemma["full_attention"]["rope_theta"] == 2e6
    assert gemma["sliding_attention"]["rope_theta"] == 3e4


def test_one_in_no_rope_layers_means_that_a_layer_rotates():
    layers = SmolLM3Config(num_hidden_layers=8, no_rope_layer_interval=4).no_rope_layers
    assert layers == [1, 1, 1, 0, 1, 1, 1, 0]
    assert "`1` at an index position indicates that the corresponding layer will use RoPE" in (
        SmolLM3Config.__doc__
    )


def test_deepseek_v4_rotates_in_two_ways():
    rope = DeepseekV4Config(rope_scaling=YARN).rope_parameters
    main, compressed = rope["main"], rope["compress"]
    assert main["rope_type"] == "default"
    assert main["rope_theta"] == reported("DeepSeek-V4, rotation", "base")
    assert compressed["rope_theta"] == reported(
        "DeepSeek-V4, rotation", "base of compressed layers"
    )
    assert compressed["attention_factor"] == 1.0  # YaRN without its factor
    assert compressed["rope_type"] == "yarn"

"""Checkpoints of `transformers`, randomly initialised: our decoders give the same logits."""

import dataclasses
import re

import pytest
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from attention_to_rope import Decoder, generate
from attention_to_rope.checkpoints import load_hugging_face
from bookformat.notebooks import page_text
from bookformat.paths import CHAPTERS
from bookkit import book_model
from one_file.llama import Config, Model

LENGTH = 40
SMALL = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": None,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 16,
}
LINEAR = {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
LOCAL, GLOBAL = "sliding_attention", "full_attention"
CASES: dict[str, tuple[type[PreTrainedModel], type[PreTrainedConfig], dict[str, object]]] = {
    "Llama": (LlamaForCausalLM, LlamaConfig, {}),
    "Llama 3.1": (LlamaForCausalLM, LlamaConfig, {"rope_parameters": LLAMA3}),
    "Llama, tied": (LlamaForCausalLM, LlamaConfig, {"tie_word_embeddings": True}),
    "Llama, wide heads": (LlamaForCausalLM, LlamaConfig, {"head_dim": 12}),
    "Llama, multi-query": (LlamaForCausalLM, LlamaConfig, {"num_key_value_heads": 1}),
    "Llama, biases": (LlamaForCausalLM, LlamaConfig, {"attention_bias": True, "mlp_bias": True}),
    "Llama, attention's biases": (LlamaForCausalLM, LlamaConfig, {"attention_bias": True}),
    "Llama, linear": (LlamaForCausalLM, LlamaConfig, {"rope_parameters": LINEAR}),
    "Llama, YaRN": (LlamaForCausalLM, LlamaConfig, {"rope_parameters": YARN}),
    "Llama, dynamic": (
        LlamaForCausalLM,
        LlamaConfig,
        {"rope_parameters": DYNAMIC, "max_position_embeddings": 16},
    ),
    "Qwen 3": (Qwen3ForCausalLM, Qwen3Config, {"head_dim": 16}),
    "Qwen 3, tied": (Qwen3ForCausalLM, Qwen3Config, {"head_dim": 8, "tie_word_embeddings": True}),
    "Qwen 3, YaRN": (Qwen3ForCausalLM, Qwen3Config, {"head_dim": 16, "rope_parameters": YARN}),
    "Qwen 3, window": (
        Qwen3ForCausalLM,
        Qwen3Config,
        {"head_dim": 8, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
    ),
    "Gemma 3": (
        Gemma3ForCausalLM,
        Gemma3TextConfig,
        {"head_dim": 16, "sliding_window": 6, "num_hidden_layers": 7},
    ),
    "Gemma 3, scaled": (
        Gemma3ForCausalLM,
        Gemma3TextConfig,
        {
            "head_dim": 8,
            "sliding_window": 1,
            "query_pre_attn_scalar": 12,
            "layer_types": [LOCAL, GLOBAL, LOCAL],
            "rope_parameters": {
                LOCAL: {"rope_type": "default", "rope_theta": 1e4},
                GLOBAL: LINEAR,
            },
        },
    ),
}


def pair(name: str, seed: int = 0) -> tuple[PreTrainedModel, Decoder]:
    """Their model with random weights, gains and biases included, and ours with the same."""
    model_type, config_type, options = CASES[name]
    model = model_type(config_type(**(SMALL | options))).eval().requires_grad_(False)
    torch.manual_seed(seed)
    for parameter in model.parameters():
        # Their start is too tame to tell one model from another: zero biases, equal gains.
        parameter.copy_(torch.randn_like(parameter) * (0.15 if parameter.ndim == 2 else 0.5) + 0.05)
    model.tie_weights()
    # Where the rotation depends on the length, it is fixed for the length of the comparison.
    return model, load_hugging_face(model.config.to_dict(), model.state_dict(), length=LENGTH)


@pytest.mark.parametrize("name", CASES)
def test_logits_are_equal(name: str) -> None:
    model, decoder = pair(name)
    tokens = torch.randint(0, SMALL["vocab_size"], (2, LENGTH))
    with torch.no_grad():
        theirs, ours = model(tokens).logits, decoder(tokens)
    assert theirs.std() > 0.1
    assert (ours - theirs).abs().max() <= 1e-5


@pytest.mark.parametrize("name", CASES)
def test_the_model_in_one_file_gives_the_same_logits_or_refuses(name: str) -> None:
    model, _ = pair(name)
    config = model.config.to_dict()
    if re.search("Gemma|biases|dynamic|window", name):
        with pytest.raises(ValueError, match="expected"):
            Model(Config.from_dict(config))
        return
    one_file = Model(Config.from_dict(config)).load(model.state_dict())
    tokens = torch.randint(0, SMALL["vocab_size"], (2, LENGTH))
    with torch.no_grad():
        assert (one_file(tokens)[0] - model(tokens).logits).abs().max() <= 1e-5


def test_in_long_texts_of_a_trained_model_rounded_frequencies_separate_the_logits() -> None:
    """The bound of the tests above is one of short texts; the pages and docstrings say so."""
    one_file = book_model().eval()
    config = dataclasses.asdict(one_file.config)
    del config["qk_norm"]
    config["eos_token_id"] = None  # an empty tuple there
    model = LlamaForCausalLM(LlamaConfig(**config)).eval()
    weights = one_file.state_dict()
    head = {"lm_head.weight": weights.pop("lm_head.weight")}
    model.load_state_dict({f"model.{name}": weight for name, weight in weights.items()} | head)
    decoder = load_hugging_face(model.config.to_dict(), model.state_dict())
    tokens = torch.randint(0, 256, (1, 1024), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        theirs = model(tokens).logits
        of_decoder = (decoder(tokens) - theirs).abs()
        of_one_file = (one_file(tokens)[0] - theirs).abs()
        one_file.frequencies = model.model.rotary_emb.inv_freq.clone()
        with_their_frequencies = (one_file(tokens)[0] - theirs).abs()
    for difference in (of_decoder, of_one_file):
        assert difference[:, :LENGTH].max() <= 5e-5
        assert 1e-5 < difference.max() <= 5e-4
    assert of_decoder.max() > 2 * of_decoder[:, :LENGTH].max()
    assert with_their_frequencies.max() <= 1e-5


@pytest.mark.parametrize("name", ["Llama 3.1", "Qwen 3, window", "Gemma 3"])
def test_greedy_tokens_are_equal(name: str) -> None:
    model, decoder = pair(name)
    prompt = torch.randint(0, SMALL["vocab_size"], (1, 5))
    theirs = model.generate(
        prompt, max_new_tokens=20, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    assert torch.equal(generate(decoder, prompt, 20), theirs)
    assert torch.equal(generate(decoder, prompt, 20, capacity=32), theirs)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("Qwen 3", "rms_norm_eps", 0.01),
        ("Gemma 3", "sliding_window", 7),
        ("Gemma 3", "query_pre_attn_scalar", 20),
        ("Llama 3.1", "rope_parameters", LLAMA3 | {"factor": 2.0}),
    ],
)
def test_a_wrong_config_is_seen(name: str, key: str, value: object) -> None:
    """The comparison above is sharp: one setting off and the logits differ."""
    model, _ = pair(name)
    wrong = load_hugging_face(model.config.to_dict() | {key: value}, model.state_dict())
    tokens = torch.randint(0, SMALL["vocab_size"], (2, LENGTH))
    with torch.no_grad():
        assert (wrong(tokens) - model(tokens).logits).abs().max() > 1e-3


def test_one_file_names_the_length_of_these_texts() -> None:
    words = {40: "forty"}
    assert f"on texts of {words[LENGTH]} tokens" in page_text(CHAPTERS / "one-file.ipynb")

"""The parameters of every family of `bookkit.weights`, against transformers on "meta"."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from bookkit.weights import FAMILIES, config_weights

SMALL = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_hidden_layers": 3,
    "vocab_size": 101,
}
EXPERTS = {"num_local_experts": 5, "num_experts": 5, "num_experts_per_tok": 2}
CHANGES = [{}, {"tie_word_embeddings": True}, {"attention_bias": True, "mlp_bias": True}]


@pytest.mark.parametrize("change", CHANGES, ids=["plain", "tied", "biases"])
@pytest.mark.parametrize("family", FAMILIES)
def test_parameters(family: str, change: dict) -> None:
    given = {**SMALL, **change, "pad_token_id": 0}
    if FAMILIES[family].experts is not None:
        given |= EXPERTS | {"moe_intermediate_size": 24}
    if family == "mistral" or family == "mixtral" or family == "qwen2":
        given.pop("attention_bias", None)  # the class does not read it
    config = AutoConfig.for_model(family, **given)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    theirs = sum(parameter.numel() for parameter in model.parameters())
    ours = config_weights(config.to_dict())
    assert ours is not None
    assert ours.parameters == theirs
    if FAMILIES[family].experts is None and config.tie_word_embeddings:
        assert ours.multiplied == theirs

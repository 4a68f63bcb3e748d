"""The model in one file gives the logits of `transformers` for the same weights."""

import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from attention_to_rope.model import Config, Model

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
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 16,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
LINEAR = {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}
LLAMA, QWEN3 = (LlamaForCausalLM, LlamaConfig), (Qwen3ForCausalLM, Qwen3Config)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        (LLAMA, {}),
        (LLAMA, {"tie_word_embeddings": True}),
        (LLAMA, {"rope_parameters": LLAMA3, "head_dim": 12}),
        (LLAMA, {"rope_parameters": YARN}),
        (LLAMA, {"rope_parameters": LINEAR, "num_key_value_heads": 1}),
        (QWEN3, {"head_dim": 16}),
        (QWEN3, {"head_dim": 16, "rope_parameters": YARN}),
    ],
)
def test_the_logits_are_those_of_transformers(
    family: tuple[type[PreTrainedModel], type[PreTrainedConfig]], changes: dict[str, object]
) -> None:
    torch.manual_seed(0)
    theirs = family[0](family[1](**SMALL | changes)).eval()
    for weight in theirs.parameters():  # as large as trained ones, so that a difference shows
        if weight.dim() == 2:
            torch.nn.init.normal_(weight, std=0.2)
        else:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    ours = Model(Config.from_dict(theirs.config.to_dict())).load(theirs.state_dict())
    tokens = torch.randint(97, (2, LENGTH))
    with torch.no_grad():
        expected, found = theirs(tokens).logits, ours(tokens)[0]
    assert expected.abs().max() > 1
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

"""`rotary_settings` reads the configurations of transformers as transformers does."""

import pytest
import torch
from transformers import (
    DeepseekV3Config,
    Gemma3TextConfig,
    GlmConfig,
    GPTNeoXConfig,
    LlamaConfig,
    Qwen3Config,
)
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3RotaryEmbedding
from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding
from transformers.models.glm.modeling_glm import GlmRotaryEmbedding
from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXRotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.qwen3.modeling_qwen3 import Qwen3RotaryEmbedding

import attention_to_rope as book

LLAMA_3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 1e6,
    "factor": 4.0,
    "original_max_position_embeddings": 32768,
}


@pytest.mark.parametrize(
    ("config", "rotary"),
    [
        (LlamaConfig(), LlamaRotaryEmbedding),
        (LlamaConfig(rope_parameters=LLAMA_3), LlamaRotaryEmbedding),
        (Qwen3Config(rope_parameters=YARN), Qwen3RotaryEmbedding),
        (GPTNeoXConfig(), GPTNeoXRotaryEmbedding),
        (GlmConfig(), GlmRotaryEmbedding),
        (DeepseekV3Config(), DeepseekV3RotaryEmbedding),
    ],
)
def test_frequencies_and_factor(config, rotary) -> None:  # type: ignore[no-untyped-def]
    theirs = rotary(config)
    ours = book.rotary_settings(config.to_dict())
    assert torch.allclose(theirs.inv_freq.double(), ours.frequencies, rtol=2e-6, atol=0)
    assert ours.attention_factor == pytest.approx(theirs.attention_scaling, rel=1e-12)


@pytest.mark.parametrize("layer_type", ["full_attention", "sliding_attention"])
def test_gemma_3_has_two_bases(layer_type: str) -> None:
    config = Gemma3TextConfig()
    theirs = getattr(Gemma3RotaryEmbedding(config), f"{layer_type}_inv_freq")
    ours = book.rotary_settings(config.to_dict(), layer_type=layer_type)
    assert torch.allclose(theirs.double(), ours.frequencies, rtol=2e-6, atol=0)

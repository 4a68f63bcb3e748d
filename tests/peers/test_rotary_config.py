"""`rotary_settings` reads the configurations of transformers as transformers does."""

import pytest
import torch
from transformers import (
    DeepseekV3Config,
    Gemma3TextConfig,
    GlmConfig,
    GPTNeoXConfig,
    LlamaConfig,
    Qwen2VLTextConfig,
    Qwen3Config,
    Qwen3VLTextConfig,
)
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3RotaryEmbedding
from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding
from transformers.models.glm.modeling_glm import GlmRotaryEmbedding
from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXRotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLRotaryEmbedding
from transformers.models.qwen3.modeling_qwen3 import Qwen3RotaryEmbedding
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRotaryEmbedding

import attention_to_rope as book
from attention_to_rope import rope_axes
from attention_to_rope.checkpoints import rotary_settings

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
def test_frequencies_and_factor(config, rotary) -> None:
    theirs = rotary(config)
    ours = rotary_settings(config.to_dict())
    assert torch.allclose(theirs.inv_freq.double(), ours.frequencies, rtol=2e-6, atol=0)
    assert ours.attention_factor == pytest.approx(theirs.attention_scaling, rel=1e-12)


@pytest.mark.parametrize("layer_type", ["full_attention", "sliding_attention"])
def test_gemma_3_has_two_bases(layer_type: str) -> None:
    config = Gemma3TextConfig()
    theirs = getattr(Gemma3RotaryEmbedding(config), f"{layer_type}_inv_freq")
    ours = rotary_settings(config.to_dict(), layer_type=layer_type)
    assert torch.allclose(theirs.double(), ours.frequencies, rtol=2e-6, atol=0)


@pytest.mark.parametrize("interleaved", [False, True])
def test_multimodal_rotation_of_qwen(interleaved: bool) -> None:
    """Sections of pairs for time, height and width; Qwen3-VL deals them in turn."""
    sections = [24, 20, 20] if interleaved else [16, 24, 24]
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": sections}
    options = {"hidden_size": 128, "num_attention_heads": 1, "rope_parameters": rope}
    if interleaved:
        theirs = Qwen3VLTextRotaryEmbedding(Qwen3VLTextConfig(head_dim=128, **options))
        axes = rope_axes.axes_interleaved(sections)
    else:
        theirs = Qwen2VLRotaryEmbedding(Qwen2VLTextConfig(**options))
        axes = rope_axes.axes_in_sections(sections)
    positions = torch.tensor([[5, 5, 5, 5], [5, 5, 6, 6], [5, 6, 5, 6]])
    cos, sin = theirs(torch.zeros(1), positions[:, None])
    table = rope_axes.axial_table(positions, book.rotary_frequencies(128, 1e6), axes)
    assert (cos[0, :, :64] - table.cos).abs().max() <= 1e-6
    assert (sin[0, :, :64] - table.sin).abs().max() <= 1e-6

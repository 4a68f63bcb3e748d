"""What pages say about released models, executed in the classes of transformers."""

import math

import pytest
import torch
from transformers import Gemma3TextConfig, Lfm3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.inkling.modeling_inkling import InklingRelativeLogits
from transformers.models.lfm3.modeling_lfm3 import Lfm3RotaryEmbedding
from transformers.models.ministral3.modeling_ministral3 import get_llama_4_attn_scale
from transformers.models.mistral_large4.configuration_mistral_large4 import MistralLarge4TextConfig
from transformers.models.mistral_large4.modeling_mistral_large4 import (
    MistralLarge4TextRotaryEmbedding,
)

from bookkit.models import frequencies, query_scale, read_model, slowest_wavelength
from bookkit.trained.query_bias import query_bias


def test_inkling_adds_the_bias_of_a_query() -> None:
    """Each head mixes the same learned profiles, and beyond their reach the bias is 0."""
    torch.manual_seed(0)
    theirs = InklingRelativeLogits(d_rel=5, rel_extent=4)
    with torch.no_grad():
        theirs.proj.normal_()
    features = torch.randn(2, 9, 3, 5)  # (batch, queries, heads, features)
    positions = torch.arange(9)
    expected = theirs(features, positions, positions)
    profiles = theirs.proj.expand(3, 5, 4)
    found = query_bias(features.transpose(1, 2), profiles, 9)
    assert torch.allclose(found, expected, atol=1e-6)
    assert expected[0, 0, 8, :5].abs().max() == 0  # distances of 4 and more


def test_ministral_scales_queries_by_their_position() -> None:
    group = read_model("Ministral 3-8B")["layers"][0]
    rule = group["query_scale"]
    positions = torch.tensor([[0, 16_383, 16_384, 100_000, 262_143]])
    theirs = get_llama_4_attn_scale(positions, rule["strength"], rule["length"]).flatten()
    ours = [query_scale(group, int(position)) for position in positions[0]]
    assert theirs.tolist() == pytest.approx(ours, rel=1e-6)


def test_the_longest_wave_of_lfm3() -> None:
    theirs = Lfm3RotaryEmbedding(Lfm3Config()).full_attention_inv_freq.double()
    longest = 2 * math.pi / float(theirs[theirs > 0].min())
    assert longest == pytest.approx(slowest_wavelength(read_model("LFM3-1.7B")), rel=1e-5)
    assert round(longest) == 5063


def test_mistral_large_4_multiplies_frequencies_by_learned_factors() -> None:
    theirs = MistralLarge4TextRotaryEmbedding(MistralLarge4TextConfig())
    plain = frequencies(read_model("Mistral Large 4")["layers"][0])
    assert torch.allclose(theirs.inv_freq.double(), plain, rtol=2e-6, atol=0)
    theirs.alpha.fill_(math.log(2))
    position = torch.tensor([[3]])
    cos, _ = theirs(torch.zeros(1, 1, 4), position)
    assert torch.allclose(cos[0, 0, :32].double(), (6 * plain).cos(), atol=1e-5)


def test_truncate_is_read_beside_the_kinds_of_layers() -> None:
    """A `truncate` inside the dictionary of one kind of layer is ignored."""
    yarn = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}
    yarn["original_max_position_embeddings"] = 1024
    window = {"rope_type": "default", "rope_theta": 1e4}

    def found(inside: dict[str, bool], beside: dict[str, bool]) -> torch.Tensor:
        kinds = {"full_attention": {**yarn, **inside}, "sliding_attention": dict(window)}
        config = Gemma3TextConfig(rope_parameters={**kinds, **beside})
        return ROPE_INIT_FUNCTIONS["yarn"](config, "cpu", layer_type="full_attention")[0]

    plain = found({}, {})
    assert torch.equal(found({"truncate": False}, {}), plain)
    assert not torch.allclose(found({}, {"truncate": False}), plain, rtol=1e-3, atol=0)

"""The model in one file: parts equal to the library's, training, and a cache without effect."""

from typing import Any

import pytest
import torch

from attention_to_rope import model as one_file
from attention_to_rope import rotary_frequencies, rotary_table, rotate
from attention_to_rope.context_extension import (
    llama3,
    position_interpolation,
    yarn,
    yarn_attention_factor,
)
from attention_to_rope.model import Config, Model, generate, rope_frequencies, sample

RAW: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 23,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "rope_theta": 500.0,
}
D_K, THETA, LENGTH, SCALE = 32, 10_000.0, 1024, 4.0


def model(**changes: Any) -> Model:
    torch.manual_seed(0)
    return Model(Config.from_dict(RAW | changes))


def tokens(count: int = 2, length: int = 11) -> torch.Tensor:
    return torch.randint(23, (count, length), generator=torch.Generator().manual_seed(1))


def test_rotation_is_the_library_s() -> None:
    x = torch.randn(2, 3, 7, D_K, generator=torch.Generator().manual_seed(2))
    frequencies, _ = rope_frequencies(D_K, {"rope_theta": THETA})
    table = rotary_table(torch.arange(7), frequencies, dtype=torch.float64)
    ours = one_file.rotate(x.double(), (table.cos, table.sin))
    torch.testing.assert_close(ours, rotate(x.double(), table, layout="half"))


@pytest.mark.parametrize(
    ("rope", "expected", "factor"),
    [
        ({}, lambda f: f, 1.0),
        ({"rope_type": "default", "factor": SCALE}, lambda f: f, 1.0),
        ({"type": "linear", "factor": SCALE}, lambda f: position_interpolation(f, SCALE), 1.0),
        (
            {
                "rope_type": "llama3",
                "factor": SCALE,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": LENGTH,
            },
            lambda f: llama3(f, SCALE, original_length=LENGTH),
            1.0,
        ),
        (
            {"rope_type": "yarn", "factor": SCALE, "original_max_position_embeddings": LENGTH},
            lambda f: yarn(f, SCALE, original_length=LENGTH),
            yarn_attention_factor(SCALE),
        ),
    ],
)
def test_scaling_is_the_library_s(rope: dict[str, Any], expected: Any, factor: float) -> None:
    found, found_factor = rope_frequencies(D_K, {"rope_theta": THETA} | rope)
    torch.testing.assert_close(found, expected(rotary_frequencies(D_K, base=THETA)))
    assert found_factor == pytest.approx(factor)


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "mistral"},
        {"attention_bias": True},
        {"mlp_bias": True},
        {"hidden_act": "gelu"},
        {"use_sliding_window": True},
        {"layer_types": ["full_attention", "sliding_attention"]},
        {"partial_rotary_factor": 0.5},
        {"rope_parameters": {"partial_rotary_factor": 0.5}},
        {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
        {"rope_scaling": {"rope_type": "yarn", "factor": 2.0, "mscale": 1.0,
                          "original_max_position_embeddings": 8}},
    ],
)  # fmt: skip
def test_what_it_does_not_know_is_refused_by_its_name(change: dict[str, Any]) -> None:
    name = next(iter(change.get("rope_parameters") or change.get("rope_scaling") or change))
    with pytest.raises(ValueError, match=f"expected.* got {{'{name}'|'{name}'.*factor"):
        model(**change)


def test_a_config_that_does_not_name_its_type_is_refused() -> None:
    with pytest.raises(KeyError, match="model_type"):
        Config.from_dict({name: value for name, value in RAW.items() if name != "model_type"})


def test_usual_settings_of_a_config_are_read() -> None:
    usual = {"hidden_act": "silu", "layer_types": ["full_attention"] * 2, "mlp_bias": False}
    assert model(**usual, partial_rotary_factor=1.0, rope_scaling=None).config == model().config
    old = Config.from_dict({name: value for name, value in RAW.items() if name != "rope_theta"})
    assert old.rope_parameters == {"rope_theta": THETA}


def test_a_block_adds_what_attention_and_feed_forward_compute() -> None:
    one = model()
    assert len(one.layers) == 2
    block, x = one.layers[0], torch.randn(1, 3, 24)
    table = torch.ones(3, 5), torch.zeros(3, 5)
    attended = x + block.self_attn(block.input_layernorm(x), table, None)[0]
    expected = attended + block.mlp(block.post_attention_layernorm(attended))
    torch.testing.assert_close(block(x, table, None)[0], expected)


def test_no_layer_has_a_bias_and_matrices_start_small() -> None:
    for name, weight in model(model_type="qwen3").named_parameters():
        if weight.dim() == 2:
            assert weight.std().item() == pytest.approx(0.02, rel=0.2)
        else:
            assert "norm" in name
            assert name.endswith("weight")


@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_decoding_with_a_cache_gives_the_same_logits(family: str) -> None:
    decoder, text = model(model_type=family).double(), tokens()
    whole, _ = decoder(text)
    caches, parts = (), []
    for start, stop in ((0, 4), (4, 5), (5, 9), (9, 11)):
        logits, caches = decoder(text[:, start:stop], caches)
        parts.append(logits)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)


def test_a_token_does_not_see_later_ones() -> None:
    decoder, text = model(), tokens()
    changed = text.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % 23
    before, after = decoder(text)[0], decoder(changed)[0]
    torch.testing.assert_close(before[:, :6], after[:, :6])
    assert not torch.allclose(before[:, 6:], after[:, 6:])


def test_weights_of_a_checkpoint_load_by_name() -> None:
    source, target = model(), model()
    weights = {f"model.{name}": weight for name, weight in source.state_dict().items()}
    weights["lm_head.weight"] = weights.pop("model.lm_head.weight") + 1
    target.load(weights)
    torch.testing.assert_close(target.lm_head.weight, source.lm_head.weight + 1)
    with pytest.raises(RuntimeError, match="Missing key"):
        target.load({name: one for name, one in weights.items() if name != "model.norm.weight"})


def test_tied_weights_need_no_output_layer() -> None:
    tied = model(tie_word_embeddings=True)
    weights = {f"model.{name}": one for name, one in tied.state_dict().items()}
    del weights["model.lm_head.weight"]
    tied.load(weights)
    assert tied.lm_head.weight is tied.embed_tokens.weight


def test_it_learns_a_sequence_and_continues_it() -> None:
    decoder, text = model(), torch.arange(12)[None] % 6
    optimizer = torch.optim.Adam(decoder.parameters(), lr=0.01)
    for _ in range(60):
        logits, _ = decoder(text[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    found = generate(decoder, text[:, :4], 6, temperature=0)
    assert found.tolist() == [[0, 1, 2, 3, 4, 5, 0, 1, 2, 3]]


def test_sampling_keeps_to_top_k_and_top_p() -> None:
    torch.manual_seed(0)
    logits = torch.tensor([[4.0, 1.0, 3.0, 2.0]]).log().repeat(200, 1)  # 0.4, 0.1, 0.3, 0.2
    assert {*sample(logits).tolist()} == {0, 1, 2, 3}
    assert {*sample(logits, top_k=2).tolist()} == {0, 2}
    assert {*sample(logits, top_p=0.71).tolist()} == {0, 2, 3}
    assert {*sample(logits, top_p=0.1).tolist()} == {0}
    # Among the two likeliest, the first alone has 4/7 of the probability.
    assert {*sample(logits, top_k=2, top_p=0.55).tolist()} == {0}
    assert {*sample(logits, temperature=0.02).tolist()} == {0}
    flat = torch.zeros(200, 1000, dtype=torch.bfloat16)  # whose sums of probabilities round to 1
    assert len({*sample(flat).tolist()}) > 150

"""The model in one file: parts equal to the library's, training, and a cache without effect."""

import re
from typing import Any

import pytest
import torch

from attention_to_rope import rotary_frequencies, rotary_table, rotate
from attention_to_rope.context_extension import (
    llama3,
    position_interpolation,
    yarn,
    yarn_attention_factor,
)
from one_file import llama
from one_file.llama import Config, Model, generate, rope_frequencies, sample
from small_llama import SMALL

RAW = SMALL | {"head_dim": 10, "rope_theta": 500.0}
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
    ours = llama.rotate(x.double(), (table.cos, table.sin))
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


YARN = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 8}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 2.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "mistral"}, "model_type: expected 'llama' or 'qwen3', got 'mistral'"),
        ({"model_type": "silu"}, "model_type: expected 'llama' or 'qwen3', got 'silu'"),
        ({"model_type": None}, "model_type: expected 'llama' or 'qwen3', got None"),
        ({"hidden_act": "gelu"}, "hidden_act: expected 'silu' or nothing, got 'gelu'"),
        ({"hidden_act": "llama"}, "hidden_act: expected 'silu' or nothing, got 'llama'"),
        ({"attention_bias": True}, "attention_bias: expected False or nothing, got True"),
        ({"attention_bias": "llama"}, "attention_bias: expected False or nothing, got 'llama'"),
        ({"mlp_bias": True}, "mlp_bias: expected False or nothing, got True"),
        ({"use_sliding_window": True}, "use_sliding_window: expected False or nothing, got True"),
        (
            {"tie_word_embeddings": "no"},
            "tie_word_embeddings: expected True or False or nothing, got 'no'",
        ),
        (
            {"layer_types": ["full_attention", "sliding_attention"]},
            "layer_types: expected only 'full_attention', got ['full_attention', 'sliding_a",
        ),
        ({"layer_types": ["silu"]}, "layer_types: expected only 'full_attention', got ['silu']"),
        (
            {"partial_rotary_factor": 0.5},
            "partial_rotary_factor: expected 1.0 or nothing, got 0.5",
        ),
        (
            {"rope_parameters": {"partial_rotary_factor": 0.5}},
            "partial_rotary_factor: expected 1.0 or nothing, got 0.5",
        ),
        (
            {"rope_scaling": YARN, "rope_parameters": {"rope_theta": 500.0}},
            "rope_scaling: expected nothing beside rope_parameters, got {'rope_type': 'yarn'",
        ),
        ({"rotary_dim": 8}, "rotary_dim: expected no such setting, got 8"),
        ({"no_rope_layers": [1, 0]}, "no_rope_layers: expected no such setting, got [1, 0]"),
        ({"mrope_section": [1, 2]}, "mrope_section: expected no such setting, got [1, 2]"),
        ({"rotary_pct": 0.5}, "rotary_pct: expected no such setting, got 0.5"),
        (
            {"hidden_size": 14, "num_attention_heads": 6, "head_dim": None},
            "hidden_size: expected a multiple of num_attention_heads, 6, because there is no head_",
        ),
        (
            {"rope_parameters": {"full_attention": {"rope_theta": 500.0}}},
            "full_attention: expected no such setting of RoPE, got {'rope_theta': 500.0}",
        ),
        (
            {"rope_scaling": YARN | {"short_factor": [1.0]}},
            "short_factor: expected no such setting of RoPE, got [1.0]",
        ),
        (
            {"quantization_config": {"quant_method": "fp8"}},
            "quantization_config: expected nothing, got {'quant_method': 'fp8'}",
        ),
        ({"rope_scaling": {"type": "linear"}}, "factor: expected a positive number, got None"),
        (
            {"rope_scaling": {"rope_type": "yarn", "factor": 2.0}},
            "original_max_position_embeddings: expected a positive integer, got None",
        ),
        (
            {"rope_scaling": YARN | {"beta_fast": 1, "beta_slow": 32}},
            "beta_fast: expected more than beta_slow, 32.0, got 1.0",
        ),
        (
            {"rope_scaling": LLAMA3 | {"low_freq_factor": 4.0}},
            "high_freq_factor: expected more than low_freq_factor, 4.0, got 4.0",
        ),
        ({"rope_theta": -1.0}, "rope_theta: expected a positive number, got -1.0"),
        ({"rope_theta": "1e4"}, "rope_theta: expected a positive number, got '1e4'"),
        ({"rms_norm_eps": float("nan")}, "rms_norm_eps: expected a positive number, got nan"),
        ({"vocab_size": None}, "vocab_size: expected a positive integer, got None"),
        ({"hidden_size": 0}, "hidden_size: expected a positive integer, got 0"),
        ({"intermediate_size": 40.0}, "intermediate_size: expected a positive integer, got 40.0"),
        ({"num_hidden_layers": True}, "num_hidden_layers: expected a positive integer, got True"),
        (
            {"num_attention_heads": "4"},
            "num_attention_heads: expected a positive integer, got '4'",
        ),
        ({"num_key_value_heads": -2}, "num_key_value_heads: expected a positive integer, got -2"),
        ({"head_dim": 2.5}, "head_dim: expected a positive integer, got 2.5"),
        (
            {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
            "rope_type: expected 'default', 'linear', 'llama3' or 'yarn', got 'dynamic'",
        ),
        ({"rope_scaling": YARN | {"mscale": 1.0}}, "mscale: expected nothing, got 1.0"),
        (
            {"rope_scaling": YARN | {"mscale_all_dim": 1.0}},
            "mscale_all_dim: expected nothing, got 1.0",
        ),
        (
            {"rope_scaling": YARN | {"truncate": False}},
            "truncate: expected True or nothing, got False",
        ),
    ],
)
def test_a_setting_that_it_does_not_have_is_refused_by_name(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        model(**change)


@pytest.mark.parametrize("name", ["model_type", "vocab_size", "hidden_size", "num_hidden_layers"])
def test_a_setting_that_must_be_there_is_named_if_it_is_missing(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected .*, got None"):
        Config.from_dict({key: value for key, value in RAW.items() if key != name})


@pytest.mark.parametrize(
    "usual",
    [
        {"hidden_act": "silu"},
        {"hidden_act": None},
        {"attention_bias": False},
        {"mlp_bias": False},
        {"use_sliding_window": False},
        {"tie_word_embeddings": False},
        {"layer_types": ["full_attention"] * 2},
        {"layer_types": None},
        {"partial_rotary_factor": 1.0},
        {"partial_rotary_factor": 1},
        {"rope_scaling": None},
        {"rope_parameters": None},
        {"rope_theta": 500},
        {"rms_norm_eps": 1e-6},
        {"rms_norm_eps": None},
        {"max_position_embeddings": 64},  # what the model need not know
        {"quantization_config": None},
        {"rotary_dim": None},
        {"properties": {"a": 1}},  # a word with "rope" inside
        {"property": "a"},
    ],
)
def test_a_usual_setting_changes_nothing(usual: dict[str, Any]) -> None:
    assert model(**usual).config == model().config


def test_settings_of_older_and_newer_files_are_read() -> None:
    newer = {"rope_theta": None, "rope_parameters": {"rope_theta": 500, "rope_type": "default"}}
    assert model(**newer).config.rope_parameters == {"rope_theta": 500.0, "rope_type": "default"}
    assert model(rope_scaling=YARN).config.rope_parameters == YARN | {"rope_theta": 500.0}
    left_out = ("rope_theta", "num_key_value_heads", "head_dim")
    old = Config.from_dict({name: value for name, value in RAW.items() if name not in left_out})
    assert old.rope_parameters == {"rope_theta": THETA}
    assert old.num_key_value_heads == RAW["num_attention_heads"]
    assert old.head_dim == RAW["hidden_size"] // RAW["num_attention_heads"]
    assert model(rms_norm_eps=1e-5).config.rms_norm_eps == 1e-5
    assert [model(model_type=one).config.qk_norm for one in ("llama", "qwen3")] == [False, True]
    assert model(tie_word_embeddings=True).config.tie_word_embeddings


def test_yarn_with_truncation_is_the_usual_yarn() -> None:
    whole = rope_frequencies(D_K, {"rope_theta": THETA} | YARN)
    named = rope_frequencies(D_K, {"rope_theta": THETA, "truncate": True} | YARN)
    torch.testing.assert_close(named, whole, rtol=0, atol=0)


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


def test_temperature_zero_takes_the_likeliest_token_whatever_else_is_asked() -> None:
    logits = torch.randn(50, 9, generator=torch.Generator().manual_seed(3))
    best = logits.argmax(-1)
    for others in ({}, {"top_k": 3}, {"top_p": 0.2}):
        assert torch.equal(sample(logits, temperature=0, **others), best)
        assert torch.equal(sample(logits, temperature=0.0, **others), best)
    # From 1e-37 on, 1 / temperature times a logit overflows float32; 1e-46 is 0 there.
    for small in (1e-6, 1e-30, 1e-37, 1e-41, 1e-46, 1e-50, 5e-324):
        assert torch.equal(sample(100 * logits, temperature=small), best)
        assert torch.equal(sample(100 * logits, temperature=small, top_k=3, top_p=0.5), best)


def test_a_tiny_temperature_leaves_all_of_the_likeliest_tokens() -> None:
    torch.manual_seed(0)
    logits = torch.tensor([[2.0, 1.0, 2.0]]).repeat(100, 1)
    assert {*sample(logits, temperature=1e-50).tolist()} == {0, 2}


def test_a_top_p_of_one_removes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32, the rounded sum of the first probabilities reaches 1 before the last token."""
    seen, plain = [], torch.multinomial

    def watched(p: torch.Tensor, count: int) -> torch.Tensor:
        seen.append(p.clone())
        return plain(p, count)

    monkeypatch.setattr(torch, "multinomial", watched)
    logits = 3 * torch.randn(1, 50_000, generator=torch.Generator().manual_seed(0))
    sample(logits)
    sample(logits, top_p=0.99)
    assert (seen[0] > 0).all()
    assert (seen[1] == 0).any()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
@pytest.mark.parametrize("temperature", [0, 1.0])
def test_logits_that_are_no_numbers_are_refused(wrong: float, temperature: float) -> None:
    """The argmax of a row with NaN is the place of the NaN, which is no choice of the model."""
    message = "^logits: expected a finite maximum in each row, got NaN or infinity$"
    with pytest.raises(ValueError, match=message):
        sample(torch.tensor([[0.0, 1.0], [1.0, wrong]]), temperature)
    with pytest.raises(ValueError, match=message):
        sample(torch.full((1, 3), -float("inf")), temperature)
    some = torch.tensor([[-float("inf"), 1.0]])  # a token that is ruled out
    assert sample(some, temperature).tolist() == [1]


@pytest.mark.parametrize("temperature", [-1.0, -1e-9, float("nan"), float("inf"), -float("inf")])
def test_a_temperature_that_means_nothing_is_refused(temperature: float) -> None:
    with pytest.raises(ValueError, match=r"temperature: expected 0 \(greedy\) or a positive"):
        sample(torch.zeros(1, 3), temperature=temperature)
    with pytest.raises(ValueError, match=f"got {temperature}"):
        generate(model(), tokens(1, 3), 1, temperature=temperature)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_half_precision_rotation_is_rounded_once(dtype: torch.dtype) -> None:
    """The table stays in float32: rounded to half precision, it gives 1.6 times the error."""
    x = torch.randn(2, 3, 300, D_K, generator=torch.Generator().manual_seed(2)).to(dtype)
    angles = torch.arange(300)[:, None] * rope_frequencies(D_K, {"rope_theta": THETA})[0]
    exact = llama.rotate(x.double(), (angles.cos(), angles.sin()))
    found = llama.rotate(x, (angles.cos().float(), angles.sin().float()))
    assert found.dtype == dtype
    rounded_once = (exact.to(dtype) - exact).norm()
    assert (found - exact).norm() <= 1.01 * rounded_once


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_model_in_half_precision_keeps_its_table_in_float32(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, plain = [], llama.rotate

    def watched(x: torch.Tensor, table: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        seen.append((x.dtype, table[0].dtype, table[1].dtype))
        return plain(x, table)

    monkeypatch.setattr(llama, "rotate", watched)
    half = model().to(dtype)
    logits, caches = half(tokens())
    assert logits.dtype == caches[0][0].dtype == caches[0][1].dtype == dtype
    assert {*seen} == {(dtype, torch.float32, torch.float32)}
    assert generate(half, tokens(), 2, temperature=0).shape == (2, 13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("start", [0, 130_900, 10_000_000])
def test_cosines_and_sines_are_exact_at_large_positions(dtype: torch.dtype, start: int) -> None:
    """Angles in float32 would leave errors of 0.002 near position 131,000."""
    small = model().to(dtype)
    positions = torch.arange(start, start + 100)
    angles = positions.double()[:, None] * small.frequencies
    for found, exact in zip(small.table(positions), (angles.cos(), angles.sin()), strict=True):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), exact, rtol=0, atol=2**-25)


@pytest.mark.parametrize("kind", [YARN, LLAMA3, {}])
def test_frequencies_depend_on_no_default(kind: dict[str, Any]) -> None:
    expected, factor = rope_frequencies(D_K, {"rope_theta": THETA} | kind)
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("meta"):
            found = rope_frequencies(D_K, {"rope_theta": THETA} | kind)
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(found[0], expected)
    assert found[1] == factor

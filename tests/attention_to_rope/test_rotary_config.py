"""Configurations in the style of Hugging Face give the frequencies that the formulas give."""

import math

import pytest
import torch

import attention_to_rope as book

LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 1e4}
YARN = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096}


def with_scaling(**scaling: object) -> dict[str, object]:
    return {**LLAMA, "max_position_embeddings": 2048, "rope_scaling": scaling}


def test_plain() -> None:
    settings = book.rotary_settings(LLAMA)
    assert torch.equal(settings.frequencies, book.rotary_frequencies(128))
    assert settings[1:] == (1.0, 1.0, 128, 128, 1e4, "default", "half")


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("name", ["type", "rope_type"])
def test_both_ways_of_writing(key: str, name: str) -> None:
    config = {"head_dim": 8, key: {name: "linear", "factor": 4, "rope_theta": 500.0}}
    settings = book.rotary_settings(config)
    assert torch.equal(settings.frequencies, book.rotary_frequencies(8, 500.0) / 4)
    assert settings.layout is None


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "gpt_neox", "rotary_emb_base": 1e4, "rotary_pct": 0.25},
        {"model_type": "gpt_neox", "rope_theta": 1e4, "partial_rotary_factor": 0.25},
        {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.25}},
    ],
)
def test_partial_rotary(config: dict[str, object]) -> None:
    settings = book.rotary_settings({"head_dim": 64, **config})
    assert (settings.head_dim, settings.rotary_dim) == (64, 16)
    assert torch.equal(settings.frequencies, book.rotary_frequencies(16))


def test_proportional_is_not_partial() -> None:
    parameters = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}
    settings = book.rotary_settings({"head_dim": 512, "rope_parameters": parameters})
    assert settings.rotary_dim == 512
    expected = book.proportional_frequencies(512, 1e6, share=0.25)
    assert torch.equal(settings.frequencies, expected)
    assert settings[1:3] == (1, 1)
    halved = {"head_dim": 512, "rope_parameters": {**parameters, "factor": 2.0}}
    assert torch.equal(book.rotary_settings(halved).frequencies, expected / 2)


def test_latent_attention_turns_a_part_of_its_own() -> None:
    config = {
        "model_type": "deepseek_v3",
        "qk_rope_head_dim": 64,
        "head_dim": 192,
        "rope_theta": 1e4,
        "rope_scaling": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 32},
    }
    settings = book.rotary_settings(config)
    theta = book.rotary_frequencies(64)
    assert torch.equal(settings.frequencies, book.yarn(theta, 40.0, original_length=4096))
    assert settings.attention_factor == 1.0
    assert settings.score_factor == pytest.approx(1.8739, abs=1e-4)
    assert settings.layout == "interleaved"


def test_yarn_in_other_words() -> None:
    plain = book.rotary_settings(with_scaling(**YARN))
    assert plain.attention_factor == pytest.approx(0.1 * math.log(40) + 1)
    assert plain.score_factor == 1.0
    given = book.rotary_settings(with_scaling(**YARN, attention_factor=1.5, truncate=False))
    assert given.attention_factor == 1.5
    theta = book.rotary_frequencies(128)
    untruncated = book.yarn(theta, 40.0, original_length=4096, truncate=False)
    assert torch.equal(given.frequencies, untruncated)
    one = book.rotary_settings(with_scaling(**YARN, mscale_all_dim=0.5))
    assert one.score_factor == pytest.approx((0.05 * math.log(40) + 1) ** 2)
    by_lengths = with_scaling(type="yarn", original_max_position_embeddings=512, beta_slow=2)
    expected = book.yarn(theta, 4.0, original_length=512, slow=2.0)
    assert torch.equal(book.rotary_settings(by_lengths).frequencies, expected)


def test_llama3() -> None:
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0}
    config = with_scaling(**scaling, high_freq_factor=4.0, original_max_position_embeddings=8192)
    expected = book.llama3(book.rotary_frequencies(128))
    assert torch.equal(book.rotary_settings(config).frequencies, expected)
    step = book.rotary_settings(
        {
            **config,
            "rope_scaling": {
                **config["rope_scaling"],
                "factor": 16.0,
                "high_freq_factor": 1.0,
            },
        }
    ).frequencies
    divided = step != book.rotary_frequencies(128)
    # Wavelengths above 8192 are divided, the others stay: a step, no ramp.
    wavelengths = 2 * math.pi / book.rotary_frequencies(128)
    assert torch.equal(divided, wavelengths > 8192)


def test_limits_that_are_not_the_usual_ones() -> None:
    limits = {"low_freq_factor": 2.0, "high_freq_factor": 8.0}
    config = with_scaling(rope_type="llama3", factor=8.0, **limits)
    theta = book.rotary_frequencies(128)
    expected = book.llama3(theta, 8.0, original_length=2048, slow=2.0, fast=8.0)
    assert torch.equal(book.rotary_settings(config).frequencies, expected)
    steep = book.rotary_settings(with_scaling(**YARN, beta_fast=8, beta_slow=2)).frequencies
    assert torch.equal(steep, book.yarn(theta, 40.0, original_length=4096, fast=8.0, slow=2.0))


@pytest.mark.parametrize(
    ("scaling", "factors"),
    [
        ({"rope_type": "default"}, (1, 1)),
        ({"rope_type": "proportional", "partial_rotary_factor": 0.5}, (1, 1)),
        ({"rope_type": "linear", "factor": 4.0}, (1, 1)),
        ({"rope_type": "dynamic", "factor": 4.0}, (1, 1)),
        (
            {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1, "high_freq_factor": 4},
            (1, 1),
        ),
        ({"rope_type": "longrope", "short_factor": [1.0] * 64, "attention_factor": 1.5}, (1.5, 1)),
        ({**YARN, "attention_factor": 1.5}, (1.5, 1)),
    ],
)
def test_only_yarn_and_longrope_have_factors(
    scaling: dict[str, object], factors: tuple[float, float]
) -> None:
    settings = book.rotary_settings(with_scaling(**scaling))
    assert (settings.attention_factor, settings.score_factor) == factors


def test_scaling_that_depends_on_the_length() -> None:
    theta = book.rotary_frequencies(128)
    dynamic = with_scaling(type="dynamic", factor=2.0)
    assert torch.equal(book.rotary_settings(dynamic).frequencies, theta)
    grown = book.dynamic_ntk(theta, 2.0, length=4096, original_length=2048)
    assert torch.equal(book.rotary_settings(dynamic, length=4096).frequencies, grown)
    short, long = [1.0] * 64, [float(i + 1) for i in range(64)]
    config = {
        **with_scaling(type="su", short_factor=short, long_factor=long),
        "original_max_position_embeddings": 512,
    }
    near = book.rotary_settings(config, length=512)
    assert torch.equal(near.frequencies, theta)
    assert near.attention_factor == book.longrope_attention_factor(4.0, 512)
    far = book.rotary_settings(config, length=513).frequencies
    assert torch.equal(far, theta / torch.tensor(long, dtype=torch.float64))
    fixed = with_scaling(type="longrope", short_factor=short, long_factor=long, attention_factor=2)
    assert book.rotary_settings(fixed).attention_factor == 2.0


@pytest.mark.parametrize("old", [True, False])
def test_layers_that_differ(old: bool) -> None:
    linear = {"rope_type": "linear", "factor": 8.0}
    config = {"model_type": "gemma3_text", "head_dim": 128, "rope_theta": 1e6}
    if old:
        config |= {"rope_local_base_freq": 1e4, "rope_scaling": linear}
    else:
        config |= {
            "rope_parameters": {
                "full_attention": {**linear, "rope_theta": 1e6},
                "sliding_attention": {"rope_theta": 1e4},
            }
        }
    full = book.rotary_settings(config, layer_type="full_attention")
    local = book.rotary_settings(config, layer_type="sliding_attention")
    assert torch.equal(full.frequencies, book.rotary_frequencies(128, 1e6) / 8)
    assert torch.equal(local.frequencies, book.rotary_frequencies(128, 1e4))
    with pytest.raises(ValueError, match=r"one of full_attention, sliding_attention; got None"):
        book.rotary_settings(config)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"head_dim": 8}, r'names no base: add "rope_theta"'),
        ({"rope_theta": 1e4}, r'names no head dim: add "head_dim", or "hidden_size"'),
        ({"rope_theta": 1e4, "hidden_size": 8}, r"names no head dim"),
        ({**LLAMA, "rope_scaling": {"type": "xpos"}}, r"got 'xpos', which this function does not"),
        (
            with_scaling(type="linear", factor=2, short_mscale=1),
            r"unknown keys: \['short_mscale'\]",
        ),
        (with_scaling(type="linear"), r"'linear' needs 'factor'"),
        (with_scaling(type="llama3", factor=2, low_freq_factor=1), r"needs 'high_freq_factor'"),
        (with_scaling(type="longrope"), r"needs 'short_factor'"),
        ({**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 2}}, r"'max_position_embeddings'"),
        ({"model_type": "glm4", "head_dim": 8, "rope_theta": 1e4}, r"'glm4' turn a part of the he"),
    ],
)
def test_what_is_missing_is_said(config: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        book.rotary_settings(config)


def test_a_config_object_is_not_a_dictionary() -> None:
    with pytest.raises(TypeError, match=r"such as config.to_dict\(\) gives, got object"):
        book.rotary_settings(object())

"""The bias of a query, the variants of RoPE, and weights that are stored in 8 bits."""

import hashlib

import pytest
import torch

from attention_to_rope import MultiHeadAttention, rotary_frequencies
from bookkit.trained import encodings, schemes
from bookkit.trained.query_bias import QueryBiasAttention, query_bias


def drawn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_the_bias_of_a_query_mixes_profiles_and_ends_at_their_reach():
    features = drawn(2, 3, 4, 5)
    profiles = drawn(3, 5, 3)
    found = query_bias(features, profiles, 6)  # the queries are the last 4 of 6 positions
    assert found.shape == (2, 3, 4, 6)
    for b, h, query, n in torch.cartesian_prod(*map(torch.arange, found.shape)).tolist():
        m = query + 2
        expected = 0.0
        if 0 <= m - n < 3:
            for f in range(5):
                expected += float(features[b, h, query, f] * profiles[h, f, m - n])
        assert float(found[b, h, query, n]) == pytest.approx(expected, abs=1e-5)


def test_scores_have_the_bias_of_their_query_and_a_cache_changes_nothing():
    layer = QueryBiasAttention(12, 2, seed=0, features=3, reach=4).double()
    with torch.no_grad():
        layer.profiles.copy_(10 * layer.profiles + 1)
    x = drawn(1, 7, 12).double()
    output, weights = layer(x, causal=True, return_weights=True)
    q, k, _ = (
        part(x).view(1, 7, 2, 6).transpose(1, 2) for part in (layer.query, layer.key, layer.value)
    )
    bias = query_bias(q @ layer.mixture, layer.profiles, 7)
    scores = q @ k.mT / 6**0.5 + bias
    hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
    torch.testing.assert_close(weights, scores.masked_fill(hidden, -torch.inf).softmax(-1))
    torch.testing.assert_close(layer(x, causal=True), output)
    cache = layer.remember(x[:, :1])
    for start, stop in ((1, 4), (4, 5), (5, 7)):
        part, cache = layer.extend(x[:, start:stop], cache)
        torch.testing.assert_close(part, output[:, start:stop])
    with pytest.raises(ValueError, match="leave out scheme="):
        layer.attend(q, k, k, None, True, bias, False)


def test_models_with_a_bias_of_their_queries_have_the_other_weights_of_their_seed():
    plain = schemes.build("none", 3).state_dict()
    model = schemes.build("query bias", 3)
    other = model.state_dict()
    assert all(torch.equal(weight, other[name]) for name, weight in plain.items())
    profiles = [block.attention.profiles for block in model.blocks]
    assert len({float(one.detach()[0, 0, 0]) for one in profiles}) == 4  # each layer draws its own
    assert {*other} - {*plain} == {
        f"blocks.{i}.attention.{name}" for i in range(4) for name in ("mixture", "profiles")
    }


@pytest.mark.parametrize(
    ("scheme", "rotated", "frequencies"),
    [
        ("RoPE, a quarter", 8, rotary_frequencies(8)),
        ("RoPE, half", 16, rotary_frequencies(16)),
        ("RoPE, base 500", 32, rotary_frequencies(32, 500.0)),
        ("RoPE, base 500,000", 32, rotary_frequencies(32, 5e5)),
    ],
)
def test_variants_of_rope_rotate_what_their_name_says(scheme, rotated, frequencies):
    rotary = schemes.build(scheme, 0).scheme
    assert torch.equal(rotary.frequencies, frequencies)
    x = drawn(1, 1, 9, 32)
    moved = (rotary.rotate(x, torch.arange(9)) != x)[0, 0, 5]
    assert moved[:rotated].all()
    assert not moved[rotated:].any()


def test_the_slowest_quarter_of_the_pairs_of_p_rope_does_not_rotate():
    found = schemes.build("p-RoPE", 0).scheme.frequencies
    assert torch.equal(found[:12], rotary_frequencies(32)[:12])
    assert found[12:].tolist() == [0.0] * 4


def test_only_models_with_ropes_frequencies_are_stretched():
    with pytest.raises(ValueError, match="p-RoPE"):
        schemes.build("p-RoPE", 0, "YaRN")


def test_rounded_weights_are_near_and_small():
    model = schemes.build("ALiBi", 0)
    with torch.no_grad():
        model.embedding.rows[3] = 0
    weights = model.state_dict()
    stored = encodings.rounded(weights)
    restored = encodings.restored(stored)
    assert {*restored} == {*weights}
    for name, weight in weights.items():
        step = weight.abs().amax(-1, keepdim=True) / 127 if weight.ndim == 2 else 1e-3
        assert ((restored[name] - weight).abs() <= 0.51 * step + 1e-9).all(), name
    assert sum(one.numel() * one.element_size() for one in stored.values()) < 2_000_000


def test_weights_that_are_stored_are_loaded_by_their_name(tmp_path):
    model = schemes.build(schemes.ROPE_NOPE, 5)
    encodings.store(model, "RoPE/NoPE", tmp_path)
    loaded = encodings.encoding_model("RoPE/NoPE", tmp_path)
    expected = encodings.as_stored(model, schemes.ROPE_NOPE).state_dict()
    assert all(torch.equal(weight, expected[name]) for name, weight in loaded.state_dict().items())
    with pytest.raises(
        ValueError, match="none, sinusoidal, T5, ALiBi, RoPE, RoPE/NoPE; got 'rope'"
    ):
        encodings.encoding_model("rope")
    with pytest.raises(FileNotFoundError, match=r"encoding-rope.safetensors"):
        encodings.encoding_model("RoPE", tmp_path)
    assert isinstance(loaded.blocks[0].attention, MultiHeadAttention)


@pytest.mark.parametrize("name", encodings.ENCODINGS)
def test_the_stored_weights_are_those_that_were_trained_and_small(name):
    content = (encodings.FOLDER / encodings.file_of(name)).read_bytes()
    assert hashlib.sha256(content).hexdigest() == encodings.CHECKSUMS[name]
    assert len(content) <= 2_000_000


def test_the_folder_has_no_other_files():
    files = {file.name for file in encodings.FOLDER.iterdir()}
    assert files == {encodings.file_of(name) for name in encodings.ENCODINGS}

"""Blocks against PyTorch's layers; models with every scheme; generation with and without cache."""

import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import attention_to_rope as book
from attention_to_rope.layers import BIAS
from attention_to_rope.transformer import check_source_mask
from bookkit.randomness import generator, normal

TINY = book.Architecture(d=8, heads=2, layers=2)
TOKENS = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])


def schemes(d: int = 8, heads: int = 2) -> dict[str, book.PositionalScheme | None]:
    d_k = d // heads
    return {
        "none": None,
        "sinusoidal": book.Sinusoidal(),
        "learned": book.Learned(32, d, seed=1, deviation=1.0),
        "t5": book.T5Bias(heads, bidirectional=False, seed=1, deviation=1.0),
        "alibi": book.ALiBi(heads),
        "rotary half": book.Rotary(book.rotary_frequencies(d_k), layout="half"),
        "rotary interleaved": book.Rotary(book.rotary_frequencies(d_k), layout="interleaved"),
        "rotary partial": book.Rotary(book.rotary_frequencies(2), layout="half", rotary_dim=2),
    }


def frozen_double(module: nn.Module) -> nn.Module:
    return module.double().requires_grad_(False)


def randomised(module: nn.Module) -> nn.Module:
    """All parameters random, so that gains and biases matter too."""
    rng = generator(0)
    for parameter in module.parameters():
        parameter.copy_(torch.from_numpy(rng.normal(size=parameter.shape) * 0.5))
    return module


def copy_attention(ours: book.MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    ours.query.W.copy_(theirs.in_proj_weight[:8].T)
    ours.key.W.copy_(theirs.in_proj_weight[8:16].T)
    ours.value.W.copy_(theirs.in_proj_weight[16:].T)
    ours.query.b.copy_(theirs.in_proj_bias[:8])
    ours.key.b.copy_(theirs.in_proj_bias[8:16])
    ours.value.b.copy_(theirs.in_proj_bias[16:])
    ours.output.W.copy_(theirs.out_proj.weight.T)
    ours.output.b.copy_(theirs.out_proj.bias)


def copy_rest(ours: book.Block, theirs: nn.Module, norms: list[tuple[str, str]]) -> None:
    ours.feed_forward.up.W.copy_(theirs.linear1.weight.T)
    ours.feed_forward.up.b.copy_(theirs.linear1.bias)
    ours.feed_forward.down.W.copy_(theirs.linear2.weight.T)
    ours.feed_forward.down.b.copy_(theirs.linear2.bias)
    for name, their_name in norms:
        getattr(ours, name).norm.gain.copy_(getattr(theirs, their_name).weight)
        getattr(ours, name).norm.bias.copy_(getattr(theirs, their_name).bias)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_block_equals_pytorch_encoder_layer(placement: str, activation: str) -> None:
    architecture = book.Architecture(
        d=8, heads=2, layers=1, hidden=12, activation=activation, placement=placement
    )
    ours = frozen_double(book.Block(architecture, seed=0))
    theirs = nn.TransformerEncoderLayer(
        8,
        2,
        12,
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=placement == "pre",
    )
    theirs = randomised(frozen_double(theirs))
    copy_attention(ours.attention, theirs.self_attn)
    copy_rest(ours, theirs, [("attention_residual", "norm1"), ("feed_forward_residual", "norm2")])
    x = normal(2, 5, 8, seed=0)
    keep = book.padding_mask(torch.tensor([3, 5]), 5)
    expected = theirs(x, src_key_padding_mask=~keep[:, 0])
    assert (ours(x, mask=keep) - expected).abs().max() <= 1e-12


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_block_equals_pytorch_decoder_layer(placement: str) -> None:
    architecture = book.Architecture(d=8, heads=2, layers=1, hidden=12, placement=placement)
    ours = frozen_double(book.Block(architecture, seed=0, cross=True))
    theirs = nn.TransformerDecoderLayer(
        8, 2, 12, dropout=0.0, batch_first=True, norm_first=placement == "pre"
    )
    theirs = randomised(frozen_double(theirs))
    copy_attention(ours.attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    norms = [
        ("attention_residual", "norm1"),
        ("cross_residual", "norm2"),
        ("feed_forward_residual", "norm3"),
    ]
    copy_rest(ours, theirs, norms)
    x, memory = normal(2, 5, 8, seed=0), normal(2, 3, 8, seed=1)
    keep = book.padding_mask(torch.tensor([2, 3]), 3)
    expected = theirs(x, memory, tgt_mask=~book.causal_mask(5), memory_key_padding_mask=~keep[:, 0])
    got, weights = ours(
        x, mask=book.causal_mask(5), memory=memory, memory_mask=keep, return_weights=True
    )
    assert (got - expected).abs().max() <= 1e-12
    assert weights.own.shape == (2, 2, 5, 5)
    assert weights.cross.shape == (2, 2, 5, 3)
    assert (weights.cross.sum(-1) - 1).abs().max() <= 1e-15


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich", "deep"])
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_block_by_its_parts(placement: str, norm: str) -> None:
    architecture = book.Architecture(
        d=8, heads=2, layers=3, placement=placement, norm=norm, activation="swiglu", kv_heads=1
    )
    block = randomised(frozen_double(book.Block(architecture, seed=0)))
    x = normal(1, 4, 8, seed=0)
    position = book.Rotary(book.rotary_frequencies(4), layout="half")
    y = x
    for residual, sublayer in (
        (block.attention_residual, lambda t: block.attention(t, position=position)),
        (block.feed_forward_residual, block.feed_forward),
    ):
        y = {
            "pre": lambda t, f, r: book.pre_norm(t, f, r.norm),
            "post": lambda t, f, r: book.post_norm(t, f, r.norm),
            "sandwich": lambda t, f, r: book.sandwich_norm(t, f, r.norm, r.norm_out),
            "deep": lambda t, f, r: book.deep_norm(t, f, r.norm, alpha=6**0.25),
        }[placement](y, sublayer, residual)
    assert torch.equal(block(x, position=position), y)
    assert isinstance(
        block.attention_residual.norm, book.LayerNorm if norm == "layer" else book.RMSNorm
    )
    assert block.attention.kv_heads == 1


def test_deep_placement_scales_its_weights_by_beta() -> None:
    plain = book.Block(TINY, seed=0)
    deep = book.Block(book.Architecture(d=8, heads=2, layers=2, placement="deep"), seed=0)
    beta = book.deepnorm_constants(2).beta
    for name in ("value", "output"):
        a, b = getattr(plain.attention, name).W, getattr(deep.attention, name).W
        assert torch.allclose(a * beta, b)
    assert torch.equal(plain.attention.query.W, deep.attention.query.W)
    assert torch.allclose(plain.feed_forward.down.W * beta, deep.feed_forward.down.W)


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich", "deep"])
def test_stack_ends_normalised(placement: str) -> None:
    architecture = book.Architecture(d=8, heads=2, layers=2, placement=placement)
    x = book.Encoder(9, architecture, seed=0)(TOKENS).detach()
    assert x.mean(-1).abs().max() <= 1e-6
    assert (x.square().mean(-1) - 1).abs().max() <= 1e-3


@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_eps_and_bias_reach_the_parts(eps: float) -> None:
    architecture = book.Architecture(d=8, heads=2, layers=1, eps=eps, bias=False)
    block = book.Block(architecture, seed=0)
    assert block.attention_residual.norm.eps == eps
    assert block.attention.query.b is block.feed_forward.up.b is None
    for norm, own in (("layer", book.LayerNorm), ("rms", book.RMSNorm)):
        default = book.Architecture(d=8, heads=2, layers=1, norm=norm).new_norm()
        assert default.eps == own(8).eps


def test_embedding_has_unit_variance_after_its_scale() -> None:
    """√d times a deviation of 1/√d: the size that a positional encoding is added to."""
    encoder = book.Encoder(4000, book.Architecture(d=64, heads=2, layers=1), seed=0)
    x = encoder.embed(torch.arange(4000)[None], torch.arange(4000)).detach()
    assert float(x.std()) == pytest.approx(1.0, rel=0.01)
    with_position = book.Encoder(
        4000, book.Architecture(d=64, heads=2, layers=1), seed=0, position=book.Sinusoidal()
    )
    y = with_position.embed(torch.arange(4000)[None], torch.arange(4000)).detach()
    assert torch.allclose(y - x, book.sinusoidal(torch.arange(4000), 64)[None], atol=1e-6)


@pytest.mark.parametrize("name", schemes())
@pytest.mark.parametrize("placement", ["pre", "deep"])
def test_generation_with_cache_equals_generation_without(name: str, placement: str) -> None:
    architecture = book.Architecture(d=8, heads=2, layers=2, kv_heads=1, placement=placement)
    decoder = frozen_double(book.Decoder(9, architecture, seed=2, position=schemes()[name]))
    for options in ({}, {"temperature": 1.3, "seed": 5}):
        fast, slow = (
            book.generate(decoder, TOKENS, 12, use_cache=use_cache, **options)
            for use_cache in (True, False)
        )
        assert torch.equal(fast, slow)
        assert fast.shape == (2, 16)
        assert torch.equal(fast[:, :4], TOKENS)
    logits, caches = decoder.extend(TOKENS[:, :3], decoder.empty_caches())
    last, caches = decoder.extend(TOKENS[:, 3:], caches)
    whole = decoder(TOKENS)
    assert (torch.cat((logits, last), 1) - whole).abs().max() <= 1e-12
    assert [cache.length for cache in caches] == [4, 4]


def test_cross_generation_with_cache_equals_generation_without() -> None:
    encoder = frozen_double(book.Encoder(9, TINY, seed=0, position=book.Sinusoidal()))
    decoder = frozen_double(book.Decoder(9, TINY, seed=1, position=book.ALiBi(2), cross=True))
    keep = book.padding_mask(torch.tensor([2, 4]), 4)
    memory = encoder(TOKENS, mask=keep)
    options = {"memory": memory, "memory_mask": keep}
    results = [
        book.generate(decoder, TOKENS[:, :1], 9, use_cache=c, **options) for c in (True, False)
    ]
    assert torch.equal(*results)
    assert results[0].shape == (2, 10)


@pytest.mark.parametrize("use_cache", [True, False])
def test_generation_keeps_to_the_memory_mask(use_cache: bool) -> None:
    """What the mask hides may hold anything."""
    decoder = randomised(frozen_double(book.Decoder(9, TINY, seed=1, cross=True)))
    keep = book.padding_mask(torch.tensor([2, 3]), 4)
    memory = normal(2, 4, 8, seed=3)
    other = torch.where(keep.transpose(-2, -1), memory, 5 * normal(2, 4, 8, seed=4))
    start = TOKENS[:, :1]
    masked, same, free = (
        book.generate(decoder, start, 9, memory=own, memory_mask=mask, use_cache=use_cache)
        for own, mask in ((memory, keep), (other, keep), (other, None))
    )
    assert torch.equal(masked, same)
    assert not torch.equal(masked, free)
    logits, _ = decoder.extend(TOKENS, decoder.empty_caches(), memory=memory, memory_mask=keep)
    assert (logits - decoder(TOKENS, memory=memory, memory_mask=keep)).abs().max() <= 1e-12


def test_a_decoder_of_one_block_generates() -> None:
    architecture = book.Architecture(d=8, heads=2, layers=1)
    decoder = frozen_double(book.Decoder(9, architecture, seed=0, position=book.ALiBi(2)))
    results = [book.generate(decoder, TOKENS, 5, use_cache=cached) for cached in (True, False)]
    assert torch.equal(*results)


def test_an_architecture_cannot_change() -> None:
    """Two models may share one; a change would leave their parts in disagreement."""
    with pytest.raises(AttributeError, match="d"):
        TINY.d = 16


def test_a_bad_temperature_is_refused_before_the_first_step() -> None:
    decoder = book.Decoder(9, TINY, seed=0)
    with pytest.raises(ValueError, match=r"temperature must be .*-1"):
        book.generate(decoder, TOKENS, 0, temperature=-1.0, seed=0)


def test_greedy_takes_the_largest_logit() -> None:
    decoder = frozen_double(book.Decoder(9, TINY, seed=0))
    tokens = TOKENS
    for _ in range(3):
        tokens = torch.cat((tokens, decoder(tokens)[:, -1].argmax(-1, keepdim=True)), 1)
    assert torch.equal(book.generate(decoder, TOKENS, 3), tokens)
    assert torch.equal(book.generate(decoder, TOKENS, 0), TOKENS)


class TestSampling:
    def test_frequencies_follow_the_weights(self) -> None:
        logits = torch.tensor([0.0, 1.0, -torch.inf, 2.0]).expand(20_000, 4)
        for temperature in (0.5, 2.0):
            drawn = book.sample_token(logits, temperature, generator(0))
            share = torch.bincount(drawn, minlength=4) / 20_000
            expected = torch.softmax(logits[0] / temperature, -1)
            # Five standard deviations of a share, at most √(1/4 / 20 000) each.
            assert (share - expected).abs().max() <= 5 * (0.25 / 20_000) ** 0.5
            assert share[2] == 0

    def test_one_uniform_number_a_row(self) -> None:
        class Fixed(np.random.Generator):
            def random(self, shape: tuple[int, int]) -> np.ndarray:
                assert shape == (4, 1)
                return np.array([[0.0], [0.2499], [0.2501], [np.nextafter(1, 0)]])

        logits = torch.log(torch.tensor([0.25, 0.75])).expand(4, 2)
        drawn = book.sample_token(logits, 1.0, Fixed(np.random.PCG64()))
        assert drawn.tolist() == [0, 0, 1, 1]

    def test_a_token_without_weight_is_never_drawn_at_the_edges(self) -> None:
        class Zero(np.random.Generator):
            def random(self, shape: tuple[int, int]) -> np.ndarray:
                return np.zeros(shape)

        logits = torch.tensor([[-torch.inf, 0.0, -torch.inf]])
        assert book.sample_token(logits, 1.0, Zero(np.random.PCG64())).tolist() == [1]

    def test_same_seed_same_tokens(self) -> None:
        decoder = book.Decoder(9, TINY, seed=0)
        one, two, other = (
            book.generate(decoder, TOKENS, 20, temperature=1.0, seed=seed) for seed in (0, 0, 1)
        )
        assert torch.equal(one, two)
        assert not torch.equal(one, other)


class TestCausality:
    @given(st.sampled_from(sorted(schemes())), st.integers(1, 3))
    @settings(max_examples=12)
    def test_later_tokens_do_not_change_earlier_logits(self, name: str, cut: int) -> None:
        decoder = frozen_double(book.Decoder(9, TINY, seed=2, position=schemes()[name]))
        changed = TOKENS.clone()
        changed[:, cut:] = 0
        assert torch.equal(decoder(TOKENS)[:, :cut], decoder(changed)[:, :cut])
        assert not torch.equal(decoder(TOKENS)[:, cut:], decoder(changed)[:, cut:])

    def test_padding_mask_restricts_further(self) -> None:
        decoder = frozen_double(book.Decoder(9, TINY, seed=0))
        keep = book.padding_mask(torch.tensor([2, 4]), 4)
        masked, weights = decoder(TOKENS, mask=keep, return_weights=True)
        assert len(weights) == 2
        assert torch.equal(weights[0].own[0, 0] > 0, book.causal_mask(4) & keep[0])
        assert torch.allclose(masked[1], decoder(TOKENS)[1], atol=1e-14)


def test_positions_argument() -> None:
    encoder = frozen_double(book.Encoder(9, TINY, seed=0, position=book.Sinusoidal()))
    plain = encoder(TOKENS)
    assert torch.equal(encoder(TOKENS, positions=torch.arange(4)), plain)
    assert not torch.equal(encoder(TOKENS, positions=torch.arange(4) + 3), plain)
    decoder = frozen_double(book.Decoder(9, TINY, seed=0, position=book.ALiBi(2)))
    shifted = decoder(TOKENS, positions=torch.arange(4) + 3)
    assert (shifted - decoder(TOKENS)).abs().max() <= 1e-14
    assert not torch.allclose(decoder(TOKENS, positions=torch.arange(4) * 3), decoder(TOKENS))


def test_encoder_without_positions_is_permutation_equivariant() -> None:
    encoder = frozen_double(book.Encoder(9, TINY, seed=0))
    order = torch.tensor([2, 0, 3, 1])
    x, weights = encoder(TOKENS[:, order], return_weights=True)
    assert (x - encoder(TOKENS)[:, order]).abs().max() <= 1e-14
    assert [w.cross for w in weights] == [None, None]


def test_encoder_decoder() -> None:
    encoder = frozen_double(book.Encoder(9, TINY, seed=0, position=book.Sinusoidal()))
    decoder = frozen_double(book.Decoder(11, TINY, seed=1, position=book.Sinusoidal(), cross=True))
    model = book.EncoderDecoder(encoder, decoder)
    keep = book.padding_mask(torch.tensor([2, 4]), 4)
    target = TOKENS[:, :3]
    target_keep = book.padding_mask(torch.tensor([1, 3]), 3)
    logits = model(TOKENS, target, source_mask=keep, target_mask=target_keep)
    memory = encoder(TOKENS, mask=keep)
    expected = decoder(target, memory=memory, memory_mask=keep, mask=target_keep)
    assert logits.shape == (2, 3, 11)
    assert torch.equal(logits, expected)
    padded = TOKENS.clone()
    padded[0, 2:] = 0
    assert torch.equal(model(padded, target, source_mask=keep, target_mask=target_keep), logits)


def test_masks_of_the_source() -> None:
    """One row for all sources, or one for each; never a row per query."""
    for shape in ((2, 1, 4), (1, 1, 4), (1, 4)):
        check_source_mask(torch.ones(shape, dtype=torch.bool), TOKENS)
    for shape in ((2, 2, 4), (2, 4), (1, 2, 4), (2, 1, 5)):
        with pytest.raises(ValueError, match=r"source_mask must have shape \(2, 1, 4\)"):
            check_source_mask(torch.ones(shape, dtype=torch.bool), TOKENS)
    with pytest.raises(TypeError, match=r"^source must"):
        check_source_mask(None, TOKENS.double())


def test_encoder_and_memory_refuse_what_they_cannot_use() -> None:
    with pytest.raises(TypeError, match=r"^return_weights must"):
        book.Encoder(9, TINY, seed=0)(TOKENS, return_weights="yes")
    decoder = book.Decoder(9, TINY, seed=0, cross=True)
    with pytest.raises(ValueError, match=r"^memory must have shape \(B, N, d=8\)"):
        decoder.remember(torch.zeros(2, 3, 5))


def test_seeds_and_pickle() -> None:
    one, two = (book.Decoder(9, TINY, seed=3) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    copy = pickle.loads(pickle.dumps(one))
    assert torch.equal(copy(TOKENS), one(TOKENS))
    assert not torch.equal(one.blocks[0].attention.query.W, one.blocks[1].attention.query.W)
    restored = book.Decoder(9, TINY, seed=4)
    restored.load_state_dict(one.state_dict())
    assert torch.equal(restored(TOKENS), one(TOKENS))


def test_default_widths_and_counts() -> None:
    decoder = book.Decoder(9, TINY, seed=0)
    attention, feed_forward, norms = 4 * (64 + 8), 8 * 32 + 32 + 32 * 8 + 8, 2 * 16
    expected = 9 * 8 + 2 * (attention + feed_forward + norms) + 16 + 8 * 9
    assert sum(p.numel() for p in decoder.parameters()) == expected


def test_training_reduces_the_loss() -> None:
    decoder = book.Decoder(9, TINY, seed=0, position=schemes()["rotary half"])
    optimiser = torch.optim.Adam(decoder.parameters(), lr=0.01)
    losses = []
    for _ in range(20):
        logits = decoder(TOKENS[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), TOKENS[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 2
    assert all(p.grad is not None and p.grad.isfinite().all() for p in decoder.parameters())


def build(**changes: object) -> book.Architecture:
    return book.Architecture(**{"d": 8, "heads": 2, "layers": 1, **changes})


def test_a_tied_head_is_the_embedding() -> None:
    options = {"d": 6, "heads": 2, "layers": 1, "norm": "rms"}
    tied = book.Decoder(9, book.Architecture(**options), seed=0, tied=True)
    free = book.Decoder(9, book.Architecture(**options), seed=0)
    assert tied.head is None
    assert not any(name.startswith("head") for name in tied.state_dict())
    tokens = torch.arange(8).reshape(2, 4)
    with torch.no_grad():
        free.load_state_dict(tied.state_dict() | {"head.W": tied.embedding.rows.T})
        assert torch.allclose(tied(tokens), free(tokens), atol=1e-6)
        extended, _ = tied.extend(tokens, tied.empty_caches())
    assert torch.allclose(extended, tied(tokens), atol=1e-5)
    tied(tokens).sum().backward()
    assert tied.embedding.rows.grad[8].any()  # a token that is not read still learns as an answer


def test_embedding_scale() -> None:
    options = {"d": 6, "heads": 2, "layers": 1}
    tokens = torch.arange(4).reshape(1, 4)
    plain = book.Decoder(9, book.Architecture(**options), seed=0)
    for scale in (1.0, 3.0):
        scaled = book.Decoder(9, book.Architecture(**options, embedding_scale=scale), seed=0)
        expected = plain.embedding.rows[tokens] * scale
        assert torch.equal(scaled.embed(tokens, torch.arange(4)), expected)
    expected = plain.embedding.rows[tokens] * math.sqrt(6)
    assert torch.equal(plain.embed(tokens, torch.arange(4)), expected)
    with pytest.raises(ValueError, match=r"embedding_scale must be finite and above 0"):
        book.Architecture(**options, embedding_scale=0.0)
    with pytest.raises(TypeError, match=r"tied"):
        book.Decoder(9, book.Architecture(**options), seed=0, tied=1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: build(heads=3), ValueError, r"heads must divide d, got d=8 and heads=3"),
        (lambda: build(layers=0), ValueError, r"layers must be at least 1, got 0"),
        (
            lambda: build(norm="batch"),
            ValueError,
            r"norm must be one of 'layer', 'rms'; got 'batch",
        ),
        (lambda: build(placement="mid"), ValueError, r"placement must be one of 'pre', 'post'"),
        (lambda: build(eps=0.0), ValueError, r"eps must be finite and above 0"),
        (
            lambda: book.Block(TINY, seed=0)(torch.zeros(1, 2, 8), memory=torch.zeros(1, 2, 8)),
            ValueError,
            r"no cross-attention: build it with cross=True",
        ),
        (
            lambda: book.Block(TINY, seed=0, cross=True)(torch.zeros(1, 2, 8)),
            ValueError,
            r"needs memory, the encoder's output",
        ),
        (
            lambda: book.Encoder(9, TINY, seed=0)(torch.tensor([1, 2])),
            ValueError,
            r"tokens must have shape \(B, N\) with N ≥ 1, got \(2,\)",
        ),
        (
            lambda: book.Encoder(9, TINY, seed=0)(torch.zeros(1, 0).long()),
            ValueError,
            r"tokens must have shape \(B, N\) with N ≥ 1, got \(1, 0\)",
        ),
        (
            lambda: book.Decoder(9, TINY, seed=0)(torch.zeros(1, 0).long()),
            ValueError,
            r"tokens must have shape \(B, N\) with N ≥ 1, got \(1, 0\)",
        ),
        (
            lambda: book.Decoder(9, TINY, seed=0)(torch.tensor([[9]])),
            ValueError,
            r"tokens must lie in 0…8, got values from 9 to 9",
        ),
        (
            lambda: book.Decoder(9, TINY, seed=0).extend(TOKENS, []),
            ValueError,
            r"caches must be one per block, 2; got 0",
        ),
        (
            lambda: book.EncoderDecoder(
                book.Encoder(9, TINY, seed=0), book.Decoder(9, TINY, seed=0)
            ),
            ValueError,
            r"decoder must be built with cross=True",
        ),
        (
            lambda: book.EncoderDecoder(
                book.Encoder(9, build(d=4), seed=0), book.Decoder(9, TINY, seed=0, cross=True)
            ),
            ValueError,
            r"same d, got 4 and 8",
        ),
        (
            lambda: book.generate(book.Decoder(9, TINY, seed=0), TOKENS, -1),
            ValueError,
            r"steps must be at least 0, got -1",
        ),
        (
            lambda: book.generate(book.Decoder(9, TINY, seed=0), TOKENS.float(), 1),
            TypeError,
            r"prompt must be an integer tensor",
        ),
        (
            lambda: book.generate(book.Decoder(9, TINY, seed=0), TOKENS + 5, 1),
            ValueError,
            r"prompt must lie in 0…8",
        ),
        (
            lambda: book.generate(book.Decoder(9, TINY, seed=0), TOKENS, 1, temperature=1.0),
            ValueError,
            r"sampling needs both temperature and seed.*temperature=1\.0 and seed=None",
        ),
        (
            lambda: book.generate(book.Decoder(9, TINY, seed=0), TOKENS, 1, seed=0),
            ValueError,
            r"sampling needs both temperature and seed",
        ),
        (
            lambda: book.generate(
                book.Decoder(9, TINY, seed=0), TOKENS, 1, temperature=0.0, seed=0
            ),
            ValueError,
            r"temperature must be finite and above 0, got 0\.0",
        ),
        (
            lambda: book.sample_token(torch.zeros(1, 2), -1.0, generator(0)),
            ValueError,
            r"temperature must be finite and above 0, got -1\.0",
        ),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


class TestWhatIsFixed:
    """Nothing that a model was built from can be set without effect."""

    def test_a_new_scheme_reaches_every_layer(self) -> None:
        shape = book.Architecture(d=16, heads=2, layers=2)
        tokens = torch.tensor([[1, 2, 3, 4]])
        schemes = (
            book.Rotary(book.rotary_frequencies(8), layout="half"),
            book.ALiBi(2),
            book.Sinusoidal(),
            None,
        )
        for kind in (book.Encoder, book.Decoder):
            changed = kind(9, shape, seed=0)
            for scheme in schemes:
                changed.position = scheme
                built = kind(9, shape, seed=0, position=scheme)
                assert torch.equal(changed(tokens), built(tokens))

    def test_a_new_scheme_is_checked(self) -> None:
        shape = book.Architecture(d=16, heads=2, layers=2)
        decoder = book.Decoder(9, shape, seed=0)
        with pytest.raises(TypeError, match=r"position must be a PositionalScheme"):
            decoder.position = "rope"
        pattern = [book.LayerPattern(window=2)]
        decoder = book.Decoder(9, shape, seed=0, layers=pattern)
        before = decoder.patterns
        with pytest.raises(ValueError, match=r"ALiBi acts in the layers: with layers="):
            decoder.position = book.ALiBi(2)
        assert decoder.patterns is before
        decoder.position = book.Sinusoidal()
        assert decoder.patterns == before

    @pytest.mark.parametrize(
        ("module", "names"),
        [
            (
                book.MultiHeadAttention(8, 2, seed=0),
                ("d", "heads", "kv_heads", "d_k"),
            ),
            (book.Block(book.Architecture(d=8, heads=2, layers=1), seed=0), ("d",)),
            (
                book.Decoder(9, book.Architecture(d=8, heads=2, layers=1), seed=0),
                ("architecture", "cross", "layers"),
            ),
            (book.T5Bias(2, bidirectional=True, seed=0), ("buckets",)),
        ],
    )
    def test_sizes_cannot_change(self, module: torch.nn.Module, names: tuple[str, ...]) -> None:
        for name in names:
            before = getattr(module, name)
            with pytest.raises(
                AttributeError, match=rf"^{name} of a {type(module).__name__} cannot"
            ):
                setattr(module, name, before)

    def test_what_is_read_at_the_call_can_change(self) -> None:
        heads = book.MultiHeadAttention(8, 2, seed=0)
        x = torch.linspace(-1, 1, 24).view(1, 3, 8)
        before = heads(x)
        heads.scale = 3.0
        assert not torch.allclose(heads(x), before)

    def test_one_default_for_biases(self) -> None:
        d = 8
        assert book.MultiHeadAttention(d, 2, seed=0).query.b is not None
        assert book.FeedForward(d, activation="relu", seed=0).up.b is not None
        assert book.Linear(d, d, seed=0).b is not None
        assert book.Architecture(d=d, heads=2, layers=1).bias is True


def test_a_layer_pattern_cannot_change() -> None:
    with pytest.raises(AttributeError, match="window"):
        book.LayerPattern().window = 3


@pytest.mark.parametrize(
    "options",
    [
        {"kv_heads": 1},
        {"head_dim": 6},
        {"bias": True},
        {"bias": False},
        {"scale": 0.3},
        {"qk_norm": True},
        {"qk_norm": True, "eps": 0.5},
        {"soft_cap": 0.1},
        {"sink": True},
        {"gate": True},
    ],
    ids=str,
)
def test_heads_have_all_options_of_their_architecture(options: dict[str, Any]) -> None:
    architecture = book.Architecture(d=8, heads=2, layers=1, **options)
    ours = architecture.new_attention(gain=0.5, seed=3)
    alone = book.MultiHeadAttention(8, 2, **({"bias": BIAS} | options), gain=0.5, seed=3)
    assert ours.state_dict().keys() == alone.state_dict().keys()
    for module in (ours, alone):
        for name, parameter in module.named_parameters():
            if "sink" in name:
                parameter.data.fill_(0.7)
    x = normal(1, 5, 8, seed=0, dtype=torch.float32)
    assert torch.equal(ours(x), alone(x))


def test_caches_have_the_room_asked_for() -> None:
    decoder = book.Decoder(9, TINY, seed=0)
    assert {cache.capacity for cache in decoder.empty_caches()} == {0}
    assert {cache.capacity for cache in decoder.empty_caches(capacity=7)} == {7}


def test_parts_of_a_model_check_what_they_get() -> None:
    block, decoder = book.Block(TINY, seed=0), book.Decoder(9, TINY, seed=0)
    with pytest.raises(ValueError, match=r"x must have shape \(B, N, d=8\)"):
        block.extend(torch.zeros(1, 3, 4), book.KeyValueCache())
    with pytest.raises(ValueError, match=r"x must have shape \(B, N, d=8\) with N ≥ 1"):
        block(torch.zeros(1, 0, 8))
    with pytest.raises(ValueError, match=r"tokens must have shape \(B, N\)"):
        decoder.embed(torch.zeros(3).long(), torch.arange(3))
    with pytest.raises(TypeError, match=r"return_weights must be"):
        decoder(TOKENS, return_weights=1)
    with pytest.raises(TypeError, match=r"cross must be"):
        book.Decoder(9, TINY, seed=0, cross=1)
    with pytest.raises(TypeError, match=r"position must be"):
        book.Decoder(9, TINY, seed=0, position="rotary")


def test_the_shape_of_a_model_is_fixed_and_plain_unless_asked() -> None:
    assert not any(getattr(TINY, name) for name in ("qk_norm", "sink", "gate"))
    for value, name in ((TINY, "layers"), (book.LayerPattern(), "window")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, 3)
    assert (book.Encoder.causal, book.Decoder.causal) == (False, True)


def test_a_step_of_decoding_asks_for_no_weights_of_the_memory() -> None:
    architecture = book.Architecture(d=8, heads=2, layers=1)
    block = book.Block(architecture, cross=True, seed=0).requires_grad_(False)
    look, asked = block.cross_attention.forward, []

    def forward(*given: object, return_weights: bool = False, **named: object) -> object:
        asked.append(return_weights)
        return look(*given, return_weights=return_weights, **named)

    block.cross_attention.forward = forward
    block.extend(torch.ones(1, 1, 8), book.KeyValueCache(), memory=torch.ones(1, 3, 8))
    assert asked == [False]

"""Blocks, encoder, decoder and generation: by hand, with a cache, in a batch and alone."""

from functools import partial

import numpy as np
import pytest
import torch

import attention_to_rope as book
from attention_to_rope.layers import deepnorm_pair

SHAPE = book.Architecture(d=8, heads=2, layers=2)
PLACEMENTS = ["pre", "post", "sandwich", "deep"]


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def tokens(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 7, shape))


def rotary(base=1e4):
    return book.Rotary(book.rotary_frequencies(4, base), layout="half")


def schemes():
    return {
        "none": None,
        "sinusoidal": book.Sinusoidal(),
        "learned": book.Learned(32, 8, seed=0).double(),
        "alibi": book.ALiBi(2),
        "t5": book.T5Bias(2, bidirectional=False, seed=0).double(),
        "rotary": rotary(),
    }


def decoder(scheme=None, **options):
    return book.Decoder(7, SHAPE, seed=1, scheme=scheme, **options).double()


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_a_block_places_its_norms(placement, norm):
    shape = book.Architecture(d=8, heads=2, layers=3, placement=placement, norm=norm, eps=1e-3)
    block = book.Block(shape, seed=0, cross=True).double()
    x, memory = normal(1, 3, 8), normal(1, 4, 8, seed=1)
    alpha = deepnorm_pair(3, 3)[1].alpha if placement == "deep" else 1.0
    parts = (
        (lambda y: block.attention(y, causal=True), block.attention_residual),
        (lambda y: block.cross_attention(y, memory), block.cross_residual),
        (block.feed_forward, block.feed_forward_residual),
    )
    expected = x
    for sublayer, residual in parts:
        expected = {
            "pre": lambda y, f=sublayer, r=residual: book.pre_norm(y, f, r.norm),
            "post": lambda y, f=sublayer, r=residual: book.post_norm(y, f, r.norm),
            "sandwich": lambda y, f=sublayer, r=residual: book.sandwich_norm(
                y, f, r.norm, r.norm_out
            ),
            "deep": lambda y, f=sublayer, r=residual: book.deep_norm(y, f, r.norm, alpha=alpha),
        }[placement](expected)
    torch.testing.assert_close(block(x, causal=True, memory=memory), expected)
    assert block.attention_residual.norm.eps == 1e-3


def test_deepnorm_constants_depend_on_the_stack():
    shape = book.Architecture(d=8, heads=2, layers=3, placement="deep")
    assert shape.residual_constants(False, None) == book.deepnorm_constants(3)
    assert shape.residual_constants(False, 5) == deepnorm_pair(3, 5)[0]
    assert book.Encoder(7, shape, seed=0, decoder_layers=5)(tokens(1, 2)).shape == (1, 2, 8)


def test_the_weights_of_cross_attention_sum_to_1_over_what_the_mask_shows():
    text, memory = tokens(2, 3), normal(2, 4, 8)
    seen = book.padding_mask(torch.tensor([4, 2]), 4)
    model = decoder(cross=True)
    logits, weights = model(text, memory=memory, memory_mask=seen, return_weights=True)
    torch.testing.assert_close(logits, model(text, memory=memory, memory_mask=seen))
    for block in weights:
        assert torch.equal(block.cross > 0, seen[:, None].expand(2, 2, 3, 4))
        torch.testing.assert_close(block.cross.sum(-1), torch.ones(2, 2, 3).double())


def test_a_block_takes_memory_if_it_has_cross_attention_and_only_then():
    x = normal(1, 3, 8)
    for cross, memory in ((True, None), (False, x)):
        with pytest.raises(ValueError, match="cross=True"):
            book.Block(SHAPE, seed=0, cross=cross).double()(x, memory=memory)


@pytest.mark.parametrize("name", schemes())
def test_the_decoder_by_hand_and_through_its_cache(name):
    scheme = schemes()[name]
    model, text = decoder(scheme), tokens(2, 6)
    x = model.embedding(text) * 8**0.5
    if name in ("sinusoidal", "learned"):
        x, scheme = scheme.embed(x, torch.arange(6)), None
    for block in model.blocks:
        x = block(x, causal=True, scheme=scheme)
    expected = model.norm(x) @ model.head.W
    torch.testing.assert_close(model(text), expected)
    _, weights = model(text, return_weights=True)
    assert [w.own.shape for w in weights] == [(2, 2, 6, 6)] * 2
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            first, caches = model.extend(text[:, :4], model.empty_caches(capacity=6))
            rest, caches = model.extend(text[:, 4:], caches)
        torch.testing.assert_close(torch.cat((first, rest), dim=1), expected)


def deepseek(dtype=torch.float64):
    """Latent attention in all layers, experts in all but the first, as DeepSeek-V3 has them."""
    scale = 1.3 * 7**-0.5  # of YaRN
    latent = partial(
        book.LatentAttention, 8, 2, head_dim=3, rotary_dim=4, latent_dim=5, scale=scale
    )
    experts = partial(
        book.MixtureOfExperts, 8, 6, experts=4, k=2, shared=1, gate="sigmoid", scaling=2.5
    )
    first = book.LayerPattern(scheme=rotary(), attention=latent)
    rest = first._replace(feed_forward=experts)
    shape = book.Architecture(d=8, heads=2, layers=3, norm="rms", activation="swiglu")
    return book.Decoder(7, shape, seed=1, layers=[first, rest, rest]).to(dtype)


def test_a_decoder_with_latent_attention_and_experts():
    model, text = deepseek(), tokens(2, 6)
    kinds = [type(block.feed_forward).__name__ for block in model.blocks]
    assert kinds == ["FeedForward", "MixtureOfExperts", "MixtureOfExperts"]
    assert not torch.equal(model.blocks[1].attention.output.W, model.blocks[2].attention.output.W)
    x = model.embedding(text) * 8**0.5
    for block in model.blocks:
        x = x + block.attention(
            block.attention_residual.norm(x), causal=True, scheme=model.layer_schemes[0]
        )
        x = x + block.feed_forward(block.feed_forward_residual.norm(x))
    expected = model.logits(model.norm(x))
    torch.testing.assert_close(model(text), expected)
    _, weights = model(text, return_weights=True)
    assert [w.own.shape for w in weights] == [(2, 2, 6, 6)] * 3
    with torch.no_grad():
        for caches in (model.empty_caches(), model.static_caches(2, capacity=9)):
            parts = []
            for part in text.split([3, 1, 2], dim=1):
                logits, caches = model.extend(part, caches)
                parts.append(logits)
            torch.testing.assert_close(torch.cat(parts, dim=1), expected)
    lengths = torch.tensor([4, 2])
    free = book.generate(model, text[:, :4], 4, lengths=lengths, use_cache=False)
    for options in ({}, {"capacity": 8}):
        assert torch.equal(book.generate(model, text[:, :4], 4, lengths=lengths, **options), free)
    assert deepseek(torch.bfloat16)(text).isfinite().all()


def test_layers_may_differ_and_share_schemes():
    local = book.LayerPattern(window=2, scheme=rotary())
    layers = [local, book.LayerPattern(scheme=rotary(1e6)), book.LayerPattern()]
    shape = book.Architecture(d=8, heads=2, layers=4)
    model = book.Decoder(7, shape, seed=1, layers=layers, scheme=book.Sinusoidal()).double()
    text = tokens(2, 5)
    x = model.embed(text, torch.arange(5))
    for block, pattern in zip(model.blocks, [*layers, local], strict=True):
        x = block(x, causal=True, window=pattern.window, scheme=pattern.scheme)
    torch.testing.assert_close(model(text), model.logits(model.norm(x)))
    assert len(model.layer_schemes) == 2
    with pytest.raises(ValueError, match="LayerPattern"):
        book.Decoder(7, shape, seed=1, layers=layers, scheme=rotary())


def test_tied_embedding_positions_and_memory():
    silent = book.Architecture(d=8, heads=2, layers=2, embedding_scale=0.0)
    tied, text = decoder(tied=True), tokens(1, 3)
    assert (book.Decoder(7, silent, seed=1).embed(text, torch.arange(3)) == 0).all()
    assert decoder().head.bias is None
    x, _, _ = tied.run(text)
    torch.testing.assert_close(tied(text), x @ tied.embedding.rows.mT)
    moved = decoder(rotary())
    torch.testing.assert_close(moved(text, positions=torch.arange(3) + 9), moved(text))
    for wrong in (torch.arange(1), torch.arange(4)):
        with pytest.raises((ValueError, TypeError)):
            decoder(book.Sinusoidal())(text, positions=wrong)
    with pytest.raises(ValueError, match="for all 3, got 1"):
        decoder().run(text, positions=torch.arange(1))
    with pytest.raises(ValueError, match="without a cache"):
        tied.extend(text, tied.empty_caches(), return_weights=True)
    crossed = decoder(cross=True)
    memory = normal(1, 4, 8)
    torch.testing.assert_close(
        crossed(text, memory=memory), crossed(text, memory=crossed.remember(memory))
    )


def test_padding_does_not_change_a_sentence():
    encoder = book.Encoder(7, SHAPE, seed=0, scheme=rotary()).double()
    model = book.EncoderDecoder(encoder, decoder(book.Sinusoidal(), cross=True))
    source, target = tokens(2, 5), tokens(2, 4, seed=1)
    mask = book.padding_mask(torch.tensor([5, 3]), 5)
    together = model(source, target, source_mask=mask)
    alone = model(source[1:, :3], target[1:])
    torch.testing.assert_close(together[1:], alone)
    _, weights = encoder(source, mask=mask, return_weights=True)
    assert (weights[0].own[1, :, :, 3:] == 0).all()


# Rotary acts in every layer, as most models do; the others are for `make test-all`.
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("none", "sinusoidal", "alibi")]


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("name", ["rotary", *OTHERS])
def test_generating_in_a_batch_with_a_cache_equals_each_prompt_alone_without(name, sampled):
    model, prompt, lengths = decoder(schemes()[name]), tokens(3, 4), torch.tensor([4, 1, 3])
    options = {"temperature": 1.3, "top_k": 5, "top_p": 0.9, "seed": 2} if sampled else {}
    free = book.generate(model, prompt, 4, lengths=lengths, **options)
    end = int(free[0, 5])  # the second token that the first row writes
    for stop in (None, end):
        batch = {"lengths": lengths, "end": stop} | options
        whole = book.generate(model, prompt, 4, **batch)
        assert torch.equal(whole, book.generate(model, prompt, 4, use_cache=False, **batch))
    assert (whole[0, 5:] == end).all()
    for row, length in enumerate([] if sampled else lengths.tolist()):
        alone = book.generate(model, prompt[row : row + 1, :length], 4, end=end)
        assert whole[row, : length + 4].tolist() == alone[0].tolist()
        assert (whole[row, length + 4 :] == end).all()


@pytest.mark.parametrize("name", ["rotary", *OTHERS])
def test_generating_with_static_caches_changes_nothing(name):
    model, prompt, lengths = decoder(schemes()[name]), tokens(3, 4), torch.tensor([4, 1, 3])
    for options in ({}, {"lengths": lengths}, {"lengths": lengths, "temperature": 1.3, "seed": 2}):
        expected = book.generate(model, prompt, 4, **options)
        for capacity in (8, 11):
            got = book.generate(model, prompt, 4, capacity=capacity, **options)
            assert torch.equal(got, expected)
    with pytest.raises(ValueError, match="are 8 tokens, which a capacity of 7 does not hold"):
        book.generate(model, prompt, 4, capacity=7)
    with pytest.raises(ValueError, match="use_cache=False"):
        book.generate(model, prompt, 4, capacity=8, use_cache=False)


def test_rows_sample_their_own_streams_and_small_integers_do_not_wrap():
    model = book.Decoder(300, SHAPE, seed=1).double()
    prompt = torch.tensor([[1, 2], [1, 2]], dtype=torch.uint8)
    options = {"temperature": 5.0, "seed": 3}
    both = book.generate(model, prompt, 20, **options)
    assert both.dtype == torch.int64
    assert both.max() > 255
    assert not torch.equal(both[0], both[1])
    assert torch.equal(book.generate(model, prompt[:1], 20, **options)[0], both[0])
    assert book.generate(model, prompt, 0).tolist() == [[1, 2], [1, 2]]


def test_generation_with_memory():
    model, memory = decoder(cross=True), normal(2, 4, 8)
    mask = book.padding_mask(torch.tensor([4, 2]), 4)
    options = {"memory": memory, "memory_mask": mask}
    fast = book.generate(model, tokens(2, 2), 4, **options)
    assert torch.equal(fast, book.generate(model, tokens(2, 2), 4, use_cache=False, **options))


def test_what_is_kept_of_the_logits():
    logits = torch.tensor([[1.0, 3.0, 2.0, 3.0]])
    assert book.keep_top_k(logits, 1).isfinite().tolist() == [[False, True, False, True]]
    assert torch.equal(book.keep_top_k(logits, 9), logits)
    p = torch.tensor([[0.4, 0.1, 0.3, 0.2]]).log()
    for limit, kept in ((0.39, 1), (0.41, 2), (0.75, 3), (1.0, 4)):
        assert int(book.keep_top_p(p, limit).isfinite().sum()) == kept
    assert int(book.keep_top_p(torch.zeros(1, 4), 0.5).isfinite().sum()) == 2  # they reach it
    infinite = torch.tensor([[0.0, torch.inf, 1.0]])
    assert book.keep_top_p(infinite, 0.5).tolist() == [[-torch.inf, torch.inf, -torch.inf]]
    certain = torch.tensor([[-40.0, 0.0]])  # the larger weight is 1, rounded
    assert torch.equal(book.keep_top_p(certain, 1.0), certain)


@pytest.mark.parametrize("temperature", [1e-308, 1e-30, 1.0, 1e30])
def test_no_temperature_leaves_the_vocabulary(temperature):
    logits = normal(50, 6) * 100
    uniform = torch.from_numpy(np.random.default_rng(0).random((50, 1)))
    drawn = book.sample_token(logits, uniform, temperature=temperature)
    assert ((drawn >= 0) & (drawn < 6)).all()
    if temperature < 1e-20:
        assert torch.equal(drawn, logits.argmax(-1))
    below_one = torch.tensor([[1 - 2**-53]], dtype=torch.float64)
    for size in range(2, 60):  # sums of probabilities end at 1 or, rounded, a little below
        drawn = book.sample_token(torch.zeros(1, size), below_one, temperature=temperature)
        assert drawn.item() == size - 1


def test_sampled_frequencies_are_the_probabilities():
    p = torch.tensor([0.1, 0.2, 0.7])
    grid = (torch.arange(1000, dtype=torch.float64)[:, None] + 0.5) / 1000
    drawn = book.sample_token(p.log().expand(1000, 3), grid, temperature=1.0)
    assert (drawn.bincount() / 1000 - p).abs().max() < 2e-3


@pytest.mark.parametrize(
    ("dtype", "pair", "temperature"),
    [
        (torch.float16, [40_000.0, -40_000.0], 50_000.0),  # 80,000 is infinite in float16
        (torch.bfloat16, [256.0, -1.0], 170.0),  # 257 is 256 in bfloat16
    ],
)
def test_differences_of_logits_are_not_rounded_to_half_precision(dtype, pair, temperature):
    grid = (torch.arange(10_000, dtype=torch.float64)[:, None] + 0.5) / 10_000
    half = torch.tensor(pair, dtype=dtype).expand(10_000, 2)
    drawn = book.sample_token(half, grid, temperature=temperature)
    exact = book.sample_token(half.double(), grid, temperature=temperature)
    assert torch.equal(drawn, exact)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_logits_without_a_maximum_are_refused(bad):
    with pytest.raises(ValueError, match="finite maximum"):
        book.sample_token(torch.tensor([[0.0, bad]]), torch.zeros(1, 1), temperature=1.0)


@pytest.mark.parametrize("others", [{}, {"top_k": 3}, {"top_p": 0.2}])
def test_temperature_zero_is_greedy(others):
    logits = normal(50, 6)
    uniform = torch.from_numpy(np.random.default_rng(0).random((50, 1)))
    for zero in (0, 0.0, -0.0):
        drawn = book.sample_token(logits, uniform, temperature=zero, **others)
        assert torch.equal(drawn, logits.argmax(-1))
    model, prompt, lengths = decoder(), tokens(3, 4), torch.tensor([4, 1, 3])
    greedy = book.generate(model, prompt, 5, lengths=lengths)
    for seed in (None, 2):  # which it does not need, but a list of temperatures may have one
        cold = book.generate(
            model, prompt, 5, lengths=lengths, temperature=0.0, seed=seed, **others
        )
        assert torch.equal(cold, greedy)


@pytest.mark.parametrize("temperature", [-1.0, -1e-300, float("nan"), float("inf")])
@pytest.mark.parametrize("steps", [0, 1])
def test_a_temperature_that_means_nothing_is_refused(temperature, steps):
    message = f"temperature must be 0 .greedy. or a positive number, got {temperature}"
    with pytest.raises(ValueError, match=message):
        book.sample_token(torch.zeros(1, 3), torch.zeros(1, 1), temperature=temperature)
    with pytest.raises(ValueError, match=message):
        book.generate(decoder(), tokens(1, 2), steps, temperature=temperature, seed=1)


@pytest.mark.parametrize("options", [{"temperature": 1.0}, {"seed": 1}, {"top_k": 2}])
def test_options_that_do_not_fit_together_are_refused(options):
    with pytest.raises(ValueError, match="temperature"):
        book.generate(decoder(), tokens(1, 2), 1, **options)

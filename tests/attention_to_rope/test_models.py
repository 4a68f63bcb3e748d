"""What held models to silent wrong answers once, and the parts that layers may differ in."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

import attention_to_rope as book
from attention_to_rope.fast.blockwise import BiasByPosition, near_by_position
from attention_to_rope.heads import place
from bookkit.randomness import normal

TINY = book.Architecture(d=8, heads=2, layers=2)
TOKENS = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
ROTARY = book.Rotary(book.rotary_frequencies(4), layout="half")


def frozen(module: Any) -> Any:
    return module.double().requires_grad_(False)


class TestSeeds:
    def test_equal_seeds_give_different_tables(self) -> None:
        """A position's vector once was a copy of the embedding of the token of that number."""
        learned = book.Learned(9, 8, seed=3).table.rows
        tables = [
            learned,
            book.Decoder(9, TINY, seed=3).embedding.rows,
            book.Encoder(9, TINY, seed=3).embedding.rows,
            book.T5Bias(8, buckets=9, max_distance=20, bidirectional=False, seed=3).table.rows,
            book.Embedding(9, 8, seed=3).rows,
            book.Linear(9, 8, seed=3).W,
        ]
        for i, one in enumerate(tables):
            for other in tables[:i]:
                assert functional.cosine_similarity(one.flatten(), other.flatten(), 0).abs() < 0.5

    def test_equal_parts_with_equal_seeds_are_equal(self) -> None:
        one, two = (book.Learned(9, 8, seed=3).table.rows for _ in range(2))
        assert torch.equal(one, two)


class TestMasks:
    @pytest.mark.parametrize("shape", [(1,), (1, 1), (4, 1), (2, 4, 1)])
    def test_nothing_broadcasts_over_the_keys(self, shape: tuple[int, ...]) -> None:
        mask = torch.ones(shape, dtype=torch.bool)
        with pytest.raises(ValueError, match=r"mask (must have|of shape)"):
            book.Decoder(9, TINY, seed=0)(TOKENS, mask=mask)
        heads = book.MultiHeadAttention(8, 2, seed=0)
        with pytest.raises(ValueError, match=r"mask (must have|of shape)"):
            heads.extend(torch.zeros(2, 4, 8), book.KeyValueCache(), mask=mask)

    def test_the_other_polarity_is_noticed(self) -> None:
        with pytest.raises(ValueError, match=r"polarity looks inverted.*pass ~mask"):
            book.Decoder(9, TINY, seed=0)(TOKENS, mask=~book.causal_mask(4))

    def test_a_mask_of_the_source_is_not_taken_for_one_of_the_target(self) -> None:
        model = book.EncoderDecoder(
            book.Encoder(9, TINY, seed=0), book.Decoder(9, TINY, seed=0, cross=True)
        )
        with pytest.raises(ValueError, match=r"source_mask must have shape \(2, 1, 4\)"):
            model(TOKENS, TOKENS, source_mask=book.causal_mask(4))

    def test_a_huge_window_is_no_window(self) -> None:
        for huge in (2**31, 2**63, 2**80):
            assert torch.equal(book.sliding_window_mask(4, window=huge), book.causal_mask(4))
            alone = book.dilated_mask(4, window=2, dilation=huge)
            assert torch.equal(alone, torch.eye(4, dtype=torch.bool))

    def test_behind_a_bias_of_minus_infinity_nothing_leaks(self) -> None:
        q, k, v = (normal(3, 4, seed=s) for s in range(3))
        bias = torch.zeros(3, 3).double().masked_fill(~book.causal_mask(3), -math.inf)
        expected = book.attention(q, k, v, bias=bias)
        k[2], v[2] = math.nan, math.nan
        assert torch.equal(book.attention(q, k, v, bias=bias)[:2], expected[:2])


class TestPositions:
    @pytest.mark.parametrize("position", [None, ROTARY, book.Sinusoidal(), book.ALiBi(2)])
    @pytest.mark.parametrize("positions", [torch.tensor([3]), torch.arange(4).repeat(4, 1)])
    def test_positions_do_not_broadcast(self, position: Any, positions: Tensor) -> None:
        decoder = book.Decoder(9, TINY, seed=0, position=position)
        with pytest.raises(ValueError, match=r"positions must have shape \(4,\) or \(2, 4\)"):
            decoder(TOKENS, positions=positions)

    def test_positions_of_their_own_for_each_row(self) -> None:
        decoder = frozen(book.Decoder(9, TINY, seed=0, position=book.Sinusoidal()))
        shifted = torch.stack((torch.arange(4), torch.arange(4) + 5))
        both = decoder(TOKENS, positions=shifted)
        alone = decoder(TOKENS[1:], positions=torch.arange(4) + 5)
        assert (both[1:] - alone).abs().max() <= 1e-14

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_a_bias_is_not_rounded_to_half(self, dtype: torch.dtype) -> None:
        positions = torch.tensor([0, 140_000])
        bias = place(book.ALiBi(2), torch.arange(2048), dtype, start=2047).bias
        assert isinstance(bias, Tensor)
        assert bias.dtype == torch.float32
        assert len(bias[0, 0, 0].unique()) == 2048
        by_block = place(book.ALiBi(2), torch.arange(2048), dtype).bias
        assert isinstance(by_block, BiasByPosition)
        assert by_block.corner().dtype == torch.float32
        assert torch.equal(by_block.table()[..., -1:, :], bias)
        far = place(book.ALiBi(1), positions, dtype).bias
        assert isinstance(far, Tensor)
        assert far.isfinite().all()

    def test_a_scheme_for_other_heads_is_refused(self) -> None:
        for scheme in (book.ALiBi(1), book.T5Bias(1, bidirectional=False, seed=0)):
            with pytest.raises(ValueError, match=r"built for 2 heads, got a bias for 1"):
                book.Decoder(9, TINY, seed=0, position=scheme)(TOKENS)

    def test_a_scheme_that_does_nothing_here_is_refused(self) -> None:
        heads = book.MultiHeadAttention(8, 2, seed=0)
        with pytest.raises(ValueError, match=r"Sinusoidal acts on the input"):
            heads(torch.zeros(1, 3, 8), position=book.Sinusoidal())


class TestCache:
    def test_caches_of_different_lengths_are_refused(self) -> None:
        decoder = book.Decoder(9, TINY, seed=0)
        _, caches = decoder.extend(TOKENS, decoder.empty_caches())
        with pytest.raises(ValueError, match=r"same positions, got lengths \[4, 0\]"):
            decoder.extend(TOKENS, [caches[0], book.KeyValueCache()])

    def test_equality(self) -> None:
        x = normal(1, 2, 3, 4, seed=0)
        one = book.KeyValueCache(x, x)
        assert one == book.KeyValueCache(x.clone(), x.clone(), capacity=9)
        assert one != book.KeyValueCache(x, x + 1)
        assert one != book.KeyValueCache(x.float(), x.float())
        assert one != book.KeyValueCache()
        assert book.KeyValueCache() == book.KeyValueCache()
        assert one != x

    @pytest.mark.parametrize("capacity", [0, 3, 4, 50])
    def test_branches_keep_their_own_history(self, capacity: int) -> None:
        x = normal(1, 2, 6, 4, seed=0)
        stem = book.KeyValueCache(capacity=capacity).append(x[:, :, :2], x[:, :, :2])
        left = stem.append(x[:, :, 2:3], x[:, :, 2:3])
        right = stem.append(x[:, :, 3:], x[:, :, 3:])
        left = left.append(x[:, :, 4:], x[:, :, 4:])
        assert torch.equal(stem.keys, x[:, :, :2])
        assert torch.equal(left.keys, x[:, :, [0, 1, 2, 4, 5]])
        assert torch.equal(right.values, x[:, :, [0, 1, 3, 4, 5]])

    def test_room_is_used_in_place(self) -> None:
        x = normal(1, 2, 1, 4, seed=0)
        cache = book.KeyValueCache(capacity=8).append(x, x)
        assert cache.keys is not None
        address = cache.keys.data_ptr()
        for _ in range(7):
            cache = cache.append(x, x)
        assert cache.keys is not None
        assert cache.keys.data_ptr() == address
        assert cache.append(x, x).keys.data_ptr() != address

    def test_gradients_pass_through_a_cache(self) -> None:
        heads = book.MultiHeadAttention(8, 2, seed=0).double()
        x = normal(1, 3, 8, seed=0)
        cache, rows = book.KeyValueCache(capacity=5), []
        for n in range(3):
            row, cache = heads.extend(x[:, n : n + 1], cache)
            rows.append(row)
        one = torch.autograd.grad(torch.cat(rows, 1).square().sum(), list(heads.parameters()))
        whole = heads(x, mask=book.causal_mask(3)).square().sum()
        two = torch.autograd.grad(whole, list(heads.parameters()))
        for a, b in zip(one, two, strict=True):
            assert (a - b).abs().max() <= 1e-13

    def test_half_a_pair_is_refused(self) -> None:
        with pytest.raises(ValueError, match="give both or neither"):
            book.KeyValueCache(keys=torch.zeros(1, 1, 2, 4))


class TestPatterns:
    def test_a_window_of_w_sees_w_keys_itself_included(self) -> None:
        layers = [book.LayerPattern(window=2, position=ROTARY), book.LayerPattern()]
        decoder = frozen(book.Decoder(9, TINY, seed=0, layers=layers))
        _, weights = decoder(TOKENS, return_weights=True)
        local, everywhere = ((w.own[0, 0] > 0).int().sum(-1).tolist() for w in weights)
        assert local == [1, 2, 2, 2]
        assert everywhere == [1, 2, 3, 4]

    def test_patterns_repeat(self) -> None:
        one, two = book.LayerPattern(window=2), book.LayerPattern()
        shape = book.Architecture(d=8, heads=2, layers=5)
        decoder = book.Decoder(9, shape, seed=0, layers=[one, one, two])
        assert [p.window for p in decoder.patterns] == [2, 2, None, 2, 2]

    def test_layers_by_hand(self) -> None:
        """Two bases and a NoPE layer: the same blocks, called one after the other."""
        fast = book.Rotary(book.rotary_frequencies(4, 100.0), layout="half")
        shape = book.Architecture(d=8, heads=2, layers=3)
        layers = [book.LayerPattern(position=p) for p in (ROTARY, fast, None)]
        decoder = frozen(book.Decoder(9, shape, seed=0, layers=layers))
        x = decoder.embed(TOKENS, torch.arange(4))
        for block, scheme in zip(decoder.blocks, (ROTARY, fast, None), strict=True):
            x = block(x, mask=book.causal_mask(4), position=scheme)
        assert torch.equal(decoder.head(decoder.norm(x)), decoder(TOKENS))

    def test_trained_schemes_of_layers_are_parameters(self) -> None:
        bias = book.T5Bias(2, bidirectional=False, seed=0)
        layers = [book.LayerPattern(position=bias), book.LayerPattern(window=1, position=bias)]
        decoder = book.Decoder(9, TINY, seed=0, layers=layers)
        assert any(p is bias.table.rows for p in decoder.parameters())
        plain = book.Decoder(9, TINY, seed=0)
        assert len(list(decoder.parameters())) == len(list(plain.parameters())) + 1

    def test_the_input_may_have_a_scheme_beside_them(self) -> None:
        layers = [book.LayerPattern(window=2)]
        decoder = book.Decoder(9, TINY, seed=0, position=book.Sinusoidal(), layers=layers)
        assert decoder(TOKENS).shape == (2, 4, 9)
        with pytest.raises(ValueError, match=r"Rotary acts in the layers: with layers=, give it"):
            book.Decoder(9, TINY, seed=0, position=ROTARY, layers=layers)

    def test_near_by_position(self) -> None:
        at = torch.tensor([[0, 1, 5], [0, 1, 2]], dtype=torch.uint8)
        near = near_by_position(at[:, 2:], at, 2)
        assert near.tolist() == [[[False, False, True]], [[False, True, True]]]
        near = near_by_position(torch.arange(2), torch.arange(3), 2)
        assert near.tolist() == [[True, True, False], [True, True, True]]
        far = torch.tensor([-(2**31), 2**31])
        assert near_by_position(far, far, 2**32).tolist() == [[True, False], [False, True]]
        for wide in (2**32 + 1, 2**63, 2**70):
            assert near_by_position(far, far, wide).all()


class TestHooks:
    """Each hook of the heads against the formula, in NumPy."""

    x = normal(1, 5, 8, seed=1)

    def expected(self, heads: book.MultiHeadAttention, **changes: Any) -> np.ndarray:
        parts = [
            (self.x @ layer.W).unflatten(-1, (-1, heads.d_k)).transpose(1, 2)
            for layer in (heads.query, heads.key, heads.value)
        ]
        q, k, v = (p.numpy()[0] for p in parts)
        if heads.query_norm is not None:
            q, k = (t / np.sqrt((t**2).mean(-1, keepdims=True) + 1e-6) for t in (q, k))
        k, v = (np.repeat(t, heads.heads // heads.kv_heads, 0) for t in (k, v))
        scores = q @ k.swapaxes(-2, -1) * changes.get("scale", heads.d_k**-0.5)
        if cap := changes.get("soft_cap"):
            scores = cap * np.tanh(scores / cap)
        powers = np.exp(scores)
        sink = np.exp(heads.sink.numpy())[:, None, None] if heads.sink is not None else 0.0
        joined = (powers / (powers.sum(-1, keepdims=True) + sink)) @ v
        joined = joined.swapaxes(0, 1).reshape(5, -1)
        if heads.gate is not None:
            joined = joined / (1 + np.exp(-(self.x[0] @ heads.gate.W).numpy()))
        result: np.ndarray = joined @ heads.output.W.numpy()
        return result

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"kv_heads": 2},
            {"head_dim": 6},
            {"scale": 0.3},
            {"qk_norm": True},
            {"soft_cap": 0.5},
            {"sink": True, "kv_heads": 2},
            {"gate": True},
            {"qk_norm": True, "soft_cap": 0.7, "sink": True, "gate": True, "kv_heads": 1},
        ],
    )
    @pytest.mark.parametrize("return_weights", [True, False])
    def test_formula(self, options: dict, return_weights: bool) -> None:
        heads = frozen(book.MultiHeadAttention(8, 4, seed=0, **options))
        if heads.sink is not None:
            heads.sink.copy_(torch.tensor([0.5, -1.0, 2.0, 0.0]))
        with torch.no_grad():
            got = heads(self.x, return_weights=return_weights)
        output = got[0] if return_weights else got
        assert np.abs(output[0].numpy() - self.expected(heads, **options)).max() <= 1e-12

    def test_masks_and_biases_of_groups(self) -> None:
        """Grouped queries with every shape of mask and a bias: as if the heads were repeated."""
        grouped = frozen(book.MultiHeadAttention(8, 4, kv_heads=2, seed=0))
        full = frozen(book.MultiHeadAttention(8, 4, seed=0))
        for name in ("query", "output"):
            getattr(full, name).W.copy_(getattr(grouped, name).W)
        for name in ("key", "value"):
            W = getattr(grouped, name).W.unflatten(-1, (2, 2)).repeat_interleave(2, 1).flatten(1)
            getattr(full, name).W.copy_(W)
        x = normal(2, 5, 8, seed=3)
        per_head = torch.stack([book.sliding_window_mask(5, window=w) for w in (1, 2, 3, 4)])
        for mask in (
            None,
            book.causal_mask(5),
            book.padding_mask(torch.tensor([3, 5]), 5),
            per_head.unsqueeze(0),
            torch.tensor([[True, True, False, True, True]]),
        ):
            for position in (None, book.ALiBi(4)):
                one, two = (
                    h(x, mask=mask, position=position, return_weights=True) for h in (grouped, full)
                )
                for a, b in zip(one, two, strict=True):
                    assert (a - b).abs().max() <= 1e-13


class TestDeepNorm:
    def test_an_encoder_decoder_has_its_own_constants(self) -> None:
        shape = book.Architecture(d=8, heads=2, layers=6, placement="deep")
        decoder = book.Decoder(9, shape, seed=0, cross=True)
        encoder = book.Encoder(9, shape, seed=0, decoder_layers=6)
        alone = book.Decoder(9, shape, seed=0)
        alphas = [m.blocks[0].attention_residual.alpha for m in (decoder, encoder, alone)]
        assert alphas == pytest.approx([18**0.25, 0.81 * 6 ** (5 / 16), 12**0.25])


def test_repr_shows_sizes() -> None:
    text = repr(book.Decoder(9, TINY, seed=0, position=ROTARY))
    for part in ("Linear(8, 32, bias=True)", "Embedding(9, 8)", "kv_heads=2", "pairs=2"):
        assert part in text


def test_a_scheme_with_a_table_must_say_how_to_turn() -> None:
    class Half(book.PositionalScheme):
        def angles(self, positions: Tensor, dtype: torch.dtype, *, length: int) -> Any:
            return book.rotary_table(positions, book.rotary_frequencies(4), dtype=dtype)

    with pytest.raises(NotImplementedError, match="Half has a table but does not say how to turn"):
        book.Decoder(9, TINY, seed=0, position=Half())(TOKENS)


def test_memory_for_every_block_or_one_for_all() -> None:
    decoder = book.Decoder(9, TINY, seed=0, cross=True)
    memory = torch.zeros(2, 3, 8)
    with pytest.raises(TypeError, match=r"one KeyValueCache per block; got list"):
        decoder(TOKENS, memory=decoder.remember(memory)[:1])
    with pytest.raises(ValueError, match=r"no cross-attention: build it with cross=True"):
        book.Decoder(9, TINY, seed=0).remember(memory)

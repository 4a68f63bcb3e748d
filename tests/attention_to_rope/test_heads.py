"""Many heads against PyTorch's layer and against one head at a time; with and without a cache."""

import math
import pickle
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import attention_to_rope as book
from attention_to_rope import reference
from attention_to_rope.heads import Sight, near_some_query, place, whole_mask
from bookkit.randomness import generator, normal

Z = torch.zeros


class TestRepeatHeads:
    def test_copies_stand_next_to_each_other(self) -> None:
        x = normal(2, 3, 4, 5, seed=0)
        repeated = book.repeat_heads(x, 2)
        assert repeated.shape == (2, 6, 4, 5)
        for head in range(6):
            assert torch.equal(repeated[:, head], x[:, head // 2])

    def test_errors(self) -> None:
        with pytest.raises(ValueError, match=r"times must be at least 1, got 0"):
            book.repeat_heads(torch.zeros(1, 2, 3), 0)
        with pytest.raises(ValueError, match=r"\(\.\.\., H, N, d\), got \(2, 3\)"):
            book.repeat_heads(torch.zeros(2, 3), 2)


def double(module: nn.Module) -> nn.Module:
    return module.double().requires_grad_(False)


class TestMultiHeadAttention:
    @given(
        st.sampled_from([(1, 1), (2, 2), (4, 4), (4, 2), (4, 1)]), st.booleans(), st.integers(0, 99)
    )
    def test_equals_the_reference(self, heads: tuple[int, int], cross: bool, seed: int) -> None:
        mha = double(book.MultiHeadAttention(8, heads[0], kv_heads=heads[1], seed=seed))
        x = normal(1, 5, 8, seed=seed)
        context = normal(1, 3, 8, seed=seed + 1) if cross else None
        source = x if context is None else context
        mask = book.causal_mask(3, 5).T if cross else book.causal_mask(5)
        matrices = [getattr(mha, n).W.numpy() for n in ("query", "key", "value", "output")]
        expected = reference.multi_head_attention(
            x[0].numpy(), source[0].numpy(), *matrices, *heads, mask.numpy()
        )
        assert np.abs(mha(x, context, mask=mask)[0].numpy() - expected).max() <= 1e-12

    @pytest.mark.parametrize("masked", [False, True])
    def test_equals_pytorch(self, masked: bool) -> None:
        ours = double(book.MultiHeadAttention(12, 3, bias=True, seed=0))
        theirs = double(nn.MultiheadAttention(12, 3, batch_first=True))
        rng = generator(5)
        for name in ("query", "key", "value", "output"):
            getattr(ours, name).b.copy_(torch.from_numpy(rng.normal(size=12)))
        theirs.in_proj_weight.copy_(torch.cat([ours.query.W.T, ours.key.W.T, ours.value.W.T]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.b, ours.key.b, ours.value.b]))
        theirs.out_proj.weight.copy_(ours.output.W.T)
        theirs.out_proj.bias.copy_(ours.output.b)
        x, context = normal(2, 5, 12, seed=1), normal(2, 7, 12, seed=2)
        lengths = torch.tensor([4, 7])
        keep = book.padding_mask(lengths, 7)
        options = {"key_padding_mask": ~keep[:, 0]} if masked else {}
        expected, weights = theirs(
            x, context, context, average_attn_weights=False, need_weights=True, **options
        )
        got, got_weights = ours(x, context, mask=keep if masked else None, return_weights=True)
        assert (got - expected).abs().max() <= 1e-12
        assert (got_weights - weights).abs().max() <= 1e-12

    @pytest.mark.parametrize("shape", [(5, 5), (2, 1, 5), (2, 5, 5), (2, 1, 1, 5), (2, 4, 5, 5)])
    def test_mask_shapes(self, shape: tuple[int, ...]) -> None:
        mha = double(book.MultiHeadAttention(8, 4, seed=0))
        x = normal(2, 5, 8, seed=0)
        mask = torch.from_numpy(generator(1).random(shape) < 0.6)
        full = mask[:, None] if len(shape) == 3 else mask
        _, weights = mha(x, mask=mask, return_weights=True)
        assert torch.equal(weights > 0, full.expand(2, 4, 5, 5))

    @pytest.mark.parametrize("kv_heads", [1, 2, 4])
    @pytest.mark.parametrize("pieces", [(6,), (1,) * 6, (2, 1, 3)])
    @pytest.mark.parametrize("scheme", ["none", "rotary", "alibi", "t5"])
    def test_cache_equals_the_whole(self, kv_heads: int, pieces: tuple, scheme: str) -> None:
        position = {
            "none": None,
            "rotary": book.Rotary(book.rotary_frequencies(2), layout="half"),
            "alibi": book.ALiBi(4),
            "t5": double(book.T5Bias(4, bidirectional=False, seed=0, deviation=1.0)),
        }[scheme]
        mha = double(book.MultiHeadAttention(8, 4, kv_heads=kv_heads, seed=0))
        x = normal(2, 6, 8, seed=0)
        whole = mha(x, mask=book.causal_mask(6), position=position)
        cache, outputs = book.KeyValueCache(), []
        for piece in x.split(pieces, dim=1):
            output, cache = mha.extend(piece, cache, position=position)
            outputs.append(output)
        assert cache.length == 6
        assert (torch.cat(outputs, 1) - whole).abs().max() <= 1e-14

    def test_extend_takes_a_further_mask(self) -> None:
        mha = double(book.MultiHeadAttention(8, 2, seed=0))
        x = normal(2, 4, 8, seed=0)
        keep = book.padding_mask(torch.tensor([2, 4]), 4)
        whole = mha(x, mask=book.causal_mask(4) & keep)
        _, cache = mha.extend(x[:, :3], book.KeyValueCache(), mask=keep[..., :3])
        last, _ = mha.extend(x[:, 3:], cache, mask=keep)
        assert (last - whole[:, 3:]).abs().max() <= 1e-14

    def test_positions_shift_rotary_scores_by_nothing(self) -> None:
        mha = double(book.MultiHeadAttention(8, 2, seed=0))
        position = book.Rotary(book.rotary_frequencies(4), layout="interleaved")
        x = normal(2, 4, 8, seed=0)
        shifted = torch.arange(4) + torch.tensor([[7], [100]])
        plain = mha(x, position=position)
        assert (mha(x, position=position, positions=shifted) - plain).abs().max() <= 1e-13
        spread = torch.tensor([0, 2, 4, 6])
        assert (mha(x, position=position, positions=spread) - plain).abs().max() > 1e-3

    @pytest.mark.parametrize("scheme", ["alibi", "t5"])
    def test_batched_positions_reach_the_bias(self, scheme: str) -> None:
        position = (
            book.ALiBi(2)
            if scheme == "alibi"
            else double(book.T5Bias(2, bidirectional=True, seed=0, deviation=1.0))
        )
        mha = double(book.MultiHeadAttention(8, 2, seed=0))
        x = normal(2, 4, 8, seed=0)
        positions = torch.tensor([[0, 1, 2, 3], [0, 5, 6, 9]])
        both = mha(x, position=position, positions=positions)
        for b in range(2):
            alone = mha(x[b : b + 1], position=position, positions=positions[b])
            assert (both[b] - alone[0]).abs().max() <= 1e-14

    def test_half_precision_with_a_bias_in_float64(self) -> None:
        mha = book.MultiHeadAttention(8, 2, seed=0).bfloat16()
        x = normal(1, 3, 8, seed=0, dtype=torch.bfloat16)
        assert mha(x, position=book.ALiBi(2)).dtype == torch.bfloat16

    def test_empty_batch(self) -> None:
        mha = book.MultiHeadAttention(8, 2, seed=0)
        assert mha(torch.zeros(0, 3, 8), mask=book.causal_mask(3)).shape == (0, 3, 8)

    def test_same_seed_same_weights_and_pickle(self) -> None:
        one, two = (book.MultiHeadAttention(8, 2, seed=3) for _ in range(2))
        copy = pickle.loads(pickle.dumps(one))
        x = normal(1, 3, 8, seed=0, dtype=torch.float32)
        assert torch.equal(one(x), two(x))
        assert torch.equal(one(x), copy(x))
        other = book.MultiHeadAttention(8, 2, seed=4)
        assert not torch.equal(one(x), other(x))
        assert not torch.equal(one.query.W, one.key.W)

    def test_gain_scales_values_and_output_only(self) -> None:
        one = book.MultiHeadAttention(8, 2, seed=3)
        half = book.MultiHeadAttention(8, 2, seed=3, gain=0.5)
        for name, factor in (("query", 1), ("key", 1), ("value", 0.5), ("output", 0.5)):
            assert torch.allclose(getattr(half, name).W, factor * getattr(one, name).W)
            assert getattr(one, name).b is not None

    @pytest.mark.parametrize(
        ("build", "error", "message"),
        [
            ({"d": 10, "heads": 3}, ValueError, r"heads must divide d, got d=10 and heads=3"),
            ({"d": 8, "heads": 0}, ValueError, r"heads must be at least 1, got 0"),
            ({"d": 8, "heads": 4, "kv_heads": 3}, ValueError, r"heads=4 and kv_heads=3"),
            ({"d": 8, "heads": 4, "kv_heads": 0}, ValueError, r"kv_heads must be at least 1"),
            ({"d": 8.0, "heads": 4}, TypeError, r"d must be an int, got float \(8\.0\)"),
            ({"d": 8, "heads": True}, TypeError, r"heads must be an int, got bool"),
        ],
    )
    def test_build_errors(self, build: dict, error: type, message: str) -> None:
        with pytest.raises(error, match=message):
            book.MultiHeadAttention(**build, seed=0)

    @pytest.mark.parametrize(
        ("arguments", "options", "error", "message"),
        [
            ((Z(3, 8),), {}, ValueError, r"x must have shape \(B, N, d=8\), got \(3, 8\)"),
            ((Z(1, 3, 6),), {}, ValueError, r"x must have shape \(B, N, d=8\), got \(1, 3, 6\)"),
            ((Z(1, 0, 8),), {}, ValueError, r"x must hold at least one position"),
            ((Z(1, 3, 8), Z(1, 3, 6)), {}, ValueError, r"context must have shape \(B, N, d=8\)"),
            ((Z(1, 3, 8), Z(2, 3, 8)), {}, ValueError, r"same batch size, got 1 and 2"),
            ((Z(1, 3, 8).long(),), {}, TypeError, r"x must be floating point"),
            (
                (Z(1, 3, 8), Z(1, 3, 8)),
                {"position": book.ALiBi(2)},
                ValueError,
                r"position=, .* belong to self-attention",
            ),
        ],
    )
    def test_call_errors(self, arguments: tuple, options: dict, error: type, message: str) -> None:
        with pytest.raises(error, match=message):
            book.MultiHeadAttention(8, 2, seed=0)(*arguments, **options)

    def test_extend_checks_its_input(self) -> None:
        with pytest.raises(ValueError, match=r"x must have shape \(B, N, d=8\)"):
            book.MultiHeadAttention(8, 2, seed=0).extend(Z(1, 3, 6), book.KeyValueCache())


@pytest.mark.parametrize("shape", [(2, 3, 4), (5, 2, 3, 4)])
def test_repeated_heads_stand_side_by_side(shape: tuple[int, ...]) -> None:
    x = torch.arange(math.prod(shape)).view(shape)
    repeated = book.repeat_heads(x, 2)
    assert torch.equal(repeated[..., 0::2, :, :], x)
    assert torch.equal(repeated[..., 1::2, :, :], x)


def test_heads_use_the_bias_of_the_scheme() -> None:
    heads = book.MultiHeadAttention(8, 2, seed=0).double().requires_grad_(False)
    x, positions = normal(1, 5, 8, seed=1), torch.arange(5)
    q, k, v = (
        layer(x).unflatten(-1, (2, 4)).transpose(1, 2)
        for layer in (heads.query, heads.key, heads.value)
    )
    scheme = book.ALiBi(2)
    by_hand = book.attention(q, k, v, bias=scheme.bias(positions, positions)[None])
    expected = heads.output(by_hand.transpose(1, 2).flatten(2))
    assert (heads(x, position=scheme) - expected).abs().max() <= 1e-14


def test_heads_refuse_whole_numbers() -> None:
    with pytest.raises(TypeError, match="x must be floating point"):
        book.MultiHeadAttention(8, 2, seed=0)(torch.zeros(1, 5, 8, dtype=torch.long))


def test_a_scheme_that_does_nothing_may_be_given() -> None:
    heads, x = book.MultiHeadAttention(8, 2, seed=0), torch.ones(1, 3, 8)
    assert torch.equal(heads(x, position=book.PositionalScheme()), heads(x))


def test_all_positions_are_new_where_nothing_else_is_said() -> None:
    placed = place(None, torch.arange(3), torch.float32)
    assert placed.q_positions.tolist() == [0, 1, 2]


@pytest.mark.parametrize("causal", [False, True])
def test_one_query_needs_no_mask_for_its_window(causal: bool) -> None:
    sight, cpu = Sight(None, causal, 3), torch.device("cpu")
    assert whole_mask(sight, 1, 9, cpu, first=6) is None
    mask = whole_mask(sight, 2, 4, torch.device("meta"))
    assert mask is not None
    assert mask.is_meta


def test_keys_near_some_query_of_their_row() -> None:
    positions = torch.tensor([[0, 3, 5, 6], [6, 5, 3, 0]])
    near = near_some_query(positions, 2, 3)
    assert near.tolist() == [[[[False, True, True, True]]], [[[False, True, True, True]]]]
    assert near_some_query(positions[0], 1, 4).tolist() == [[False, True, True, True]]


def test_a_mask_on_another_device_is_refused() -> None:
    heads, x = book.MultiHeadAttention(8, 2, seed=0), torch.ones(1, 3, 8)
    mask = torch.ones(3, 3, dtype=torch.bool, device="meta")
    with pytest.raises(ValueError, match=r"x and mask must be on the same device"):
        heads(x, mask=mask)


def test_who_may_see_nothing() -> None:
    """Refused where causality or a window leave something to see, for more than one query."""
    heads, x = double(book.MultiHeadAttention(8, 2, seed=0, bias=False)), normal(1, 2, 8, seed=1)
    none = torch.zeros(1, 1, 2, dtype=torch.bool)
    for options in ({"causal": True}, {"window": 2}):
        with pytest.raises(ValueError, match=r"polarity looks inverted"):
            heads(x, mask=none, **options)
        assert not heads(x[:, :1], mask=none[..., :1], **options).any()
    assert not heads(x, mask=none).any()


def test_sizes_are_counts_beside_a_head_dim_too() -> None:
    for build, name in (({"d": 0, "heads": 2}, "d"), ({"d": 8, "heads": 0}, "heads")):
        with pytest.raises(ValueError, match=rf"^{name} must be at least 1, got 0"):
            book.MultiHeadAttention(**build, head_dim=4, seed=0)


def test_the_gate_has_a_bias_where_all_have_one() -> None:
    for bias in (False, True):
        heads = book.MultiHeadAttention(8, 2, seed=0, bias=bias, gate=True)
        assert heads.gate is not None
        assert (heads.gate.b is not None) == bias


def test_the_kernel_of_torch_gets_a_bias_in_its_own_dtype_only() -> None:
    heads, x = book.MultiHeadAttention(8, 2, seed=0), torch.ones(1, 3, 8)
    with (
        mock.patch.object(
            nn.functional,
            "scaled_dot_product_attention",
            wraps=nn.functional.scaled_dot_product_attention,
        ) as kernel,
        torch.no_grad(),
    ):
        heads(x, position=book.ALiBi(2))
        assert kernel.call_count == 1
        heads.half()(x.half(), position=book.ALiBi(2))
        assert kernel.call_count == 1

"""Attention against its NumPy reference, against PyTorch, behind masks, and its errors."""

import dataclasses
import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

import attention_to_rope as book
from attention_to_rope import reference
from bookkit.randomness import generator, normal

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
# Half a unit in the last place of a number near 1, times a small count of roundings.
TOLERANCE = {
    torch.float64: 1e-12,
    torch.float32: 2e-6,
    torch.bfloat16: 2**-8,
    torch.float16: 2**-11,
}


def strided(x: torch.Tensor) -> torch.Tensor:
    """The same values, but not contiguous in memory."""
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


class TestSoftmax:
    @given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=9), st.sampled_from(FLOATS))
    def test_equals_the_reference(self, logits: list[float], dtype: torch.dtype) -> None:
        x = torch.tensor(logits, dtype=dtype)
        expected = torch.from_numpy(reference.softmax(x.double().numpy()))
        weights = book.softmax(x)
        assert weights.dtype == dtype
        assert (weights.double() - expected).abs().max() <= TOLERANCE[dtype]

    @pytest.mark.parametrize("dim", [0, 1, -1])
    def test_sums_to_one_along_dim(self, dim: int) -> None:
        x = normal(3, 4, seed=0)
        assert (book.softmax(x, dim).sum(dim) - 1).abs().max() <= 1e-15
        assert (book.softmax(x, dim) - torch.softmax(x, dim)).abs().max() <= 1e-15

    def test_row_of_minus_infinity_gives_zero_and_zero_gradient(self) -> None:
        x = torch.full((2, 3), -torch.inf, dtype=torch.float64)
        x[1] = torch.tensor([0.0, -torch.inf, 1.0])
        x.requires_grad_()
        weights = book.softmax(x)
        assert torch.equal(weights[0], torch.zeros(3, dtype=torch.float64))
        assert np.array_equal(reference.softmax(x[0].detach().numpy()), np.zeros(3))
        assert float(weights[1].detach().sum()) == pytest.approx(1.0, abs=1e-15)
        weights[:, 2].sum().backward()
        assert x.grad is not None
        assert torch.equal(x.grad[0], torch.zeros(3, dtype=torch.float64))
        assert x.grad.isfinite().all()

    def test_nan_and_plus_infinity_are_not_hidden(self) -> None:
        assert book.softmax(torch.tensor([0.0, torch.nan])).isnan().all()
        assert book.softmax(torch.tensor([0.0, torch.inf])).isnan().any()

    def test_gradient(self) -> None:
        x = normal(3, 5, seed=1).requires_grad_()
        assert torch.autograd.gradcheck(book.softmax, (x,))
        assert torch.autograd.gradgradcheck(book.softmax, (x,))

    def test_half_types_are_rounded_once(self) -> None:
        x = normal(8, 50, seed=2, dtype=torch.bfloat16)
        assert torch.equal(book.softmax(x), torch.softmax(x.float(), -1).bfloat16())

    def test_errors(self) -> None:
        with pytest.raises(ValueError, match=r"at least one logit, got shape \(2, 0\)"):
            book.softmax(torch.zeros(2, 0))
        with pytest.raises(ValueError, match=r"at least one logit, got shape \(\)"):
            book.softmax(torch.tensor(1.0))
        with pytest.raises(TypeError, match=r"logits must be floating point.*got torch.int64"):
            book.softmax(torch.arange(3))
        with pytest.raises(TypeError, match=r"logits must be a torch.Tensor, got list"):
            book.softmax([1.0])  # type: ignore[arg-type]


@st.composite
def problems(draw: st.DrawFn) -> dict[str, object]:
    """Queries, keys, values, and perhaps mask, bias and scale, for one head."""
    n_q, n_k = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    d_k, d_v = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rng = generator(draw(st.integers(0, 10_000)))
    size = draw(st.sampled_from([1e-3, 1.0, 100.0]))  # 100: logits of ±1e4
    return {
        "q": rng.normal(size=(n_q, d_k)) * size,
        "k": rng.normal(size=(n_k, d_k)) * size,
        "v": rng.normal(size=(n_k, d_v)),
        "mask": rng.random((n_q, n_k)) < 0.6 if draw(st.booleans()) else None,
        "bias": rng.normal(size=(n_q, n_k)) * size if draw(st.booleans()) else None,
        "scale": draw(st.sampled_from([None, 0.3])),
    }


def looks_inverted(mask: np.ndarray) -> bool:
    return mask.shape[0] == mask.shape[1] > 1 and np.array_equal(mask, np.triu(mask * 0 + 1, 1) > 0)


class TestAttention:
    @given(problems(), st.booleans())
    def test_equals_the_reference(self, problem: dict, contiguous: bool) -> None:
        if problem["mask"] is not None and looks_inverted(problem["mask"]):
            return
        output, weights = reference.attention(**problem)
        tensors = {
            name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
            for name, value in problem.items()
        }
        if not contiguous:
            tensors.update({name: strided(tensors[name]) for name in "qkv"})
        got, got_weights = book.attention(**tensors, return_weights=True)
        assert np.abs(got.numpy() - output).max() <= 1e-11
        assert np.abs(got_weights.numpy() - weights).max() <= 1e-11
        assert torch.equal(book.attention(**tensors), got)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_dtypes(self, dtype: torch.dtype) -> None:
        q, k, v = (normal(2, 3, 4, 8, seed=s, dtype=dtype) for s in range(3))
        output, weights = book.attention(q, k, v, return_weights=True)
        assert output.dtype == weights.dtype == dtype
        exact = functional.scaled_dot_product_attention(q.double(), k.double(), v.double())
        assert (output.double() - exact).abs().max() <= 2 * TOLERANCE[dtype]

    def test_fp16_scores_beyond_its_range_do_not_overflow(self) -> None:
        q = torch.full((1, 64), 60.0, dtype=torch.float16)
        k = torch.stack((q[0], q[0] / 2))
        assert not (q @ k.T).isfinite().all()
        assert torch.equal(book.attention(q, k, k), k[:1])

    @given(st.sampled_from(["none", "bool", "bias", "causal"]), st.integers(0, 99))
    def test_equals_pytorch(self, kind: str, seed: int) -> None:
        rng = generator(seed)
        q, k, v = (torch.from_numpy(rng.normal(size=(2, 3, 7, 4))) for _ in range(3))
        bias = torch.from_numpy(rng.normal(size=(2, 3, 7, 7)))
        mask = torch.from_numpy(rng.random((2, 1, 7, 7)) < 0.7)
        ours, theirs = {
            "none": ({}, {}),
            "bool": ({"mask": mask}, {"attn_mask": mask}),
            "bias": ({"bias": bias}, {"attn_mask": bias}),
            "causal": ({"mask": book.causal_mask(7)}, {"is_causal": True}),
        }[kind]
        expected = functional.scaled_dot_product_attention(q, k, v, **theirs)
        assert (book.attention(q, k, v, **ours) - expected).abs().max() <= 1e-12

    def test_grouped_queries_equal_pytorch(self) -> None:
        q, k, v = normal(2, 6, 5, 4, seed=0), normal(2, 2, 5, 4, seed=1), normal(2, 2, 5, 4, seed=2)
        expected = functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        ours = book.attention(q, book.repeat_heads(k, 3), book.repeat_heads(v, 3))
        assert (ours - expected).abs().max() <= 1e-12

    def test_empty_batch(self) -> None:
        x = torch.zeros(0, 3, 4)
        assert book.attention(x, x, x).shape == (0, 3, 4)
        mask = torch.ones(0, 3, 3, dtype=torch.bool)
        assert book.attention(x, x, x, mask=mask).shape == (0, 3, 4)

    def test_fully_masked_row_gives_zero_and_finite_gradients(self) -> None:
        q, k, v = (normal(3, 4, seed=s).requires_grad_() for s in range(3))
        mask = torch.tensor([[True, True, False], [False, False, False], [False, True, True]])
        output, weights = book.attention(q, k, v, mask=mask, return_weights=True)
        assert torch.equal(output[1], torch.zeros(4).double())
        assert torch.equal(weights[1], torch.zeros(3).double())
        output.sum().backward()
        for tensor in (q, k, v):
            assert tensor.grad is not None
            assert tensor.grad.isfinite().all()
        assert torch.equal(q.grad[1], torch.zeros(4).double())  # type: ignore[index]

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
    @pytest.mark.parametrize("where", ["k", "v", "k and v", "q"])
    def test_nothing_leaks_from_behind_the_mask(self, bad: float, where: str) -> None:
        """Position 2 is hidden from queries 0 and 1; query 2 sees nothing."""
        mask = torch.tensor([[True, True, False], [False, True, False], [False, False, False]])
        clean = {name: normal(3, 4, seed=s) for s, name in enumerate("qkv")}
        results = []
        for planted in (0.0, bad):
            tensors = {name: tensor.clone() for name, tensor in clean.items()}
            for name in where.split(" and "):
                tensors[name][2] = planted
            for tensor in tensors.values():
                tensor.requires_grad_()
            output = book.attention(**tensors, mask=mask)
            output.square().sum().backward()
            results.append([output, *(tensor.grad for tensor in tensors.values())])
        for with_zero, with_bad in zip(*results, strict=True):
            assert torch.equal(with_zero, with_bad)

    @pytest.mark.parametrize("name", ["k", "v"])
    def test_who_may_see_a_nan_gets_it(self, name: str) -> None:
        tensors = {name: normal(2, 4, seed=s) for s, name in enumerate("qkv")}
        tensors[name][1, 0] = torch.nan
        output = book.attention(**tensors, mask=book.causal_mask(2))
        assert output[0].isfinite().all()
        assert output[1].isnan().all()

    def test_masked_bias_cannot_leak(self) -> None:
        q, k, v = (normal(2, 4, seed=s) for s in range(3))
        bias = torch.tensor([[0.5, torch.nan], [0.1, 0.2]]).double()
        output = book.attention(q, k, v, mask=book.causal_mask(2), bias=bias)
        bias[0, 1] = 7.0
        assert torch.equal(output, book.attention(q, k, v, mask=book.causal_mask(2), bias=bias))

    def test_bias_of_minus_infinity_is_a_mask(self) -> None:
        q, k, v = (normal(3, 4, seed=s) for s in range(3))
        mask = book.causal_mask(3)
        bias = torch.zeros(3, 3).double().masked_fill(~mask, -torch.inf)
        assert torch.allclose(
            book.attention(q, k, v, bias=bias), book.attention(q, k, v, mask=mask), atol=1e-15
        )

    def test_gradients(self) -> None:
        q, k, v, bias = (normal(2, 3, 3, seed=s).requires_grad_() for s in range(4))
        mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])

        def run(*tensors: torch.Tensor) -> torch.Tensor:
            return book.attention(*tensors[:3], mask=mask, bias=tensors[3], scale=0.7)

        assert torch.autograd.gradcheck(run, (q, k, v, bias))

    def test_rows_of_a_batch_do_not_touch_each_other(self) -> None:
        q, k, v = (normal(4, 5, 8, seed=s) for s in range(3))
        whole = book.attention(q, k, v, mask=book.causal_mask(5))
        for b in range(4):
            alone = book.attention(q[b], k[b], v[b], mask=book.causal_mask(5))
            assert (whole[b] - alone).abs().max() <= 1e-15

    def test_half_bias_for_half_queries(self) -> None:
        q = normal(3, 4, seed=0, dtype=torch.float16)
        bias = torch.zeros(3, 3)
        assert torch.equal(book.attention(q, q, q, bias=bias), book.attention(q, q, q))
        assert torch.equal(book.attention(q, q, q, bias=bias.half()), book.attention(q, q, q))

    def test_the_caller_keeps_its_tensors(self) -> None:
        q, k, v = (normal(3, 4, seed=s) for s in range(3))
        before = [t.clone() for t in (q, k, v)]
        book.attention(q, k, v, mask=book.causal_mask(3), bias=torch.zeros(3, 3).double())
        assert all(torch.equal(a, b) for a, b in zip(before, (q, k, v), strict=True))


Z = torch.zeros


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (
            (Z(4), Z(2, 4), Z(2, 4)),
            {},
            ValueError,
            r"q must have shape \(\.\.\., N, d\), got \(4,\)",
        ),
        (
            (Z(2, 4), Z(0, 4), Z(0, 4)),
            {},
            ValueError,
            r"k must have at least one position.*\(0, 4\)",
        ),
        ((Z(2, 0), Z(2, 0), Z(2, 4)), {}, ValueError, r"q must have at least one position"),
        ((Z(2, 4), Z(2, 3), Z(2, 4)), {}, ValueError, r"same head dim d_k, got 4 and 3"),
        ((Z(2, 4), Z(3, 4), Z(2, 4)), {}, ValueError, r"same length, got 3 and 2 positions"),
        ((Z(2, 2, 4), Z(1, 2, 4), Z(2, 2, 4)), {}, ValueError, r"same leading axes.*repeat_heads"),
        ((Z(2, 2, 4), Z(2, 2, 4), Z(1, 2, 4)), {}, ValueError, r"same leading axes"),
        ((Z(2, 4), Z(2, 4).double(), Z(2, 4)), {}, TypeError, r"q and k must have the same dtype"),
        ((Z(2, 4), Z(2, 4), Z(2, 4).half()), {}, TypeError, r"q and v must have the same dtype"),
        (
            (Z(2, 4), Z(2, 4, device="meta"), Z(2, 4)),
            {},
            ValueError,
            r"same device, got cpu and meta",
        ),
        (
            (Z(2, 4).int(), Z(2, 4), Z(2, 4)),
            {},
            TypeError,
            r"q must be floating point.*q\.float\(\)",
        ),
        (3, {"scale": 0.0}, ValueError, r"scale must be finite and above 0, got 0\.0"),
        (3, {"scale": "1"}, TypeError, r"scale must be a number, got str"),
        (3, {"mask": Z(2, 2)}, TypeError, r"boolean with True = attend, got torch.float32.*bias="),
        (3, {"mask": Z(2, 2).int()}, TypeError, r"got torch.int32.*mask\.bool\(\)"),
        (3, {"mask": [[True]]}, TypeError, r"mask must be a boolean torch.Tensor, got list"),
        (3, {"mask": Z(2, 1).bool()}, ValueError, r"mask of shape \(2, 1\).*N_k = 2"),
        (3, {"mask": Z(3, 2).bool()}, ValueError, r"mask of shape \(3, 2\) does not fit"),
        (3, {"mask": Z(2).bool()}, ValueError, r"mask must have 2 axes.*got shape \(2,\)"),
        (3, {"mask": Z(1, 2, 2).bool()}, ValueError, r"mask must have 2 axes \(N_q, N_k\) or 2"),
        (3, {"mask": Z(2, 2, device="meta").bool()}, ValueError, r"q and mask must be on the same"),
        (
            3,
            {"mask": torch.ones(2, 2).triu(1).bool()},
            ValueError,
            r"polarity looks inverted.*~mask",
        ),
        (3, {"bias": Z(2, 2).double()}, TypeError, r"bias must have the dtype of q, torch.float32"),
        (3, {"bias": Z(2, 2).bool()}, TypeError, r"bias must be floating point"),
        (3, {"bias": Z(2, 3)}, ValueError, r"bias of shape \(2, 3\) does not fit scores"),
        (3, {"bias": Z(2, 2, device="meta")}, ValueError, r"q and bias must be on the same device"),
    ],
)
def test_attention_errors(arguments: object, options: dict, error: type, message: str) -> None:
    tensors = (Z(2, 4),) * 3 if arguments == 3 else arguments
    with pytest.raises(error, match=message):
        book.attention(*tensors, **options)  # type: ignore[misc]


def test_mask_of_one_batch_is_not_taken_for_heads() -> None:
    """(B, 1, N) against scores (B, H, N, N) would line B up with H if it were let through."""
    x = torch.zeros(2, 2, 3, 4)
    mask = book.padding_mask(torch.tensor([1, 3]), 3)
    with pytest.raises(
        ValueError, match=r"got shape \(2, 1, 3\); .* mask\[:, None\] for the heads"
    ):
        book.attention(x, x, x, mask=mask)
    assert book.attention(x, x, x, mask=mask[:, None]).shape == x.shape


def test_causal_masks_that_are_not_inverted_pass() -> None:
    x = torch.zeros(1, 4)
    assert book.attention(x, x, x, mask=torch.zeros(1, 1, dtype=torch.bool)).abs().max() == 0
    y = torch.zeros(3, 4)
    strictly_before = torch.ones(3, 3, dtype=torch.bool).tril(-1)
    assert book.attention(y, y, y, mask=strictly_before).shape == (3, 4)
    with pytest.raises(ValueError, match="polarity"):
        book.attention(y[None], y[None], y[None], mask=~book.causal_mask(3)[None])


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


class TestKeyValueCache:
    def test_append_gives_a_new_cache(self) -> None:
        empty = book.KeyValueCache()
        keys, values = normal(2, 1, 3, 4, seed=0), normal(2, 1, 3, 5, seed=1)
        one = empty.append(keys, values)
        two = one.append(keys[:, :, :1], values[:, :, :1])
        assert (empty.length, one.length, two.length) == (0, 3, 4)
        assert torch.equal(two.keys, torch.cat((keys, keys[:, :, :1]), -2))  # type: ignore[arg-type]
        assert torch.equal(two.values, torch.cat((values, values[:, :, :1]), -2))  # type: ignore[arg-type]
        assert one.keys is keys
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.keys = keys  # type: ignore[misc]

    def test_errors(self) -> None:
        x = torch.zeros(2, 1, 3, 4)
        cache = book.KeyValueCache(x, x)
        with pytest.raises(
            ValueError, match=r"keys and values must agree.*\(2, 1, 3, 4\) and \(2, 1, 2"
        ):
            cache.append(x, x[:, :, :2])
        with pytest.raises(
            ValueError, match=r"new keys must agree.*\(1, 1, 3, 4\) after \(2, 1, 3, 4\)"
        ):
            cache.append(x[:1], x[:1])
        with pytest.raises(ValueError, match=r"new values must agree.*\(2, 1, 3, 5\) after"):
            cache.append(x, torch.zeros(2, 1, 3, 5))
        with pytest.raises(TypeError, match=r"cached keys and new keys must have the same dtype"):
            cache.append(x.half(), x.half())


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
            assert getattr(one, name).b is None

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
                r"position= belongs to self-attention",
            ),
        ],
    )
    def test_call_errors(self, arguments: tuple, options: dict, error: type, message: str) -> None:
        with pytest.raises(error, match=message):
            book.MultiHeadAttention(8, 2, seed=0)(*arguments, **options)

    def test_extend_checks_its_input(self) -> None:
        with pytest.raises(ValueError, match=r"x must have shape \(B, N, d=8\)"):
            book.MultiHeadAttention(8, 2, seed=0).extend(Z(1, 3, 6), book.KeyValueCache())


@pytest.mark.parametrize(
    "shape", [(0, 4), (3, 0), (2, 0, 4), (2, 3, 0), (1, 2, 0, 4), (5, 2, 3, 0)]
)
def test_nothing_to_attend_to(shape: tuple[int, ...]) -> None:
    x = torch.zeros(shape)
    with pytest.raises(ValueError, match="at least one position and one dimension"):
        book.attention(x, x, x)


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

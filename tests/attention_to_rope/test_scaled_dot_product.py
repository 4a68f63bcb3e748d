"""Attention against its NumPy reference, against PyTorch, behind masks, and its errors."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
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
        with pytest.raises(ValueError, match=r"dim must name an axis .* got -1 for shape \(\)"):
            book.softmax(torch.tensor(1.0))
        with pytest.raises(TypeError, match=r"logits must be floating point.*got torch.int64"):
            book.softmax(torch.arange(3))
        with pytest.raises(TypeError, match=r"logits must be a torch.Tensor, got list"):
            book.softmax([1.0])
        with pytest.raises(ValueError, match=r"dim must name an axis .*got 5 for shape \(3,\)"):
            book.softmax(torch.zeros(3), 5)
        with pytest.raises(TypeError, match=r"dim must be a whole number, got float"):
            book.softmax(torch.zeros(3), 0.0)


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


class TestAttention:
    @given(problems(), st.booleans())
    def test_equals_the_reference(self, problem: dict, contiguous: bool) -> None:
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
        assert torch.equal(q.grad[1], torch.zeros(4).double())

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
        (3, {"bias": Z(2, 2).double()}, TypeError, r"bias must have the dtype of q, torch.float32"),
        (3, {"bias": Z(2, 2).bool()}, TypeError, r"bias must be floating point"),
        (3, {"bias": Z(2, 3)}, ValueError, r"bias of shape \(2, 3\) does not fit scores"),
        (3, {"bias": Z(2, 2, device="meta")}, ValueError, r"q and bias must be on the same device"),
    ],
)
def test_attention_errors(arguments: object, options: dict, error: type, message: str) -> None:
    tensors = (Z(2, 4),) * 3 if arguments == 3 else arguments
    with pytest.raises(error, match=message):
        book.attention(*tensors, **options)


def test_mask_of_one_batch_is_not_taken_for_heads() -> None:
    """(B, 1, N) against scores (B, H, N, N) would line B up with H if it were let through."""
    x = torch.zeros(2, 2, 3, 4)
    mask = book.padding_mask(torch.tensor([1, 3]), 3)
    with pytest.raises(
        ValueError, match=r"got shape \(2, 1, 3\); .* mask\[:, None\] for the heads"
    ):
        book.attention(x, x, x, mask=mask)
    assert book.attention(x, x, x, mask=mask[:, None]).shape == x.shape


def test_strict_masks_of_both_directions_pass() -> None:
    x = torch.zeros(1, 4)
    assert book.attention(x, x, x, mask=torch.zeros(1, 1, dtype=torch.bool)).abs().max() == 0
    y = torch.zeros(3, 4)
    strictly_before = torch.ones(3, 3, dtype=torch.bool).tril(-1)
    assert book.attention(y, y, y, mask=strictly_before).shape == (3, 4)
    strictly_later = ~book.causal_mask(3)
    assert book.attention(y, y, y, mask=strictly_later).shape == (3, 4)


@pytest.mark.parametrize(
    "shape", [(0, 4), (3, 0), (2, 0, 4), (2, 3, 0), (1, 2, 0, 4), (5, 2, 3, 0)]
)
def test_nothing_to_attend_to(shape: tuple[int, ...]) -> None:
    x = torch.zeros(shape)
    with pytest.raises(ValueError, match="at least one position and one dimension"):
        book.attention(x, x, x)


def test_what_a_bias_hides_is_not_seen_and_what_it_favours_is() -> None:
    q, k, v = (normal(2, 4, seed=s) for s in range(3))
    v[1] = torch.nan
    hidden = torch.tensor([0.0, -torch.inf]).double().expand(2, 2)
    assert torch.allclose(book.attention(q, k, v, bias=hidden), v[0].expand(2, 4))

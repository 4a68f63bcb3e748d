"""Attention and softmax against loops in float64, and what happens at the edges."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

import attention_to_rope as book


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def attention_by_loops(q, k, v, mask=None, bias=None, scale=None, cap=None, sink=None):
    """One head, one query after the other: (n, d), (m, d), (m, e) as NumPy arrays."""
    scale = 1 / math.sqrt(q.shape[1]) if scale is None else scale
    output, weights = np.zeros((len(q), v.shape[1])), np.zeros((len(q), len(k)))
    for i in range(len(q)):
        seen = [j for j in range(len(k)) if mask is None or mask[i, j]]
        scores = [scale * math.fsum(q[i] * k[j]) for j in seen]
        scores = [s if cap is None else cap * math.tanh(s / cap) for s in scores]
        scores = [
            s + (0 if bias is None else bias[i, j]) for s, j in zip(scores, seen, strict=True)
        ]
        every = scores + ([] if sink is None else [sink[i]])
        if not every:
            continue
        powers = [math.exp(s - max(every)) for s in every]
        for power, j in zip(powers, seen, strict=False):
            weights[i, j] = power / math.fsum(powers)
            output[i] += weights[i, j] * v[j]
    return output, weights


@given(
    n=st.integers(1, 5),
    m=st.integers(1, 6),
    d=st.integers(1, 5),
    seed=st.integers(0, 99),
    masked=st.booleans(),
    biased=st.booleans(),
    cap=st.none() | st.floats(0.5, 20),
    sunk=st.booleans(),
    scale=st.none() | st.floats(0.1, 3),
)
def test_attention_is_what_the_loops_say(n, m, d, seed, masked, biased, cap, sunk, scale):
    rng = np.random.default_rng(seed)
    q, k, v = rng.normal(size=(2, n, d)), rng.normal(size=(2, m, d)), rng.normal(size=(2, m, 3))
    mask = rng.random((n, m)) > 0.4 if masked else None
    bias = rng.normal(size=(n, m)) if biased else None
    sink = rng.normal(size=(2, n, 1)) if sunk else None
    tensors = [None if x is None else torch.from_numpy(x) for x in (mask, bias, sink)]
    output, weights = book.attention(
        *(torch.from_numpy(x) for x in (q, k, v)),
        mask=tensors[0],
        bias=tensors[1],
        sink=tensors[2],
        scale=scale,
        soft_cap=cap,
        return_weights=True,
    )
    for b in range(2):
        one = None if sink is None else sink[b, :, 0]
        expected = attention_by_loops(q[b], k[b], v[b], mask, bias, scale, cap, one)
        np.testing.assert_allclose(output[b], expected[0], atol=1e-12)
        np.testing.assert_allclose(weights[b], expected[1], atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_computed_in_float32_and_rounded_once(dtype):
    q, k, v = (normal(2, 3, 64, seed=s, dtype=dtype) for s in range(3))
    expected = book.attention(q.float(), k.float(), v.float()).to(dtype)
    assert torch.equal(book.attention(q, k, v), expected)
    large = torch.full((1, 64), 40.0, dtype=torch.float16)
    assert book.attention(large, large, large).isfinite().all()
    assert torch.equal(book.softmax(q), book.softmax(q.float()).to(dtype))


def test_a_query_that_sees_nothing_gets_zero_and_no_gradient():
    q, k, v = (normal(2, 4, seed=s).requires_grad_() for s in range(3))
    mask = torch.tensor([[True, True], [False, False]])
    output = book.attention(q, k, v, mask=mask)
    assert torch.equal(output[1], torch.zeros(4))
    output.sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v))
    assert torch.equal(q.grad[1], torch.zeros(4))


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("where", ["key", "value"])
def test_what_is_behind_the_mask_changes_nothing_even_if_it_is_not_a_number(bad, where):
    q, k, v = (normal(1, 3, 4, seed=s) for s in range(3))
    mask = torch.tensor([[[True, False, True]] * 3])
    clean = [x.clone().requires_grad_() for x in (q, k, v)]
    spoiled = [x.clone() for x in (q, k, v)]
    spoiled[1 if where == "key" else 2][:, 1] = bad
    spoiled = [x.requires_grad_() for x in spoiled]
    one, other = book.attention(*clean, mask=mask), book.attention(*spoiled, mask=mask)
    assert torch.equal(one, other)
    one.sum().backward()
    other.sum().backward()
    assert torch.equal(clean[0].grad, spoiled[0].grad)
    assert torch.equal(clean[2].grad[:, ::2], spoiled[2].grad[:, ::2])
    seen = book.attention(*(x.detach() for x in spoiled), mask=torch.ones_like(mask))
    assert seen.isnan().all()


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        (torch.ones(2, 2, 2), TypeError),
        (torch.ones(2, 2, dtype=torch.uint8), TypeError),
        (torch.ones(3, 2, 2, dtype=torch.bool), (ValueError, TypeCheckError)),  # batch for heads
        (torch.ones(2, 1, dtype=torch.bool), (ValueError, TypeCheckError)),
        (torch.ones(4, 2, dtype=torch.bool), (ValueError, TypeCheckError)),
    ],
)
def test_masks_that_would_be_misread_are_refused(mask, error):
    x = normal(3, 3, 2, 4)
    with pytest.raises(error):
        book.attention(x, x, x, mask=mask)


def test_a_batch_of_masks_is_not_repeated_along_the_heads():
    """Without the hook: the check by hand, for a batch as large as the number of heads."""
    from attention_to_rope.scaled_dot_product import check_options

    x = normal(3, 3, 2, 2)
    with pytest.raises(TypeError, match="boolean"):
        check_options(x, x, mask=torch.ones(2, 2, dtype=torch.uint8))
    for shape in ((3, 2, 2), (3, 2), (2, 1)):  # no heads; too many rows; one key for all
        given = torch.ones(shape)
        for option in ({"mask": given.bool()}, {"bias": given}):
            with pytest.raises(ValueError, match="the 4 axes of the scores"):
                check_options(x, x, **option)
    for shape in ((2, 2), (1, 2), (3, 3, 2, 2), (1, 3, 1, 2)):
        check_options(x, x, mask=torch.ones(shape, dtype=torch.bool), bias=torch.ones(shape))
    with pytest.raises(ValueError, match="sink must have"):
        check_options(x, x, sink=torch.ones(3, 1, 1))
    check_options(x, x, sink=torch.ones(1, 3, 1, 1))


def test_a_cap_of_attention_is_checked_too():
    x = normal(2, 2)
    with pytest.raises(ValueError, match="leave it out"):
        book.attention(x, x, x, soft_cap=0.0)


@given(
    st.lists(st.floats(-800, 800) | st.just(-math.inf), min_size=1, max_size=6),
    st.integers(-3, 2),
)
def test_softmax_is_the_quotient_of_exponentials(row, dim):
    logits = torch.tensor(row, dtype=torch.float64).view(
        [-1 if i == dim % 3 else 1 for i in range(3)]
    )
    weights = book.softmax(logits, dim).flatten()
    largest = max(row)
    if largest == -math.inf:
        assert torch.equal(weights, torch.zeros(len(row)))
        return
    powers = [math.exp(x - largest) for x in row]
    np.testing.assert_allclose(weights, np.array(powers) / math.fsum(powers), atol=1e-15)


def test_the_jacobian_is_the_derivative_and_its_bounds_hold():
    x = normal(6, seed=3)
    p = book.softmax(x)
    by_autograd = torch.autograd.functional.jacobian(book.softmax, x)
    torch.testing.assert_close(book.softmax_jacobian(p), by_autograd)
    assert math.isclose(
        book.softmax_jacobian_norm(p, "spectral"), torch.linalg.norm(by_autograd, 2)
    )
    assert math.isclose(book.softmax_jacobian_norm(p, "frobenius"), torch.linalg.norm(by_autograd))
    m = book.saturation(p)
    assert math.isclose(m, 1 - p.max())
    ordered = x.sort().values
    assert m <= book.gap_bound(float(ordered[-1] - ordered[-2]), 6) + 1e-15
    assert math.isclose(book.gap_bound(1.0, 3), 2 / (2 + math.e))


@pytest.mark.parametrize("cap", [0.0, -1.0, 1e39, math.inf, math.nan])
def test_a_cap_that_no_float32_holds_is_refused(cap):
    with pytest.raises(ValueError, match="leave it out"):
        book.soft_cap(torch.ones(2), cap)


def test_soft_cap_sinks_and_length_factor():
    s = normal(5, dtype=torch.float32) * 30
    expected = 7 * np.tanh(s.double().numpy() / 7)
    np.testing.assert_allclose(book.soft_cap(s, 7.0), expected, rtol=1e-5)
    q, k, v = normal(2, 3, 5, 4, seed=1), normal(2, 3, 6, 4, seed=2), normal(2, 3, 6, 4, seed=3)
    sink = normal(3, seed=4)
    lse = (q @ k.mT / 2).logsumexp(-1)
    gated = book.attention(q, k, v) * book.sink_gate(lse, sink).unsqueeze(-1)
    torch.testing.assert_close(book.attention(q, k, v, sink=sink.view(1, 3, 1, 1)), gated)
    with pytest.raises(ValueError, match="sink must have shape"):
        book.attention(q, k, v, sink=sink.view(3, 1, 1))
    lengths = torch.tensor([1, 10])
    assert book.log_length_factor(lengths, 0.4).tolist() == [0.0, 0.4 * math.log(10)]


def test_gradients_of_any_order_and_transforms():
    q, k, v = (normal(2, 3, 4, seed=s).requires_grad_() for s in range(3))
    mask = book.causal_mask(3)

    def f(q, k, v):
        return book.attention(q, k, v, mask=mask, soft_cap=5.0)

    assert torch.autograd.gradcheck(f, (q, k, v))
    assert torch.autograd.gradgradcheck(f, (q, k, v))
    batched = torch.vmap(f)(q, k, v)
    torch.testing.assert_close(batched, f(q, k, v))

"""Masks by their definition; partial attention merges to attention in any order."""

from functools import reduce
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope.merge import finish, log_total, merge, partial_attention, partial_gradients


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


@given(
    n=st.integers(1, 7),
    more=st.integers(0, 4),
    window=st.integers(1, 9) | st.just(2**70),
    dilation=st.integers(1, 4) | st.just(2**70),
    causal=st.booleans(),
)
def test_masks_follow_their_definition(n, more, window, dilation, causal):
    m = n + more
    dilated = book.dilated_mask(n, m, window=window, dilation=dilation, causal=causal)
    near = book.sliding_window_mask(n, m, window=window, causal=causal)
    for i in range(n):
        for j in range(m):
            distance = i + more - j
            assert book.causal_mask(n, m)[i, j] == (distance >= 0)
            side = distance >= 0 or not causal
            assert near[i, j] == (side and abs(distance) < window)
            steps = abs(distance) / dilation
            assert dilated[i, j] == (side and steps == int(steps) and steps < window)


def test_padding_and_global_masks():
    assert book.padding_mask(torch.tensor([0, 2]), 3).tolist() == [[[0] * 3], [[1, 1, 0]]]
    assert book.global_mask(3, torch.tensor([1])).tolist() == [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
    with pytest.raises(ValueError, match="last positions"):
        book.causal_mask(3, 2)


@pytest.mark.parametrize("masked", [False, True])
def test_parts_merge_to_attention_in_any_order(masked):
    q, k, v = normal(2, 4, 3), normal(2, 7, 3, seed=1), normal(2, 7, 5, seed=2)
    mask = normal(4, 7, seed=3) > 0.3 if masked else torch.ones(4, 7, dtype=torch.bool)
    mask[0] = False  # a query that sees nothing
    expected = book.attention(q, k, v, mask=mask)
    parts = [
        partial_attention(q, k[:, s], v[:, s], mask=mask[:, s])
        for s in (slice(0, 3), slice(3, 4), slice(4, 7))
    ]
    for order in permutations(parts):
        torch.testing.assert_close(finish(reduce(merge, order)), expected)
    state = reduce(merge, parts)
    scores = (q @ k.mT / 3**0.5).masked_fill(~mask, -torch.inf)
    log_sums = scores.logsumexp(-1, keepdim=True).masked_fill(
        ~mask.any(-1, keepdim=True), torch.inf
    )
    torch.testing.assert_close(log_total(state), log_sums)


def test_partial_gradients_add_up_to_autograd():
    q, k, v = (normal(4, 6, seed=s).requires_grad_() for s in range(3))
    g, mask = normal(4, 6, seed=3), book.causal_mask(4)
    output = book.attention(q, k, v, mask=mask)
    expected = torch.autograd.grad(output, (q, k, v), g)
    q, k, v = (x.detach() for x in (q, k, v))
    state = partial_attention(q, k, v, mask=mask)
    share = (g * finish(state)).sum(-1, keepdim=True)
    grad_q = 0
    for part in (slice(0, 1), slice(1, 4)):
        got = partial_gradients(
            q, k[part], v[part], log_total(state), g, share, mask=mask[:, part], scale=6**-0.5
        )
        grad_q = grad_q + got.q
        torch.testing.assert_close(got.k, expected[1][part])
        torch.testing.assert_close(got.v, expected[2][part])
    torch.testing.assert_close(grad_q, expected[0])


def test_a_sink_as_a_gate_has_the_gradients_of_a_sink():
    """Only if the gradient also flows through λ: without that path, those of q and k are wrong."""
    q, k, v = (normal(2, 5, 4, seed=seed).requires_grad_() for seed in range(3))
    sink = normal(2, seed=3).requires_grad_()
    upstream = normal(2, 5, 4, seed=4)
    inputs = (q, k, v, sink)
    plain = book.attention(q, k, v, sink=sink.view(2, 1, 1))
    expected = torch.autograd.grad(plain, inputs, upstream)
    state = merge(
        partial_attention(q, k[:, :2], v[:, :2]), partial_attention(q, k[:, 2:], v[:, 2:])
    )
    lam = log_total(state).squeeze(-1)
    gated = finish(state) * book.sink_gate(lam, sink).unsqueeze(-1)
    found = torch.autograd.grad(gated, inputs, upstream, retain_graph=True)
    torch.testing.assert_close(found, expected)
    gated = finish(state) * book.sink_gate(lam.detach(), sink).unsqueeze(-1)
    dropped = torch.autograd.grad(gated, inputs, upstream)
    torch.testing.assert_close(dropped[2:], expected[2:])
    for wrong, right in zip(dropped[:2], expected[:2], strict=True):
        assert (wrong - right).norm() > 0.05 * right.norm()

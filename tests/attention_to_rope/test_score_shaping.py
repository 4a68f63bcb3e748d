"""Bounded, gated and sharpened scores against the reference and their identities."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope import reference
from bookkit.randomness import normal


def test_query_key_norm_equals_the_reference() -> None:
    q, k = normal(2, 3, 4, 6, seed=0), normal(2, 3, 5, 6, seed=1)
    q_gain, k_gain = normal(6, seed=2), normal(6, seed=3)
    normed = book.query_key_norm(q, k, q_gain, k_gain, eps=0.1)
    for x, gain, got in ((q, q_gain, normed[0]), (k, k_gain, normed[1])):
        for row, result in zip(x.reshape(-1, 6), got.reshape(-1, 6), strict=True):
            expected = reference.rms_norm(row.numpy(), gain.numpy(), 0.1)
            assert np.abs(result.numpy() - expected).max() <= 1e-13
    for got, x in zip(book.query_key_norm(q, k), (q, k), strict=True):
        assert torch.equal(got, book.rms_norm(x, eps=1e-6))


def test_normed_scores_are_bounded_by_the_root_of_d() -> None:
    q, _ = book.query_key_norm(*(100 * normal(4, 9, seed=s) for s in range(2)), eps=1e-12)
    scores = q @ q.T / math.sqrt(9)
    assert float(scores.max()) == pytest.approx(3.0, abs=1e-9)  # a query that is its own key
    assert scores.abs().max() <= 3 + 1e-9


def test_norm_commutes_with_rope_only_for_gains_equal_in_each_pair() -> None:
    q = normal(1, 1, 5, 6, seed=0)
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(6), dtype=torch.float64)

    def difference(gain: torch.Tensor) -> float:
        first = book.rotate(book.rms_norm(q, gain), table, layout="half")
        last = book.rms_norm(book.rotate(q, table, layout="half"), gain)
        return float((first - last).abs().max())

    assert difference(normal(3, seed=1).repeat(2)) <= 1e-14
    assert difference(normal(6, seed=1)) > 0.1


@given(st.floats(-1e4, 1e4), st.floats(0.1, 100))
def test_soft_cap_equals_the_reference(score: float, cap: float) -> None:
    got = float(book.soft_cap(torch.tensor(score, dtype=torch.float64), cap))
    assert got == pytest.approx(reference.soft_cap(score, cap), rel=1e-12, abs=1e-300)
    assert abs(got) <= cap


def test_soft_cap_of_half_types_is_rounded_once() -> None:
    scores = 100 * normal(40, seed=0, dtype=torch.bfloat16)
    got = book.soft_cap(scores, 50.0)
    assert got.dtype == torch.bfloat16
    assert torch.equal(got, book.soft_cap(scores.float(), 50.0).bfloat16())


def scores_of(x: torch.Tensor, W_Q: torch.Tensor, W_K: torch.Tensor, heads: int) -> torch.Tensor:
    q = (x @ W_Q).reshape(len(x), heads, -1).transpose(0, 1)
    k = (x @ W_K).reshape(len(x), -1, q.shape[-1]).transpose(0, 1)
    return q @ k.repeat_interleave(heads // len(k), 0).transpose(-2, -1)


def test_clip_brings_the_largest_score_to_the_threshold() -> None:
    x, W_Q, W_K = normal(6, 5, seed=0), normal(5, 12, seed=1), normal(5, 12, seed=2)
    before = scores_of(x, W_Q, W_K, 3)
    largest = before.amax((1, 2))
    threshold = float(largest.median())
    after = scores_of(x, *book.query_key_clip(W_Q, W_K, largest, threshold=threshold), 3)
    expected = torch.clamp(largest, max=threshold)
    assert (after.amax((1, 2)) - expected).abs().max() <= 1e-12
    assert (after - before * (expected / largest)[:, None, None]).abs().max() <= 1e-12
    new_Q, new_K = book.query_key_clip(W_Q, W_K, largest, threshold=threshold)
    for h in range(3):
        own = slice(4 * h, 4 * h + 4)
        by_hand = reference.query_key_clip(
            W_Q[:, own].numpy(), W_K[:, own].numpy(), float(largest[h]), threshold
        )
        assert np.abs(new_Q[:, own].numpy() - by_hand[0]).max() <= 1e-14
        assert np.abs(new_K[:, own].numpy() - by_hand[1]).max() <= 1e-14


def test_clip_leaves_shared_keys_and_quiet_heads_alone() -> None:
    x, W_Q, W_K = normal(6, 5, seed=0), normal(5, 16, seed=1), normal(5, 8, seed=2)
    before = scores_of(x, W_Q, W_K, 4)
    largest = before.amax((1, 2))
    new_Q, new_K = book.query_key_clip(W_Q, W_K, largest, threshold=1.0)
    assert new_K is W_K
    assert (scores_of(x, new_Q, new_K, 4).amax((1, 2)) - 1).abs().max() <= 1e-12
    quiet = torch.tensor([-1.0, 0.0, 0.5, 1.0], dtype=torch.float64)
    assert torch.equal(book.query_key_clip(W_Q, W_K, quiet, threshold=1.0)[0], W_Q)


@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 50))
def test_a_sink_is_a_gate_on_the_log_sum_exp(n_q: int, earlier: int, seed: int) -> None:
    n_k = n_q + earlier
    q, k = normal(2, 3, n_q, 4, seed=seed), normal(2, 3, n_k, 4, seed=seed + 1)
    v, sink = normal(2, 3, n_k, 5, seed=seed + 2), normal(3, seed=seed + 3)
    mask = book.causal_mask(n_q, n_k)
    got = book.sink_attention(q, k, v, sink, mask=mask)
    for b in range(2):
        for h in range(3):
            expected = reference.sink_attention(
                q[b, h].numpy(), k[b, h].numpy(), v[b, h].numpy(), float(sink[h]), mask.numpy()
            )
            assert np.abs(got[b, h].numpy() - expected).max() <= 1e-13
    scores = (q @ k.transpose(-2, -1) / 2).masked_fill(~mask, -torch.inf)
    gate = book.sink_gate(scores.logsumexp(-1), sink)
    gated = gate.unsqueeze(-1) * book.attention(q, k, v, mask=mask)
    assert (got - gated).abs().max() <= 1e-13


def test_sink_without_mask_with_scale_and_with_nothing_to_see() -> None:
    q, k, v = (normal(1, 2, 3, 4, seed=s) for s in range(3))
    sink = normal(2, seed=3)
    got = book.sink_attention(q, k, v, sink, scale=0.7)
    gate = book.sink_gate((0.7 * q @ k.transpose(-2, -1)).logsumexp(-1), sink)
    assert (got - gate.unsqueeze(-1) * book.attention(q, k, v, scale=0.7)).abs().max() <= 1e-14
    far = torch.full((2,), -torch.inf, dtype=torch.float64)
    assert torch.equal(book.sink_attention(q, k, v, far), book.attention(q, k, v))
    nobody = torch.zeros(3, 3, dtype=torch.bool)
    assert not book.sink_attention(q, k, v, sink, mask=nobody).any()


def test_sink_learns() -> None:
    q, k, v = (normal(2, 3, 4, seed=s) for s in range(3))
    sink = normal(2, seed=3).requires_grad_()
    assert torch.autograd.gradcheck(lambda b: book.sink_attention(q, k, v, b), (sink,))


def test_gated_attention_equals_the_reference() -> None:
    q, k, v = normal(3, 4, seed=0), normal(5, 4, seed=1), normal(5, 2, seed=2)
    gate = normal(3, 2, seed=3)
    expected = reference.gated_attention(q.numpy(), k.numpy(), v.numpy(), gate.numpy())
    assert np.abs(book.gated_attention(q, k, v, gate).numpy() - expected).max() <= 1e-14
    per_head = book.gated_attention(q, k, v, gate[:, :1], scale=0.3)
    plain = book.attention(q, k, v, scale=0.3)
    assert (per_head - plain * gate[:, :1].sigmoid()).abs().max() <= 1e-14
    mask = torch.tensor([[True, False, False, True, False]] * 3)
    masked = book.gated_attention(q, k, v, gate, mask=mask)
    assert (masked - book.attention(q, k, v, mask=mask) * gate.sigmoid()).abs().max() <= 1e-14


def test_length_factors_equal_the_reference() -> None:
    lengths = torch.tensor([1, 2, 100, 10**6])
    got = book.log_length_factor(lengths, 0.43)
    assert got.dtype == torch.float64
    expected = [reference.log_length_factor(n, 0.43) for n in lengths.tolist()]
    assert got.tolist() == pytest.approx(expected, rel=1e-14)
    positions = torch.tensor([[0, 8190], [8191, 131071], [16383, 10**7]])
    for step, first in ((8192, 1), (16384, 0)):
        got = book.stepped_length_factor(positions, step=step, slope=0.2, first=first)
        for row, numbers in zip(got.tolist(), positions.tolist(), strict=True):
            for factor, i in zip(row, numbers, strict=True):
                expected_factor = reference.stepped_length_factor(i, step, 0.2, first)
                assert factor == pytest.approx(expected_factor, rel=1e-14)
    default = book.stepped_length_factor(torch.tensor([8190, 8191, 131071, 10**7]))
    assert [round(x, 3) for x in default.tolist()] == [1.0, 1.069, 1.283, 1.711]


def test_the_log_keeps_a_constant_lead_visible() -> None:
    """A score ahead by 5: its weight falls with 1/n, and stays with the factor s ln n."""
    plain, sharpened = [], []
    for n in (100, 10**5):
        scores = torch.zeros(n, dtype=torch.float64)
        scores[0] = 5.0
        plain.append(float(book.softmax(scores)[0]))
        factor = book.log_length_factor(torch.tensor(n), 0.43)
        sharpened.append(float(book.softmax(factor * scores)[0]))
        powers = n ** (0.43 * scores)
        assert sharpened[-1] == pytest.approx(float(powers[0] / powers.sum()), rel=1e-12)
    assert plain[0] > 0.5
    assert plain[1] < 0.01
    assert min(sharpened) > 0.99


ONES = torch.ones(2, 3, 4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: book.soft_cap(torch.ones(2), 0.0), ValueError, r"cap must be finite and above 0"),
        (lambda: book.soft_cap(torch.arange(2), 1.0), TypeError, r"scores must be floating point"),
        (
            lambda: book.query_key_clip(
                torch.ones(2), torch.ones(2, 2), torch.ones(1), threshold=1
            ),
            ValueError,
            r"W_Q must have shape \(d, H · d_k\), got \(2,\)",
        ),
        (
            lambda: book.query_key_clip(
                torch.ones(2, 2), torch.ones(2), torch.ones(1), threshold=1
            ),
            ValueError,
            r"W_K must have shape",
        ),
        (
            lambda: book.query_key_clip(
                torch.ones(2, 2), torch.ones(2, 2), torch.ones(1), threshold=0.0
            ),
            ValueError,
            r"threshold must be finite and above 0",
        ),
        (
            lambda: book.query_key_clip(
                torch.ones(2, 2), torch.ones(2, 2), torch.ones(0), threshold=1.0
            ),
            ValueError,
            r"largest must have one entry per head, got \(0,\)",
        ),
        (
            lambda: book.query_key_clip(
                torch.ones(2, 2), torch.ones(2, 2), torch.tensor(1.0), threshold=1.0
            ),
            ValueError,
            r"largest must have one entry per head, got \(\)",
        ),
        (
            lambda: book.query_key_clip(
                torch.ones(2, 2), torch.ones(2, 2), torch.arange(1), threshold=1.0
            ),
            TypeError,
            r"largest must be floating",
        ),
        (
            lambda: book.query_key_clip(
                torch.arange(2), torch.ones(2, 2), torch.ones(1), threshold=1.0
            ),
            TypeError,
            r"W_Q must be floating",
        ),
        (
            lambda: book.query_key_clip(
                torch.ones(2, 5), torch.ones(2, 4), torch.ones(2), threshold=1.0
            ),
            ValueError,
            r"with H = 2 the entries of largest; got 5 and 4",
        ),
        (
            lambda: book.query_key_clip(
                torch.ones(2, 4), torch.ones(2, 3), torch.ones(2), threshold=1.0
            ),
            ValueError,
            r"got 4 and 3",
        ),
        (
            lambda: book.query_key_clip(
                torch.ones(2, 4), torch.ones(3, 4), torch.ones(2), threshold=1.0
            ),
            ValueError,
            r"the same d, got 2 and 3 rows",
        ),
        (
            lambda: book.query_key_clip(
                torch.ones(2, 4), torch.ones(2, 4).double(), torch.ones(2), threshold=1.0
            ),
            TypeError,
            r"W_Q and W_K must have the same dtype",
        ),
        (
            lambda: book.query_key_clip(
                torch.ones(2, 4), torch.ones(2, 4), torch.ones(2, device="meta"), threshold=1.0
            ),
            ValueError,
            r"W_Q and largest must be on the same device",
        ),
        (
            lambda: book.sink_attention(None, ONES, ONES, torch.ones(3)),
            TypeError,
            r"q must be a torch.Tensor, got NoneType",
        ),
        (
            lambda: book.sink_gate(torch.ones(2, 3), None),
            TypeError,
            r"sink must be a torch.Tensor, got NoneType",
        ),
        (
            lambda: book.sink_attention(ONES, ONES, ONES, torch.ones(3)),
            ValueError,
            r"one entry per head of q .* got sink \(3,\) and q \(2, 3, 4\)",
        ),
        (
            lambda: book.sink_attention(ONES[0], ONES[0], ONES[0], torch.ones(3)),
            ValueError,
            r"got sink \(3,\) and q \(3, 4\)",
        ),
        (
            lambda: book.sink_attention(ONES, ONES, ONES, torch.ones(2).double()),
            TypeError,
            r"q and sink must have the same dtype",
        ),
        (
            lambda: book.sink_attention(ONES, ONES, ONES, torch.arange(2)),
            TypeError,
            r"sink must be floating",
        ),
        (
            lambda: book.sink_gate(torch.ones(2, 3), torch.ones(3)),
            ValueError,
            r"one entry per head of log_sum_exp \(..., H, N\), got \(3,\) and \(2, 3\)",
        ),
        (lambda: book.sink_gate(torch.ones(3), torch.ones(3)), ValueError, r"got \(3,\) and \(3,"),
        (
            lambda: book.sink_gate(torch.ones(2, 3), torch.ones(2).double()),
            TypeError,
            r"log_sum_exp and sink must have the same dtype",
        ),
        (
            lambda: book.sink_gate(torch.ones(2, 3).int(), torch.ones(2)),
            TypeError,
            r"log_sum_exp must be floating",
        ),
        (
            lambda: book.gated_attention(ONES, ONES, ONES, torch.ones(2, 3, 2)),
            ValueError,
            r"the output \(2, 3, 4\), or 1 on its last axis; got \(2, 3, 2\)",
        ),
        (
            lambda: book.gated_attention(ONES, ONES, ONES, torch.ones(1, 3, 4)),
            ValueError,
            r"got \(1, 3, 4\)",
        ),
        (
            lambda: book.gated_attention(ONES, ONES, ONES, ONES.double()),
            TypeError,
            r"q and gate must have the same dtype",
        ),
        (
            lambda: book.gated_attention(ONES, ONES, ONES, ONES.int()),
            TypeError,
            r"gate must be floating",
        ),
        (
            lambda: book.log_length_factor(torch.tensor([0]), 1.0),
            ValueError,
            r"lengths must lie in 1…",
        ),
        (
            lambda: book.log_length_factor(torch.tensor([2**31 + 1]), 1.0),
            ValueError,
            r"lengths must lie in 1…2147483648",
        ),
        (
            lambda: book.log_length_factor(torch.tensor([1]), 0.0),
            ValueError,
            r"slope must be finite and above 0",
        ),
        (
            lambda: book.stepped_length_factor(torch.tensor([-1])),
            ValueError,
            r"positions must lie in 0…",
        ),
        (
            lambda: book.stepped_length_factor(torch.tensor([1.0])),
            TypeError,
            r"positions must have an integer dtype",
        ),
        (
            lambda: book.stepped_length_factor(torch.tensor([1]), step=0),
            ValueError,
            r"step must be at least 1",
        ),
        (
            lambda: book.stepped_length_factor(torch.tensor([1]), slope=-1.0),
            ValueError,
            r"slope must be finite and above 0",
        ),
        (
            lambda: book.stepped_length_factor(torch.tensor([1]), first=-1),
            ValueError,
            r"first must be at least 0",
        ),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()

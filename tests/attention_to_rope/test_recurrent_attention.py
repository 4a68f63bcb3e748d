"""Linear attention and the delta rule: both forms, the reference, what a state can recall."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import attention_to_rope as book
from attention_to_rope import reference
from bookkit.randomness import normal


def inputs(length: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    q, k, v = (normal(2, length, d, seed=seed + i) for i, d in enumerate((3, 3, 4)))
    decay, rate = (normal(2, length, seed=seed + 3 + i).sigmoid() for i in range(2))
    return q, k, v, decay, rate


@given(st.integers(1, 7), st.integers(0, 50), st.booleans())
def test_steps_equal_the_parallel_form_and_the_reference(
    length: int, seed: int, decays: bool
) -> None:
    q, k, v, decay, _ = inputs(length, seed)
    used = decay if decays else None
    parallel = book.linear_attention(q, k, v, decay=used)
    steps, state = book.linear_attention_steps(q, k, v, decay=used)
    assert (parallel - steps).abs().max() <= 1e-12
    assert state.shape == (2, 3, 4)
    for b in range(2):
        numbers = decay[b].numpy() if decays else np.ones(length)
        expected = reference.linear_attention(q[b].numpy(), k[b].numpy(), v[b].numpy(), numbers)
        assert np.abs(parallel[b].numpy() - expected).max() <= 1e-12


@given(st.integers(1, 7), st.integers(0, 50), st.booleans())
def test_delta_rule_equals_the_reference(length: int, seed: int, decays: bool) -> None:
    q, k, v, decay, rate = inputs(length, seed)
    output, state = book.delta_rule_steps(q, k, v, rate, decay=decay if decays else None)
    for b in range(2):
        numbers = decay[b].numpy() if decays else np.ones(length)
        expected, last = reference.delta_rule(
            q[b].numpy(), k[b].numpy(), v[b].numpy(), rate[b].numpy(), numbers
        )
        size = max(1.0, float(np.abs(last).max()))
        assert np.abs(output[b].numpy() - expected).max() <= 1e-12 * size
        assert np.abs(state[b].numpy() - last).max() <= 1e-12 * size


def test_a_state_goes_on_where_it_stopped() -> None:
    q, k, v, decay, rate = inputs(6, 0)

    def linear(part: slice, state: Tensor | None) -> tuple[Tensor, Tensor]:
        return book.linear_attention_steps(
            q[:, part], k[:, part], v[:, part], decay=decay[:, part], state=state
        )

    def delta(part: slice, state: Tensor | None) -> tuple[Tensor, Tensor]:
        return book.delta_rule_steps(
            q[:, part], k[:, part], v[:, part], rate[:, part], decay=decay[:, part], state=state
        )

    for run in (linear, delta):
        whole, last = run(slice(0, 6), None)
        first, state = run(slice(0, 2), None)
        second, state = run(slice(2, 6), state)
        assert torch.equal(torch.cat((first, second), dim=1), whole)
        assert torch.equal(state, last)


def test_without_a_rate_of_change_the_delta_rule_only_decays() -> None:
    q, k, v, decay, rate = inputs(5, 0)
    _, start = book.linear_attention_steps(q, k, v)
    _, state = book.delta_rule_steps(q, k, v, 0 * rate, decay=decay, state=start)
    assert (state - start * decay.prod(-1)[:, None, None]).abs().max() <= 1e-14


def test_a_key_written_twice() -> None:
    """Linear attention reads the sum of both values; the delta rule reads the last."""
    key = torch.tensor([[0.6, 0.8]], dtype=torch.float64)
    k = key.expand(2, 2)
    v = normal(2, 3, seed=0)
    summed, _ = book.linear_attention_steps(k, k, v)
    replaced, _ = book.delta_rule_steps(k, k, v, torch.ones(2, dtype=torch.float64))
    assert (summed[1] - v.sum(0)).abs().max() <= 1e-15
    assert (replaced[1] - v[1]).abs().max() <= 1e-15


def recalled(pairs: int, d: int) -> tuple[float, int]:
    """The largest error of reading back `pairs` pairs after the last one; the rank of the state."""
    keys = normal(pairs, d, seed=1)
    keys = torch.linalg.qr(keys.T).Q.T if pairs <= d else torch.nn.functional.normalize(keys)
    values = normal(pairs, pairs, seed=2)
    _, state = book.delta_rule_steps(keys, keys, values, torch.ones(pairs, dtype=torch.float64))
    rank = int(torch.linalg.matrix_rank(state))
    return float((keys @ state - values).abs().max()), rank


def test_a_state_recalls_as_many_pairs_as_its_keys_have_dimensions() -> None:
    assert recalled(8, 8)[0] <= 1e-12
    error, rank = recalled(9, 8)
    assert rank == 8
    assert error > 0.1


def test_no_state_at_all_can_hold_one_pair_more() -> None:
    """The best state for d + 1 pairs, by least squares, still misses: a bound, not a weak rule."""
    keys, values = normal(9, 8, seed=1), torch.eye(9, dtype=torch.float64)
    best = torch.linalg.lstsq(keys, values).solution
    missed = torch.linalg.matrix_norm(keys @ best - values)
    assert float(missed) == pytest.approx(1.0, abs=1e-10)


def test_half_types_keep_an_exact_state() -> None:
    q, k, v, decay, rate = (x.bfloat16() for x in inputs(30, 0))
    for output, state in (
        book.linear_attention_steps(q, k, v, decay=decay),
        book.delta_rule_steps(q, k, v, rate / 4, decay=decay),
    ):
        assert output.dtype == torch.bfloat16
        assert state.dtype == torch.float32
    exact = book.linear_attention(q.float(), k.float(), v.float(), decay=decay.float())
    assert torch.equal(book.linear_attention(q, k, v, decay=decay), exact.bfloat16())


def test_gradients_of_both_forms_agree() -> None:
    tensors = [x.requires_grad_() for x in inputs(5, 0)[:4]]
    gradients = [
        torch.autograd.grad((output**2).sum(), tensors)
        for output in (
            book.linear_attention(*tensors[:3], decay=tensors[3]),
            book.linear_attention_steps(*tensors[:3], decay=tensors[3])[0],
        )
    ]
    for parallel, steps in zip(*gradients, strict=True):
        assert (parallel - steps).abs().max() <= 1e-10


def test_long_decays_stay_finite() -> None:
    q, k, v, _, _ = inputs(2000, 0)
    decay = torch.full((2, 2000), 0.01, dtype=torch.float64, requires_grad=True)
    output = book.linear_attention(q, k, v, decay=decay)
    output.sum().backward()
    assert output.isfinite().all()
    assert decay.grad is not None
    assert decay.grad.isfinite().all()


def test_steps_may_forget_everything() -> None:
    q, k, v, decay, _ = inputs(3, 0)
    cut = decay.clone()
    cut[:, 2] = 0
    output, _ = book.linear_attention_steps(q, k, v, decay=cut)
    alone, _ = book.linear_attention_steps(q[:, 2:], k[:, 2:], v[:, 2:])
    assert torch.equal(output[:, 2:], alone)
    with pytest.raises(ValueError, match=r"above 0 in this form, got a smallest of 0.0"):
        book.linear_attention(q, k, v, decay=cut)


def test_vmap_reaches_the_parallel_form() -> None:
    q, k, v, decay, _ = inputs(4, 0)
    mapped = torch.vmap(lambda q, k, v, a: book.linear_attention(q, k, v, decay=a))(q, k, v, decay)
    assert (mapped - book.linear_attention(q, k, v, decay=decay)).abs().max() <= 1e-14


X = torch.ones(2, 3)
RATE = torch.ones(2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: book.linear_attention(X, X, X[:1]), ValueError, r"agree but .* \(1, 3\) for v"),
        (lambda: book.linear_attention(X, X[:, :2], X), ValueError, r"the same d_k, got 3 and 2"),
        (lambda: book.linear_attention(RATE, X, X), ValueError, r"q must have shape .* got \(2,\)"),
        (lambda: book.linear_attention(X[:0], X, X), ValueError, r"N, d ≥ 1, got \(0, 3\)"),
        (lambda: book.linear_attention(X[:, :0], X, X), ValueError, r"N, d ≥ 1, got \(2, 0\)"),
        (lambda: book.linear_attention(X, X.double(), X), TypeError, r"q and k must have the sam"),
        (lambda: book.linear_attention(X.int(), X, X), TypeError, r"q must be floating point"),
        (
            lambda: book.linear_attention(X, X, X, decay=torch.ones(3)),
            ValueError,
            r"decay must have one number per token, shape \(2,\); got \(3,\)",
        ),
        (
            lambda: book.linear_attention(X, X, X, decay=RATE.double()),
            TypeError,
            r"q and decay must have the same dtype",
        ),
        (
            lambda: book.linear_attention_steps(X, X, X, decay=RATE.int()),
            TypeError,
            r"decay must be floating",
        ),
        (lambda: book.linear_attention_steps(X, X, X[:1]), ValueError, r"agree but for the last"),
        (
            lambda: book.linear_attention_steps(X, X, X, state=torch.ones(2, 3)),
            ValueError,
            r"state must have shape .* = \(3, 3\) and dtype torch.float32, got \(2, 3\)",
        ),
        (
            lambda: book.linear_attention_steps(X, X, X, state=torch.ones(3, 3).double()),
            ValueError,
            r"and torch.float64; pass on what the last call gave",
        ),
        (
            lambda: book.linear_attention_steps(X, X, X, state=torch.ones(3, 3).int()),
            TypeError,
            r"state must be floating",
        ),
        (
            lambda: book.linear_attention_steps(X, X, X, state=torch.ones(3, 3, device="meta")),
            ValueError,
            r"k and state must be on the same device",
        ),
        (
            lambda: book.delta_rule_steps(X, X, X, torch.ones(1)),
            ValueError,
            r"rate must have one number per token",
        ),
        (
            lambda: book.delta_rule_steps(X, X, X, RATE, decay=torch.ones(1)),
            ValueError,
            r"decay must have one number per token",
        ),
        (lambda: book.delta_rule_steps(X, X, X[:1], RATE), ValueError, r"agree but for the last"),
        (lambda: book.linear_attention(*[torch.zeros(2, 3, 0)] * 3), ValueError, r"with N, d ≥ 1"),
        (lambda: book.linear_attention(*[torch.zeros(2, 0, 3)] * 3), ValueError, r"with N, d ≥ 1"),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()

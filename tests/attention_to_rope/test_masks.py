"""Masks against their definition written as loops."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope import reference

lengths = st.integers(1, 7)


@given(lengths, lengths)
def test_causal(a: int, b: int) -> None:
    q_len, k_len = sorted((a, b))
    mask = book.causal_mask(q_len, k_len)
    assert mask.dtype == torch.bool
    assert np.array_equal(mask.numpy(), reference.causal_mask(q_len, k_len))
    assert torch.equal(book.causal_mask(k_len), book.causal_mask(k_len, k_len))
    assert torch.equal(book.causal_mask(k_len)[-q_len:], mask)


@given(lengths, lengths, st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_dilated_and_sliding(a: int, b: int, window: int, dilation: int, causal: bool) -> None:
    q_len, k_len = sorted((a, b))
    mask = book.dilated_mask(q_len, k_len, window=window, dilation=dilation, causal=causal)
    expected = reference.dilated_mask(q_len, k_len, window, dilation, causal)
    assert np.array_equal(mask.numpy(), expected)
    sliding = book.sliding_window_mask(q_len, k_len, window=window, causal=causal)
    expected = reference.dilated_mask(q_len, k_len, window, 1, causal)
    assert np.array_equal(sliding.numpy(), expected)


def test_patterns_are_causal_unless_told_and_square_by_default() -> None:
    assert torch.equal(book.sliding_window_mask(4, window=9), book.causal_mask(4))
    assert torch.equal(book.dilated_mask(4, window=9, dilation=1), book.causal_mask(4))
    assert book.sliding_window_mask(4, window=9, causal=False).all()


def test_padding() -> None:
    mask = book.padding_mask(torch.tensor([0, 2, 3]), 3)
    assert mask.tolist() == [[[False] * 3], [[True, True, False]], [[True] * 3]]
    assert (book.causal_mask(3) & mask).shape == (3, 3, 3)
    assert book.padding_mask(torch.tensor([], dtype=torch.int64), 3).shape == (0, 1, 3)


def test_global() -> None:
    mask = book.global_mask(4, torch.tensor([0, 2]))
    for m in range(4):
        for n in range(4):
            assert bool(mask[m, n]) == (m in (0, 2) or n in (0, 2))
    assert not book.global_mask(3, torch.tensor([], dtype=torch.int32)).any()


def test_device_is_passed_on() -> None:
    assert book.causal_mask(3, device="meta").device.type == "meta"
    assert book.sliding_window_mask(3, window=1, device="meta").device.type == "meta"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: book.causal_mask(0), ValueError, r"q_len must be at least 1, got 0"),
        (lambda: book.causal_mask(1, 0), ValueError, r"k_len must be at least 1, got 0"),
        (lambda: book.causal_mask(3, 2), ValueError, r"must not exceed k_len, got 3 queries and 2"),
        (lambda: book.causal_mask(2.0), TypeError, r"q_len must be an int, got float"),
        (lambda: book.sliding_window_mask(3, window=0), ValueError, r"window must be at least 1"),
        (
            lambda: book.dilated_mask(3, window=1, dilation=0),
            ValueError,
            r"dilation must be at least 1",
        ),
        (
            lambda: book.padding_mask([1], 3),
            TypeError,
            r"lengths must be an integer tensor, got li",
        ),
        (
            lambda: book.padding_mask(torch.tensor([1.0]), 3),
            TypeError,
            r"got torch.float32; convert it with lengths.long\(\)",
        ),
        (
            lambda: book.padding_mask(torch.tensor([4]), 3),
            ValueError,
            r"lengths must lie in 0…3, got values from 4 to 4",
        ),
        (lambda: book.padding_mask(torch.tensor([-1]), 3), ValueError, r"got values from -1 to -1"),
        (
            lambda: book.padding_mask(torch.tensor([[1]]), 3),
            ValueError,
            r"shape \(B,\), got \(1, 1",
        ),
        (lambda: book.padding_mask(torch.tensor([1]), 0), ValueError, r"N must be at least 1"),
        (lambda: book.global_mask(0, torch.tensor([0])), ValueError, r"N must be at least 1"),
        (lambda: book.global_mask(3, torch.tensor([3])), ValueError, r"tokens must lie in 0…2"),
        (lambda: book.global_mask(3, torch.tensor(1)), ValueError, r"shape \(count,\), got \(\)"),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()

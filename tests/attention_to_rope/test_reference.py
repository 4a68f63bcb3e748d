"""The reference where the library's tests do not lead it: other types, borders, unequal lengths."""

import math

import numpy as np
import pytest

import attention_to_rope as book
from attention_to_rope import reference

X = np.random.Generator(np.random.PCG64(0)).normal(size=(3, 4)).astype(np.float32)
THETA = [1.0, 0.1]
CALLS = {
    "softmax": lambda x: reference.softmax(x[0]),
    "attention": lambda x: reference.attention(x, x, x)[0],
    "rotate": lambda x: reference.rotate(x[0], 3, THETA, "half"),
    "rotate_complex": lambda x: reference.rotate_complex(x[0], 3, THETA, "half"),
    "rotate_on_axes": lambda x: reference.rotate_on_axes(x[0], (3, 5), THETA, [0, 1], "half"),
    "turned rows": lambda x: reference.attention_over_turned_rows(x, x, THETA, "half"),
}


@pytest.mark.parametrize("name", CALLS)
def test_narrow_numbers_are_computed_in_float64(name: str) -> None:
    got = CALLS[name](X)
    assert got.dtype == np.float64
    assert np.array_equal(got, CALLS[name](X.astype(np.float64)))


def test_sigmoid_does_not_overflow() -> None:
    assert reference.sigmoid(-800.0) == 0
    assert reference.sigmoid(800.0) == 1


@pytest.mark.parametrize(
    ("d", "base", "length", "fast"),
    [
        (8, 2.0, 1240, 32.0),  # the ramp starts behind the last dimension
        (8, 10.0, 4096, 256.0),  # it ends behind it
        (12, 10.0, 1216, 32.0),  # it starts at the last pairs but one
        (8, 10.0, 100, 100.0),  # it starts before pair 0
        (8, 1e4, 4, 32.0),  # it has no width
        (8, 2.0, 1, 32.0),  # it ends before pair 0
    ],
)
def test_yarn_at_its_borders(d: int, base: float, length: int, fast: float) -> None:
    theta = book.rotary_frequencies(d, base)
    got = book.yarn(theta, 4.0, original_length=length, slow=1.0, fast=fast)
    expected = reference.yarn(d, base, 4.0, length, 1.0, fast)
    assert got.tolist() == pytest.approx(expected, rel=1e-12)


def test_a_ramp_that_is_a_step_keeps_the_pair_on_it() -> None:
    turns = 8192 / (2 * math.pi)
    assert reference.ntk_by_parts(1.0, 16.0, 8192, turns, turns) == 1.0


def test_balanced_bias_moves_who_is_above_or_below_its_share() -> None:
    bias = np.zeros(3)
    assert reference.balanced_bias(bias, np.array([0, 1, 2]), 0.5).tolist() == [0, 0, 0]
    assert reference.balanced_bias(bias, np.array([0, 0, 1, 1, 2]), 0.5).tolist() == [
        -0.5,
        -0.5,
        0.5,
    ]


@pytest.mark.parametrize(
    ("largest", "share"), [(-1.0, 1.0), (0.0, 1.0), (0.2, 1.0), (0.5, 0.5), (2.0, 0.125)]
)
def test_clip_shrinks_what_passed_the_threshold(largest: float, share: float) -> None:
    W_Q, W_K = reference.query_key_clip(np.ones((1, 1)), np.ones((1, 1)), largest, 0.25)
    assert (W_Q * W_K).item() == pytest.approx(share, rel=1e-15)


def test_unequal_lengths_are_refused() -> None:
    x = X.astype(np.float64)
    for call in (
        lambda: reference.rotate_on_axes(x[0], (3, 5), THETA, [0], "half"),
        lambda: reference.gated_attention(x, x, x, x[:2]),
        lambda: reference.gated_attention(x, x, x, x[:, :3]),
    ):
        with pytest.raises(ValueError, match="zip"):
            call()

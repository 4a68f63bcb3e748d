"""Activations against their reference and PyTorch; the feed-forward layer."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

import attention_to_rope as book
from attention_to_rope import reference
from bookkit.randomness import normal

PLAIN = ["relu", "silu", "gelu", "gelu_tanh"]
GATED = ["glu", "swiglu", "geglu", "geglu_tanh"]
GATE_OF = {
    "glu": reference.sigmoid,
    "swiglu": reference.silu,
    "geglu": reference.gelu,
    "geglu_tanh": reference.gelu_tanh,
}


@given(st.sampled_from(PLAIN), st.floats(-30, 30))
def test_equal_the_reference(name: str, x: float) -> None:
    got = float(getattr(book, name)(torch.tensor(x, dtype=torch.float64)))
    expected = getattr(reference, name)(x)
    assert got == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_gelu_keeps_its_digits_far_below_zero() -> None:
    x = torch.tensor(-10.0, dtype=torch.float64)
    assert float(book.gelu(x)) == pytest.approx(reference.gelu(-10.0), rel=1e-12)
    assert float(book.gelu(x)) == pytest.approx(-7.6198530241605e-23, rel=1e-9)


def test_equal_pytorch() -> None:
    x = torch.linspace(-8, 8, 401, dtype=torch.float64)
    assert torch.equal(book.relu(x), functional.relu(x))
    assert (book.silu(x) - functional.silu(x)).abs().max() <= 1e-12
    assert (book.gelu(x) - functional.gelu(x)).abs().max() <= 1e-12
    assert (book.gelu_tanh(x) - functional.gelu(x, approximate="tanh")).abs().max() <= 1e-12
    both = torch.cat((x, x.flip(0)))
    assert (book.glu(x.flip(0), x) - functional.glu(both, 0)).abs().max() <= 1e-12


@given(st.sampled_from(GATED), st.floats(-30, 30), st.floats(-5, 5))
def test_gated(name: str, gate: float, value: float) -> None:
    tensors = (torch.tensor([number], dtype=torch.float64) for number in (gate, value))
    got = float(getattr(book, name)(*tensors))
    assert got == pytest.approx(GATE_OF[name](gate) * value, rel=1e-12, abs=1e-14)


def test_swish_beta() -> None:
    x = torch.tensor(1.5, dtype=torch.float64)
    assert float(book.silu(x, 3.0)) == pytest.approx(reference.silu(1.5, 3.0), rel=1e-14)


@pytest.mark.parametrize("name", ["silu", "gelu", "gelu_tanh"])
def test_gradients(name: str) -> None:
    x = normal(6, seed=0).requires_grad_()
    assert torch.autograd.gradcheck(getattr(book, name), (x,))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", PLAIN)
def test_half_types_are_rounded_once(name: str, dtype: torch.dtype) -> None:
    x = torch.linspace(-4, 4, 99).to(dtype)
    function = getattr(book, name)
    assert torch.equal(function(x), function(x.float()).to(dtype))


@given(st.sampled_from([*PLAIN, *GATED]), st.integers(0, 99))
def test_feed_forward_equals_the_reference(name: str, seed: int) -> None:
    layer = book.FeedForward(6, 5, activation=name, bias=False, seed=seed).double()
    layer.requires_grad_(False)
    x = normal(2, 3, 6, seed=seed)
    got = layer(x)
    W_3 = None if layer.value is None else layer.value.W.numpy()
    function = GATE_OF[name] if name in GATED else getattr(reference, name)
    for b in range(2):
        for n in range(3):
            expected = reference.feed_forward(
                x[b, n].numpy(), layer.up.W.numpy(), layer.down.W.numpy(), function, W_3
            )
            assert np.abs(got[b, n].numpy() - expected).max() <= 1e-13


def test_feed_forward_biases_and_widths() -> None:
    plain = book.FeedForward(6, activation="relu", seed=0)
    gated = book.FeedForward(6, activation="swiglu", seed=0, bias=False)
    assert plain.up.W.shape == (6, 24)
    assert gated.up.W.shape == gated.value.W.shape == (6, 16)
    assert gated.down.W.shape == (16, 6)
    assert plain.down.b is not None
    assert gated.up.b is gated.value.b is gated.down.b is None
    with torch.no_grad():
        plain.down.b.fill_(1.0)
        plain.up.b.fill_(-100.0)
    assert torch.equal(plain(torch.zeros(1, 6)), torch.ones(1, 6))


def test_parity_width_gives_equal_counts() -> None:
    d = 96
    gated = book.FeedForward(d, activation="swiglu", bias=False, seed=0)
    plain = book.FeedForward(d, activation="relu", bias=False, seed=0)
    assert sum(p.numel() for p in gated.parameters()) == sum(p.numel() for p in plain.parameters())
    assert [book.parity_width(d) for d in (1, 2, 3)] == [3, 5, 8]


def test_gain_scales_all_weights() -> None:
    for name in ("relu", "geglu"):
        one = book.FeedForward(4, activation=name, seed=1)
        half = book.FeedForward(4, activation=name, seed=1, gain=0.5)
        for a, b in zip(one.parameters(), half.parameters(), strict=True):
            assert torch.allclose(a / 2, b)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: book.relu(torch.arange(3)), TypeError, r"x must be floating point"),
        (lambda: book.silu(torch.arange(3)), TypeError, r"x must be floating point"),
        (lambda: book.gelu(torch.arange(3)), TypeError, r"x must be floating point"),
        (lambda: book.gelu_tanh(torch.arange(3)), TypeError, r"x must be floating point"),
        (lambda: book.glu(torch.ones(2), torch.ones(1)), ValueError, r"same shape, got \(2,\) and"),
        (lambda: book.glu(torch.ones(2), torch.ones(2).half()), TypeError, r"gate and value must"),
        (lambda: book.glu(torch.arange(3), torch.ones(3)), TypeError, r"gate must be floating"),
        (lambda: book.glu(torch.ones(3), torch.arange(3)), TypeError, r"value must be floating"),
        (lambda: book.parity_width(0), ValueError, r"d must be at least 1"),
        (
            lambda: book.FeedForward(4, activation="gelu_tan", seed=0),
            ValueError,
            r"activation must be one of 'relu'.*'geglu_tanh'; got 'gelu_tan'",
        ),
        (
            lambda: book.FeedForward(4, 0, activation="relu", seed=0),
            ValueError,
            r"hidden must be at least 1, got 0",
        ),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_the_slope_of_relu_at_0_is_0_as_in_torch() -> None:
    x = torch.zeros(3, requires_grad=True)
    book.relu(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0, 0]

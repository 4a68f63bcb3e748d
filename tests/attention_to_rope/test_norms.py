"""Norms against their reference and PyTorch; residual placements by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import attention_to_rope as book
from attention_to_rope import reference
from bookkit.randomness import normal


@given(st.integers(1, 8), st.integers(0, 99), st.sampled_from([1e-4, 1.0, 1e4]))
def test_equal_the_reference(d: int, seed: int, size: float) -> None:
    x, gain, bias = normal(3, d, seed=seed) * size, normal(d, seed=1), normal(d, seed=2)
    layer = book.layer_norm(x, gain, bias, eps=1e-3)
    rms = book.rms_norm(x, gain, eps=1e-3)
    for row in range(3):
        expected = reference.layer_norm(x[row].numpy(), gain.numpy(), bias.numpy(), 1e-3)
        # A rounding error of the mean is divided by √eps where all coordinates are equal.
        assert np.abs(layer[row].numpy() - expected).max() <= 1e-12 + 1e-14 * size / 1e-3**0.5
        expected = reference.rms_norm(x[row].numpy(), gain.numpy(), 1e-3)
        assert np.abs(rms[row].numpy() - expected).max() <= 1e-12


def test_equal_pytorch() -> None:
    x, gain, bias = normal(2, 3, 8, seed=0), normal(8, seed=1), normal(8, seed=2)
    expected = nn.functional.layer_norm(x, (8,), gain, bias, 1e-5)
    assert (book.layer_norm(x, gain, bias) - expected).abs().max() <= 1e-12
    expected = nn.functional.rms_norm(x, (8,), gain, 1e-6)
    assert (book.rms_norm(x, gain) - expected).abs().max() <= 1e-12
    layer, rms = book.LayerNorm(8).double(), book.RMSNorm(8).double()
    assert (layer(x) - nn.LayerNorm(8).double()(x)).abs().max() <= 1e-12
    assert (rms(x) - nn.RMSNorm(8, eps=1e-6).double()(x)).abs().max() <= 1e-12
    with torch.no_grad():
        layer.gain.copy_(gain), layer.bias.copy_(bias), rms.gain.copy_(gain)
    assert torch.equal(layer(x), book.layer_norm(x, gain, bias))
    assert torch.equal(rms(x), book.rms_norm(x, gain))


def test_eps_reaches_the_modules() -> None:
    x = normal(2, 4, seed=0)
    assert torch.equal(book.LayerNorm(4, eps=0.5).double()(x), book.layer_norm(x, eps=0.5))
    assert torch.equal(book.RMSNorm(4, eps=0.5).double()(x), book.rms_norm(x, eps=0.5))


def test_constant_input_is_finite_in_value_and_gradient() -> None:
    for norm in (book.layer_norm, book.rms_norm):
        x = torch.zeros(4, dtype=torch.float64, requires_grad=True)
        y = norm(x)
        assert torch.equal(y, torch.zeros(4).double())
        y.sum().backward()
        assert x.grad is not None
        assert x.grad.isfinite().all()


def test_gradients() -> None:
    x, gain, bias = (normal(4, seed=s).requires_grad_() for s in range(3))
    assert torch.autograd.gradcheck(book.layer_norm, (x, gain, bias))
    assert torch.autograd.gradcheck(book.rms_norm, (x, gain))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_are_rounded_once(dtype: torch.dtype) -> None:
    x = normal(4, 32, seed=0, dtype=dtype)
    gain, bias = normal(32, seed=1, dtype=dtype), normal(32, seed=2, dtype=dtype)
    exact = book.layer_norm(x.double(), gain.double(), bias.double())
    assert (book.layer_norm(x, gain, bias) - exact).abs().max() <= 4 * torch.finfo(dtype).eps
    exact = book.rms_norm(x.float(), gain.float())
    assert torch.equal(book.rms_norm(x, gain), exact.to(dtype))


def test_placements() -> None:
    x = torch.tensor([1.0, 2.0])

    def double(y: torch.Tensor) -> torch.Tensor:
        return 2 * y

    def shift(y: torch.Tensor) -> torch.Tensor:
        return y + 10

    def tenth(y: torch.Tensor) -> torch.Tensor:
        return y / 10

    assert torch.equal(book.post_norm(x, double, shift), torch.tensor([13.0, 16.0]))
    assert torch.equal(book.pre_norm(x, double, shift), torch.tensor([23.0, 26.0]))
    assert torch.allclose(book.sandwich_norm(x, double, shift, tenth), torch.tensor([3.2, 4.4]))
    assert torch.equal(book.deep_norm(x, double, shift, alpha=3.0), torch.tensor([15.0, 20.0]))


def test_deepnorm_constants() -> None:
    """Erratum 34: α = (2N)^{1/4}, β = (8N)^{−1/4}."""
    alpha, beta = book.deepnorm_constants(18)
    assert alpha**4 == pytest.approx(36)
    assert beta**-4 == pytest.approx(144)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: book.layer_norm(torch.zeros(2, 0)), ValueError, r"d ≥ 1, got \(2, 0\)"),
        (lambda: book.rms_norm(torch.tensor(1.0)), ValueError, r"d ≥ 1, got \(\)"),
        (lambda: book.layer_norm(torch.arange(3)), TypeError, r"x must be floating point"),
        (lambda: book.rms_norm(torch.arange(3)), TypeError, r"x must be floating point"),
        (
            lambda: book.layer_norm(torch.ones(3), torch.ones(1)),
            ValueError,
            r"gain must have shape",
        ),
        (
            lambda: book.layer_norm(torch.ones(3), None, torch.ones(1)),
            ValueError,
            r"bias must have shape \(3,\), got \(1,\)",
        ),
        (lambda: book.rms_norm(torch.ones(3), torch.ones(1)), ValueError, r"gain must have shape"),
        (lambda: book.rms_norm(torch.ones(3), torch.ones(3).half()), TypeError, r"x and gain must"),
        (lambda: book.layer_norm(torch.ones(3), eps=0.0), ValueError, r"eps must be finite and ab"),
        (lambda: book.LayerNorm(0), ValueError, r"d must be at least 1, got 0"),
        (lambda: book.RMSNorm(0), ValueError, r"d must be at least 1, got 0"),
        (lambda: book.LayerNorm(2, eps=-1.0), ValueError, r"eps must be finite and above 0"),
        (lambda: book.RMSNorm(2, eps=-1.0), ValueError, r"eps must be finite and above 0"),
        (lambda: book.deepnorm_constants(0), ValueError, r"layers must be at least 1, got 0"),
        (
            lambda: book.deep_norm(torch.ones(2), lambda x: x, lambda x: x, alpha=0.0),
            ValueError,
            r"alpha must be finite and above 0",
        ),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", [book.layer_norm, book.rms_norm])
def test_large_entries_do_not_overflow(norm, dtype: torch.dtype) -> None:
    small = torch.tensor([1.0, 0, 0, 0.5], dtype=dtype)
    huge = small * torch.finfo(dtype).max
    assert torch.allclose(norm(huge), norm(small * 1e6), rtol=1e-5)
    x = (small * 2.0**52).requires_grad_()
    y = (small * 2.0**40).requires_grad_()
    (of_x,) = torch.autograd.grad(norm(x)[0], x)
    (of_y,) = torch.autograd.grad(norm(y)[0], y)
    assert torch.allclose(of_x * 2**12, of_y, rtol=1e-4)


def test_the_size_at_which_a_divisor_begins_changes_nothing() -> None:
    x = normal(5, 8, seed=0, dtype=torch.float32) * 2.0**50
    for norm in (book.layer_norm, book.rms_norm):
        assert torch.allclose(norm(x).double(), norm(x.double()), rtol=1e-5, atol=1e-6)


def test_deepnorm_constants_of_an_encoder_decoder() -> None:
    for N, M in ((6, 6), (18, 6), (100, 100), (1, 1)):
        encoder, decoder = book.deepnorm_pair(N, M)
        assert (*encoder, *decoder) == pytest.approx(reference.deepnorm_pair(N, M), rel=1e-12)
    assert book.deepnorm_pair(6, 6).decoder.alpha == pytest.approx(2.0598, abs=1e-4)
    assert book.deepnorm_pair(6, 6).decoder.beta == pytest.approx(0.3433, abs=1e-4)
    for bad in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match=r"_layers must be at least 1, got 0"):
            book.deepnorm_pair(*bad)


def test_a_gain_that_is_no_tensor_is_said() -> None:
    with pytest.raises(TypeError, match=r"gain must be a torch.Tensor, got list"):
        book.rms_norm(torch.ones(2), [1.0, 1.0])

"""The softmax Jacobian against autograd, and its bounds (erratum 3)."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope import reference

logits = st.lists(st.floats(-30, 30), min_size=2, max_size=7)


@given(logits)
def test_jacobian(x: list[float]) -> None:
    tensor = torch.tensor(x, dtype=torch.float64)
    p = book.softmax(tensor)
    J = book.softmax_jacobian(p)
    assert np.abs(J.numpy() - reference.softmax_jacobian(p.numpy())).max() <= 1e-15
    by_autograd = torch.autograd.functional.jacobian(lambda t: torch.softmax(t, -1), tensor)
    assert (J - by_autograd).abs().max() <= 1e-15
    assert J.sum(-1).abs().max() <= 1e-15
    assert torch.linalg.eigvalsh(J).min() >= -1e-15


@given(logits)
def test_norms_and_bounds(x: list[float]) -> None:
    tensor = torch.tensor(x, dtype=torch.float64)
    p = book.softmax(tensor)
    J = book.softmax_jacobian(p)
    spectral = book.softmax_jacobian_norm(p, "spectral")
    assert float(spectral) == pytest.approx(float(torch.linalg.matrix_norm(J, 2)), abs=1e-14)
    frobenius = book.softmax_jacobian_norm(p, "frobenius")
    assert float(frobenius) == pytest.approx(
        float(torch.linalg.matrix_norm(J)), rel=1e-9, abs=1e-14
    )
    bound = float(book.jacobian_norm_bound(p))
    assert bound == pytest.approx(2 * max(float(q) * (1 - float(q)) for q in p), abs=1e-15)
    assert float(spectral) <= bound + 1e-15
    m = float(book.saturation(p))
    assert m == pytest.approx(1 - float(p.max()), abs=1e-15)
    assert bound == pytest.approx(book.saturation_bound(m), abs=1e-15)
    ordered = sorted(x)
    gap = ordered[-1] - ordered[-2]
    assert m <= book.gap_bound(gap, len(x)) + 1e-15


@given(st.floats(0, 700))
def test_two_logits_make_the_gap_bound_an_equality(gap: float) -> None:
    p = book.softmax(torch.tensor([gap, 0.0], dtype=torch.float64))
    assert float(book.saturation(p)) == pytest.approx(book.gap_bound(gap, 2), rel=1e-12)


def test_uniform_weights_also_have_a_small_jacobian() -> None:
    """The converse fails: a small Jacobian does not mean that softmax is saturated."""
    p = torch.full((8,), 1 / 8, dtype=torch.float64)
    assert float(book.softmax_jacobian_norm(p, "spectral")) == pytest.approx(1 / 8)
    assert float(book.saturation(p)) == pytest.approx(7 / 8)


def test_saturation_bound_values() -> None:
    assert book.saturation_bound(0.0) == 0.0
    assert book.saturation_bound(0.25) == 0.375
    assert book.saturation_bound(0.75) == 0.375
    assert book.saturation_bound(1.0) == 0.0
    assert book.gap_bound(0.0, 3) == pytest.approx(2 / 3)
    assert book.gap_bound(math.log(3), 4) == pytest.approx(0.5)
    assert book.gap_bound(5.0, 1) == 0.0


def test_batches() -> None:
    p = book.softmax(torch.arange(12, dtype=torch.float64).reshape(3, 4))
    assert book.softmax_jacobian(p).shape == (3, 4, 4)
    for kind in ("spectral", "frobenius"):
        norms = book.softmax_jacobian_norm(p, kind)
        alone = torch.stack([book.softmax_jacobian_norm(row, kind) for row in p])
        assert torch.allclose(norms, alone, rtol=1e-12)
    assert book.saturation(p).shape == book.jacobian_norm_bound(p).shape == (3,)


def test_small_frobenius_norm_keeps_its_digits() -> None:
    """1 − max p is 1e−20 here; a formula that subtracts sums would give 0 or worse."""
    p = torch.tensor([1.0, 1e-20], dtype=torch.float64)
    expected = 1e-20 * math.sqrt(3)  # entries 0 (1 − p rounds to 0), 1e−20 three times
    assert float(book.softmax_jacobian_norm(p, "frobenius")) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: book.softmax_jacobian(torch.arange(3)), TypeError, r"p must be floating point"),
        (
            lambda: book.softmax_jacobian(torch.tensor(1.0)),
            ValueError,
            r"\(\.\.\., n\) with n ≥ 1, got \(\)",
        ),
        (lambda: book.softmax_jacobian_norm(torch.ones(1), "max"), ValueError, r"kind must be one"),
        (
            lambda: book.softmax_jacobian_norm(torch.arange(3), "frobenius"),
            TypeError,
            r"p must be floating",
        ),
        (lambda: book.saturation(torch.arange(3)), TypeError, r"p must be floating point"),
        (lambda: book.jacobian_norm_bound(torch.arange(3)), TypeError, r"p must be floating point"),
        (lambda: book.saturation_bound(1.01), ValueError, r"\[0, 1\], got 1\.01"),
        (lambda: book.saturation_bound(-0.1), ValueError, r"got -0\.1"),
        (lambda: book.gap_bound(-1.0, 2), ValueError, r"gap must be at least 0, got -1\.0"),
        (lambda: book.gap_bound(math.nan, 2), ValueError, r"gap must be at least 0, got nan"),
        (lambda: book.gap_bound(1.0, 0), ValueError, r"n must be at least 1"),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "function", [book.softmax_jacobian, book.saturation, book.jacobian_norm_bound]
)
def test_a_scalar_and_nothing_are_no_weights(function) -> None:
    for bad in (torch.tensor(1.0), torch.zeros(2, 0)):
        with pytest.raises(ValueError, match=r"p must have shape \(\.\.\., n\) with n ≥ 1"):
            function(bad)


def test_bounds_want_numbers() -> None:
    with pytest.raises(TypeError, match=r"m must be a number, got str"):
        book.saturation_bound("0.5")
    with pytest.raises(TypeError, match=r"gap must be a number, got NoneType"):
        book.gap_bound(None, 3)

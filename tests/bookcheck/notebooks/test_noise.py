"""Rounding noise moves inexact results by one unit in the last place, and exact ones not at all.

NumPy's part lasts to the end of a process; `test_plugin` sees it in a notebook.
"""

import numpy as np
import pytest
import torch
from torch.nn import functional

from bookcheck.notebooks.noise import TORCH, Noise, move

X = torch.linspace(-1.3, 1.7, 36, dtype=torch.float64).view(6, 6)
THREE = X.expand(2, 6, 6).clone()
MOVING = {
    "mm": lambda: X @ X,
    "bmm": lambda: THREE @ THREE,
    "mv": lambda: X @ X[0],
    "dot": lambda: X[0] @ X[1],
    "addmm": lambda: functional.linear(X, X, X[0]),
    "baddbmm": lambda: torch.baddbmm(THREE, THREE, THREE),
    "sum": lambda: X.sum(1),
    "mean": lambda: X.mean(0),
    "pow.Scalar": lambda: 10.0**X,
    "_softmax": lambda: X.softmax(-1),
    "_log_softmax": lambda: X.log_softmax(-1),
    **{name: getattr(X, name) for name in ("exp", "sin", "cos", "tanh", "sigmoid", "erf")},
    "silu": lambda: functional.silu(X),
    "gelu": lambda: functional.gelu(X),
    "_scaled_dot_product_flash_attention_for_cpu": lambda: functional.scaled_dot_product_attention(
        *[THREE[None]] * 3
    ),
    "gradient": lambda: torch.func.grad(lambda y: (y @ y).exp().sum())(X),
}
STAYING = {
    "sum of two": lambda: X + X,
    "product of two": lambda: X * X,
    "square": lambda: X**2,
    "complex": lambda: X.to(torch.complex64).exp(),
    "bfloat16": lambda: X.bfloat16().exp().float(),
    "without numbers": lambda: torch.tensor(torch.ones(3, device="meta").exp().is_meta),
}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_every_number_goes_to_its_neighbour_up_or_down(kind):
    before = np.linspace(-3.7, 5.3, 1000, dtype=kind)
    after, other = before.copy(), before.copy()
    move(after, np.random.default_rng(1))
    move(other, np.random.default_rng(2))
    up, down = (after == np.nextafter(before, kind(way)) for way in (np.inf, -np.inf))
    assert (up | down).all()
    assert 0.4 < up.mean() < 0.6
    assert (after != other).any()


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_what_is_exact_everywhere_stays(kind):
    special = [] if kind == np.int64 else [-0.0, np.inf, -np.inf, np.nan]
    before = np.array([0, 1, -7, 2**60, *special], dtype=kind)
    after = before.copy()
    move(after, np.random.default_rng(1))
    np.testing.assert_array_equal(after, before)


def noisy(function):
    with Noise(np.random.default_rng(3)):
        return [function() for _ in range(8)]


@pytest.mark.parametrize("name", sorted({*MOVING, *TORCH}))
def test_inexact_results_move_by_the_last_bits(name):
    exact, results = MOVING[name](), noisy(MOVING[name])
    largest = max((one - exact).abs().max() / exact.abs().max() for one in results)
    assert 0 < largest < 1e-14
    assert any((one != results[0]).any() for one in results)


@pytest.mark.parametrize("name", STAYING)
def test_exact_results_stay(name):
    exact = STAYING[name]()
    assert all(torch.equal(one, exact) for one in noisy(STAYING[name]))

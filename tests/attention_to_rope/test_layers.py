"""Linear and Embedding: values, how they start, errors."""

import math

import numpy as np
import pytest
import torch

import attention_to_rope as book
from attention_to_rope import layers
from bookkit.randomness import normal


def test_linear_multiplies_row_vectors() -> None:
    layer = book.Linear(3, 2, seed=0)
    with torch.no_grad():
        layer.b.copy_(torch.tensor([1.0, -1.0]))
    x = normal(4, 5, 3, seed=0, dtype=torch.float32)
    expected = torch.nn.functional.linear(x, layer.W.T, layer.b)
    assert torch.allclose(layer(x), expected, atol=1e-6)
    assert book.Linear(3, 2, seed=0, bias=False).b is None


def test_linear_starts_as_xavier_says() -> None:
    W = book.Linear(300, 500, seed=0, gain=0.5).W.detach()
    bound = 0.5 * math.sqrt(6 / 800)
    assert W.abs().max() <= bound
    assert W.abs().max() >= 0.999 * bound
    assert float(W.var()) == pytest.approx(0.25 * 2 / 800, rel=0.01)
    assert float(W.mean()) == pytest.approx(0.0, abs=2e-4)


def stream(seed: int, part: str) -> np.random.Generator:
    """The stream of a part, written out: numbers that may not change from version to version."""
    key = {"Linear": 175291781, "Embedding": 3400193805}[part]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))


def test_start_is_the_same_on_every_machine() -> None:
    W = book.Linear(2, 2, seed=7).W.detach()
    expected = stream(7, "Linear").uniform(-math.sqrt(1.5), math.sqrt(1.5), (2, 2))
    assert torch.equal(W, torch.from_numpy(expected).float())
    rows = book.Embedding(3, 2, seed=7, deviation=0.1).rows.detach()
    expected = stream(7, "Embedding").standard_normal((3, 2)) * 0.1
    assert torch.equal(rows, torch.from_numpy(expected).float())
    assert torch.allclose(book.Embedding(3, 2, seed=7).rows.detach() / 10, rows, rtol=1e-6)


def test_a_generator_is_shared() -> None:
    rng = layers.stream_of(3, "Linear")
    assert layers.stream_of(rng, "Embedding") is rng
    first, second = book.Linear(2, 2, seed=rng), book.Linear(2, 2, seed=rng)
    assert not torch.equal(first.W, second.W)


def test_parameters_take_the_default_dtype() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        assert book.Linear(2, 2, seed=0).W.dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_embedding_takes_rows() -> None:
    table = book.Embedding(5, 3, seed=0)
    tokens = torch.tensor([[4, 0], [1, 1]])
    for dtype in (torch.int64, torch.int32, torch.uint8):
        assert torch.equal(table(tokens.to(dtype)), table.rows[tokens])
    assert table(torch.zeros(0, 2, dtype=torch.int64)).shape == (0, 2, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: book.Linear(0, 2, seed=0), ValueError, r"d_in must be at least 1, got 0"),
        (lambda: book.Linear(2, 0, seed=0), ValueError, r"d_out must be at least 1, got 0"),
        (lambda: book.Linear(2, 2, seed=0, gain=0.0), ValueError, r"gain must be finite and above"),
        (lambda: book.Linear(2, 2, seed="0"), ValueError, r"seed must be a whole number"),
        (
            lambda: book.Linear(3, 2, seed=0)(torch.ones(1)),
            ValueError,
            r"3 entries.*shape \(1,\)",
        ),
        (lambda: book.Linear(3, 2, seed=0)(torch.arange(3)), TypeError, r"x must be floating"),
        (
            lambda: book.Linear(3, 2, seed=0)(torch.ones(3).double()),
            TypeError,
            r"x and W must have the same dtype",
        ),
        (lambda: book.Embedding(0, 2, seed=0), ValueError, r"count must be at least 1, got 0"),
        (lambda: book.Embedding(2, 0, seed=0), ValueError, r"d must be at least 1, got 0"),
        (
            lambda: book.Embedding(2, 2, seed=0)(torch.tensor([0, 2])),
            ValueError,
            r"tokens must lie in 0…1, got values from 0 to 2",
        ),
        (
            lambda: book.Embedding(2, 2, seed=0)(torch.tensor([-1])),
            ValueError,
            r"got values from -1 to -1",
        ),
        (lambda: book.Embedding(2, 2, seed=0)([0]), TypeError, r"integer tensor, got list"),
        (
            lambda: book.Embedding(2, 2, seed=0)(torch.tensor([True])),
            TypeError,
            r"integer tensor, got torch.bool",
        ),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()

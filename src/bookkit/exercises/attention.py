"""Checks of the exercises on attention, heads, caches, norms, feed-forward layers and sampling."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from attention_to_rope import attention, layer_norm, relu, softmax
from bookkit.exercises.comparing import (
    Wrong,
    as_array,
    expect,
    expect_same,
    parts_of,
    result_of,
)
from bookkit.randomness import normal


def attend_with_sink(function: Callable[..., Any]) -> None:
    """Chapter 1: one more term exp(b) in every sum, and no value for it."""
    Q, K, V = normal(3, 4, seed=1), normal(5, 4, seed=2), normal(5, 2, seed=3)
    S = Q @ K.T / 2
    for b in (-torch.inf, 0.0, 1.5, 3000.0):
        highest = S.amax(1, keepdim=True).clamp(min=b)
        E = (S - highest).exp()
        expected = E @ V / (E.sum(1, keepdim=True) + (b - highest).exp())
        case = f"With 3 queries, 5 keys and b = {b:g}"
        expect(case, result_of(case, function, Q, K, V, b), expected)
    case = "With scores in the thousands and b = 0"
    result = result_of(case, function, 5000 * Q, K, V, 0.0)
    expect(case, result, attention(5000 * Q, K, V))


def clip(function: Callable[..., Any]) -> None:
    """Chapter 2: both matrices times one number, so that the largest score is the threshold."""
    X, (W_Q, W_K) = normal(9, 6, seed=4), normal(2, 6, 4, seed=5)
    largest = float(((X @ W_Q) @ (X @ W_K).T / 2).max())
    for threshold in (largest / 3, 2 * largest):
        case = f"With a largest score of {largest:.2f} and the threshold {threshold:.2f}"
        result = result_of(case, function, W_Q, W_K, X, threshold)
        new_Q, new_K = parts_of(case, result, 2)
        factor = min(threshold / largest, 1.0) ** 0.5
        expect(
            f"{case}, the largest score afterwards", _largest(new_Q, new_K, X), factor**2 * largest
        )
        expect(f"{case}, the first matrix", new_Q, factor * W_Q)
        expect(f"{case}, the second matrix", new_K, factor * W_K)


def _largest(W_Q: Any, W_K: Any, X: Tensor) -> float:
    try:
        return float(((X @ W_Q) @ (X @ W_K).T / 2).max())
    except (TypeError, RuntimeError) as error:
        raise Wrong(f"The two results must be matrices like W_Q and W_K: {error}") from error


def cache_gib(function: Callable[..., Any]) -> None:
    """Chapter 13: layers that keep all tokens, and layers that keep a window."""
    GIB = 2**30
    cases: list[tuple[str, dict[str, Any], float]] = [
        ("With no windows", {"layers": 4, "numbers": 256, "N": 1000}, 4 * 1000 * 256 * 2),
        (
            "With a text longer than two windows of 100",
            {"layers": 4, "numbers": 256, "N": 1000, "windows": [100, 100]},
            (4 * 1000 + 200) * 256 * 2,
        ),
        (
            "With a text shorter than its window",
            {"layers": 1, "numbers": 256, "N": 60, "windows": [100]},
            (60 + 60) * 256 * 2,
        ),
        (
            "With 4 bytes a number",
            {"layers": 2, "numbers": 8, "N": 10, "bytes_per_number": 4},
            2 * 10 * 8 * 4,
        ),
    ]
    for case, named, expected in cases:
        expect(case, 1e6 * as_array(result_of(case, function, **named)), 1e6 * expected / GIB)


def extra_residual_block(function: Callable[..., Any]) -> None:
    """Chapter 4: a Post-Norm decoder block whose input is added once more before its last norm."""
    x, memory = normal(2, 3, 2, 4, 6, seed=6)
    only_last = torch.zeros(3, 10, 6, 6, dtype=x.dtype)
    only_last[:, 4:6] = normal(3, 2, 6, 6, seed=7) / 6**0.5
    cases = {
        "With all weights 0": torch.zeros_like(only_last),
        "With weights in the feed-forward part alone": only_last,
        "With random weights": normal(3, 10, 6, 6, seed=8) / 6**0.5,
    }
    for case, W in cases.items():
        expect(case, result_of(case, function, x, W, memory), _with_extra_residual(x, W, memory))


def _with_extra_residual(x: Tensor, W: Tensor, memory: Tensor) -> Tensor:
    own, cross = W[:, None, :4].unbind(2), W[:, None, 6:].unbind(2)
    h = layer_norm(x + attention(x @ own[0], x @ own[1], x @ own[2]) @ own[3])
    h = layer_norm(h + attention(h @ cross[0], memory @ cross[1], memory @ cross[2]) @ cross[3])
    return layer_norm(x + h + relu(h @ W[:, None, 4]) @ W[:, None, 5])


def squared_relu(function: Callable[..., Any]) -> None:
    """Chapter 5: the square of what is positive."""
    case = "With x = (−2, 0, 0.5, 3)"
    x = torch.tensor([-2.0, 0.0, 0.5, 3.0], dtype=torch.float64)
    expect(case, result_of(case, function, x), [0.0, 0.0, 0.25, 9.0])


def square(function: Callable[..., Any]) -> None:
    """Chapter 5: a pair of units that squares numbers of both signs."""
    case = "With x = (−2, 0, 0.5, 3)"
    x = torch.tensor([-2.0, 0.0, 0.5, 3.0], dtype=torch.float64)
    expect(case, result_of(case, function, x), [4.0, 0.0, 0.25, 9.0])


def nucleus(function: Callable[..., Any]) -> None:
    """Chapter 8: the fewest words whose weights reach p, most likely first."""
    given: list[tuple[float, Sequence[float], list[int]]] = [
        (0.7, [0.125, 0.5, 0.25, 0.125], [1, 2]),
        (0.75, [0.125, 0.5, 0.25, 0.125], [1, 2]),
        (0.4, [0.125, 0.5, 0.25, 0.125], [1]),
        (1.0, [0.25, 0.75], [1, 0]),
    ]
    for p, weights, expected in given:
        case = f"With p = {p} and the weights {weights}"
        expect_same(case, list(result_of(case, function, p, list(weights))), expected)
    weights = softmax(normal(9, seed=9)).tolist()
    kept = list(result_of("With nine random weights and p = 0.8", function, 0.8, weights))
    total = sum(weights[j] for j in kept)
    if total < 0.8 or total - weights[kept[-1]] >= 0.8:
        raise Wrong("With nine random weights and p = 0.8, the words kept are too few or too many.")


CHECKS: dict[str, Callable[[Any], None]] = {
    check.__name__: check
    for check in (
        attend_with_sink,
        clip,
        cache_gib,
        extra_residual_block,
        squared_relu,
        square,
        nucleus,
    )
}

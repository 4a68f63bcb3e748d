"""Checks of the exercises on positions, RoPE, long contexts and speed."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_to_rope import (
    attention,
    rotary_frequencies,
    rotary_table,
    rotate,
    sinusoidal,
    softmax,
)
from bookkit.exercises.comparing import Wrong, expect, expect_same, parts_of, result_of
from bookkit.experiments.speed.traffic import Traffic
from bookkit.randomness import normal


def relative(function: Callable[..., Any]) -> None:
    """Chapter 6: is the dot product of two codes a function of their offset alone?"""

    def clocks(N: int) -> Tensor:
        return sinusoidal(torch.arange(N), 8, dtype=torch.float64)

    def integers(N: int) -> Tensor:
        return torch.arange(N, dtype=torch.float64)[:, None]

    def late(N: int) -> Tensor:
        # Relative up to position 30, and no further.
        return torch.cat([clocks(N), (torch.arange(N)[:, None] > 30).double()], dim=1)

    def directions(N: int) -> Tensor:
        rows = normal(N, 4, seed=5)
        return rows / rows.square().sum(1, keepdim=True).sqrt()

    def back_and_forth(N: int) -> Tensor:
        # Neighbours are always one radian apart, and others are not.
        angles = torch.tensor([1.0, 1.0, -1.0, -1.0], dtype=torch.float64).repeat(N)[:N].cumsum(0)
        return torch.stack((angles.cos(), angles.sin()), dim=1)

    for case, code, expected in (
        ("For sinusoids", clocks, True),
        ("For the integers", integers, False),
        ("For a code that breaks at position 31", late, False),
        ("For random directions, all of length 1", directions, False),
        ("For points that go back and forth on a circle", back_and_forth, False),
    ):
        expect_same(case, bool(result_of(case, function, code)), expected)
    expect_same(
        "For the same code with N = 20", bool(result_of("With N = 20", function, late, N=20)), True
    )


def sinusoids_2017(function: Callable[..., Any]) -> None:
    """Chapter 7: all sines, then all cosines, with the last wavelength 2πb."""
    for positions, d, b in ((range(5), 8, 10000.0), ([0, 3, 70], 6, 100.0)):
        case = f"With positions {list(positions)}, d = {d} and b = {b:g}"
        angles = np.outer(list(positions), b ** -np.linspace(0, 1, d // 2))
        expected = np.hstack([np.sin(angles), np.cos(angles)])
        expect(case, result_of(case, function, positions, d, b), expected)
    case = "Without b"
    result = result_of(case, function, [1], 4)
    expect(case, result, [[math.sin(1), math.sin(1e-4), math.cos(1), math.cos(1e-4)]])


def largest_change(function: Callable[..., Any]) -> None:
    """Chapter 9: how much scores change when all positions move."""
    x = normal(4, 3, seed=1)

    def distances(x: Tensor, at: Tensor) -> Tensor:
        return x @ x.T - (at[:, None] - at[None]).abs()

    def sums(x: Tensor, at: Tensor) -> Tensor:
        return x @ x.T - 0.5 * (at[:, None] + at[None])

    def products(x: Tensor, at: Tensor) -> Tensor:
        return x @ x.T + at[:, None] * (9 - at[None])

    for case, scores, expected in (
        ("For scores of distances, with tau = 7", distances, 0.0),
        ("For scores that fall by (m + n)/2, with tau = 7", sums, 7.0),
        ("For scores with m(9 − n) added, with tau = 7", products, 28.0),
    ):
        expect(case, result_of(case, function, scores, x, 4, 7), expected)


def offset_score(function: Callable[..., Any]) -> None:
    """Chapter 10: the dot product of a rotated query and key, from their offset alone."""
    theta, vectors = rotary_frequencies(6, 20.0), normal(2, 3, 6, seed=1)
    for m, n in ((0, 0), (2, 7), (7, 2), (40, 41)):
        case = f"At the offset {n - m}"
        table = rotary_table(torch.tensor([m, n]), theta, dtype=vectors.dtype)
        Q, K = rotate(vectors, table, layout="interleaved", sequence_axis=0)
        expect(case, result_of(case, function, *vectors, n - m, theta), (Q * K).sum(-1))


def rotate_patch(function: Callable[..., Any]) -> None:
    """Chapter 10: even pairs rotate by the row, odd pairs by the column."""
    theta, x = rotary_frequencies(8, 100.0), normal(8, seed=2)
    for row, column in ((0, 0), (2, 0), (0, 3), (2, 5)):
        case = f"With row {row} and column {column}"
        angles = torch.tensor([row, column, row, column]) * theta
        table = (angles.cos()[None].to(x.dtype), angles.sin()[None].to(x.dtype))
        expected = rotate(x[None], table, layout="interleaved")[0]
        expect(case, result_of(case, function, x.clone(), row, column, theta), expected)


def detect(function: Callable[..., Any]) -> None:
    """Chapter 11: layout, direction and frequencies, from one call; a part may stay unrotated."""
    rotated = ((8, 1, "forward"), (8, -1, "backward"), (4, 1, "forward"))
    for layout in ("half", "interleaved"):
        for part, sign, direction in rotated:
            case = f"For the layout {layout!r} turning {part} of 8 dimensions {direction}"
            theta = rotary_frequencies(part, 50.0)
            calls: list[Any] = []

            def turns(
                x: Tensor, positions: Tensor, layout: Any = layout, sign: int = sign,
                theta: Tensor = theta, calls: list[Any] = calls,
            ) -> Tensor:  # fmt: skip
                calls.append(positions)
                table = rotary_table(sign * torch.as_tensor(positions), theta, dtype=x.dtype)
                return rotate(x, table, layout=layout, rotary_dim=2 * len(theta))

            found = parts_of(case, result_of(case, function, turns, 8), 3)
            expect_same(f"{case}, the layout", found[0], layout)
            expect_same(f"{case}, the direction", found[1], direction)
            expect(f"{case}, the frequencies", found[2], theta, tolerance=1e-5)
            expect_same(f"{case}, calls of f", len(calls), 1)


def lead_for(function: Callable[..., Any]) -> None:
    """Chapter 12: the lead that gives a key its weight among N keys."""
    for weight, N in ((0.5, 2), (0.5, 1000), (0.9, 1000), (0.001, 50)):
        case = f"With the weight {weight} among {N} keys"
        lead = result_of(case, function, weight, N)
        expect(case, lead, math.log(N - 1) + math.log(weight / (1 - weight)))


def step(function: Callable[..., Any]) -> None:
    """Chapter 15: pairs with less than one rotation are divided, all others stay."""
    L_0 = 100
    theta = 2 * math.pi / L_0 * torch.tensor([30.0, 1.01, 1.0, 0.99, 0.1], dtype=torch.float64)
    for s in (4.0, 16.0):
        case = f"With pairs of 30, 1.01, 1, 0.99 and 0.1 turns and s = {s:g}"
        # Exactly one rotation is a matter of the last bit, and is not asked.
        keep = [0, 1, 3, 4]
        result = result_of(case, function, theta.clone(), s, L_0)
        if getattr(result, "shape", None) != theta.shape:
            expect(case, result, theta)
        divided = theta[keep] / torch.tensor([1.0, 1.0, s, s], dtype=theta.dtype)
        expect(f"{case} (that of 1 rotation left out)", 100 * result[keep], 100 * divided)


def join_finished(function: Callable[..., Any]) -> None:
    """Chapter 14: two finished outputs with the logarithms of their sums."""
    q, K, V = normal(2, 4, seed=3), normal(7, 4, seed=4), normal(7, 3, seed=5)
    for size in (1.0, 4000.0):
        S = size * q @ K.T / 2
        halves = []
        for part in (slice(3), slice(3, 7)):
            total = S[:, part].logsumexp(1, keepdim=True)
            halves += [total, softmax(S[:, part]) @ V[part]]
        case = f"With scores near {size:g}"
        total, output = parts_of(case, result_of(case, function, *halves), 2)
        expect(f"{case}, the logarithm", total, S.logsumexp(1, keepdim=True))
        expect(f"{case}, the output", output, attention(size * q, K, V))


def sign_test(function: Callable[..., Any]) -> None:
    """Chapter 16: the share of all sign flips that are at least as extreme."""
    for differences, expected in (
        ([1.0, 2.0, 1.5], 2 / 8),
        ([-1.0, -2.0, -1.5], 2 / 8),
        ([1.0, 2.0, 1.5, 1.2, 0.9], 2 / 32),
        ([1.0, -1.0], 1.0),
        ([1.0, 2.0, -0.5], 4 / 8),
    ):
        case = f"With the differences {differences}"
        expect(case, result_of(case, function, np.array(differences)), expected)


def rotate_in_place(function: Callable[..., Any]) -> None:
    """Chapter 18: the rotation overwrites its argument, and makes no second tensor of its size."""
    x = normal(2, 3, 16, 8, seed=6, dtype=torch.float32)
    table = rotary_table(torch.arange(16), rotary_frequencies(8))
    expected, own, case = rotate(x, table, layout="interleaved"), x.clone(), "With 16 positions"
    phases = torch.complex(*table)
    with Traffic() as moved:
        result_of(case, function, own, phases)
    if torch.equal(own, x):
        raise Wrong(f"{case}, x is what it was before: the rotation must overwrite it.")
    expect(f"{case}, x afterwards", own, expected, tolerance=1e-5)
    copies = moved.total / (2 * own.nbytes)
    if copies > 1.5:
        raise Wrong(
            f"{case}, x is right, but {copies:.1f} times the bytes of a copy were moved: "
            "a second tensor of the size of x was written."
        )


def window_mask(function: Callable[..., Any]) -> None:
    """Chapter 19: which of N_k tokens the last N of them may see, W back."""
    for N, N_k, W in ((5, 5, 2), (2, 6, 3), (1, 7, 4), (3, 4, 9)):
        case = f"With N = {N}, N_k = {N_k} and W = {W}"
        m, n = torch.arange(N_k - N, N_k)[:, None], torch.arange(N_k)
        result = result_of(case, function, N, N_k, W)
        expect(case, result, (n <= m) & (m - n < W))

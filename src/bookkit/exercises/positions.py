"""Checks of the exercises on positions, RoPE, long contexts and speed."""

import math
from collections.abc import Callable
from itertools import product
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
from bookkit.exercises.comparing import ANY, Cases, Wrong, expect
from bookkit.randomness import normal
from bookkit.traffic import Traffic


def relative() -> Cases:
    """In why-position: is the dot product of two codes a function of their offset alone?"""
    m = torch.arange(200)
    clocks = sinusoidal(m, 8, dtype=torch.float64)
    late = torch.cat([clocks, (m[:, None] > 30).double()], dim=1)  # relative up to position 30
    # Neighbours are always one radian apart on a circle, and others are not.
    angles = torch.tensor([1.0, 1.0, -1.0, -1.0], dtype=torch.float64).repeat(50).cumsum(0)
    back_and_forth = torch.stack((angles.cos(), angles.sin()), dim=1)
    yield "For sinusoids", (lambda N: clocks[:N],), True
    yield "For the integers", (lambda N: m[:N, None].double(),), False
    yield "For a code that breaks at position 31", (lambda N: late[:N],), False
    yield "For points that go back and forth on a circle", (lambda N: back_and_forth[:N],), False
    yield "For the code that breaks at position 31, with N = 20", (lambda N: late[:N], 20), True


def sinusoids_2017() -> Cases:
    """In sinusoids: all sines, then all cosines, with the last wavelength 2πb."""
    for positions, d, b in ((range(5), 8, 10000.0), ([0, 3, 70], 6, 100.0)):
        angles = np.outer(list(positions), b ** -np.linspace(0, 1, d // 2))
        case = f"With positions {list(positions)}, d = {d} and b = {b:g}"
        yield case, (positions, d, b), np.hstack([np.sin(angles), np.cos(angles)])
    yield "Without b", ([1], 4), [[math.sin(1), math.sin(1e-4), math.cos(1), math.cos(1e-4)]]


def largest_change() -> Cases:
    """In relative-positions: how much scores change when all positions move."""
    x = normal(4, 3, seed=1)
    for case, term, expected in (
        ("For scores of distances", lambda m, n: -(m - n).abs(), 0.0),
        ("For scores that fall by (m + n)/2", lambda m, n: -(m + n) / 2, 7.0),
        ("For scores with m(9 − n) added", lambda m, n: m * (9 - n), 28.0),
    ):

        def scores(x: Tensor, at: Tensor, term: Callable[..., Tensor] = term) -> Tensor:
            return x @ x.T + term(at[:, None], at)

        yield f"{case}, with tau = 7", (scores, x, 4, 7), expected


def offset_score() -> Cases:
    """In deriving-rope: the dot product of a rotated query and key, from their offset alone."""
    theta = rotary_frequencies(6, 20.0)
    vectors = normal(2, 3, 6, seed=1)
    for m, n in ((0, 0), (2, 7), (7, 2), (40, 41)):
        table = rotary_table(torch.tensor([m, n]), theta, dtype=vectors.dtype)
        Q, K = rotate(vectors, table, layout="interleaved", sequence_axis=0)
        yield f"At the offset {n - m}", (*vectors, n - m, theta), (Q * K).sum(-1)


def rotate_patch() -> Cases:
    """In deriving-rope: even pairs rotate by the row, odd pairs by the column."""
    theta = rotary_frequencies(8, 100.0)
    x = normal(8, seed=2)
    for row, column in ((0, 0), (2, 0), (0, 3), (2, 5)):
        angles = torch.tensor([row, column, row, column]) * theta
        table = (angles.cos()[None].to(x.dtype), angles.sin()[None].to(x.dtype))
        expected = rotate(x[None], table, layout="interleaved")[0]
        yield f"With row {row} and column {column}", (x.clone(), row, column, theta), expected


def detect() -> Cases:
    """In implementing-rope: layout, direction, frequencies, from one call; a part may stay."""
    rotated = ((8, 1, "forward"), (8, -1, "backward"), (4, 1, "forward"))
    for layout, (part, sign, direction) in product(("half", "interleaved"), rotated):
        theta = rotary_frequencies(part, 50.0)
        calls: list[Any] = []

        def turns(
            x: Tensor, positions: Tensor, layout: Any = layout, sign: int = sign,
            theta: Tensor = theta, calls: list[Any] = calls,
        ) -> Tensor:  # fmt: skip
            calls.append(positions)
            table = rotary_table(sign * torch.as_tensor(positions), theta, dtype=x.dtype)
            return rotate(x, table, layout=layout, rotary_dim=2 * len(theta))

        case = f"For the layout {layout!r} turning {part} of 8 dimensions {direction}"
        expected = {"the layout": layout, "the direction": direction, "the frequencies": theta}
        yield case, (turns, 8), expected
        expect(f"{case}, calls of f", len(calls), 1)


def lead_for() -> Cases:
    """In what-rope-encodes: the lead that gives a key its weight among N keys."""
    for weight, N in ((0.5, 2), (0.5, 1000), (0.9, 1000), (0.001, 50)):
        expected = math.log(N - 1) + math.log(weight / (1 - weight))
        yield f"With the weight {weight} among {N} keys", (weight, N), expected


def step() -> Cases:
    """In longer-contexts: pairs with less than one rotation are divided, all others stay."""
    L_0 = 100
    turns = torch.tensor([30.0, 1.01, 0.99, 0.1], dtype=torch.float64)
    theta = 2 * math.pi / L_0 * turns
    for s in (4.0, 16.0):
        case = f"With pairs of 30, 1.01, 0.99 and 0.1 turns and s = {s:g}"
        yield case, (theta.clone(), s, L_0), torch.where(turns < 1, theta / s, theta)


def join_finished() -> Cases:
    """In attention-in-blocks: two finished outputs with the logarithms of their sums."""
    q = normal(2, 4, seed=3)
    K = normal(7, 4, seed=4)
    V = normal(7, 3, seed=5)
    for size in (1.0, 4000.0):
        S = size * q @ K.T / 2
        halves = []
        for part in (slice(3), slice(3, 7)):
            total = S[:, part].logsumexp(1, keepdim=True)
            halves += [total, softmax(S[:, part]) @ V[part]]
        total = S.logsumexp(1, keepdim=True)
        output = attention(size * q, K, V)
        expected = {"the logarithm": total, "the output": output}
        yield f"With scores near {size:g}", tuple(halves), expected


def sign_test() -> Cases:
    """In which-encoding: the share of all sign flips that are at least as extreme."""
    for differences, expected in (
        ([1.0, 2.0, 1.5], 2 / 8),
        ([-1.0, -2.0, -1.5], 2 / 8),
        ([1.0, 2.0, 1.5, 1.2, 0.9], 2 / 32),
        ([1.0, -1.0], 1.0),
        ([1.0, 2.0, -0.5], 4 / 8),
    ):
        yield f"With the differences {differences}", (np.array(differences),), expected


def rotate_in_place() -> Cases:
    """In cost: the rotation overwrites its argument, and makes no second tensor of its size."""
    x = normal(2, 3, 16, 8, seed=6, dtype=torch.float32)
    table = rotary_table(torch.arange(16), rotary_frequencies(8))
    own = x.clone()
    case = "With 16 positions"
    phases = torch.complex(*table)
    with Traffic() as moved:
        yield case, (own, phases), ANY
    if torch.equal(own, x):
        raise Wrong(f"{case}, x is what it was before: the rotation must overwrite it.")
    expect(f"{case}, x afterwards", own, rotate(x, table, layout="interleaved"))
    copies = moved.total / (2 * own.nbytes)
    if copies > 1.5:
        raise Wrong(
            f"{case}, x is right, but {copies:.1f} times the bytes of a copy were moved: "
            "a second tensor of the size of x was written."
        )


def window_mask() -> Cases:
    """In one-file: which of N_k tokens the last N of them may see, W back."""
    for N, N_k, W in ((5, 5, 2), (2, 6, 3), (1, 7, 4), (3, 4, 9)):
        m = torch.arange(N_k - N, N_k)[:, None]
        n = torch.arange(N_k)
        yield f"With N = {N}, N_k = {N_k} and W = {W}", (N, N_k, W), (n <= m) & (m - n < W)

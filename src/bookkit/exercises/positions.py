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
from bookkit.exercises.comparing import (
    ANY,
    Cases,
    Wrong,
    close,
    demand,
    expect,
    numbers_of,
    parts_of,
)
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
    for case, arguments, truth in (
        ("For sinusoids", (lambda N: clocks[:N],), True),
        ("For the integers", (lambda N: m[:N, None].double(),), False),
        ("For a code that breaks at position 31", (lambda N: late[:N],), False),
        ("For points that go back and forth on a circle", (lambda N: back_and_forth[:N],), False),
        ("For the code that breaks at position 31, with N = 20", (lambda N: late[:N], 20), True),
    ):
        result = yield case, arguments, ANY
        demand(case, result is not None, "it gave None, as if `return` were missing")
        if truth:
            words = (
                f"all pairs with the same offset have the same dot product, and it says {result}"
            )
        else:
            words = f"some pairs with the same offset have other dot products, and it says {result}"
        demand(case, isinstance(result, (bool, np.bool_)) and bool(result) is truth, words)


def sinusoids_2017() -> Cases:
    """In sinusoids: all sines, then all cosines, with the last wavelength 2πb."""
    for positions, d, b in ((range(5), 8, 10000.0), ([0, 3, 70], 6, 100.0)):
        case = f"With positions {list(positions)}, d = {d} and b = {b:g}"
        found = numbers_of(case, (yield case, (positions, d, b), ANY), (len(positions), d))
        half = d // 2
        at_start = close(found[0, :half], 0.0) and close(found[0, half:], 1.0)
        words = "the first half of a row must be sines and the second cosines, so position 0 has "
        demand(case, at_start, f"{words}zeros, then ones")
        lengths = found[:, :half] ** 2 + found[:, half:] ** 2
        words = "column i and column i + d/2 are not the sine and the cosine of one angle"
        demand(case, close(lengths, torch.ones_like(lengths)), words)
        theta = b ** -np.linspace(0, 1, half)
        turned = torch.atan2(found[1, :half], found[1, half:]) / positions[1]
        for i in range(half):
            words = f"pair {i} of {half} rotates by {turned[i]:.4g} per position, not by "
            demand(case, close(turned[i], theta[i]), f"{words}b^(-i/(d/2 - 1))")
        angles = np.outer(list(positions), theta)
        expect(case, found, np.hstack([np.sin(angles), np.cos(angles)]))
    case = "Without b"
    found = numbers_of(case, (yield case, ([1], 4), ANY), (1, 4))
    slowest = float(torch.atan2(found[0, 1], found[0, 3]))
    words = f"the slowest pair must rotate by 1/10000 per position, and rotates by {slowest:.4g}"
    demand(case, close(torch.tensor(slowest), 1e-4), words)
    expect(case, found, [[math.sin(1), math.sin(1e-4), math.cos(1), math.cos(1e-4)]])


def largest_change() -> Cases:
    """In relative-positions: how much scores change when all positions move."""
    x = normal(4, 3, seed=1)
    for case, term, expected, words in (
        (
            "For scores of distances",
            lambda m, n: -(m - n).abs(),
            0.0,
            "no score changes, so the largest change is 0",
        ),
        (
            "For scores that fall by (m + n)/2",
            lambda m, n: -(m + n) / 2,
            7.0,
            "every score falls by tau, so the largest change is tau",
        ),
        (
            "For scores with m(9 − n) added",
            lambda m, n: m * (9 - n),
            28.0,
            "scores change by different amounts up to 4 tau, and the largest counts",
        ),
    ):

        def scores(x: Tensor, at: Tensor, term: Callable[..., Tensor] = term) -> Tensor:
            return x @ x.T + term(at[:, None], at)

        whole = f"{case}, with tau = 7"
        found = numbers_of(whole, (yield whole, (scores, x, 4, 7), ANY), (), "one number")
        demand(whole, close(found, expected), f"{words}; it gives {found:.3g}")


def offset_score() -> Cases:
    """In deriving-rope: the dot product of a rotated query and key, from their offset alone."""
    theta = rotary_frequencies(6, 20.0)
    vectors = normal(2, 3, 6, seed=1)

    def product_at(m: int, n: int) -> Tensor:
        table = rotary_table(torch.tensor([m, n]), theta, dtype=vectors.dtype)
        Q, K = rotate(vectors, table, layout="interleaved", sequence_axis=0)
        score: Tensor = (Q * K).sum(-1)
        return score

    for m, n in ((0, 0), (2, 7), (7, 2), (40, 41)):
        case = f"At the offset {n - m}"
        found = numbers_of(case, (yield case, (*vectors, n - m, theta), ANY), (3,))
        wanted = product_at(m, n)
        if m == n:
            words = "nothing is rotated, so the score must be q · k, and it is not"
            demand(case, close(found, wanted), words)
        mirrored = close(found, product_at(n, m)) and not close(found, wanted)
        words = f"it gives the score of the offset {m - n}: the direction is reversed"
        demand(case, not mirrored, words)
        words = "it is not the dot product of the query and the key, each rotated by its position"
        demand(case, close(found, wanted), words)


def rotate_patch() -> Cases:
    """In deriving-rope: even pairs rotate by the row, odd pairs by the column."""
    theta = rotary_frequencies(8, 100.0)
    x = normal(8, seed=2)
    for row, column in ((0, 0), (2, 0), (0, 3), (2, 5)):
        case = f"With row {row} and column {column}"
        angles = torch.tensor([row, column, row, column]) * theta
        table = (angles.cos()[None].to(x.dtype), angles.sin()[None].to(x.dtype))
        wanted = rotate(x[None], table, layout="interleaved")[0].view(4, 2)
        result = yield case, (x.clone(), row, column, theta), ANY
        found = numbers_of(case, result, (8,)).view(4, 2)
        before = x.view(4, 2)
        for i in range(4):
            own, name = (column, "column") if i % 2 else (row, "row")
            words = f"pair {i} must keep its length, and it does not"
            demand(case, close(found[i].norm(), float(before[i].norm())), words)
            words = f"pair {i} must be rotated by the {name} times its frequency, counter-clockwise"
            words = f"pair {i} must stay as it is, since its {name} is 0" if own == 0 else words
            demand(case, close(found[i], wanted[i]), words)


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
        named, turned, found = parts_of(case, (yield case, (turns, 8), ANY), 3)
        demand(case, named == layout, f"it gives the layout {named!r}")
        demand(case, turned == direction, f"it gives the direction {turned!r}")
        expect(f"{case}, the frequencies", found, theta)
        words = f"f was called {len(calls)} times, and one call must be enough"
        demand(case, len(calls) == 1, words)


def lead_for() -> Cases:
    """In what-rope-encodes: the lead that gives a key its weight among N keys."""
    for weight, N in ((0.5, 2), (0.5, 1000), (0.9, 1000), (0.001, 50)):
        case = f"With the weight {weight} among {N} keys"
        found = numbers_of(case, (yield case, (weight, N), ANY), (), "one number")
        scores = torch.zeros(N, dtype=torch.float64)
        scores[0] = found
        reached = softmax(scores)[0]
        words = f"a key with the lead {found:.3g} gets the weight {reached:.3g}"
        wanted = math.log(N - 1) + math.log(weight / (1 - weight))
        demand(case, close(found, wanted), words)


def step() -> Cases:
    """In longer-contexts: pairs with less than one rotation are divided, all others stay."""
    L_0 = 100
    turns = torch.tensor([30.0, 1.01, 0.99, 0.1], dtype=torch.float64)
    theta = 2 * math.pi / L_0 * turns
    for s in (4.0, 16.0):
        case = f"With pairs of 30, 1.01, 0.99 and 0.1 turns and s = {s:g}"
        found = numbers_of(case, (yield case, (theta.clone(), s, L_0), ANY), (4,))
        for turned, own, now in zip(turns, theta, found, strict=True):
            if turned < 1:
                words = (
                    f"the pair with {turned:g} turns must be slowed down by s, and its frequency "
                )
                demand(case, close(now, float(own / s)), f"{words}is divided by {own / now:.3g}")
            else:
                words = f"the pair with {turned:g} turns must keep its frequency, and does not"
                demand(case, close(now, float(own)), words)


def join_finished() -> Cases:
    """In attention-in-blocks: two finished outputs with the logarithms of their sums."""
    q = normal(2, 4, seed=3)
    K = normal(7, 4, seed=4)
    V = normal(7, 3, seed=5)
    for size in (1.0, 4000.0):
        case = f"With scores near {size:g}"
        S = size * q @ K.T / 2
        halves = []
        for part in (slice(3), slice(3, 7)):
            total = S[:, part].logsumexp(1, keepdim=True)
            halves += [total, softmax(S[:, part]) @ V[part]]
        logarithm, output = parts_of(case, (yield case, tuple(halves), ANY), 2)
        logarithm = numbers_of(f"{case}, the logarithm", logarithm, (2, 1))
        output = numbers_of(f"{case}, the output", output, (2, 3))
        finite = logarithm.isfinite().all() and output.isfinite().all()
        demand(case, finite, "the results contain NaN or infinity")
        words = "the logarithm is not that of the sum over all keys of both parts"
        demand(case, close(logarithm, S.logsumexp(1, keepdim=True)), words)
        joined = attention(size * q, K, V)
        shared = close(output, (halves[1] + halves[3]) / 2) and not close(output, joined)
        demand(case, not shared, "both parts get the weight 1/2, whatever their sums are")
        words = "the output is not the average of all values with the weights of all keys"
        demand(case, close(output, joined), words)


def sign_test() -> Cases:
    """In which-encoding: the share of all sign flips that are at least as extreme."""
    for differences, extreme in (
        ([1.0, 2.0, 1.5], 2),
        ([-1.0, -2.0, -1.5], 2),
        ([1.0, 2.0, 1.5, 1.2, 0.9], 2),
        ([1.0, -1.0], 4),
        ([1.0, 2.0, -0.5], 4),
    ):
        case = f"With the differences {differences}"
        found = numbers_of(case, (yield case, (np.array(differences),), ANY), (), "one number")
        flips = 2 ** len(differences)
        words = f"{extreme} of the {flips} sign flips have a mean at least as far from 0, and it "
        counted = float(found) * flips
        demand(case, close(found, extreme / flips), f"{words}counts {counted:.3g}")


def tokens_at_the_ridge() -> Cases:
    """In cost: the number of vectors at which a matrix product changes its limit."""
    for d, d_out, w, ridge in (
        (4096, 14336, 2, 206.0),
        (1000, 2000, 4, 50.0),
        (128, 128, 2, 206.0),
    ):
        case = f"With d = {d}, d_out = {d_out}, w = {w} and the ridge {ridge:g}"
        result = yield case, (d, d_out, w, ridge), ANY
        N = float(numbers_of(case, result, (), "one number"))
        most = 2 / (w * (1 / d + 1 / d_out))  # the intensity of infinitely many vectors
        if most <= ridge:
            words = f"no number of vectors reaches it: the intensity stays below {most:.3g}"
            demand(case, math.isinf(N), words)
        else:
            intensity = 2 * N / (w * (1 + N / d + N / d_out))
            words = f"the intensity of {N:.4g} vectors is {intensity:.4g}, which is not the ridge"
            demand(case, math.isclose(intensity, ridge, rel_tol=1e-6), words)


def rotate_in_place() -> Cases:
    """In deeper/traffic: the rotation overwrites its argument, without a second tensor."""
    x = normal(2, 3, 16, 8, seed=6, dtype=torch.float32)
    table = rotary_table(torch.arange(16), rotary_frequencies(8))
    own = x.clone()
    case = "With 16 positions"
    phases = torch.complex(*table)
    with Traffic() as moved:
        yield case, (own, phases), ANY
    if torch.equal(own, x):
        raise Wrong(f"{case}, x is what it was before: the rotation must overwrite it.")
    wanted = rotate(x, table, layout="interleaved")
    table_back = rotary_table(-torch.arange(16), rotary_frequencies(8))
    backwards = close(own, rotate(x, table_back, layout="interleaved"))
    demand(case, not backwards, "x afterwards is rotated in the opposite direction")
    words = "x afterwards is not x with each pair (2i, 2i + 1) multiplied by its phase"
    demand(case, close(own, wanted), words)
    copies = moved.total / (2 * own.nbytes)
    if copies > 1.5:
        raise Wrong(
            f"{case}, x is right, but {copies:.1f} times the bytes of a copy were moved: "
            "a second tensor of the size of x was written."
        )

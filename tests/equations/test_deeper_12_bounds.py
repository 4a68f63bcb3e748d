"""Deeper 12: bounds, odd parts and distances."""

import numpy as np
import torch

from attention_to_rope import rotary_table, rotate, rotation_matrix
from bookcheck.equations.checks import equation
from shared_12_what_rope_encodes import D, contents, only, pairs


def sums(values, r):
    """U_0 ... U_p, and the products with h_p = 0."""
    steps = np.exp(1j * r * values[r"\theta"])
    return np.concatenate([[0], np.cumsum(steps)]), np.concatenate([values["h"], [0]])


@equation("eq-partial-sums", first_index=0)
def test_partial_sums(rng):
    values = contents(rng)
    r = int(rng.integers(2, 9))
    U, _ = sums(values, r)
    p = D // 2
    return {"U": U, r"\theta": values[r"\theta"], "r": r, "p": p, "j": range(p + 1)}


@equation("eq-abel", first_index=0)
def test_abel(rng):
    values = contents(rng)
    r = int(rng.integers(2, 9))
    U, h = sums(values, r)
    return {"U": U, "h": h, r"\theta": values[r"\theta"], "r": r, "p": D // 2}


@equation("eq-abel-bound", first_index=0, library=rotation_matrix)
def test_abel_bound(rng):
    """Besides free products: some for which one of the three sides is close to the next."""
    free = contents(rng)
    equal_steps = 2.5 * np.arange(D // 2, 0, -1.0)
    alternating = (-1.0) ** np.arange(D // 2)
    one_large_step = np.array([5.0, 1.0, 0.5])
    chosen = (equal_steps, alternating, one_large_step, np.ones(D // 2))
    # All waves agree at distance 0; at the other one they nearly cancel.
    cancel = min(range(4, 400), key=lambda r: abs(sums(free, r)[0][-1]))
    cases = [(free, int(rng.integers(4, 9)))]
    for h, r in zip(chosen, (0, 0, 0, cancel), strict=True):
        q = np.repeat(h, 2) / 2
        cases.append(({**free, "q": q, "k": np.ones(D), "h": h.astype(complex)}, r))
    bound = []
    for values, r in cases:
        U, h = sums(values, r)
        bound.append({**only(values, "q", "k", r"\mathbf{R}"), "U": U, "h": h, "r": r, "p": D // 2})
    return bound


@equation("eq-trivial-bound", first_index=0, library=rotation_matrix)
def test_trivial_bound(rng):
    free = only(contents(rng), "q", "k", "h", r"\mathbf{R}")
    one_pair = only(contents(rng, 2), "q", "k", "h", r"\mathbf{R}")
    same = contents(rng)
    same["q"] = same["k"] = 5 * same["q"]
    same["h"] = np.abs(pairs(same["q"])) ** 2
    same = only(same, "q", "k", "h", r"\mathbf{R}")
    long_key = {**free, "k": 6 * free["k"], "h": 6 * free["h"]}
    return [
        {**free, "r": 3, "p": D // 2},
        {**long_key, "r": 0, "p": D // 2},
        {**one_pair, "r": 2, "p": 1},
        {**same, "r": 0, "p": D // 2},
    ]


@equation("eq-abel-ratio", first_index=0)
def test_abel_ratio(rng):
    p, step = 5, float(rng.uniform(0.3, 2))
    free = np.concatenate([rng.normal(size=p) + 1j * rng.normal(size=p), [0]])
    even = step * np.arange(p, -1, -1.0)  # falls in equal steps: equality
    return [{"h": h, "D": np.abs(np.diff(h)).max(), "p": p} for h in (free, even)]


@equation("eq-odd-part", first_index=0, library=rotation_matrix)
def test_odd_part(rng):
    values = only(contents(rng), "q", "k", "h", r"\theta", r"\mathbf{R}")
    return {**values, "r": range(1, 6), "p": D // 2}


@equation("eq-rope-distance", first_index=0, library=rotate)
def test_rope_distance(rng):
    values = contents(rng)
    theta = torch.as_tensor(values[r"\theta"])

    def turned(m):
        table = rotary_table(torch.tensor([int(m)]), theta, dtype=torch.float64)
        identity = torch.eye(D, dtype=torch.float64)[:, None]
        return rotate(identity, table, layout="interleaved")[:, 0].numpy()

    return {
        "u": values["q"],
        "z": values["z"],
        r"\theta": values[r"\theta"],
        r"\mathbf{R}": turned,
        "m": range(4),
        "n": range(2, 6),
        "d_k": D,
    }

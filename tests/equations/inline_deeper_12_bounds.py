"""Deeper, chapter 12: the relations inside its sentences."""

import numpy as np

from shared_rotations import some_frequencies

PAGE = "deeper/12-bounds"
OPTIONS = {"first_index": 0}
P = 4


def bindings(rng):
    """Products h_0 … h_4 with h_4 = 0, their largest step D, and the sums U_0 … U_4 of waves."""
    _, theta = some_frequencies(rng, 2 * P)
    r = int(rng.integers(2, 9))
    U = np.concatenate([[0], np.cumsum(np.exp(1j * r * theta.numpy()))])
    h = np.concatenate([rng.normal(size=P) + 1j * rng.normal(size=P), [0]])
    steps = {"h": h, "D": np.abs(np.diff(h)).max(), "U": U}
    return {**steps, r"\theta": theta.numpy(), "r": r, "d_k": 2 * P, "i": range(P)}


def equal_steps(rng):
    """Products that fall to 0 in equal steps: the case of equality."""
    step = float(rng.uniform(0.3, 2))
    return {"h": step * np.arange(P, -1, -1.0), "D": step}


CHECKS = {
    r"h_i = D (d_k/2 - i)": equal_steps,
    r"\lvert h_i \rvert \le D (d_k/2 - i)": lambda rng: [{}, equal_steps(rng)],
}
# Names and conditions.
DEFINITIONS = [
    r"D = \max_i \lvert h_i - h_{i+1} \rvert",
    r"q \ne k",
    r"q = k",
]

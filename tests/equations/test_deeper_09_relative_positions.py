"""Deeper 9: added sinusoids between weights that keep them relative."""

import numpy as np
import torch

from attention_to_rope import sinusoidal
from bookcheck.equations.checks import equation

N, D = 5, 6


def blocks(rng, d):
    a, c = rng.normal(size=d // 2), rng.normal(size=d // 2)
    C = np.zeros((d, d))
    for i in range(d // 2):
        C[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[a[i], c[i]], [-c[i], a[i]]]
    return {"a": a, "c": c, "C": C, "d": d}


@equation("eq-directed-blocks", first_index=0, vectors="row", library=sinusoidal)
def test_directed_blocks(rng):
    P = sinusoidal(torch.arange(N), D, base=50.0, dtype=torch.float64)
    theta = 50.0 ** (-2 * np.arange(D // 2) / D)
    return {**blocks(rng, D), "P": P, r"\theta": theta, "m": range(N), "n": range(N)}

"""The short road: its equations, executed against the library where it has them."""

import numpy as np
import torch

from attention_to_rope import rotary_frequencies, rotation_matrix, sinusoidal
from bookcheck.equations.checks import Random, equation, sentences
from shared import library_attention
from shared_rotations import plane_rotation, some_angle

N, D_K, D_V = 4, 3, 2


def turn(angle):
    """The library's rotation for row vectors, by an angle: position 1 at this frequency."""
    frequencies = torch.tensor([float(angle)], dtype=torch.float64)
    return rotation_matrix(torch.tensor(1), frequencies, layout="interleaved").numpy()


@equation("eq-road-attention")
def test_attention(rng):
    Q, K, V = rng.normal(size=(N, D_K)), rng.normal(size=(6, D_K)), rng.normal(size=(6, D_V))
    return {"Q": Q, "K": K, "V": V, "d_k": D_K, r"\operatorname{Attention}": library_attention}


@equation("eq-road-variance")
def test_variance(rng):
    del rng
    return {"q": Random([-1, 1], shape=(3,)), "k": Random([-1, 1], shape=(3,)), "d_k": 3}


@equation("eq-road-order")
def test_order(rng):
    Q, K, V = (rng.normal(size=(N, size)) for size in (D_K, D_K, D_V))
    Pi = np.eye(N)[[2, 0, 3, 1]]
    return {r"\Pi": Pi, "Q": Q, "K": K, "V": V, r"\operatorname{Attention}": library_attention}


@equation("eq-road-sinusoid", first_index=0)
def test_sinusoid(rng):
    del rng
    d = 8
    table = sinusoidal(torch.arange(12), d, dtype=torch.float64).numpy()
    return {
        "p": table,
        "m": range(12),
        "i": range(d // 2),
        "d": d,
        r"\theta": rotary_frequencies(d).numpy(),
    }


@equation("eq-road-shift")
def test_shift(rng):
    return {
        "m": int(rng.integers(2, 9)),
        r"\delta": int(rng.integers(2, 9)),
        r"\theta": rng.uniform(0.3, 2),
    }


@equation("eq-road-sum", first_index=0)
def test_sum(rng):
    x, p = rng.normal(size=(2, N, D_K))
    return {"x": x, "p": p, "m": range(N), "n": range(N)}


@equation("eq-road-rotation")
def test_rotation(rng):
    theta = rng.uniform(0.3, 2)
    return {"R": lambda m: turn(m * theta), "m": range(-3, 4), r"\theta": theta}


@equation("eq-road-relative")
def test_relative(rng):
    q, k = rng.normal(size=(2, 2))
    theta = rng.uniform(0.3, 2)
    return {"q": q, "k": k, "R": lambda m: turn(m * theta), "m": range(-2, 4), "n": range(5)}


@equation("eq-road-planes", first_index=0)
def test_planes(rng):
    d = 6
    frequencies = rotary_frequencies(d, base=50.0)
    q, k = rng.normal(size=(2, d))

    def turned(x, position):
        return (
            x @ rotation_matrix(torch.tensor(position), frequencies, layout="interleaved").numpy()
        )

    S = np.array([[turned(q, m) @ turned(k, n) for n in range(4)] for m in range(5)])
    pairs = {"q": lambda i: q[2 * i : 2 * i + 2], "k": lambda i: k[2 * i : 2 * i + 2]}
    symbols = {"d": d, "m": range(5), "n": range(4), r"\theta": frequencies.numpy(), "S": S}
    return {**pairs, **symbols, "R": turn}


def bindings(rng):
    """The library's turn of one plane by whole positions."""
    theta = some_angle(rng)
    return {"R": lambda n: plane_rotation(n * theta), "n": range(1, 5)}


test_sentences = sentences("00-short-road", first_index=0)(bindings)

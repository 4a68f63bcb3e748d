"""Deeper 7: digits, uniqueness, the cosine integral and repeats, executed."""

import math

import numpy as np
import torch
from scipy.special import sici

from attention_to_rope import rotation_matrix, sinusoidal
from bookcheck.equations.checks import equation
from shared_07_sinusoids import D, J, frequencies, g, hand, shifts
from shared_rotations import some_base


@equation("eq-digits")
def test_digits(rng):
    B, count = int(rng.integers(2, 5)), 3

    def digit(j, m):
        for _ in range(int(j)):
            m //= B
        return m % B

    every = {"m": range(B**count), "j": range(count)}
    return {"B": B, "D": count, r"\operatorname{digit}": digit, **every}


def nearest_readings(alpha, theta, first):
    """From the slowest hand to the fastest: of all its positions, the one nearest to the last."""
    estimates = [first]
    for angle, frequency in zip(alpha[::-1], theta[::-1], strict=True):
        turns = np.arange(-40, 41)
        candidates = (angle + 2 * np.pi * turns) / frequency
        estimates.append(candidates[np.abs(candidates - estimates[-1]).argmin()])
    return np.array(estimates[::-1])


@equation("eq-read-clocks", first_index=0, library=sinusoidal)
def test_read_clocks(rng):
    b = some_base(rng)
    theta = frequencies(b)
    m = int(rng.integers(2, int(np.pi / theta[-1])))
    P = sinusoidal(torch.tensor([m]), D, b, dtype=torch.float64)[0].numpy()
    exact = np.arctan2(P[0::2], P[1::2])
    common = {r"\theta": theta, "i": range(D // 2), r"\operatorname{round}": np.round}
    # Every exact hand gives the position itself; bad hands give estimates that differ.
    assert np.allclose(nearest_readings(exact, theta, float(m)), m)
    bad, first = rng.uniform(-np.pi, np.pi, size=D // 2), rng.uniform(5, 30)
    return [
        {**common, r"\hat{m}": np.full(D // 2 + 1, float(m)), r"\alpha": exact},
        {**common, r"\hat{m}": nearest_readings(bad, theta, first), r"\alpha": bad},
    ]


@equation("eq-euler")
def test_euler(rng):
    return {"m": range(2, 6), r"\theta": rng.uniform(0.2, 3)}


@equation("eq-vandermonde", first_index=0)
def test_vandermonde(rng):
    theta = frequencies(some_base(rng), 6)
    z = np.exp(1j * np.concatenate([theta, -theta]))
    return {"V": z[None, :] ** np.arange(6)[:, None], "z": z, "d": 6}


@equation("eq-position-complex")
def test_position_complex(rng):
    return {"m": range(2, 6), "n": range(4), r"\theta": rng.uniform(0.2, 3)}


@equation("eq-g-integral", approx=0.02)
def test_g_integral(rng):
    b, d = 10000.0, 4096
    return {"r": int(rng.integers(2, 40)), "b": b, "d": d, "g": g(b, d)}


def cosine_integral(x):
    return float(sici(x)[1])


@equation("eq-ci")
def test_ci(rng):
    return {
        "r": float(rng.uniform(2, 20)),
        "b": some_base(rng),
        r"\operatorname{Ci}": cosine_integral,
    }


@equation("eq-substitution")
def test_substitution(rng):
    return {"r": float(rng.uniform(2, 20)), "b": some_base(rng), "u": float(rng.uniform(0.2, 0.9))}


@equation("eq-log-decay", approx=0.02)
def test_log_decay(rng):
    return {
        "r": float(rng.uniform(30, 300)),
        "b": 10000.0,
        r"\gamma": np.euler_gamma,
        r"\operatorname{Ci}": cosine_integral,
    }


@equation("eq-relative-pair", vectors="row")
def test_relative_pair(rng):
    alpha, beta, a, c = rng.normal(size=4)
    angles = {r"\alpha": alpha, r"\beta": beta, "s": hand}
    return {**angles, "a": a, "c": c, "J": J, "I": np.eye(2)}


def relative_weights(rng):
    """A matrix of blocks aI + cJ."""
    C = np.zeros((D, D))
    for i in range(0, D, 2):
        a, c = rng.normal(size=2)
        C[i : i + 2, i : i + 2] = [[a, c], [-c, a]]
    return C


@equation("eq-commute", library=rotation_matrix)
def test_commute(rng):
    return {"T": shifts(some_base(rng)), "C": relative_weights(rng)}


@equation("eq-commutator", first_index=0)
def test_commutator(rng):
    return {"E": rng.normal(size=(2, 2)), "J": J}


@equation("eq-repeat")
def test_repeat(rng):
    m, n, nu = int(rng.integers(2, 15)), int(rng.integers(20, 40)), int(rng.integers(2, 9))
    return {"m": m, "n": n, r"\nu": nu, r"\theta": 2 * math.pi * nu / (n - m)}


@equation("eq-chord")
def test_chord(rng):
    return {"m": range(2, 7), "n": range(3, 6), r"\theta": rng.uniform(0.2, 3)}


@equation("eq-710", approx=1e-3)
def test_710(rng):
    return {}


@equation("eq-plus-part", first_index=0, vectors="row")
def test_plus_part(rng):
    alpha, beta, first, second = rng.normal(size=4)
    E = np.array([[first, second], [second, -first]])
    return {r"\alpha": alpha, r"\beta": beta, "s": hand, "E": E}

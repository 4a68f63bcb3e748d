"""The chapter and its pages of depth: what the formulas of all of them are bound to."""

import math

import numpy as np
import torch

from attention_to_rope import rotate_complex
from shared_rotations import IDENTITY, QUARTER_TURN, plane_rotation, some_angle, turned_row

N, D_K = 5, 6


def hat(d_k=D_K):
    """i, alpha -> the matrix that turns pair i and nothing else."""

    def factor(i, alpha):
        matrix = np.eye(d_k)
        pair = slice(2 * int(i), 2 * int(i) + 2)
        matrix[pair, pair] = plane_rotation(alpha)
        return matrix

    return factor


def complex_turn(theta):
    """m, z -> the pair z turned by the library's complex form."""

    def f(m, z):
        pair = torch.tensor([[complex(z).real, complex(z).imag]], dtype=torch.float64)
        frequency = torch.tensor([theta], dtype=torch.float64)
        y = rotate_complex(pair, torch.tensor([int(m)]), frequency, layout="interleaved")
        return complex(*y[0].tolist())

    return f


def turned_rows(x, theta):
    """The row x (2,) at all positions, turned by the library: (N, 2)."""
    return np.stack([turned_row(x, m, np.array([theta])) for m in range(N)])


def complex_pair(rng):
    x, y = rng.normal(size=2), rng.normal(size=2)
    z, w = complex(*x), complex(*y)
    parts = {r"\rho": abs(z), r"\varphi": math.atan2(x[1], x[0])}
    return {"x": x, "y": y, "z": z, "w": w, **parts}


def plane(rng):
    """One pair: contents, as rows and as complex numbers, and the library's rotation f of both."""
    theta, alpha = some_angle(rng), 2.1 * some_angle(rng)
    q, k = rng.normal(size=2), rng.normal(size=2)
    angles = {
        r"\varphi_q": math.atan2(q[1], q[0]),
        r"\varphi_k": math.atan2(k[1], k[0]),
        r"\theta": theta,
        r"\alpha": alpha,
        r"\beta": -1.7 * some_angle(rng),
    }

    def f(m, x):
        one = np.array([theta])
        return complex_turn(theta)(m, x) if np.iscomplexobj(x) else turned_row(x, m, one)

    every = {"m": range(N), "n": range(N), "R": plane_rotation, "I": IDENTITY, "J": QUARTER_TURN}
    numbers = complex_pair(rng)
    # The dot products of the rows that the library has turned.
    turned = {name: turned_rows(row, theta) for name, row in (("q", q), ("k", k))}
    others = {name: turned_rows(numbers[name], theta) for name in ("x", "y")}
    scores = {"s": turned["q"] @ turned["k"].T, r"\sigma": others["x"] @ others["y"].T}
    return {"q": q, "k": k, "f": f, **numbers, **angles, **every, **scores}


def orthogonal(rng, d):
    U, _ = np.linalg.qr(rng.normal(size=(d, d)))
    U[0] *= np.sign(np.linalg.det(U))
    return U


def relative_maps(rng):
    """Maps that are not linear in the content, and relative: h(x) U^m."""
    U, W = orthogonal(rng, 4), rng.normal(size=(3, 4))

    def f(m, x):
        return np.tanh(x @ W) @ np.linalg.matrix_power(U, int(m))

    def g(x, y, offset):
        """By powers of the eigenvalues of U, not by its matrix powers."""
        values, vectors = np.linalg.eig(U)
        step = (vectors * values**-offset) @ np.linalg.inv(vectors)
        return float((np.tanh(x @ W) @ step @ np.tanh(y @ W)).real)

    return f, g, U

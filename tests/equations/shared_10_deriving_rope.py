"""Chapter 10 and its pages of depth: what the formulas of all of them are bound to."""

import math

import numpy as np
import torch

from attention_to_rope import attention, rotate_complex
from shared_rotations import plane_rotation, rotation_of_all_pairs, some_angle, some_frequencies

N, D, D_K = 5, 7, 6


def hat(d_k=D_K):
    """i, alpha -> the matrix that turns pair i and nothing else."""

    def factor(i, alpha):
        matrix = np.eye(d_k)
        pair = slice(2 * int(i), 2 * int(i) + 2)
        matrix[pair, pair] = plane_rotation(alpha)
        return matrix

    return factor


def plane(rng):
    theta = some_angle(rng)
    q, k = rng.normal(size=2), rng.normal(size=2)
    angles = {
        r"\varphi_q": math.atan2(q[1], q[0]),
        r"\varphi_k": math.atan2(k[1], k[0]),
    }
    every = {"m": range(N), "n": range(N), r"\theta": theta, "R": plane_rotation}
    return {"q": q, "k": k, **angles, **every}


def complex_pair(rng):
    x, y = rng.normal(size=2), rng.normal(size=2)
    z, w = complex(*x), complex(*y)
    parts = {r"\rho": abs(z), r"\varphi": math.atan2(x[1], x[0])}
    return {"x": x, "y": y, "z": z, "w": w, **parts}


def complex_turn(theta):
    """m, z -> the pair z turned by the library's complex form."""

    def f(m, z):
        pair = torch.tensor([[complex(z).real, complex(z).imag]], dtype=torch.float64)
        frequency = torch.tensor([theta], dtype=torch.float64)
        y = rotate_complex(pair, torch.tensor([int(m)]), frequency, layout="interleaved")
        return complex(*y[0].tolist())

    return f


def values(rng):
    """Weights of the library's attention with turned queries and keys, and turned values."""
    _, theta = some_frequencies(rng, D_K)
    matrices = rotation_of_all_pairs(theta)
    q, k, v = (rng.normal(size=(N, D_K)) for _ in range(3))

    def weights(first):
        Q = torch.from_numpy(np.stack([q[m] @ matrices(m + first) for m in range(N)]))
        K = torch.from_numpy(np.stack([k[n] @ matrices(n + first) for n in range(N)]))
        return attention(Q, K, torch.eye(N, dtype=torch.float64)).numpy()

    tau = 3
    A = weights(0)
    o = A @ np.stack([v[n] @ matrices(n) for n in range(N)])
    moved = weights(tau) @ np.stack([v[n] @ matrices(n + tau) for n in range(N)])
    places = {"m": range(N), "N": N, r"\tau": tau, r"\mathbf{R}": matrices}
    return {"A": A, "v": v, "o": o, r"\tilde{o}": moved, **places}


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

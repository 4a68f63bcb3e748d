"""Deeper 7: the relations inside its sentences."""

import numpy as np
import torch
from scipy.linalg import null_space
from scipy.special import sici

from attention_to_rope import rotary_frequencies, rotation_matrix, sinusoidal
from shared_07_sinusoids import D, J
from shared_rotations import plane_rotation
from texcheck import depends

PAGE = "deeper/07-clocks"
OPTIONS = {"first_index": 0}


def bindings(rng):
    """Rows, their shifts, and weights made of blocks aI + cJ."""
    base = float(rng.uniform(5, 60))
    theta = rotary_frequencies(D, base)
    P = sinusoidal(torch.arange(9), D, base, dtype=torch.float64).numpy()
    T = rotation_matrix(torch.arange(4), theta, layout="interleaved").mT.numpy()
    a, c = rng.normal(size=(2, D // 2))
    blocks = [a[i] * np.eye(2) + c[i] * J for i in range(D // 2)]
    C = np.asarray(torch.block_diag(*map(torch.from_numpy, blocks)))
    places = {"m": range(4), "n": range(4), "b": base, "d": D}
    return {**places, "P": P, "T": T, "C": C, r"\theta": theta.numpy()}


def one_angle(rng):
    return {r"\theta": rng.uniform(0.2, 3), "R": plane_rotation, "I": np.eye(2), "J": J}


def cosine_integral(rng):
    return {r"\operatorname{Ci}": lambda x: float(sici(x)[1]), "x": rng.uniform(0.5, 9)}


def whole_turns(rng):
    m, n, nu = (int(rng.integers(*ends)) for ends in ((2, 15), (20, 40), (2, 9)))
    return {"m": m, "n": n, r"\nu": nu, r"\theta": 2 * np.pi * nu / (n - m)}


def half_a_turn(rng):
    """The longest text that the slowest hand can read, and any base that is large enough."""
    b, d = float(rng.uniform(50, 900)), D
    wavelengths = 2 * np.pi / rotary_frequencies(d, b).numpy()
    longest = wavelengths[-1] / 2
    values = {"b": b, "d": d, r"\lambda": wavelengths}
    return [{**values, "N": int(longest)}, {**values, "N": float(longest)}]


def root_of_a_power(rng):
    i = int(rng.integers(1, D // 2))
    return {"x": float(rotary_frequencies(D)[i]), "i": i, "d": D}


def commuting_block(rng):
    """A block of weights whose two angles are equal."""
    angle, (a, c) = rng.uniform(0.2, 3), rng.normal(size=2)
    block = a * np.eye(2) + c * np.array(J)
    return {r"\theta_i": angle, r"\theta_j": angle, "C_{ij}": block, "R": plane_rotation}


def block_of_two_angles(rng):
    """What is left of a random block after all that does not solve the equation is taken away."""
    first, second = plane_rotation(-0.7), plane_rotation(-1.9)
    equation = np.kron(first, np.eye(2)) - np.kron(np.eye(2), second.T)
    solutions = null_space(equation)
    block = solutions @ solutions.T @ rng.normal(size=4)
    return {"C_{ij}": block.reshape(2, 2)}


def matrix_of_a_shift(rng):
    """The one matrix that moves the first d rows by delta places, and the library's rotation."""
    delta, theta = int(rng.integers(1, 4)), rotary_frequencies(D, float(rng.uniform(5, 20)))
    angles = np.arange(D + 3)[:, None] * theta.numpy()
    rows = np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(D + 3, D)
    shift = rotation_matrix(torch.tensor(delta), theta, layout="interleaved").mT.numpy()

    def solved(rows):
        return np.linalg.solve(rows[:D], rows[delta : delta + D])

    return {"T": depends("P", solved), "P": rows, r"T_\delta": shift}


CHECKS = {
    r"T = T_\delta": matrix_of_a_shift,
    r"R(-\theta_i) C_{ij} = C_{ij} R(-\theta_j)": commuting_block,
    r"C_{ij} = 0": block_of_two_angles,
    r"r b^{-0} = r": lambda rng: {"r": rng.uniform(2, 9)},
    r"r b^{-1} = r/b": lambda rng: {"r": rng.uniform(2, 9)},
    r"\sin\theta \ne 0": one_angle,
    r"\theta \ne 0": one_angle,
    r"R(-\theta) = (\cos\theta) I - (\sin\theta) J": one_angle,
    r"\frac{\mathrm{d}}{\mathrm{d}x} \operatorname{Ci}(x) = \frac{\cos x}{x}": cosine_integral,
    r"\pi = \theta (n - m) / (2\nu)": whole_turns,
    r"N \le \lambda_{d/2-1}/2 = \pi b^{(d-2)/d}": half_a_turn,
    r"b \ge (N/\pi)^{d/(d-2)}": half_a_turn,
    r"x^d = 10000^{-2i}": root_of_a_power,
    r"\theta_i = 10000^{-2i/d}": lambda rng: {
        r"\theta": rotary_frequencies(D).numpy(),
        "i": range(D // 2),
        "d": D,
    },
}
# Conditions, names and examples; the rest of the proofs are displayed formulas.
DEFINITIONS = [
    r"d = 4",
    r"d = 64",
    r"d = 128",
    r"P_m T = P_{m+\delta}",
    r"m = 0, \dots, d - 1",
    r"V_{mj} = (z_j)^m",
    r"u = 2i/d",
    r"x = r b^{-u}",
    r"\gamma = 0.577\ldots",
    r"\alpha = m\theta_i",
    r"\beta = n\theta_i",
    r"\alpha = m\theta",
    r"\beta = n\theta",
    r"s(\alpha) = (\sin\alpha, \cos\alpha)",
    r"i \ne j",
    r"i = j",
    r"E_{11} = E_{00}",
    r"E_{10} = -E_{01}",
    r"m \ne n",
    r"r = \lvert n - m \rvert",
    r"r \ge 1",
    r"\nu = 0",
    r"\nu \ne 0",
    r"\theta = 1",
]

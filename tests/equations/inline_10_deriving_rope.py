"""Chapter 10: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import rotate_complex
from shared_rotations import (
    plane_rotation,
    rotation_of_all_pairs,
    some_angle,
    some_frequencies,
    split_matrix,
    turned_row,
)

PAGE = "10-deriving-rope"
OPTIONS = {"first_index": 0}
D_K = 6


def bindings(rng):
    """Places, one angle, the library's rotation of all pairs, and random contents."""
    _, theta = some_frequencies(rng, D_K)
    places = {"m": range(1, 5), "n": range(3)}
    turns = {r"\mathbf{R}": rotation_of_all_pairs(theta), "R": plane_rotation}
    return {**places, **turns, r"\theta": some_angle(rng), r"\lambda": rng.uniform(0.5, 2, size=4)}


def in_the_plane(rng):
    """The library's turn of one pair."""
    theta = some_angle(rng)
    frequency = torch.tensor([theta], dtype=torch.float64)
    x = rng.normal(size=2)
    return {"f": lambda m, x: turned_row(x, m, frequency), "x": x, r"\theta": theta}


def stretched(rng):
    """The library's complex turn of a content stretched by its squared length."""
    theta = some_angle(rng)
    frequency = torch.tensor([theta], dtype=torch.float64)

    def f(m, z):
        pair = abs(z) ** 2 * torch.tensor([[z.real, z.imag]], dtype=torch.float64)
        turned = rotate_complex(pair, torch.tensor([int(m)]), frequency, layout="interleaved")
        return complex(*turned[0].tolist())

    return {"f": f, "z": complex(*rng.normal(size=2)), r"\theta": theta}


def reflection(rng):
    """A reflection of the plane, the second case of the theorem."""
    alpha = some_angle(rng)
    mirror = plane_rotation(alpha) @ np.diag([1.0, -1.0])
    return {"U": mirror, "I": np.eye(2)}


def half_turns(rng):
    """Two half turns about perpendicular axes: the rotations of space that commute."""
    del rng
    return {"A": np.diag([1.0, -1.0, -1.0]), "B": np.diag([-1.0, -1.0, 1.0])}


def shear(rng):
    del rng
    return {"G": np.array([[1.0, 1.0], [0.0, 1.0]]), "j": range(-3, 4)}


def powers_of_one_map(rng):
    """RoPE: the library's turn by m places, and its turn by one."""
    _, theta = some_frequencies(rng, D_K)
    turn = rotation_of_all_pairs(theta)
    return {"f": lambda m, x: x @ turn(m), "U": turn(1), "x": rng.normal(size=D_K)}


CHECKS = {
    r"f_m(x) = x U^m": powers_of_one_map,
    r"f_{m+1}(x) = f_m(x) U": powers_of_one_map,
    r"f_m(x) = f_0(x) U^m": powers_of_one_map,
    r"p_{n+1} = p_n": lambda rng: {"p": np.tile(rng.normal(size=3), (5, 1))},
    r"\lambda_i^m \lambda_i^n = \lambda_i^{m+n}": lambda rng: {"i": range(4)},
    r"f_m(x) = x R(m\theta)": in_the_plane,
    r"f_m(z) = \lvert z \rvert^2 z e^{\mathrm{i} m\theta}": stretched,
    r"a = (M_{0,0} + M_{1,1})/2": split_matrix,
    r"c = (M_{0,1} - M_{1,0})/2": split_matrix,
    r"U^2 = I": reflection,
    r"G^j = \begin{pmatrix} 1 & j \\ 0 & 1 \end{pmatrix}": shear,
    r"A^2 B^2 = ABAB": half_turns,
    r"AB = BA": half_turns,
}
# Names, examples, conditions, and what an exercise asks to refute.
DEFINITIONS = [
    r"q = (2, 1)",
    r"k = (1, 2)",
    r"f_m(x) = x G_m",
    r"d_k = 4",
    r"c_i = \cos(m\theta_i)",
    r"s_i = \sin(m\theta_i)",
    r"M = W^Q (W^K)^\top",
    r"J = R(\pi/2)",
    r"z = x_0 + \mathrm{i} x_1",
    r"w = y_0 + \mathrm{i} y_1",
    r"d = 2",
    r"G = \gamma R(\theta)",
    r"\theta = 0.5",
    r"m = 2",
    r"n = 3",
    r"m = 102",
    r"n = 103",
    r"\theta = \pi/2",
    r"q = (1, 0)",
    r"k = (0, 2)",
    r"(m, n) = (0, 1)",
    r"q = k = (2, 1)",
    r"k = (1, 0)",
    r"n - m = -3",
    r"d_k = 16",
    r"\varphi_q = \varphi_k - 3\theta",
    r"q = k \mathbf{R}_{-3}",
    r"G = \begin{pmatrix} 1 & 1 \\ 0 & 1 \end{pmatrix}",
    r"q_0 = -s",
    r"k_0 = 0",
    r"k_1 = 1",
    r"\lambda_i = -1",
    r"\det U = 1",
    r"M = \begin{pmatrix} 1 & 1 \\ 0 & 1 \end{pmatrix}",
    r"n \le m",
    r"\gamma_i \ne 0",
    r"f_m(x) = x A^m B^m",
    r"d = 3",
    r"U = AB",
]

"""Chapter 10: the relations inside its sentences."""

import torch

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


CHECKS = {
    r"\lambda_i^m \lambda_i^n = \lambda_i^{m+n}": lambda rng: {"i": range(4)},
    r"f_m(x) = x R(m\theta)": in_the_plane,
    r"a = (M_{0,0} + M_{1,1})/2": split_matrix,
    r"c = (M_{0,1} - M_{1,0})/2": split_matrix,
}
# Names, examples, conditions, and what an exercise asks to refute.
DEFINITIONS = [
    r"q = (2, 1)",
    r"k = (1, 2)",
    r"f_m(x) = x G_m",
    r"d_k = 4",
    r"M = W^Q (W^K)^\top",
    r"J = R(\pi/2)",
    r"z = x_0 + \mathrm{i} x_1",
    r"w = y_0 + \mathrm{i} y_1",
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
    r"\lambda_i = -1",
    r"M = \begin{pmatrix} 1 & 1 \\ 0 & 1 \end{pmatrix}",
    r"\gamma_i \ne 0",
]

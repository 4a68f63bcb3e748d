"""Why only rotations: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import rotate_complex
from shared_rotations import plane_rotation, rotation_of_all_pairs, some_angle, some_frequencies

PAGE = "deeper/10-uniqueness"
OPTIONS = {"first_index": 0}
D = 6


def bindings(rng):
    """A rotation U of three planes in a random basis C, and one of its complex rows w."""
    _, theta = some_frequencies(rng, D)
    turn = rotation_of_all_pairs(theta)
    C, _ = np.linalg.qr(rng.normal(size=(D, D)))
    U = C.T @ turn(1) @ C
    u, v = C[2], C[3]  # the rows of one plane: turned by its own frequency
    eigen = {"w": u - 1j * v, "u": u, "v": v, r"\lambda": np.exp(1j * float(theta[1]))}
    places = {"m": range(4), "n": range(1, 6), "I": np.eye(D), r"\mathbf{R}": turn}
    return {"U": U, "C": C, **eigen, **places}


def isotropic(rng):
    """A plane of rows that are perpendicular and equally long, in numbers without rounding."""
    return {"w": float(rng.integers(2, 9)) * np.array([1, -1j])}


def contents_changed_once(rng):
    """Any map of the contents, then the turns of the library."""
    _, theta = some_frequencies(rng, D)
    turn, W = rotation_of_all_pairs(theta), rng.normal(size=(D, D))
    return {"f": lambda m, x: np.tanh(x @ W) @ turn(m), "U": turn(1), "x": rng.normal(size=D)}


def the_same_vector(rng):
    """The only added positions that are relative: none that tells a place."""
    return {"p": np.tile(rng.normal(size=D), (4, 1)), "U": np.eye(D), "x": rng.normal(size=D)}


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
    _, theta = some_frequencies(rng, D)
    turn = rotation_of_all_pairs(theta)
    return {"f": lambda m, x: x @ turn(m), "U": turn(1), "x": rng.normal(size=D)}


CHECKS = {
    r"f_m(x) = x U^m": powers_of_one_map,
    r"f_{m+1}(x) = f_m(x) U": powers_of_one_map,
    r"f_m(x) = f_0(x) U^m": contents_changed_once,
    r"p_{n+1} = p_n": lambda rng: {"p": np.tile(rng.normal(size=3), (7, 1))},
    r"f_m(z) = \lvert z \rvert^2 z e^{\mathrm{i} m\theta}": stretched,
    r"U^2 = I": reflection,
    r"G^j = \begin{pmatrix} 1 & j \\ 0 & 1 \end{pmatrix}": shear,
    r"A^2 B^2 = ABAB": half_turns,
    r"AB = BA": half_turns,
    r"x + p_m = (x + p_0) U^m": the_same_vector,
    r"x = x U^m": the_same_vector,
    r"U^m = I": the_same_vector,
    r"p_m = p_0": the_same_vector,
    r"w w^\top = 0": isotropic,
    r"w w^\top = \lambda^2 w w^\top": isotropic,
}
# Names, conditions, cases of a proof, and what is assumed in order to be refuted.
DEFINITIONS = [
    r"j = 1, \dots, r",
    r"d = 2",
    r"G = \gamma R(\theta)",
    r"G = \begin{pmatrix} 1 & 1 \\ 0 & 1 \end{pmatrix}",
    r"q_0 = -s",
    r"k_0 = 0",
    r"k_1 = 1",
    r"n \le m",
    r"f_m(x) = x A^m B^m",
    r"d = 3",
    r"U = AB",
    r"\lambda = e^{\mathrm{i}\theta}",
    r"\lambda = \pm 1",
    r"\det U = -1",
    r"A_0 = I",
    r"0 < \gamma < 1",
    r"f_m(x) = x + p_m",
    r"f_m(x) = x R(m\theta)",
]

"""Deeper, chapter 10: the relations inside its sentences."""

import numpy as np

from shared_rotations import rotation_of_all_pairs, some_frequencies

PAGE = "deeper/10-conventions"
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


CHECKS = {
    r"f_m(x) = f_0(x) U^m": contents_changed_once,
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
    r"\lambda = e^{\mathrm{i}\theta}",
    r"\lambda = \pm 1",
    r"\det U = -1",
    r"A_0 = I",
    r"G = \gamma R(\theta)",
    r"0 < \gamma < 1",
    r"f_m(x) = x + p_m",
    r"f_m(x) = x R(m\theta)",
    r"J = R(\pi/2)",
    r"i \ne j",
    r"M = W^Q (W^K)^\top",
    r"c_0 = (1, 0, 1, 0, \dots)",
]

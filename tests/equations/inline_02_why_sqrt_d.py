"""Chapter 2: the relations inside its sentences."""

import numpy as np

from shared_02_why_sqrt_d import jacobian, softmax
from texcheck import depends

PAGE = "02-why-sqrt-d"
OPTIONS = {"first_index": 0, "vectors": "row"}
N = 4


def bindings(rng):
    """Scores, the library's weights and derivatives, and the normaliser."""
    x = rng.normal(size=N)
    p = softmax(x)
    J = jacobian(p)
    places = {"n": range(N), "l": range(N)}
    return {"x": x, "p": p, "J": J, "Z": np.exp(x).sum(), **places}


def moving(rng):
    """Weights that follow the scores, so that they can be derived."""
    return {"p": depends("x", softmax)}


CHECKS = {r"J_{nl} = \frac{\partial p_n}{\partial x_l}": moving}
# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"\mathbb{E}[q_a q_c] = 0",
    r"a \ne c",
    r"c = a",
    r"d_k < d",
    r"d = 512",
    r"d_k = 64",
    r"d_k = 16",
    r"l = n",
    r"l \ne n",
    r"o = \sum_n p_n v_n",
    r"d_k = 1024",
    r"k = \rho q + \sqrt{1 - \rho^2} z",
    r"\rho = 0.25",
    r"\lVert x_m \rVert^2 = d",
    r"\sigma = 0.02",
    r"\gamma > 0",
    r"x_n = \gamma",
    r"\gamma = 8",
    r"N = 128",
    r"C = 50",
    r"\gamma = \sqrt{d_k}",
    r"q = k",
    r"p = (\frac{1}{2}, \frac{1}{4}, \frac{1}{4})",
    r"n = l",
]

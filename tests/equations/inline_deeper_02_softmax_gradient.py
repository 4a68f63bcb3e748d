"""Deeper page of chapter 2: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import saturation, softmax
from shared_02_why_sqrt_d import HEAVY, HEAVY_CHANCES, SKEWED, SKEWED_CHANCES, jacobian
from texcheck import Random

PAGE = "deeper/02-softmax-gradient"
OPTIONS = {"first_index": 0, "vectors": "row"}
N, D_K = 5, 3


def of_weights(p):
    J = jacobian(p)
    rest = float(saturation(torch.from_numpy(p)))
    identity, ones = np.eye(len(p)), np.ones(len(p))
    return {"p": p, "J": J, "r": rest, "N": len(p), "I": identity, r"\mathbf{1}": ones}


def bindings(rng):
    """Weights with their derivatives, the top eigenvector, and independent random vectors."""
    values = of_weights(softmax(torch.from_numpy(rng.normal(size=N))).numpy())
    eigenvalues, vectors = np.linalg.eigh(values["J"])
    q = Random(SKEWED, SKEWED_CHANCES, shape=(D_K,))
    k = Random(SKEWED, SKEWED_CHANCES, shape=(D_K,))
    return {
        **values,
        r"\lambda": float(eigenvalues[-1]),
        "u": vectors[:, -1],
        "w": rng.normal(size=N),
        "f": lambda t: t * (1 - t),
        "t": float(rng.uniform(0.1, 0.9)),
        r"\delta": np.eye(N),
        "n": range(N),
        "l": range(N),
        "q": q,
        "k": k,
        "d_k": D_K,
        r"\pi": float(rng.uniform(0.1, 0.6)),
    }


def largest_stretch(rng):
    """Two keys, and the vector that their derivatives stretch most: bounds are met."""
    first = float(rng.uniform(0.1, 0.9))
    values = of_weights(np.array([first, 1 - first]))
    eigenvalues, vectors = np.linalg.eigh(values["J"])
    return [{}, {**values, r"\lambda": float(eigenvalues[-1]), "w": vectors[:, -1]}]


def equal_weights(rng):
    return of_weights(np.full(N, 1 / N))


def one_coordinate(rng):
    """Two independent coordinates of different kurtosis, and their product."""
    kappa_q, kappa_k = (
        float(np.dot(chances, np.power(values, 4)))
        for values, chances in ((SKEWED, SKEWED_CHANCES), (HEAVY, HEAVY_CHANCES))
    )
    products = np.outer(SKEWED, HEAVY).ravel().tolist()
    chances = np.outer(SKEWED_CHANCES, HEAVY_CHANCES).ravel().tolist()
    return {
        "Y": Random(products, chances, shape=(1,)),
        "q": Random(SKEWED, SKEWED_CHANCES, shape=(1,)),
        "k": Random(HEAVY, HEAVY_CHANCES, shape=(1,)),
        r"\kappa_q": kappa_q,
        r"\kappa_k": kappa_k,
        "a": 0,
    }


def one_outcome(rng):
    """A query and an independent part; the key is made of both."""
    rho, (q, z) = rng.uniform(0.2, 0.8), rng.normal(size=(2, 1))
    return {"a": 0, r"\rho": rho, "q": q, "z": z, "k": rho * q + np.sqrt(1 - rho**2) * z}


def aligned_key(rng):
    """A query's coordinate, its fourth moment, and the independent part of the key."""
    kappa = float(np.dot(SKEWED_CHANCES, np.power(SKEWED, 4)))
    part = Random(HEAVY, HEAVY_CHANCES, shape=(1,))
    return {"a": 0, "z": part, r"\kappa": kappa}


def variance_of_a_term(rng):
    """The product of one coordinate of a query with that of its key, by all outcomes."""
    rho = rng.uniform(0.2, 0.8)
    pairs = [(q, z) for q in SKEWED for z in HEAVY]
    products = [q * (rho * q + np.sqrt(1 - rho**2) * z) for q, z in pairs]
    chances = np.outer(SKEWED_CHANCES, HEAVY_CHANCES).ravel().tolist()
    kappa = float(np.dot(SKEWED_CHANCES, np.power(SKEWED, 4)))
    product = Random(products, chances, shape=(1,))
    return {"a": 0, "q": product, "k": np.ones(1), r"\rho": rho, r"\kappa": kappa}


CHECKS = {
    r"q_a k_a = \rho q_a^2 + \sqrt{1 - \rho^2} q_a z_a": one_outcome,
    r"\mathbb{E}[q_a^4] = \kappa": aligned_key,
    r"\mathbb{E}[z_a] = 0": aligned_key,
    r"\operatorname{Var}[q_a k_a] = \rho^2 \kappa + 1 - \rho^2 - \rho^2 "
    r"= 1 + (\kappa - 2) \rho^2": variance_of_a_term,
    r"J = \frac{1}{N} I - \frac{1}{N^2} \mathbf{1}^\top \mathbf{1}": equal_weights,
    r"\lVert J \rVert_2 = \frac{1}{N}": equal_weights,
    r"\lVert J \rVert_2 = 1/N": equal_weights,
    r"N \ge 2": lambda rng: {"N": 2},
    r"\lambda \le 2 r (1 - r)": largest_stretch,
    r"w J w^\top \le \lVert J \rVert_2 (w \cdot w)": largest_stretch,
    r"\mathbb{E}[Y_a] = 0": one_coordinate,
    r"\mathbb{E}[Y_a^2] = 1": one_coordinate,
    r"\mathbb{E}[Y_a^4] = \mathbb{E}[q_a^4] \mathbb{E}[k_a^4] = \kappa_q \kappa_k": one_coordinate,
    r"q \cdot q = d_k": lambda rng: {"q": rng.choice([-1.0, 1.0], size=D_K)},
}
# Conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"k = \rho q + \sqrt{1 - \rho^2} z",
    r"\kappa = \mathbb{E}[q_a^4]",
    r"r \le 0.01",
    r"\pi = 0.1",
    r"\delta_{nl} = 1",
    r"n = l",
    r"N = 2",
    r"p_n = \frac{1}{N}",
    r"r = 1 - \frac{1}{N}",
    r"q = \mu_q + u",
    r"k = \mu_k + w",
    r"q = k",
    r"\rho = 1",
    r"d_k = 64",
    r"\Delta > 1/s",
    r"s = 0.43",
    r"Y_a = q_a k_a",
    r"x_n = q \cdot k_n / s",
    r"s = d_k",
    r"s = \sqrt{d_k}",
    r"\mathcal{L} = -\ln p_y",
    r"d_k > 1/\pi^2 - 3",
]

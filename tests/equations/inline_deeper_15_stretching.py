"""Deeper, chapter 15: the relations inside its sentences."""

import math

import numpy as np

from attention_to_rope import (
    ntk_aware,
    ntk_by_parts,
    position_interpolation,
    rotary_frequencies,
    yarn_attention_factor,
)

PAGE = "deeper/15-stretching"
OPTIONS = {"first_index": 0}


def bindings(rng):
    """YaRN's factor, and the frequencies of some base."""
    s, b = float(rng.uniform(2, 9)), float(rng.uniform(50, 5000))
    theta = rotary_frequencies(16, b).numpy()
    return {"s": s, r"\mu": yarn_attention_factor(s), r"\theta": theta, "b": b}


def two_factors(rng):
    """What the page wants: rotated parts grow by μ_A², others by μ_C²."""
    mu_a, mu_c = rng.uniform(1.1, 2, size=2)
    on_table = math.sqrt(mu_a**2 / mu_c**2)
    return {r"\mu_A": mu_a, r"\mu_C": mu_c, r"\mu_{\text{table}}": on_table}


def unchanged(rng):
    """One of the methods, with the scale 1."""
    theta = rotary_frequencies(16, float(rng.uniform(50, 5000)))
    changed = [
        position_interpolation(theta, 1.0),
        ntk_aware(theta, 1.0),
        ntk_by_parts(theta, 1.0, original_length=300),
    ][int(rng.integers(3))]
    return {r"\kappa": (theta / changed).numpy(), "i": range(8)}


def second_derivative(rng):
    """Of a sum of waves, anywhere, and where all of them are at their crest: the bound is met."""
    theta = rotary_frequencies(8, 20.0).numpy()
    rho, phases = rng.uniform(0.5, 2, size=4), rng.uniform(0, 6, size=4)

    def bent(phases):
        return lambda x: -float(rho @ (theta**2 * np.cos(theta * x + phases)))

    waves = {r"\rho": rho, r"\theta": theta}
    crest = {"h''": bent(np.zeros(4)), r"\xi": 0.0, **waves}
    return [{"h''": bent(phases), r"\xi": rng.uniform(0, 9), **waves}, crest]


def parabola(rng):
    """A parabola h, and the η of its error against the straight line."""
    c, r, y = rng.normal(), 3.0, 3.4
    error = c * y**2 - (r + 1 - y) * c * r**2 - (y - r) * c * (r + 1) ** 2
    eta = error / ((y - r) * (r + 1 - y))
    return {"h''": lambda x: 2 * c, r"\xi": rng.uniform(3, 4), r"\eta": eta}


CHECKS = {
    r"h''(\xi) = -2\eta": parabola,
    r"\lvert h''(\xi) \rvert \le \sum_i \rho_i \theta_i^2": second_derivative,
    r"\mu_{\text{table}}^2 \mu_C^2 = \mu_A^2": two_factors,
    r"\kappa_i = 1": unchanged,
}
# Conditions, settings of examples, and what a symbol stands for. The point ξ of the proof is only
# known to exist; the check of the proof's displayed equation finds it.
DEFINITIONS = [
    r"d_k = 32",
    r"d_k = 128",
    r"s = 8",
    r"L_0 \theta_i \ge 2\pi",
    r"r = \lvert n - m \rvert = m - n",
    r"h(r) = -r/64",
    r"r = 0, \dots, 255",
    r"\rho_i = \sqrt{a_i^2 + c_i^2}",
    r"x = r + u",
    r"0 \le u \le 1",
    r"u = \frac{1}{2}",
    r"e(y) = h(y) - (r + 1 - y) h(r) - (y - r) h(r + 1)",
    r"y = r",
    r"y = r + 1",
    r"0 < u < 1",
    r"y = x",
    r"b' = b s",
    r"L = s L_0",
    r"s = 4",
    r"s = 1",
    r"\kappa_i \le \kappa_{i+1}",
    r"\gamma_i = 0",
    r"\gamma_i = 1",
    r"\gamma_i > 0",
    r"\Delta = 5",
    r"\Delta = \ln L_0",
    r"\mu_A = 0.1 A \ln s + 1",
    r"\mu_C = 0.1 C \ln s + 1",
    r"A = C",
    r"2i = d_k - 2",
]

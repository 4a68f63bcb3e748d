"""Deeper page of chapter 5: the relations inside its sentences."""

import math

import numpy as np
import torch

from attention_to_rope import gelu_tanh, relu, rms_norm, silu
from bookcheck.equations.checks import Random
from shared_05_feed_forward import in_numpy, inside_tanh, normal_cdf, tanh_step

PAGE = "deeper/05-activations"
OPTIONS = {"first_index": 0}
D = 5


def bindings(rng):
    """A number, the steps of GELU and of its shortcut, and the library's functions."""
    return {
        "x": rng.uniform(0.1, 6),
        "T": tanh_step,
        "u": inside_tanh,
        "s": normal_cdf,
        r"\varphi": lambda x: math.exp(-x * x / 2) / math.sqrt(math.tau),
        r"\operatorname{GELU}_{\tanh}": in_numpy(gelu_tanh),
        r"\operatorname{ReLU}": in_numpy(relu),
        r"\operatorname{erfc}": math.erfc,
    }


def between(rng):
    """Three numbers in their order, and two steps that rise."""
    a, x, b = np.sort(rng.uniform(0, 6, size=3))
    steps = {"T": tanh_step, r"\Phi": normal_cdf}
    return [{"a": a, "x": x, "b": b, **steps}, {"a": x, "x": x, "b": x, **steps}]


def two_numbers(rng):
    a, b = rng.normal(size=2)
    return {**bindings(rng), "a": a, "b": b}


def normalised(rng):
    """A token behind RMSNorm."""
    x = rms_norm(torch.from_numpy(rng.normal(size=D)), eps=1e-300).numpy()
    return {"x": x, "d": D}


def lowest(rng):
    """The place of the minimum of Swish."""
    x = -1.0
    for _ in range(60):
        x = -1 - math.exp(x)
    return {"x^*": x, r"\sigma": lambda x: 1 / (1 + math.exp(-x))}


def symmetric(rng):
    """A symmetric number of mean square 1."""
    half = rng.normal(size=6)
    half = half / np.sqrt((half**2).mean())
    return {"z": Random([*half, *-half]), r"\operatorname{ReLU}": in_numpy(relu)}


def series(rng):
    """Near 0, but far enough for the term of the third order to count."""
    a = math.sqrt(2 / math.pi)
    return {"a": a, "x": rng.uniform(0.5, 0.6), "u": lambda x: math.atanh(math.erf(x / 2**0.5))}


def swish_minimum(rng):
    """Where the library's Swish is smallest, by halving the interval in which its slope rises."""
    del rng
    low, high = -2.0, -1.0
    for _ in range(60):
        x = torch.tensor((low + high) / 2, dtype=torch.float64, requires_grad=True)
        silu(x).backward()
        low, high = (low, x.item()) if x.grad > 0 else (x.item(), high)
    return {"x^*": low, r"\sigma": lambda x: 1 / (1 + math.exp(-x))}


CHECKS = {
    r"\operatorname{erf}(x/\sqrt{2}) \approx a x - \frac{a}{6} x^3": series,
    r"u(x) \approx a x - \frac{a}{6} x^3 + \frac{a^3}{3} x^3 "
    r"= a \left(x + \left(\frac{a^2}{3} - \frac{1}{6}\right) x^3\right)": series,
    r"1 + x^* (1 - \sigma(x^*)) = 0": swish_minimum,
    r"\lVert x \rVert = \sqrt{d}": normalised,
    r"\Phi(a) - T(b) \le \Phi(x) - T(x) \le \Phi(b) - T(a)": between,
    r"x \ge 0": lambda rng: {"x": 0.0},
    r"x (1 - T(x)) \le x \exp(-2 u(x))": lambda rng: [{"x": 0.0}, {"x": 3.0}],
    r"\max(a, b) = b + \operatorname{ReLU}(a - b)": two_numbers,
    r"1 + \operatorname{erf}(a) = \operatorname{erfc}(-a)": two_numbers,
    r"x^* - x^* \sigma(x^*) = -1": lowest,
    r"\mathbb{E}[\operatorname{ReLU}(z)^2] = 1/2": symmetric,
    r"\mathbb{E}[z^2] = 1": symmetric,
}
LOOSE = {r"\varphi(6) < 10^{-8}": "A power of ten is enough beside the bound of the theorem."}
# Definitions and conditions. The series are printed to their third order; the displayed
# eq-gelu-taylor checks the coefficient that comes of them.
DEFINITIONS = [
    r"\beta = 1",
    r"k_j \ne 0",
    r"\epsilon = 0",
    r"c_j \le -\sqrt{d} \lVert k_j \rVert",
    r"c_j = 0",
    r"c_j \le -\sqrt d \lVert k_j \rVert",
    r"x = \sqrt{d}\, k_j / \lVert k_j \rVert",
    r"k_j = 0",
    r"z \le x",
    r"t = \sqrt{2}\, u",
    r"\tanh(u(x)) = \operatorname{erf}(x/\sqrt2)",
    r"a = \sqrt{2/\pi}",
    r"x = 0",
    r"0 \le a \le x \le b",
    r"x \ge 6",
    r"d = 4096",
    r"d = 6",
    r"x = -100",
    r"r > 0",
]

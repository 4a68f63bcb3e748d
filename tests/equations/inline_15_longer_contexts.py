"""Chapter 15: the relations inside its sentences."""

import math

from attention_to_rope import dynamic_ntk, ntk_aware, rotary_frequencies, yarn_attention_factor

PAGE = "15-longer-contexts"
OPTIONS = {"first_index": 0}


def bindings(rng):
    """The first two frequencies of a head with four dimensions, and YaRN's factor."""
    s = float(rng.uniform(2, 9))
    return {r"\theta": rotary_frequencies(4).numpy(), "s": s, r"\mu": yarn_attention_factor(s)}


def scale_of_the_last_pair(rng):
    """The scale that the library's dynamic NTK has at four times the trained length."""
    theta = rotary_frequencies(int(rng.choice([16, 32])))
    changed = dynamic_ntk(theta, 4.0, length=1024, original_length=256)
    return {"s_L": float(theta[-1] / changed[-1])}


def farther(rng):
    """The scale for which the library stretches pair 7 of 16 by four."""
    del rng
    theta = rotary_frequencies(32)
    low, high = 4.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        enough = float(theta[7] / ntk_aware(theta, middle)[7]) > 4
        low, high = (low, middle) if enough else (middle, high)
    return {"s": high}


def first_slow_pair(rng):
    """The first pair that makes less than a turn in a window of 256."""
    del rng
    turns = 256 * rotary_frequencies(32) / (2 * math.pi)
    return {"i": int((turns < 1).nonzero()[0])}


CHECKS = {
    r"i = 7": first_slow_pair,
    r"s_L = 13": scale_of_the_last_pair,
    r"s^{14/30} = 4": farther,
    r"s = 4^{30/14}": farther,
    r"8000\,\theta/8 = 1000\,\theta": lambda rng: {r"\theta": float(rng.uniform(0.1, 1))},
}
# Conditions, settings of examples, and what a symbol stands for.
DEFINITIONS = [
    r"L_0 = 100",
    r"L_0 = 256",
    r"L_0 = 8192",
    r"r = \lvert n - m \rvert = m - n",
    r"\alpha = 1",
    r"\beta = 32",
    r"\beta = 4",
    r"\kappa_i = 1",
    r"\kappa_i = s",
    r"b = 10{,}000",
    r"b = 500{,}000",
    r"d_k = 128",
    r"d_k = 32",
    r"d_k = 4",
    r"i = 0",
    r"m = 400",
    r"n = 300",
    r"\nu_i < 1",
    r"\nu_i \ge 1",
    r"s = 16",
    r"s = 2",
    r"s = 4",
    r"s = 40",
    r"s = 8",
    r"t < 1",
]

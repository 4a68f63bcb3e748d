"""Chapter 15: the equations of the page, executed against the library where it has them."""

import math

import numpy as np
import torch

from attention_to_rope import rotary_frequencies
from attention_to_rope.context_extension import (
    dynamic_ntk,
    longrope,
    ntk_aware,
    position_interpolation,
    yarn_attention_factor,
)
from bookcheck.equations.checks import equation, sentences
from shared_longer_contexts import ALPHA, BASE, BETA, PAIRS, THETA, D, L, by_parts, scale

RULES = {
    "eq-stretch": lambda s, rng: longrope(THETA, torch.from_numpy(rng.uniform(1, s, size=PAIRS))),
    "eq-ntk-stretch": lambda s, rng: ntk_aware(THETA, s),
    "eq-by-parts": lambda s, rng: by_parts(s),
}


def page(rng, rule=lambda s, rng: position_interpolation(THETA, s)):
    """Everything that the page names, for a head whose frequencies a rule has changed."""
    s = scale(rng)
    theta, changed = THETA.numpy(), rule(s, rng).numpy()
    Q, K = rng.normal(size=(4, D)), rng.normal(size=(5, D))
    mu, current = yarn_attention_factor(s), int(rng.choice([L // 2, L, 2 * L + 17]))
    grown = dynamic_ntk(THETA, s, length=current, original_length=L)
    return {
        **{"d_k": D, "b": BASE, "i": range(PAIRS), "r": int(rng.integers(3, 99))},
        **{"L_0": L, "L": current, "s": s, "s_L": float(THETA[-1] / grown[-1])},
        **{r"\theta": theta, r"\theta'": changed, r"\kappa": theta / changed},
        # The angle over L positions, in degrees; γ from θ' = θ/s + γ(θ − θ/s).
        **{r"\nu": np.degrees(L * theta) / 360, r"\alpha": ALPHA, r"\beta": BETA},
        **{r"\gamma": (changed - theta / s) / (theta - theta / s)},
        **{"Q": Q, "K": K, "t": mu**-2, r"\mu": mu},
    }


def check(label):
    rule = RULES.get(label)
    return equation(label, first_index=0)(lambda rng: page(rng, rule) if rule else page(rng))


test_pair_turns = check("eq-pair-turns")
test_stretch = check("eq-stretch")
test_pi = check("eq-pi")
test_ntk_stretch = check("eq-ntk-stretch")
test_by_parts = check("eq-by-parts")
test_yarn_temperature = check("eq-yarn-temperature")


@equation("eq-cached-angle")
def test_cached_angle(rng):
    m, n = int(rng.integers(500, 600)), int(rng.integers(310, 400))
    late, early = (
        float(dynamic_ntk(THETA, 2.5, length=length + 1, original_length=L)[3]) for length in (m, n)
    )
    return {"m": m, "n": n, r"\theta'": late, r"\theta''": early}


def first_slow_pair(rng):
    """The first pair of the book's model with less than one full rotation in training."""
    del rng
    turns = 1024 * rotary_frequencies(32) / (2 * math.pi)
    return {"i": int((turns < 1).nonzero()[0])}


def farther(rng):
    """The scale for which the library stretches that pair by four, found by trying."""
    theta, i = rotary_frequencies(32), first_slow_pair(rng)["i"]
    low, high = 4.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        enough = float(theta[i] / ntk_aware(theta, middle)[i]) > 4
        low, high = (low, middle) if enough else (middle, high)
    return {"s": high}


test_sentences = sentences(
    "longer-contexts",
    first_index=0,
    where={
        "slow pair is …": first_slow_pair,
        "must be 4: …": farther,
        "be 4: $, so …": farther,
    },
)(page)

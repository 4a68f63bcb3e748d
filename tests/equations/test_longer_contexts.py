"""The chapter: the equations of the page, executed against the library where it has them."""

import math

import numpy as np
import torch

from attention_to_rope import rotary_frequencies, rotary_table
from attention_to_rope.context_extension import (
    longrope,
    ntk_aware,
    position_interpolation,
    yarn_attention_factor,
)
from bookcheck.equations.checks import equation, sentences
from shared import even, library_weights
from shared_longer_contexts import by_parts, scale


def each_its_own(theta, s, rng, *_):
    return longrope(theta, torch.from_numpy(rng.uniform(1, s, size=len(theta))))


RULES = {
    "eq-stretch": each_its_own,
    "eq-ntk-stretch": lambda theta, s, *_: ntk_aware(theta, s),
    "eq-by-parts": lambda theta, s, rng, *ramp: by_parts(s, theta, *ramp),
}


def angles_at(r, frequencies):
    """The angles of the distance r, followed through the library's table from 0 on."""
    table = rotary_table(torch.arange(r + 1), torch.from_numpy(frequencies), dtype=torch.float64)
    return np.unwrap(np.arctan2(table.sin.numpy(), table.cos.numpy()), axis=0)[-1]


def page(rng, rule=lambda theta, s, *_: position_interpolation(theta, s)):
    """Everything that the page names, for a head whose frequencies a rule has changed."""
    s, b, d_k = scale(rng), float(rng.uniform(500, 2000)), even(rng, 14)
    length, slow, fast = int(rng.integers(200, 500)), rng.uniform(1.2, 2), rng.uniform(9, 16)
    kept = rotary_frequencies(d_k, b)
    theta, changed = kept.numpy(), rule(kept, s, rng, length, slow, fast).numpy()
    Q, K = rng.normal(size=(4, d_k)), rng.normal(size=(5, d_k))
    mu = yarn_attention_factor(s)
    r = int(rng.integers(3, 99))
    return {
        **{"d_k": d_k, "b": b, "i": range(d_k // 2), "r": r},
        **{"L_0": length, "s": s},
        **{r"\theta": theta, r"\theta'": changed, r"\kappa": theta / changed},
        # The angle over L positions, in degrees; γ from θ' = θ/s + γ(θ − θ/s).
        **{r"\nu": np.degrees(length * theta) / 360, r"\alpha": slow, r"\beta": fast},
        **{r"\gamma": (changed - theta / s) / (theta - theta / s)},
        **{"Q": Q, "K": K, "t": mu**-2, r"\mu": mu, "A": library_weights(mu * Q, mu * K)},
        r"\varphi": angles_at(r, changed),
    }


def check(label, **options):
    rule = RULES.get(label)
    bind = equation(label, first_index=0, **options)
    return bind(lambda rng: page(rng, rule) if rule else page(rng))


test_pair_turns = check("eq-pair-turns", symbols=r"d_k, b, i, L_0, \theta, \nu")
test_stretch = check("eq-stretch", names={2: r"\varphi_i"})
test_pi = check("eq-pi", symbols=r"i, s, \kappa")
test_ntk_stretch = check("eq-ntk-stretch", symbols=r"d_k, i, s, \kappa")
test_by_parts = check("eq-by-parts", symbols=r"i, s, \theta, \theta', \nu, \alpha, \beta, \gamma")
test_yarn_temperature = check("eq-yarn-temperature", names={1: "A"})


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

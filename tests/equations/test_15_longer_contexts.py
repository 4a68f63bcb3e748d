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
    yarn,
    yarn_attention_factor,
)
from bookcheck.equations.checks import equation, sentences
from shared_15_longer_contexts import (
    ALPHA,
    BASE,
    BETA,
    PAIRS,
    THETA,
    D,
    L,
    by_parts,
    scale,
    stretch,
)


@equation("eq-pair-turns", first_index=0)
def test_pair_turns(rng):
    theta = rotary_frequencies(D, BASE).numpy()
    known = {"d_k": D, "b": BASE, "L_0": L, "i": range(PAIRS)}
    # The angle over L positions, counted in whole turns of 360 degrees.
    return {r"\theta": theta, r"\nu": np.degrees(L * theta) / 360, **known}


@equation("eq-stretch", first_index=0)
def test_stretch(rng):
    factors = rng.uniform(1.2, 4, size=PAIRS)
    changed = longrope(THETA, torch.from_numpy(factors)).numpy()
    known = {"r": int(rng.integers(3, 99)), "i": range(PAIRS)}
    return {r"\theta": THETA.numpy(), r"\theta'": changed, r"\kappa": factors, **known}


@equation("eq-pi", first_index=0)
def test_pi(rng):
    s = scale(rng)
    factors = stretch(position_interpolation(THETA, s))
    return {r"\kappa": factors, "s": s, "i": range(PAIRS)}


@equation("eq-ntk-stretch", first_index=0)
def test_ntk_stretch(rng):
    s = scale(rng)
    changed = ntk_aware(THETA, s)
    base = float(changed[1]) ** (-D / 2)
    known = {"b": BASE, "b'": base, "s": s, "d_k": D, "i": range(PAIRS)}
    return {r"\kappa": stretch(changed), **known}


def kept(changed, s):
    """γ from the frequencies themselves: θ' = θ/s + γ(θ − θ/s)."""
    theta = THETA.numpy()
    return (changed.numpy() - theta / s) / (theta - theta / s)


@equation("eq-by-parts", first_index=0)
def test_by_parts(rng):
    s = scale(rng)
    changed = by_parts(s)
    gamma = kept(changed, s)
    assert 0 < np.sum((gamma > 1e-9) & (gamma < 1 - 1e-9)) < PAIRS - 1
    known = {r"\alpha": ALPHA, r"\beta": BETA, "s": s, "i": range(PAIRS)}
    turns = (L * THETA / (2 * math.pi)).numpy()
    theta = {r"\theta": THETA.numpy(), r"\theta'": changed.numpy()}
    return {r"\gamma": gamma, r"\nu": turns, **theta, **known}


@equation("eq-yarn-ends")
def test_yarn_ends(rng):
    # Where the library's ramp really begins and ends: the last kept, the first interpolated pair.
    d, length, base = 64, int(rng.integers(700, 5000)), float(rng.uniform(2000, 20000))
    theta = rotary_frequencies(d, base)
    ratio = (theta / yarn(theta, 3.0, original_length=length, slow=ALPHA, fast=BETA)).numpy()
    start = int(np.flatnonzero(ratio < 1 + 1e-9).max())
    stop = int(np.flatnonzero(ratio > 3 - 1e-9).min())
    known = {"d_k": d, "L_0": length, "b": base, r"\alpha": ALPHA, r"\beta": BETA}
    return {r"i_\beta": start, r"i_\alpha": stop, **known}


@equation("eq-yarn-ramp", first_index=0)
def test_yarn_ramp(rng):
    d, length, base = 64, 2000, 9000.0
    theta, s = rotary_frequencies(d, base), scale(rng)
    changed = yarn(theta, s, original_length=length, slow=ALPHA, fast=BETA)
    gamma = ((changed - theta / s) / (theta - theta / s)).numpy()
    ends = [d / 2 * math.log(length / (2 * math.pi * t)) / math.log(base) for t in (BETA, ALPHA)]
    known = {r"i_\beta": math.floor(ends[0]), r"i_\alpha": math.ceil(ends[1])}
    return {r"\gamma": gamma, "i": range(d // 2), **known}


@equation("eq-dynamic-scale")
def test_dynamic_scale(rng):
    draws = []
    for length in (L // 2, L, L + 1, 2 * L + 17):
        s = float(rng.integers(10, 28)) / 4
        changed = dynamic_ntk(THETA, s, length=length, original_length=L)
        grown = float(THETA[-1] / changed[-1])  # the last pair is stretched by the whole scale
        draws.append({"s_L": grown, "s": s, "L": length, "L_0": L})
    return draws


@equation("eq-yarn-temperature")
def test_yarn_temperature(rng):
    Q, K = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    t = float(rng.uniform(0.3, 0.8))
    return {"Q": Q, "K": K, "t": t, r"\mu": t**-0.5, "d_k": 3}


@equation("eq-yarn-factor")
def test_yarn_factor(rng):
    s = scale(rng)
    return {"s": s, r"\mu": yarn_attention_factor(s)}


@equation("eq-cached-angle")
def test_cached_angle(rng):
    m, n = int(rng.integers(500, 600)), int(rng.integers(310, 400))
    late, early = (
        float(dynamic_ntk(THETA, 2.5, length=length + 1, original_length=L)[3]) for length in (m, n)
    )
    return {"m": m, "n": n, r"\theta'": late, r"\theta''": early}


def fast_pairs():
    return int((L * THETA / (2 * math.pi) >= 1).sum())


def any_factors(rng):
    """Stretch factors in no order; the smallest slow one is the last, a fast one is below it."""
    factors = rng.uniform(2, 4, size=PAIRS)
    factors[0], factors[-1] = 1.3, 1.7
    return stretch(longrope(THETA, torch.from_numpy(factors)))


def first_new_angle(changed):
    """The distance up to which no slow pair leaves the angles that it met in training."""
    slow = 2 * math.pi / L > THETA
    met, low, high = L * THETA[slow], 0.0, 100.0 * L
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if (middle * changed[slow] <= met).all() else (low, middle)
    return low


@equation("eq-reach", first_index=0)
def test_reach(rng):
    """The distance is found by trying distances, on the frequencies that the library gives."""
    cases = []
    for smallest in (PAIRS - 1, fast_pairs()):  # the last slow pair, or the first
        factors = torch.from_numpy(any_factors(rng))
        factors[smallest] = 1.2
        changed = longrope(THETA, factors)
        known = {"L_0": L, "F": fast_pairs(), "d_k": D, r"\kappa": stretch(changed)}
        cases.append({r"L_{\text{reach}}": first_new_angle(changed), **known})
    return cases


@equation("eq-price", first_index=0)
def test_price(rng):
    """One number for all fast pairs that stretches their product as much; and two known cases."""
    F, s = fast_pairs(), scale(rng)
    factors = any_factors(rng)
    even = math.log(float(np.prod(factors[:F])) ** (1 / F))
    geometric = math.log(s) * (F - 1) / (D - 2)  # the mean of the exponents 2i / (d_k - 2)
    return [
        {"P": even, r"\kappa": factors, "F": F},
        {"P": geometric, r"\kappa": stretch(ntk_aware(THETA, s)), "F": F},
        {"P": math.log(s), r"\kappa": stretch(position_interpolation(THETA, s)), "F": F},
    ]


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


test_sentences = sentences(
    "15-longer-contexts",
    first_index=0,
    where={
        'NTK, fixed", …': scale_of_the_last_pair,
        "divided by 8, so …": lambda rng: {r"\theta": float(rng.uniform(0.1, 1))},
        "slow pair is …": first_slow_pair,
        "must be 4: …": farther,
        "be 4: $, so …": farther,
    },
)(bindings)

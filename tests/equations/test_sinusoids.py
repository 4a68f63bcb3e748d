"""The chapter: the equations of the page, executed against the library where it has them."""

from inspect import signature

import numpy as np
import torch

from attention_to_rope import rotary_frequencies, sinusoidal
from bookcheck.equations.checks import equation, sentences
from shared import even, every, library_scores
from shared_rotations import plane_rotation, some_angle, some_base
from shared_sinusoids import J, N, frequencies, g, hand, shifts


def page(rng):
    """Everything that the page names, for every position and pair."""
    b, d = some_base(rng), even(rng, 6)
    theta, P = frequencies(b, d), sinusoidal(torch.arange(N + 4), d, b, dtype=torch.float64).numpy()
    W_Q, W_K = rng.normal(size=(2, d, 3))
    encoding = {"b": b, "d": d, "B": b ** (2 / d), r"\theta": theta, "P": P, "g": g(b, d)}
    indices = {"m": range(N), "n": range(N), "i": range(d // 2), r"\delta": range(1, 5)}
    rotations = {r"\varphi": hand, "R": plane_rotation, "T": shifts(b, d), "J": J}
    weights = {"x": rng.normal(size=(N, d)), "W^Q": W_Q, "W^K": W_K, "C": W_Q @ W_K.T}
    both = weights["x"] + P[:N]
    scores = {"s": library_scores(both @ W_Q, both @ W_K) * np.sqrt(W_Q.shape[1])}
    return {**encoding, **indices, **rotations, **weights, **scores, r"\lambda": 2 * np.pi / theta}


def check(label, **options):
    return equation(label, first_index=0, vectors="row", **options)(page)


EVEN = "An inner product is symmetric, and the cosine is even."
TURNED = "turn difference: n-m → m-n"
test_requirement = check("eq-position-requirement", equivalent={TURNED: EVEN}, symbols="P, g, m, n")
test_pe = check("eq-pe", symbols=r"b, d, \theta, P, m, i")
test_wavelength = check("eq-wavelength", symbols=r"b, d, B, \theta, i, \lambda")
test_shift = check("eq-shift", symbols=r"d, \theta, P, m, \delta, R, T")
test_g = check(
    "eq-g",
    equivalent={f"{TURNED}, after {before}": EVEN for before in ("((", "g(")},
    symbols=r"d, \theta, P, g, m, n",
)
test_four_terms = check("eq-four-terms", names={1: "s_{mn}"})


def pair(rng):
    """One pair of dimensions, and two angles."""
    angles = {r"\theta": rng.uniform(0.2, 3), r"\alpha": some_angle(rng), r"\beta": some_angle(rng)}
    return {**page(rng), **angles, "m": range(2, 5)}


FREE = {
    **every("m", r"\delta", r"\theta"),
    r"exchange everywhere: \theta ↔ \alpha": "Both are any angle.",
}
test_shift_pair = equation("eq-shift-pair", vectors="row", equivalent=FREE)(pair)


@equation(
    "eq-relative-score",
    first_index=0,
    vectors="row",
    equivalent={rf"{TURNED}, after \cos((": EVEN},
    symbols=r"d, \theta, P, m, n, C, a, c",
)
def test_relative_score(rng):
    values = page(rng)
    a, c = rng.normal(size=(2, values["d"] // 2))
    C = np.kron(np.diag(a), np.eye(2)) + np.kron(np.diag(c), J)
    return {**values, "a": a, "c": c, "C": C}


def four_dimensions(rng):
    theta = rotary_frequencies(4, 100.0).numpy()
    return {r"\theta": theta, "B": 1 / theta[1]}


def up_to_three(rng):
    """The largest angle of all pairs up to the distance 3."""
    del rng
    return {r"\alpha": float(3 * rotary_frequencies(8, 100.0).max())}


test_sentences = sentences(
    "sinusoids",
    first_index=0,
    vectors="row",
    where={
        "For each pair, …": pair,
        "The base is …": lambda rng: {"b": signature(sinusoidal).parameters["base"].default},
        "$, … , $.": four_dimensions,
        "$, $, … .": four_dimensions,
        "at most … ,": up_to_three,
    },
    numbers={"at most … ,": r"\alpha"},
    loose={"at most … ,": {1: (0.05, "Three is not meant to come near.")}},
    equivalent={
        "at most … ,": {r"strictness: < → \le": "A weaker statement, and true."},
        "For each pair, …": {r"turn difference: \beta-\alpha → \alpha-\beta": EVEN},
        "positions back: …": {
            "turn difference: n-(m-2) → (m-2)-n": "The curve g is the same on both sides."
        },
    },
)(page)

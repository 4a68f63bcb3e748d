"""Chapter 7: the equations of the page, executed against the library where it has them."""

from inspect import signature

import numpy as np
import torch

from attention_to_rope import rotary_frequencies, rotation_matrix, sinusoidal
from bookcheck.equations.checks import equation, sentences
from shared_07_sinusoids import D, J, N, frequencies, g, hand, shifts
from shared_rotations import plane_rotation, some_base


def rows(b, d=D):
    """m -> P_m, by the library; a shift may ask for positions below 0, which it does not take."""

    def row(m):
        return sinusoidal(torch.tensor([int(m)]), d, b, dtype=torch.float64)[0].numpy()

    return row


def clocks(rng):
    b = some_base(rng)
    return {"b": b, "d": D, r"\theta": frequencies(b), "P": rows(b), "m": range(N), "n": range(N)}


@equation("eq-pe", first_index=0)
def test_pe(rng):
    b = some_base(rng)
    P = sinusoidal(torch.arange(N), D, b, dtype=torch.float64).numpy()
    return {"P": P, r"\theta": frequencies(b), "m": range(N), "i": range(D // 2)}


@equation("eq-pe-frequency", first_index=0)
def test_pe_frequency(rng):
    b = some_base(rng)
    return {r"\theta": frequencies(b), "b": b, "d": D, "i": range(D // 2)}


def wavelengths(rng):
    b = some_base(rng)
    turns = 2 * np.pi / frequencies(b)
    return {r"\lambda": turns, r"\theta": frequencies(b), "b": b, "d": D, "i": range(D // 2)}


@equation("eq-wavelength", first_index=0)
def test_wavelength(rng):
    values = wavelengths(rng)
    return {**values, "B": values["b"] ** (2 / D)}


@equation(
    "eq-wavelength-range",
    first_index=0,
    somewhere={2: "Only the first wave is as short.", 3: "Only the last wave is as long."},
)
def test_wavelength_range(rng):
    # In a wide vector the longest wave comes near to the bound 2πb, which no wave reaches.
    values, d, b = wavelengths(rng), 600, some_base(rng)
    wide = {r"\lambda": 2 * np.pi / frequencies(b, d), "b": b, "d": d, "i": range(d // 2)}
    return [values, wide]


test_pe_norm = equation("eq-pe-norm", first_index=0)(clocks)


@equation("eq-addition")
def test_addition(rng):
    return {"m": range(2, 5), r"\delta": range(2, 6), r"\theta": rng.uniform(0.2, 3)}


@equation("eq-shift-pair", vectors="row")
def test_shift_pair(rng):
    return {"m": range(2, 5), r"\delta": range(2, 6), r"\theta": rng.uniform(0.2, 3), "s": hand}


@equation("eq-shift", first_index=0)
def test_shift(rng):
    values = clocks(rng)
    return {**values, "T": shifts(values["b"]), "R": plane_rotation, r"\delta": range(1, 5)}


@equation("eq-shift-group")
def test_shift_group(rng):
    return {"T": shifts(some_base(rng)), r"\delta": range(-2, 4), r"\delta'": range(-3, 3)}


@equation("eq-g", first_index=0)
def test_g(rng):
    values = clocks(rng)
    return {**values, "g": g(values["b"])}


@equation("eq-pe-distance")
def test_pe_distance(rng):
    values = clocks(rng)
    return {**values, "g": g(values["b"])}


@equation("eq-g-log", approx=0.02)
def test_g_log(rng):
    b, d = 10000.0, 4096
    r = int(rng.integers(30, 200))
    return {"r": r, "b": b, "d": d, "g": g(b, d), r"\gamma": np.euler_gamma}


@equation("eq-four-terms", first_index=0, vectors="row")
def test_four_terms(rng):
    W_Q, W_K = rng.normal(size=(D, 3)), rng.normal(size=(D, 3))
    x, P = rng.normal(size=(N, D)), rng.normal(size=(N, D))
    every = {"m": range(N), "n": range(N)}
    return {"x": x, "P": P, "W^Q": W_Q, "W^K": W_K, "C": W_Q @ W_K.T, **every}


def relative(rng):
    a, c = rng.normal(size=D // 2), rng.normal(size=D // 2)
    C = np.zeros((D, D))
    for i in range(D // 2):
        C[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[a[i], c[i]], [-c[i], a[i]]]
    return {"a": a, "c": c, "C": C, "J": J, "I": np.eye(2), "d": D}


def blocks_of(C):
    """i -> the 2 x 2 block of pair i on the diagonal."""
    table = [C[j : j + 2, j : j + 2] for j in range(0, len(C), 2)]
    return lambda i: table[int(i)]


@equation("eq-relative-block", first_index=0)
def test_relative_block(rng):
    values = relative(rng)
    return {**values, "E": blocks_of(values["C"]), "i": range(D // 2)}


@equation("eq-relative-blocks", first_index=0)
def test_relative_blocks(rng):
    C = relative(rng)["C"]
    return {"C": C, "E": blocks_of(C), "d": D}


@equation("eq-relative-score", first_index=0, vectors="row")
def test_relative_score(rng):
    return {**clocks(rng), **relative(rng)}


def joined(rng):
    x, p = rng.normal(size=3), rng.normal(size=4)
    return {"x": x, "p": p, "W_x": rng.normal(size=(3, 5)), "W_p": rng.normal(size=(4, 5))}


test_concat = equation("eq-position-concat", vectors="row")(joined)


@equation("eq-sum-tied", vectors="row")
def test_sum_tied(rng):
    return {"x": rng.normal(size=3), "p": rng.normal(size=3), "W": rng.normal(size=(3, 5))}


@equation("eq-cosine-first")
def test_cosine_first(rng):
    angles = {"m": range(2, 5), r"\delta": range(2, 6), r"\theta": rng.uniform(0.2, 3)}
    return {**angles, "R": plane_rotation}


def bindings(rng):
    """The inner product of two positions, and two angles."""
    theta = rotary_frequencies(16, rng.uniform(5, 60)).numpy()
    places = {"m": rng.uniform(1, 9), "n": rng.uniform(1, 9), r"\delta": int(rng.integers(1, 90))}
    angle = {r"\theta": rng.uniform(0.2, 3)}
    return {**places, **angle, "g": lambda delta: np.cos(delta * theta).sum()}


def four_dimensions(base):
    return lambda rng: {r"\theta": rotary_frequencies(4, base).numpy()}


def two_back(rng):
    """Rows of the library and its rotation back by two places."""
    theta = rotary_frequencies(8, rng.uniform(5, 60))
    P = sinusoidal(torch.arange(9), 8, float(theta[1] ** -4), dtype=torch.float64).numpy()

    def shift(delta):
        return rotation_matrix(torch.tensor(int(delta)), theta, layout="interleaved").numpy().T

    def g(delta):
        return np.cos(delta * theta.numpy()).sum()

    return {"P": P, "T": shift, "g": g, "m": range(2, 9), "n": range(9)}


test_sentences = sentences(
    "07-sinusoids",
    first_index=0,
    where={
        "The base is …": lambda rng: {"b": signature(sinusoidal).parameters["base"].default},
        "Then … and": four_dimensions(10000.0),
        "Then $ and …": four_dimensions(10000.0),
        "and compare, …": two_back,
        "$, … ,": four_dimensions(100.0),
        "$, $, … .": lambda rng: {"B": float(1 / rotary_frequencies(4, 100.0)[1])},
        "every distance …": lambda rng: [{"r": 1}, {"r": 3}],
        "are at most …": None,
    },
    loose={
        "are at most …": "Two constants; the cosine falls up to the second.",
    },
    unchecked={
        "the distance …": "Not executed yet.",
    },
)(bindings)

"""Chapter 8: the equations of the page, executed against the library where it has them."""

import math

import numpy as np
import torch
from scipy.special import sici

from attention_to_rope import rotary_frequencies, rotation_matrix, sinusoidal
from bookcheck.equations.checks import equation

N, D = 5, 8


def base(rng):
    return float(rng.uniform(5, 60))


def frequencies(b, d=D):
    return rotary_frequencies(d, b).numpy()


def rows(b, d=D):
    """m -> P_m, by the library; a shift may ask for positions below 0, which it does not take."""

    def row(m):
        return sinusoidal(torch.tensor([int(m)]), d, b, dtype=torch.float64)[0].numpy()

    return row


def R(alpha):
    return np.array([[np.cos(alpha), np.sin(alpha)], [-np.sin(alpha), np.cos(alpha)]])


def hand(alpha):
    return np.array([np.sin(alpha), np.cos(alpha)])


def shifts(b, d=D):
    """k -> T_k: the transpose of the library's rotation, and its inverse for k < 0."""

    def shift(k):
        position = torch.tensor([abs(int(k))])
        matrix = rotation_matrix(position, rotary_frequencies(d, b), layout="interleaved")[0]
        return (matrix if k < 0 else matrix.T).numpy()

    return shift


def g(b, d=D):
    table = frequencies(b, d)
    return lambda k: float(np.cos(k * table).sum())


def clocks(rng):
    b = base(rng)
    return {"b": b, "d": D, r"\theta": frequencies(b), "P": rows(b), "m": range(N), "n": range(N)}


@equation("eq-pe", first_index=0, library=sinusoidal)
def test_pe(rng):
    b = base(rng)
    P = sinusoidal(torch.arange(N), D, b, dtype=torch.float64).numpy()
    return {"P": P, r"\theta": frequencies(b), "m": range(N), "i": range(D // 2)}


@equation("eq-pe-frequency", first_index=0, library=rotary_frequencies)
def test_pe_frequency(rng):
    b = base(rng)
    return {r"\theta": frequencies(b), "b": b, "d": D, "i": range(D // 2)}


def wavelengths(rng):
    b = base(rng)
    turns = 2 * np.pi / frequencies(b)
    return {r"\lambda": turns, r"\theta": frequencies(b), "b": b, "d": D, "i": range(D // 2)}


@equation("eq-wavelength", first_index=0, library=rotary_frequencies)
def test_wavelength(rng):
    values = wavelengths(rng)
    return {**values, "B": values["b"] ** (2 / D)}


@equation("eq-wavelength-range", first_index=0, library=rotary_frequencies)
def test_wavelength_range(rng):
    return wavelengths(rng)


@equation("eq-digits")
def test_digits(rng):
    B, count = int(rng.integers(2, 12)), 4
    number = int(rng.integers(1, B**count))

    def digit(j, m):
        for _ in range(int(j)):
            m //= B
        return m % B

    return [
        {"B": B, "D": count, "c": digit, "m": m, "j": range(count)}
        for m in (0, number, B**count - 1)
    ]


def nearest_readings(alpha, theta, first):
    """From the slowest hand to the fastest: of all its positions, the one nearest to the last."""
    estimates = [first]
    for angle, frequency in zip(alpha[::-1], theta[::-1], strict=True):
        turns = np.arange(-40, 41)
        candidates = (angle + 2 * np.pi * turns) / frequency
        estimates.append(candidates[np.abs(candidates - estimates[-1]).argmin()])
    return np.array(estimates[::-1])


@equation("eq-read-clocks", first_index=0, library=sinusoidal)
def test_read_clocks(rng):
    b = base(rng)
    theta = frequencies(b)
    m = int(rng.integers(2, int(np.pi / theta[-1])))
    P = rows(b)(m)
    exact = np.arctan2(P[0::2], P[1::2])
    common = {r"\theta": theta, "i": range(D // 2), r"\operatorname{round}": np.round}
    # Every exact hand gives the position itself; bad hands give estimates that differ.
    assert np.allclose(nearest_readings(exact, theta, float(m)), m)
    bad, first = rng.uniform(-np.pi, np.pi, size=D // 2), rng.uniform(5, 30)
    return [
        {**common, r"\hat{m}": np.full(D // 2 + 1, float(m)), r"\alpha": exact},
        {**common, r"\hat{m}": nearest_readings(bad, theta, first), r"\alpha": bad},
    ]


@equation("eq-pe-norm", first_index=0, library=sinusoidal)
def test_pe_norm(rng):
    return clocks(rng)


@equation("eq-addition")
def test_addition(rng):
    return {"m": range(2, 5), "k": range(2, 6), r"\theta": rng.uniform(0.2, 3)}


@equation("eq-shift-pair", vectors="row")
def test_shift_pair(rng):
    return {"m": range(2, 5), "k": range(2, 6), r"\theta": rng.uniform(0.2, 3), "s": hand}


@equation("eq-shift", first_index=0, library=[sinusoidal, rotation_matrix])
def test_shift(rng):
    values = clocks(rng)
    return {**values, "T": shifts(values["b"]), "R": R, "k": range(1, 5)}


@equation("eq-shift-group", library=rotation_matrix)
def test_shift_group(rng):
    return {"T": shifts(base(rng)), "k": range(-2, 4), "l": range(-3, 3)}


@equation("eq-euler")
def test_euler(rng):
    return {"m": range(2, 6), r"\theta": rng.uniform(0.2, 3)}


@equation("eq-vandermonde", first_index=0)
def test_vandermonde(rng):
    theta = frequencies(base(rng), 6)
    z = np.exp(1j * np.concatenate([theta, -theta]))
    return {"V": z[None, :] ** np.arange(6)[:, None], "z": z, "d": 6}


@equation("eq-g", first_index=0, library=sinusoidal)
def test_g(rng):
    values = clocks(rng)
    return {**values, "g": g(values["b"])}


@equation("eq-g-complex")
def test_g_complex(rng):
    theta = rng.uniform(0.2, 3)
    z = lambda m: np.exp(1j * m * theta)  # noqa: E731
    return {"z": z, "m": range(2, 6), "n": range(4), r"\theta": theta}


@equation("eq-pe-distance", library=sinusoidal)
def test_pe_distance(rng):
    values = clocks(rng)
    return {**values, "g": g(values["b"])}


@equation("eq-g-integral", approx=0.02)
def test_g_integral(rng):
    b, d = 10000.0, 4096
    return {"k": int(rng.integers(2, 40)), "b": b, "d": d, "g": g(b, d)}


def cosine_integral(x):
    return float(sici(x)[1])


@equation("eq-ci", tolerance=1e-7)
def test_ci(rng):
    return {
        "k": float(rng.uniform(2, 20)),
        "b": base(rng),
        r"\operatorname{Ci}": cosine_integral,
    }


@equation("eq-substitution", tolerance=1e-6)
def test_substitution(rng):
    return {"k": float(rng.uniform(2, 20)), "b": base(rng), "u": float(rng.uniform(0.2, 0.9))}


@equation("eq-log-decay", approx=0.02)
def test_log_decay(rng):
    return {
        "k": float(rng.uniform(30, 300)),
        "b": 10000.0,
        r"\gamma": np.euler_gamma,
        r"\operatorname{Ci}": cosine_integral,
    }


@equation("eq-four-terms", first_index=0, vectors="row")
def test_four_terms(rng):
    W_Q, W_K = rng.normal(size=(D, 3)), rng.normal(size=(D, 3))
    x, P = rng.normal(size=(N, D)), rng.normal(size=(N, D))
    every = {"m": range(N), "n": range(N)}
    return {"x": x, "P": P, "W^Q": W_Q, "W^K": W_K, "C": W_Q @ W_K.T, **every}


J = np.array([[0.0, 1.0], [-1.0, 0.0]])


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


@equation("eq-relative-score", first_index=0, vectors="row", library=sinusoidal)
def test_relative_score(rng):
    return {**clocks(rng), **relative(rng)}


@equation("eq-relative-pair", vectors="row")
def test_relative_pair(rng):
    alpha, beta, a, c = rng.normal(size=4)
    angles = {r"\alpha": alpha, r"\beta": beta, "s": hand}
    return {**angles, "a": a, "c": c, "J": J, "I": np.eye(2)}


@equation("eq-commute", library=rotation_matrix)
def test_commute(rng):
    return {"T": shifts(base(rng)), "C": relative(rng)["C"]}


@equation("eq-commutator")
def test_commutator(rng):
    p, q, r, s = rng.normal(size=4)
    return {"p": p, "q": q, "r": r, "s": s, "J": J}


def joined(rng):
    x, p = rng.normal(size=3), rng.normal(size=4)
    return {"x": x, "p": p, "W_x": rng.normal(size=(3, 5)), "W_p": rng.normal(size=(4, 5))}


@equation("eq-position-concat", vectors="row")
def test_concat(rng):
    return joined(rng)


@equation("eq-sum-tied", vectors="row")
def test_sum_tied(rng):
    return {"x": rng.normal(size=3), "p": rng.normal(size=3), "W": rng.normal(size=(3, 5))}


@equation("eq-repeat")
def test_repeat(rng):
    m, n, r = int(rng.integers(20, 40)), int(rng.integers(2, 15)), int(rng.integers(2, 9))
    return {"m": m, "n": n, "r": r, r"\theta": 2 * math.pi * r / (m - n)}


@equation("eq-chord")
def test_chord(rng):
    return {"m": range(2, 7), "n": range(3, 6), r"\theta": rng.uniform(0.2, 3)}


@equation("eq-710", approx=1e-3)
def test_710(rng):
    return {}


@equation("eq-cosine-first")
def test_cosine_first(rng):
    return {"m": range(2, 5), "k": range(2, 6), r"\theta": rng.uniform(0.2, 3), "R": R}


@equation("eq-plus-part", vectors="row")
def test_plus_part(rng):
    alpha, beta, p, q = rng.normal(size=4)
    return {r"\alpha": alpha, r"\beta": beta, "s": hand, "p": p, "q": q}

"""Deeper 7: digits, uniqueness, the cosine integral and repeats, executed."""

import itertools
import math

import numpy as np
import torch
from scipy.linalg import null_space
from scipy.special import sici

from attention_to_rope import rotary_frequencies, rotation_matrix, sinusoidal
from bookcheck.equations.checks import Excluded, equation, sentences
from shared import ANY_NUMBERS, even, every, exchanged, turned_back
from shared_rotations import plane_rotation, some_base, turned_row
from shared_sinusoids import D, J, frequencies, g, hand, shifts
from texcheck import depends

ZERO = "The digits after the last are 0."
MORE = ["bound off by one: {D-1} → {D-1+1}"]
MORE += ["drop one: -1 → ∅", "flip sign: - → +"]
EVEN = "The function of the difference is even."


@equation("eq-digits", equivalent=dict.fromkeys(MORE, ZERO))
def test_digits(rng):
    B, count = int(rng.integers(2, 4)), int(rng.integers(3, 5))

    def digit(j, m):
        for _ in range(int(j)):
            m //= B
        return m % B

    every = {"m": range(B**count), "j": range(count)}
    return {"B": B, "D": count, r"\operatorname{digit}": digit, **every}


def nearest_readings(alpha, theta, first):
    """From the slowest pair to the fastest: of all its positions, the one nearest to the last."""
    estimates = [first]
    for angle, frequency in zip(alpha[::-1], theta[::-1], strict=True):
        turns = np.arange(-40, 41)
        candidates = (angle + 2 * np.pi * turns) / frequency
        estimates.append(candidates[np.abs(candidates - estimates[-1]).argmin()])
    return np.array(estimates[::-1])


SELF = {"drop one: +1 → ∅": "An estimate counts its own whole rotations correctly too."}


@equation("eq-read-clocks", first_index=0, equivalent=SELF)
def test_read_clocks(rng):
    b = some_base(rng)
    theta = frequencies(b)
    m = int(rng.integers(2, int(np.pi / theta[-1])))
    P = sinusoidal(torch.tensor([m]), D, b, dtype=torch.float64)[0].numpy()
    exact = np.arctan2(P[0::2], P[1::2])
    common = {r"\theta": theta, "i": range(D // 2), r"\operatorname{round}": np.round}
    # Every exact angle gives the position itself; bad angles give estimates that differ.
    assert np.allclose(nearest_readings(exact, theta, float(m)), m)
    bad, first = rng.uniform(-np.pi, np.pi, size=D // 2), rng.uniform(5, 30)
    return [
        {**common, r"\hat{m}": np.full(D // 2 + 1, float(m)), r"\alpha": exact},
        {**common, r"\hat{m}": nearest_readings(bad, theta, first), r"\alpha": bad},
    ]


test_euler = equation("eq-euler")(lambda rng: {"m": range(2, 6), r"\theta": rng.uniform(0.2, 3)})


DETERMINANT = {"add transpose: ∅ → ^\\top": "A matrix and its transpose have one determinant."}


@equation("eq-vandermonde", first_index=0, equivalent=DETERMINANT)
def test_vandermonde(rng):
    d = even(rng, 4)
    theta = frequencies(some_base(rng), d)
    z = np.exp(1j * np.concatenate([theta, -theta]))
    return {"Z": z[None, :] ** np.arange(d)[:, None], "z": z, "d": d}


TURNED = [f"turn difference: n-m → m-n, after {before}" for before in ("}(", "((")]


@equation("eq-position-complex", equivalent={**dict.fromkeys(TURNED, EVEN), **every("m", "n")})
def test_position_complex(rng):
    return {"m": range(2, 6), "n": range(4), r"\theta": rng.uniform(0.2, 3)}


@equation("eq-g-integral", approx=0.0004)
def test_g_integral(rng):
    b, d = float(rng.uniform(5000, 20_000)), 2 * int(rng.integers(1500, 2500))
    return {"r": int(rng.integers(2, 40)), "b": b, "d": d, "g": g(b, d)}


def cosine_integral(x):
    return float(sici(x)[1])


@equation("eq-ci", equivalent=exchanged("r ↔ b", reason=ANY_NUMBERS))
def test_ci(rng):
    return {
        "r": float(rng.uniform(2, 20)),
        "b": some_base(rng),
        r"\operatorname{Ci}": cosine_integral,
    }


@equation("eq-substitution", equivalent=exchanged("u ↔ r", "u ↔ b", "r ↔ b", reason=ANY_NUMBERS))
def test_substitution(rng):
    return {"r": float(rng.uniform(2, 20)), "b": some_base(rng), "u": float(rng.uniform(0.2, 0.9))}


@equation(
    "eq-log-decay",
    approx=0.005,
    fixed={r"\gamma": "It is Euler's constant."},
    equivalent={"argument off by one: r → r+1": "Ci is small at r, as the sentence says."},
)
def test_log_decay(rng):
    return {
        "r": float(rng.uniform(100, 300)),
        "b": float(rng.uniform(5000, 20_000)),
        r"\gamma": np.euler_gamma,
        r"\operatorname{Ci}": cosine_integral,
    }


FOUR = (r"\alpha", "a", "c", r"\beta")
FLIPPED = {
    r"turn difference: \beta-\alpha → \alpha-\beta, after \cos(": EVEN,
    **every(*FOUR),
    **exchanged(
        *(f"{one} ↔ {other}" for one, other in itertools.combinations(FOUR, 2)), reason=ANY_NUMBERS
    ),
}


@equation("eq-relative-pair", vectors="row", equivalent=FLIPPED)
def test_relative_pair(rng):
    alpha, beta, a, c = rng.normal(size=4)
    angles = {r"\alpha": alpha, r"\beta": beta, r"\varphi": hand}
    return {**angles, "a": a, "c": c, "J": J, "I": np.eye(2)}


def relative_weights(rng):
    """A matrix of blocks aI + cJ."""
    a, c = rng.normal(size=(2, D // 2))
    return np.kron(np.diag(a), np.eye(2)) + np.kron(np.diag(c), J)


@equation("eq-commute", equivalent=turned_back("T", "C"))
def test_commute(rng):
    return {"T": shifts(some_base(rng)), "C": relative_weights(rng)}


@equation("eq-commutator", first_index=0)
def test_commutator(rng):
    return {"E": rng.normal(size=(2, 2)), "J": J}


@equation("eq-repeat")
def test_repeat(rng):
    m, n, nu = int(rng.integers(2, 15)), int(rng.integers(20, 40)), int(rng.integers(2, 9))
    values, theta = {"m": m, "n": n, r"\nu": nu}, 2 * math.pi * nu / (n - m)
    return [{**values, r"\theta": share * theta} for share in (1, 0.7, 1.01, 1.3)]


@equation(
    "eq-chord",
    first_index=0,
    equivalent={"turn difference: n-m → m-n": EVEN},
    names={1: "c_{mn}"},
)
def test_chord(rng):
    """The distances of places on the circle, to which the library turns one row."""
    theta = rng.uniform(0.2, 3)
    rows = np.stack([turned_row(np.array([1.0, 0.0]), m, np.array([theta])) for m in range(7)])
    chords = np.linalg.norm(rows[:, None] - rows[None], axis=-1)
    return {"c": chords, "m": range(2, 7), "n": range(3, 6), r"\theta": theta}


test_710 = equation("eq-710", approx=1e-3)(lambda rng: {})


@equation("eq-plus-part", first_index=0, vectors="row", equivalent=every(r"\alpha", r"\beta"))
def test_plus_part(rng):
    alpha, beta, first, second = rng.normal(size=4)
    E = np.array([[first, second], rng.normal(size=2)])
    return {r"\alpha": alpha, r"\beta": beta, r"\varphi": hand, "E": E}


def bindings(rng):
    """Rows, their shifts, and weights made of blocks aI + cJ."""
    b = some_base(rng)
    P = sinusoidal(torch.arange(9), D, b, dtype=torch.float64).numpy()
    places = {"m": range(4), "n": range(4), "b": b, "d": D}
    weights = {"T": shifts(b), "C": relative_weights(rng)}
    return {**places, **weights, "P": P, r"\theta": frequencies(b)}


def one_angle(rng):
    return {r"\theta": rng.uniform(0.2, 3), "R": plane_rotation, "I": np.eye(2), "J": J}


def any_angle_but_0(rng):
    return [{r"\theta": rng.uniform(0.2, 3)}, Excluded({r"\theta": 0.0})]


def whole_turns(rng):
    m, n, nu = (int(rng.integers(*ends)) for ends in ((2, 15), (20, 40), (2, 19)))
    return {"m": m, "n": n, r"\nu": nu, r"\theta": 2 * np.pi * nu / (n - m)}


def half_a_turn(rng):
    """The longest text that the slowest pair can read, and any base that is large enough."""
    b, d = float(rng.uniform(50, 900)), even(rng, 6)
    wavelengths = 2 * np.pi / rotary_frequencies(d, b).numpy()
    longest = wavelengths[-1] / 2
    values = {"b": b, "d": d, r"\lambda": wavelengths}
    return [{**values, "N": int(longest)}, {**values, "N": float(longest)}]


def of_the_base_10000(rng):
    d = even(rng, 8)
    return {r"\theta": rotary_frequencies(d).numpy(), "i": range(d // 2), "d": d}


def root_of_a_power(rng):
    d = even(rng, 8)
    theta = rotary_frequencies(d).tolist()
    return [{"x": theta[i], "i": i, "d": d} for i in range(1, d // 2)]


def solution(first, second, rng):
    """A random block X with first X = X second, as far as there is one."""
    basis = null_space(np.kron(first, np.eye(2)) - np.kron(np.eye(2), second.T))
    return (basis @ basis.T @ rng.normal(size=4)).reshape(2, 2)


def commuting_block(rng):
    angle, block = rng.uniform(0.2, 3), solution(J, J, rng)
    angles = {r"\theta_i": angle, r"\theta_j": angle, "R": plane_rotation}
    return {**angles, "C_{ij}": block, "E": block}


def block_of_two_angles(rng):
    return {"C_{ij}": solution(plane_rotation(-0.7), plane_rotation(-1.9), rng)}


def matrix_of_a_shift(rng):
    """The one matrix that moves the first d rows by delta places, and the library's rotation."""
    delta, theta = int(rng.integers(1, 4)), rotary_frequencies(D, float(rng.uniform(5, 20)))
    angles = np.arange(D + 3)[:, None] * theta.numpy()
    rows = np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(D + 3, D)
    shift = rotation_matrix(torch.tensor(delta), theta, layout="interleaved").mT.numpy()

    def solved(rows):
        return np.linalg.solve(rows[:D], rows[delta : delta + D])

    return {"T": depends("P", solved), "P": rows, r"T_\delta": shift}


test_sentences = sentences(
    "deeper/clocks",
    first_index=0,
    where={
        "From … on": None,
        "positions $, then …": matrix_of_a_shift,
        "for which …": lambda rng: {r"\operatorname{Ci}": cosine_integral, "x": rng.uniform(1, 9)},
        "It runs from …": lambda rng: {"r": rng.uniform(2, 9)},
        "runs from $ to …": lambda rng: {"r": rng.uniform(2, 9)},
        "Then … .": commuting_block,
        "and then only …": block_of_two_angles,
        "This is 0 exactly when …": commuting_block,
        "when $ and …": commuting_block,
        "For $ write …": one_angle,
        "write $ with …": any_angle_but_0,
        "If … is": any_angle_but_0,
        "If $, then …": whole_turns,
        "The numbers …": of_the_base_10000,
        "are roots of …": root_of_a_power,
        "… gives": half_a_turn,
        "$ gives … .": half_a_turn,
    },
    equivalent={
        "It runs from …": dict.fromkeys(
            ("flip sign: - → +", r"another symbol: b → {r}"), "Any power with exponent 0 is 1."
        ),
        "Then … .": dict.fromkeys(
            (
                "exchange name: i → j, after _",
                "exchange name: j → i, after _",
                r"another symbol: \theta_i → {\theta_j}",
                r"another symbol: \theta_j → {\theta_i}",
            ),
            "Where the angles differ, the block is 0, as the proof goes on to say.",
        ),
    },
    fixed={
        r"\theta_j": "Two pairs with one frequency are the case that the sentence is about.",
        "C_{ij}": "The sentence says that this block is 0.",
    },
)(bindings)

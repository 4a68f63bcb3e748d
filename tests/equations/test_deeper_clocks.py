"""Deeper 7: digits, uniqueness, the cosine integral and repeats, executed."""

import math
from fractions import Fraction

import numpy as np
import torch
from scipy.integrate import quad
from scipy.linalg import null_space
from scipy.special import sici

from attention_to_rope import rotary_frequencies, rotation_matrix, sinusoidal
from bookcheck.equations.checks import Excluded, equation, sentences
from shared import even
from shared_rotations import plane_rotation, some_base, turned_row
from shared_sinusoids import D, J, frequencies, g, hand, shifts
from texcheck import depends

ZERO = "The digits after the last are 0."
MORE = ["bound off by one: {D-1} → {D-1+1}"]
MORE += ["drop one: -1 → ∅", "flip sign: - → +"]
EVEN = "The function of the difference is even."


@equation(
    "eq-digits", equivalent=dict.fromkeys(MORE, ZERO), symbols=r"B, D, \operatorname{digit}, m, j"
)
def test_digits(rng):
    B = int(rng.integers(2, 5))
    count = int(rng.integers(3, 8 - B))

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


@equation("eq-read-clocks", first_index=0, equivalent=SELF, symbols=r"\theta, i, \hat{m}, \alpha")
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


def turned(theta, count=7):
    """The row (1, 0) at all positions, turned by the library: (cos mθ, sin mθ)."""
    return np.stack([turned_row(np.array([1.0, 0.0]), m, np.array([theta])) for m in range(count)])


def clock(angle):
    """The hand of a clock, (sin, cos): the library turns the row (0, 1) back by the angle."""
    return turned_row(np.array([0.0, 1.0]), -1, np.array([angle]))


@equation("eq-euler", first_index=0, names={1: "s_m", 2: "c_m"})
def test_euler(rng):
    theta = rng.uniform(0.2, 3)
    rows = turned(theta)
    return {"m": range(2, 6), r"\theta": theta, "c": rows[:, 0], "s": rows[:, 1]}


DETERMINANT = {"add transpose: ∅ → ^\\top": "A matrix and its transpose have one determinant."}


@equation("eq-vandermonde", first_index=0, equivalent=DETERMINANT, symbols="Z, z, d")
def test_vandermonde(rng):
    d = even(rng, 4)
    theta = frequencies(some_base(rng), d)
    z = np.exp(1j * np.concatenate([theta, -theta]))
    return {"Z": z[None, :] ** np.arange(d)[:, None], "z": z, "d": d}


TURNED = [f"turn difference: n-m → m-n, after {before}" for before in ("}(", "((")]


@equation(
    "eq-position-complex",
    first_index=0,
    names={1: "c_{mn}"},
    equivalent=dict.fromkeys(TURNED, EVEN),
)
def test_position_complex(rng):
    theta = rng.uniform(0.2, 3)
    rows = turned(theta)
    return {"c": rows @ rows.T, "m": range(2, 6), "n": range(4), r"\theta": theta}


@equation(
    "eq-g-integral",
    approx={1: (0.00016, "It takes an integral for a sum of d/2 terms.")},
    symbols="r, b, d, g",
)
def test_g_integral(rng):
    b, d = float(rng.uniform(5000, 20_000)), 2 * int(rng.integers(1500, 2500))
    return {"r": int(rng.integers(2, 40)), "b": b, "d": d, "g": g(b, d)}


def cosine_integral(x):
    return float(sici(x)[1])


@equation("eq-ci", names={1: "G"})
def test_ci(rng):
    """The average of eq-g-integral at the distance r, over the frequencies from 1 to 1/b."""
    r = float(rng.uniform(2, 20))
    b = some_base(rng)
    average, _ = quad(lambda u: math.cos(r * b**-u), 0, 1)
    return {"G": average, "r": r, "b": b, r"\operatorname{Ci}": cosine_integral}


@equation("eq-substitution", names={1: "x'"})
def test_substitution(rng):
    """The derivative of the angle at the distance r of the pair at u, by autograd."""
    r = float(rng.uniform(2, 20))
    b = some_base(rng)
    u = torch.tensor(rng.uniform(0.2, 0.9), dtype=torch.float64, requires_grad=True)
    (r * b**-u).backward()
    return {"x'": u.grad.item(), "r": r, "b": b, "u": u.item()}


@equation(
    "eq-log-decay",
    approx={1: (0.0032, "It leaves out Ci(r) and the powers of r/b, as the sentence says.")},
    fixed={r"\gamma": "It is Euler's constant."},
    equivalent={"argument off by one: r → r+1": "Ci is small at r, as the sentence says."},
    symbols=r"r, b, \gamma, \operatorname{Ci}",
)
def test_log_decay(rng):
    return {
        "r": float(rng.uniform(100, 300)),
        "b": float(rng.uniform(5000, 20_000)),
        r"\gamma": np.euler_gamma,
        r"\operatorname{Ci}": cosine_integral,
    }


FLIPPED = {r"turn difference: \beta-\alpha → \alpha-\beta, after \cos(": EVEN}


@equation("eq-relative-pair", vectors="row", names={1: "s"}, equivalent=FLIPPED)
def test_relative_pair(rng):
    alpha, beta, a, c = rng.normal(size=4)
    block = a * np.eye(2) + c * plane_rotation(math.pi / 2)
    angles = {r"\alpha": alpha, r"\beta": beta, r"\varphi": hand}
    s = float(clock(alpha) @ block @ clock(beta))
    return {**angles, "s": s, "a": a, "c": c, "J": J, "I": np.eye(2)}


def relative_weights(rng):
    """A matrix of blocks aI + cJ."""
    a, c = rng.normal(size=(2, D // 2))
    return np.kron(np.diag(a), np.eye(2)) + np.kron(np.diag(c), J)


@equation("eq-commute", names={2: "Y"})
def test_commute(rng):
    """The rows of C, turned back by one position by the library."""
    b = some_base(rng)
    C = relative_weights(rng)
    Y = np.stack([turned_row(row, -1, frequencies(b)) for row in C])
    return {"T": shifts(b), "C": C, "Y": Y}


@equation("eq-commutator", first_index=0, names={1: "K"})
def test_commutator(rng):
    """How E begins to change between two rotations of the library by an angle, by autograd."""
    E = rng.normal(size=(2, 2))

    def between(angle):
        back, forth = rotation_matrix(torch.tensor([-1, 1]), angle, layout="interleaved")
        return back @ torch.from_numpy(E) @ forth

    zero = torch.zeros(1, dtype=torch.float64)
    slopes = torch.autograd.functional.jacobian(between, zero)[..., 0]
    return {"E": E, "J": J, "K": slopes.numpy()}


@equation("eq-repeat", symbols=r"m, n, \nu, \theta")
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
    rows = turned(theta)
    chords = np.linalg.norm(rows[:, None] - rows[None], axis=-1)
    return {"c": chords, "m": range(2, 7), "n": range(3, 6), r"\theta": theta}


@equation("eq-710", names={1: "a"}, fixed={"a": "It is the angle at one position."})
def test_710(rng):
    """The angle between the pairs of positions 0 and 710 whose frequency is 1, by the library."""
    del rng
    cosine, sine = turned_row(np.array([1.0, 0.0]), 710, np.array([1.0]))
    return {"a": math.atan2(sine, cosine)}


@equation("eq-plus-part", first_index=0, vectors="row", names={1: "s"})
def test_plus_part(rng):
    alpha, beta, first, second = rng.normal(size=4)
    E = np.array([[first, second], rng.normal(size=2)])
    block = np.array([[first, second], [second, -first]])
    s = float(clock(alpha) @ block @ clock(beta))
    return {r"\alpha": alpha, r"\beta": beta, r"\varphi": hand, "E": E, "s": s}


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


def nearly_whole_turns(rng):
    """Where the first pair of the library is nearest to its start, of the first 1,000 positions."""
    del rng
    places = torch.arange(1, 1000)
    start = rotation_matrix(places, torch.ones(1, dtype=torch.float64), layout="half")[:, 0, 0]
    return {"r": 1 + int(start.argmax()), "p": Fraction(math.pi).limit_denominator(200).numerator}


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
        "to its start after …": nearly_whole_turns,
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
    numbers={"to its start after …": "2, p, r"},
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

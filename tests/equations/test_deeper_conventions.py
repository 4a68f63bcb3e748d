"""RoPE's conventions: the equations of the page, executed against the library."""

import itertools

import numpy as np
import torch

from attention_to_rope import sinusoidal
from bookcheck.equations.checks import equation, sentences
from shared import even
from shared_deriving_rope import D_K, N, hat, turned_rows
from shared_rotations import (
    IDENTITY,
    QUARTER_TURN,
    plane_rotation,
    rotation_of_all_pairs,
    some_angle,
    some_frequencies,
    split_matrix,
    turned_row,
)


def one_plane(rng):
    angles = {r"\alpha": some_angle(rng), r"\theta": some_angle(rng)}
    known = {"x": rng.normal(size=2), "F": np.diag([1.0, -1.0]), "R": plane_rotation}
    parts = split_matrix(rng)
    # M between the rows that the library turns, at all pairs of positions.
    rows = np.stack([turned_rows(x, angles[r"\theta"]) for x in np.eye(2)], axis=1)
    known["T"] = rows[:, None] @ parts["M"] @ rows[None].transpose(0, 1, 3, 2)
    alpha = np.array([angles[r"\alpha"]])
    known["y"] = turned_row(known["x"], 1, alpha)
    known["y'"] = turned_row(known["x"], 1, -alpha)
    # The rows of both parts of M, turned by the angle and back.
    known["Y"] = np.stack([turned_row(row, 1, alpha) for row in parts["M"] - parts["H"]])
    known["Z"] = np.stack([turned_row(row, 1, -alpha) for row in parts["H"]])
    return {**parts, **known, **angles, "m": range(N), "n": range(N)}


def check(label, reason="", *changes, **options):
    equivalent = dict.fromkeys(changes, reason)
    return equation(label, first_index=0, equivalent=equivalent, **options)(one_plane)


test_alias = check("eq-rope-alias", symbols=r"R, \theta, m")
test_columns = check("eq-columns", names={1: r"y^\top"})
test_wrong_side = check("eq-wrong-side", names={1: "y'"})
test_flip = check("eq-flip", symbols=r"F, R, \alpha")
ADD = r"add transpose: ∅ → ^\top"
SYMMETRIC = "H is symmetric."
test_split = check("eq-split", fixed={"H": SYMMETRIC}, symbols="M, a, c, H, I, J")
test_split_symmetric = check("eq-split-symmetric", SYMMETRIC, ADD, symbols="M, H, u, v")
test_pass_through = check(
    "eq-pass-through",
    SYMMETRIC,
    f"{ADD}, before =",
    f"{ADD}, before R",
    names={1: "Y", 2: "Z"},
)
test_before = check("eq-before", SYMMETRIC, f"{ADD}, after H", names={1: "T_{m,n}"})


@equation("eq-factor")
def test_factor(rng):
    return {r"\hat{R}": hat(), "R": plane_rotation, "I": IDENTITY, r"\alpha": some_angle(rng)}


def factors(rng):
    d_k = even(rng, 6)
    _, theta = some_frequencies(rng, d_k)
    every = {"m": range(N), "n": range(N), "d_k": d_k, r"\theta": theta.numpy()}
    return {r"\hat{R}": hat(d_k), r"\mathbf{R}": rotation_of_all_pairs(theta), **every}


test_factors = equation(
    "eq-factors", first_index=0, symbols=r"\hat{R}, \mathbf{R}, m, d_k, \theta"
)(factors)


@equation("eq-factor-rules", names={3: "Y"})
def test_factor_rules(rng):
    """The library turns the unit rows by one angle in each of two pairs."""
    alpha = some_angle(rng)
    beta = 2.3 * some_angle(rng)
    known = {r"\hat{R}": hat(), r"\alpha": alpha, r"\beta": beta}
    cases = []
    for i, j in itertools.permutations(range(3), 2):
        angles = np.zeros(3)
        angles[i] = alpha
        angles[j] = beta
        Y = np.stack([turned_row(row, 1, angles) for row in np.eye(6)])
        cases.append({**known, "i": i, "j": j, "Y": Y})
    return cases


test_high_dimension = equation(
    "eq-rope-high", first_index=0, symbols=r"\hat{R}, \mathbf{R}, m, n, d_k, \theta"
)(factors)


@equation("eq-before-blocks", first_index=0, names={1: "T_{m,n,i,j}"})
def test_before_blocks(rng):
    M, D_part, H = np.zeros((3, 3, 2, 2)), np.zeros((3, 3, 2, 2)), np.zeros((3, 3, 2, 2))
    for i in range(3):
        for j in range(3):
            parts = split_matrix(rng)
            M[i, j], H[i, j] = parts["M"], parts["H"]
            D_part[i, j] = parts["a"] * IDENTITY + parts["c"] * QUARTER_TURN
    theta = some_frequencies(rng, D_K)[1].numpy()
    # What the library's turns make of the unit rows of each pair: position, pair, 2, 2.
    rows = np.stack(
        [np.stack([turned_rows(x, angle) for x in np.eye(2)], axis=1)[:3] for angle in theta],
        axis=1,
    )
    T = np.einsum("miab,ijbc,njdc->mnijad", rows, M, rows)
    places = {"m": range(3), "n": range(3), "i": range(3), "j": range(3), r"\theta": theta}
    return {"T": T, "M": M, "D": D_part, "H": H, "R": plane_rotation, **places}


@equation("eq-sinusoid-turned")
def test_sinusoid_turned(rng):
    b, theta = some_frequencies(rng, D_K)
    P = sinusoidal(torch.arange(N), D_K, b, dtype=torch.float64).numpy()
    cosine_first = P.reshape(N, D_K // 2, 2)[:, :, ::-1].reshape(N, D_K)
    rows = {"P": lambda m: P[int(m)], r"\tilde{P}": lambda m: cosine_first[int(m)]}
    return {**rows, r"\mathbf{R}": rotation_of_all_pairs(theta), "m": range(N)}


EVEN = [f"turn difference: n-m → m-n, after {before}" for before in ("{", "(")]


@equation("eq-rope-to-g", first_index=0, equivalent=dict.fromkeys(EVEN, "The score is even."))
def test_rope_to_g(rng):
    d_k = even(rng, 6)
    _, theta = some_frequencies(rng, d_k)
    places = {"m": range(N), "n": range(N), "d_k": d_k, r"\theta": theta.numpy()}
    return {
        r"\tilde{P}_0": np.tile([1.0, 0.0], d_k // 2),
        r"\mathbf{R}": rotation_of_all_pairs(theta),
        **places,
    }


def bindings(rng):
    """Nothing: of the sentences one alone claims a relation."""
    del rng
    return {}


def quarter_turn(rng):
    del rng
    return {"J": QUARTER_TURN, "R": plane_rotation}


test_sentences = sentences(
    "deeper/conventions", first_index=0, where={"With the rotation …": quarter_turn}
)(bindings)

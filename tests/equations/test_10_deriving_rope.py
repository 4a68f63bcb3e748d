"""Chapter 10: the equations of the page, executed against the library where it has them."""

import math

import numpy as np
import torch

from bookcheck.equations.checks import equation, sentences
from shared import library_scores
from shared_10_deriving_rope import D_K, D, N, complex_pair, complex_turn, plane, values
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


@equation("eq-rope-goal")
def test_goal(rng):
    """g is written with complex numbers, f is the library's rotation."""
    _, theta = some_frequencies(rng, D_K)

    def g(q, k, offset):
        z, w = q[0::2] + 1j * q[1::2], k[0::2] + 1j * k[1::2]
        return float((z * w.conj() * np.exp(-1j * offset * theta.numpy())).real.sum())

    contents = {"q": rng.normal(size=D_K), "k": rng.normal(size=D_K)}
    places = {"m": range(N), "n": range(N)}
    return {"f": lambda m, x: turned_row(x, m, theta), "g": g, **contents, **places}


@equation("eq-rotation")
def test_rotation(rng):
    return {"R": plane_rotation, r"\alpha": some_angle(rng)}


@equation("eq-row-turn")
def test_row_turn(rng):
    rho, phi = float(rng.uniform(1.5, 3)), some_angle(rng)
    x = rho * np.array([math.cos(phi), math.sin(phi)])
    angles = {r"\varphi": phi, r"\alpha": 2.1 * some_angle(rng)}
    return {"x": x, r"\rho": rho, "R": plane_rotation, **angles}


@equation("eq-rotation-rules")
def test_rotation_rules(rng):
    return {
        "R": plane_rotation,
        "I": IDENTITY,
        r"\alpha": some_angle(rng),
        r"\beta": 2.3 * some_angle(rng),
    }


test_two_dimensions = equation("eq-rope-2d")(plane)


test_angle = equation("eq-rope-angle")(plane)


test_signed = equation("eq-rope-signed", first_index=0)(plane)


test_dot_complex = equation("eq-dot-complex", first_index=0)(complex_pair)


@equation("eq-exponential-difference")
def test_exponential_difference(rng):
    return {"m": range(N), "n": range(N), r"\theta": some_angle(rng)}


@equation("eq-rope-complex")
def test_complex_turn(rng):
    theta = some_angle(rng)
    z = complex_pair(rng)["z"]
    return {"f": complex_turn(theta), "z": z, "m": range(N), r"\theta": theta}


@equation("eq-rope-complex-score")
def test_complex_score(rng):
    theta, pair = some_angle(rng), complex_pair(rng)
    z, w = pair["z"], pair["w"]
    angles = {r"\varphi_z": np.angle(z), r"\varphi_w": np.angle(w), r"\theta": theta}
    return {"z": z, "w": w, "f": complex_turn(theta), "m": range(N), "n": range(N), **angles}


@equation("eq-dictionary", first_index=0)
def test_dictionary(rng):
    return {**complex_pair(rng), "R": plane_rotation, r"\alpha": some_angle(rng)}


@equation("eq-rope-matrix", first_index=0)
def test_matrix(rng):
    cases = []
    for d_k in (6, 8):
        b, theta = some_frequencies(rng, d_k)
        symbols = {"R": plane_rotation, r"\theta": theta.numpy(), "b": b, "d_k": d_k}
        cases.append(
            {
                r"\mathbf{R}": rotation_of_all_pairs(theta),
                "m": range(N),
                "i": range(d_k // 2),
                **symbols,
            }
        )
    return cases


@equation("eq-rope-score", first_index=0)
def test_score(rng):
    _, theta = some_frequencies(rng, D_K)
    x = rng.normal(size=(N, D))
    W_Q, W_K = rng.normal(size=(D, D_K)) / 2, rng.normal(size=(D, D_K)) / 2
    q, k = x @ W_Q, x @ W_K
    Q = np.stack([turned_row(q[m], m, theta) for m in range(N)])
    K = np.stack([turned_row(k[n], n, theta) for n in range(N)])
    places = {"m": range(N), "n": range(N), r"\mathbf{R}": rotation_of_all_pairs(theta), "d_k": D_K}
    return {"x": x, "W^Q": W_Q, "W^K": W_K, "q": q, "k": k, "S": library_scores(Q, K), **places}


@equation("eq-rope-sum", first_index=0)
def test_sum(rng):
    """One query content and one key content, at all places."""
    _, theta = some_frequencies(rng, D_K)
    q, k = rng.normal(size=D_K), rng.normal(size=D_K)
    Q = np.stack([turned_row(q, m, theta) for m in range(N)])
    K = np.stack([turned_row(k, n, theta) for n in range(N)])
    pairs = {"z": q[0::2] + 1j * q[1::2], "w": k[0::2] + 1j * k[1::2]}
    places = {"m": range(N), "n": range(N), r"\theta": theta.numpy(), "d_k": D_K}
    return {"S": library_scores(Q, K), **pairs, **places}


@equation("eq-rope-elementwise", first_index=0)
def test_elementwise(rng):
    theta = 0.7 * some_frequencies(rng, 4)[1]  # the first is no 1, so that dropping it is noticed
    x = rng.normal(size=4)
    cases = []
    for m in range(1, N):
        turn = {r"\mathbf{R}": rotation_of_all_pairs(theta), r"\theta": theta.numpy()}
        cases.append({"x": x, "m": m, **turn})
        assert np.allclose(x @ rotation_of_all_pairs(theta)(m), turned_row(x, m, theta))
    return cases


@equation("eq-pass-through")
def test_pass_through(rng):
    return {**split_matrix(rng), "R": plane_rotation, r"\alpha": some_angle(rng)}


@equation("eq-before")
def test_before(rng):
    places = {"m": range(N), "n": range(N), r"\theta": some_angle(rng), "R": plane_rotation}
    return {**split_matrix(rng), **places}


test_value_turned = equation("eq-rope-value-turned", first_index=0)(values)


test_value_back = equation("eq-rope-value-back", first_index=0)(values)


@equation("eq-gauge-rope")
def test_gauge(rng):
    _, theta = some_frequencies(rng, D_K)
    B = np.zeros((D_K, D_K))
    for i in range(0, D_K, 2):
        B[i : i + 2, i : i + 2] = rng.normal() * IDENTITY + rng.normal() * QUARTER_TURN
    return {"B": B, r"\mathbf{R}": rotation_of_all_pairs(theta)}


def in_the_plane(rng):
    """The library's turn of one pair."""
    theta = some_angle(rng)
    frequency = torch.tensor([theta], dtype=torch.float64)
    turned = {"f": lambda m, x: turned_row(x, m, frequency)}
    return {**turned, "x": rng.normal(size=2), r"\theta": theta}


def best_query(rng):
    """The angle of the query that the library turns onto the key three positions before it."""
    theta, phi = float(rng.uniform(0.2, 0.7)), float(rng.uniform(0.1, 0.8))
    key = np.array([math.cos(phi), math.sin(phi)])
    best = turned_row(key, -3, torch.tensor([theta], dtype=torch.float64))
    found = math.atan2(best[1], best[0])
    return {r"\varphi_q": found, r"\varphi_k": phi, r"\theta": theta}


@sentences(
    "10-deriving-rope",
    first_index=0,
    where={
        "product contains …": lambda rng: {"i": range(4)},
        "Let … , and": in_the_plane,
        "quarter turn $, …": split_matrix,
        "turn $, $, …": split_matrix,
        "every term, and …": None,
        "angle is 0: …": best_query,
    },
)
def test_sentences(rng):
    """Places, one angle, the library's rotation of all pairs, and factors."""
    _, theta = some_frequencies(rng, D_K)
    places = {"m": range(1, 5), "n": range(3)}
    turns = {r"\mathbf{R}": rotation_of_all_pairs(theta), "R": plane_rotation}
    return {**places, **turns, r"\theta": some_angle(rng), r"\lambda": rng.uniform(0.5, 2, size=4)}

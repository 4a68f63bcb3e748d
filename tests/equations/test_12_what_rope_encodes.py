"""Chapter 12: the equations of the page, executed against the library where it has them."""

import math

import numpy as np
import torch

from attention_to_rope import (
    proportional_frequencies,
    rotary_frequencies,
    rotary_table,
    rotate,
    softmax,
)
from bookcheck.equations.checks import Random, depends, equation, sentences
from shared_12_what_rope_encodes import D, contents, only
from shared_rotations import rotation_of_all_pairs, some_base, some_frequencies


@equation("eq-wave-parts", first_index=0)
def test_wave_parts(rng):
    values = only(contents(rng), "q", "k", "z", "w", "h", r"\rho", r"\varphi")
    return {**values, "i": range(D // 2)}


@equation("eq-waves", first_index=0)
def test_waves(rng):
    names = ("q", "k", "h", r"\rho", r"\varphi", r"\theta", r"\mathbf{R}", "d_k")
    return {**only(contents(rng), *names), "r": range(-2, 5)}


@equation("eq-rope-wavelengths", first_index=0)
def test_wavelengths(rng):
    values = only(contents(rng), r"\theta", "b", "d_k")
    values[r"\lambda"] = 2 * np.pi / values[r"\theta"]
    return {**values, "i": range(D // 2)}


@equation("eq-full-turns", first_index=0, draws=8)
def test_full_turns(rng):
    b, d = some_base(rng), 2 * int(rng.integers(3, 9))
    waves = 2 * np.pi / rotary_frequencies(d, b).numpy()
    cases = [int(rng.integers(7, int(waves[-1]) + 2)), int(waves[-1]) + 40, int(waves[1]) + 1]
    free = [{r"\lambda": waves, "b": b, "d_k": d, "N": max(N, 7)} for N in cases]
    return [*free, wave_as_long_as_the_text()]


def wave_as_long_as_the_text():
    """A base at which pair 2 of 4 needs exactly N positions for a turn: it has not made one."""
    sizes = ((N, (N / (2 * math.pi)) ** 2) for N in range(7, 99))
    N, b = next((N, b) for N, b in sizes if math.log(N / (2 * math.pi)) / math.log(b) == 0.5)
    waves = 2 * np.pi / rotary_frequencies(8, b).numpy()
    waves[2] = round(waves[2], 9)
    assert waves[2] == N
    return {r"\lambda": waves, "b": b, "d_k": 8, "N": N}


@equation("eq-slow-pair")
def test_slow_pair(rng):
    theta, r = float(rng.uniform(0.1, 0.4)), int(rng.integers(2, 6))
    close = -r * theta / 2 + np.pi / 2  # the steepest place: the first bound is reached
    free = float(rng.uniform(-3, 3))
    angles = (close, close + 0.01, free)
    edges = [
        {r"\theta": 0.01, "r": 2, r"\varphi": np.pi / 2},  # both bounds almost reached
        {r"\theta": 1.05, "r": 6, r"\varphi": 1.2},  # almost a full turn: hardly any change
        {r"\theta": 2.0, "r": 1, r"\varphi": np.pi / 2 - 1},  # a change larger than r
        {r"\theta": 0.3, "r": 0, r"\varphi": 0.7},  # no distance, no change: all sides equal
    ]
    return [{r"\theta": theta, "r": r, r"\varphi": angle} for angle in angles] + edges


@equation("eq-equal-score", first_index=0, somewhere={2: "Only at distance 0 all cosines are 1."})
def test_equal_score(rng):
    values = only(contents(rng), "q", "z", r"\theta", r"\mathbf{R}", "d_k")
    long = {**values, "q": 5 * values["q"], "z": 5 * values["z"]}
    return [{**values, "r": range(5)}, {**long, "r": range(5)}]


def signs(rng, d=4):
    """Entries with mean 0 and variance 1, all outcomes of which can be counted."""
    theta = rotary_frequencies(d, some_base(rng)).numpy()
    return {
        "q": Random([-1, 1], shape=(d,)),
        r"\theta": theta,
        r"\mathbf{R}": rotation_of_all_pairs(theta),
        "d_k": d,
    }


test_equal_mean = equation("eq-equal-mean", first_index=0)(lambda rng: {**signs(rng), "r": 3})


@equation("eq-random-score")
def test_random_score(rng):
    values = signs(rng)
    del values[r"\theta"]
    return {**values, "k": Random([-1, 1], shape=(4,)), "r": 3}


@equation("eq-random-proof", first_index=0)
def test_random_proof(rng):
    values = signs(rng)
    del values[r"\theta"]
    R = values[r"\mathbf{R}"]
    turned = depends("q", lambda q: q @ R(3))
    return {**values, "k": Random([-1, 1], shape=(4,)), "u": turned, "r": 3}


@equation("eq-look-far", first_index=0, somewhere={2: "Only at the goal all cosines are 1."})
def test_look_far(rng):
    values = only(contents(rng), "k", "w", r"\theta", r"\mathbf{R}", "d_k")
    goal = int(rng.integers(2, 9))
    cases = []
    for length in (1, 5):
        k = length * values["k"]
        turned = {"k": k, "w": length * values["w"], "q": k @ values[r"\mathbf{R}"](-goal)}
        cases.append({**values, **turned, "r_0": goal, "r": range(goal - 3, goal + 4)})
    return cases


@equation("eq-mean-score")
def test_mean_score(rng):
    theta = rotary_frequencies(4, some_base(rng)).numpy()
    mean_q, mean_k = rng.normal(size=4), rng.normal(size=4)
    return {
        "a": Random([-1, 1], shape=(4,)),
        "c": Random([-2, 2], shape=(4,)),
        "q": depends("a", lambda a: mean_q + a),
        "k": depends("c", lambda c: mean_k + c),
        r"\mu_q": mean_q,
        r"\mu_k": mean_k,
        r"\mathbf{R}": rotation_of_all_pairs(theta),
        "r": 3,
    }


@equation("eq-norm-kept")
def test_norm_kept(rng):
    values = only(contents(rng), "q", "k", r"\mathbf{R}")
    q, turn = values["q"], values[r"\mathbf{R}"]
    # A key along the turned query reaches the bound, on either side.
    reached = [
        {**values, "k": length * q @ turn(r), "m": 3, "r": range(r, r + 1)}
        for r, length in zip(range(-2, 4), (6, -2, 0.3, 5, -0.7, 1.6), strict=True)
    ]
    return [{**values, "m": range(1, 5), "r": range(-2, 4)}, *reached]


@equation("eq-partial-rotary")
def test_partial_rotary(rng):
    values = contents(rng)
    theta = torch.as_tensor(values[r"\theta"])
    q, k = rng.normal(size=D + 4), rng.normal(size=D + 4)

    def turned(r):
        # The turned block of the library's own partial rotation.
        table = rotary_table(torch.tensor([int(r)]), theta, dtype=torch.float64)
        identity = torch.eye(D + 4, dtype=torch.float64)[:, None]
        whole = rotate(identity, table, layout="interleaved", rotary_dim=D)[:, 0].numpy()
        return whole[:D, :D]

    return {
        "q": q,
        "k": k,
        r"\hat{q}": q[:D],
        r"\tilde{q}": q[D:],
        r"\hat{k}": k[:D],
        r"\tilde{k}": k[D:],
        r"\mathbf{R}": turned,
        "I": np.eye(4),
        "r": range(-2, 4),
    }


@equation("eq-choose-base")
def test_choose_base(rng):
    N, d, j = int(rng.integers(50, 900)), 12, int(rng.integers(2, 6))
    smallest = (N / (2 * math.pi)) ** (d / (2 * j))
    values = {"b": smallest, "N": N, "d_k": d, "j": j}
    return [values, *({**values, "b": share * smallest} for share in (0.7, 1.01, 1.3))]


@equation("eq-variance-trace")
def test_variance_trace(rng):
    theta = rotary_frequencies(4, some_base(rng)).numpy()
    mix_q, mix_k = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    return {
        "a": Random([-1, 1], shape=(4,)),
        "c": Random([-1, 1], shape=(4,)),
        "q": depends("a", lambda a: a @ mix_q),
        "k": depends("c", lambda c: c @ mix_k),
        "C_q": mix_q.T @ mix_q,
        "C_k": mix_k.T @ mix_k,
        r"\mathbf{R}": rotation_of_all_pairs(theta),
        "r": 3,
    }


def one_ahead(rng):
    """The library's weight of one key that leads N - 1 others, and the lead."""
    N, lead = int(rng.integers(3, 9)), float(rng.uniform(0.3, 2))
    scores = torch.zeros(N, dtype=torch.float64)
    scores[1] = lead
    return {"A": float(softmax(scores)[1]), "N": N, r"\Delta": lead}


test_dilution = equation("eq-dilution")(one_ahead)


test_lead = equation("eq-lead")(one_ahead)


@equation("eq-p-rope", first_index=0)
def test_p_rope(rng):
    b, d, p = some_base(rng), 16, float(rng.choice([0.25, 0.5, 0.75]))
    theta = proportional_frequencies(d, b, share=p).numpy()
    return {r"\theta": theta, "b": b, "d_k": d, "p": p, "i": range(d // 2)}


@equation("eq-partial-spectrum", first_index=0)
def test_partial_spectrum(rng):
    b, d, p = some_base(rng), 16, float(rng.choice([0.25, 0.5, 0.75]))
    turning = int(p * d)
    theta = rotary_frequencies(turning, b).numpy()
    return {r"\vartheta": theta, "b": b, "d_k": d, "p": p, "i": range(turning // 2)}


D_K = 4


def bindings(rng):
    """A random base and the library's frequencies for it."""
    b, theta = some_frequencies(rng, D_K)
    return {r"\theta": theta.numpy(), "b": b, "d_k": D_K}


def turned_signs(rng):
    """Entries with mean 0 and variance 1, all outcomes of which can be counted, turned."""
    turn = rotation_of_all_pairs(some_frequencies(rng, D_K)[1])
    q = Random([-1, 1], shape=(D_K,))
    turned = depends("q", lambda q: q @ turn(3))
    return {"q": q, "u": turned, r"\mathbf{R}": turn, "r": 3, "I": np.eye(D_K)}


def by_hand(rng):
    del rng
    return {r"\theta": rotary_frequencies(4, 100.0).numpy()}


test_sentences = sentences(
    "12-what-rope-encodes",
    first_index=0,
    where={
        "mean 0, and …": turned_signs,
        "Let … ,": None,
        "… , wavelengths": by_hand,
    },
    unchecked={
        "the query, …": "Not executed yet.",
        "maximum needs …": "Not executed yet.",
    },
)(bindings)

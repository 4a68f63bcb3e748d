"""The page of depth: the displayed equations of the page are executed, one against the library."""

import itertools

import numpy as np

from attention_to_rope import attention
from bookcheck.equations.checks import equation, sentences
from shared import tensor
from shared_rotations import turned_row

N, D, D_K = 5, 6, 3


@equation("eq-self-or-other", first_index=0)
def test_self_or_other(rng):
    """The bias that is left when all permutations are averaged out of a random one.

    Each row may keep its own constant; attention commutes with this bias and with no other.
    """
    X, (W_Q, W_K, W_V) = rng.normal(size=(N, D)), rng.normal(size=(3, D, D_K))

    def run(x, bias):
        queries, keys, values = tensor(x @ W_Q), tensor(x @ W_K), tensor(x @ W_V)
        return attention(queries, keys, values, bias=tensor(bias)).numpy()

    bias, rows = rng.normal(size=(N, N)), rng.normal(size=N)
    orders = [list(order) for order in itertools.permutations(range(N))]
    average = np.mean([bias[np.ix_(order, order)] for order in orders], axis=0)
    B, order = average + rows[:, None], rng.permutation(N)
    assert np.allclose(run(X[order], B), run(X, B)[order])
    spoiled, moved = B + np.eye(N)[0][:, None] * np.eye(N)[1], np.roll(np.arange(N), 1)
    assert not np.allclose(run(X[moved], spoiled), run(X, spoiled)[moved])
    c = np.array([B[m, m - 1] for m in range(N)])  # what a row has for one other position
    return {"B": B, "c": c, "a": B[0, 0] - c[0], "m": range(N), "n": range(N)}


@equation("eq-wave-step", first_index=0, symbols=r"P, \theta, m")
def test_wave_step(rng):
    def wave(theta):
        angles = theta * np.arange(N + 1)
        P = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return {"P": P, r"\theta": theta, "m": range(N)}

    theta = float(rng.uniform(0.1, 6.2))
    return [wave(theta), wave(-theta)]  # both ways round: the length is never negative


EVEN = "The cosine is even and has the period 2π."
SIGNS = (
    r"flip sign: - → +, before \theta))=\cos",
    r"turn difference: 2\pi-\theta → \theta-2\pi, after \cos(m(",
)


@equation(
    "eq-wave-alias",
    first_index=0,
    names={1: "c_m", 2: "s_m"},
    equivalent=dict.fromkeys(SIGNS, EVEN),
)
def test_alias(rng):
    """The row (1, 0) at all positions, turned by the library by the angle 2π - θ at each step."""
    theta = float(rng.uniform(0.1, 3.0))
    fast = np.array([2 * np.pi - theta])
    rows = np.stack([turned_row(np.array([1.0, 0.0]), m, fast) for m in range(9)])
    return {"c": rows[:, 0], "s": rows[:, 1], "m": range(2, 9), r"\theta": theta}


def proof(rng):
    """A bias of the form that the proof arrives at, off its diagonal, and a recurrent network."""
    a, c, m = 2 + rng.uniform(), rng.normal(size=N), int(rng.integers(2, N))
    B = c[:, None] + a * np.eye(N)
    (U, W), x, z = rng.normal(size=(2, 3, 3)), rng.normal(size=(N, 3)), np.zeros((N, 3))
    for step in range(1, N):
        z[step] = np.tanh(z[step - 1] @ U + x[step] @ W)
    network = {"z": z, "x": x, "U": U, "W": W, r"\tanh": np.tanh}
    order = {"D": B - np.diag(B)[:, None], r"\Pi": np.eye(N)[rng.permutation(N)]}
    n = (m + int(rng.integers(1, N))) % N
    return {"B": B, "a": a, "c": c, "m": m, "n": n, **order, **network}


def turned_texts(rng):
    """A bias that cares for the direction around a circle of words, and a move along the circle."""
    values, steps = rng.normal(size=N), np.subtract.outer(np.arange(N), np.arange(N)) % N
    move = np.roll(np.eye(N), int(rng.integers(1, N)), axis=0)
    return {"D": values[steps], r"\Pi": move}


PLACES = dict.fromkeys(("word by word, …", "number, $, and …", "With … this"), proof)
test_sentences = sentences(
    "deeper/position-codes", first_index=0, where=PLACES | {"which means …": turned_texts}
)(proof)

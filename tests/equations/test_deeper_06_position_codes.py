"""Deeper, chapter 6: the displayed equations of the page are executed, one against the library."""

import itertools

import numpy as np

from attention_to_rope import attention
from bookcheck.equations.checks import equation, sentences
from shared import tensor

N, D, D_K = 5, 6, 3


def biased_attention(rng):
    """Self-attention of random tokens as a function of the tokens and the bias on the scores."""
    W_Q, W_K, W_V = rng.normal(size=(D, D_K)), rng.normal(size=(D, D_K)), rng.normal(size=(D, 2))

    def run(x, bias):
        queries, keys, values = tensor(x @ W_Q), tensor(x @ W_K), tensor(x @ W_V)
        return attention(queries, keys, values, bias=tensor(bias)).numpy()

    return run


@equation("eq-self-or-other", first_index=0)
def test_self_or_other(rng):
    """The bias that is left when all permutations are averaged out of a random one.

    Each row may keep its own constant; attention commutes with this bias and with no other.
    """
    bias, rows = rng.normal(size=(N, N)), rng.normal(size=N)
    orders = [list(order) for order in itertools.permutations(range(N))]
    average = np.mean([bias[np.ix_(order, order)] for order in orders], axis=0)
    B = average + rows[:, None]
    run, X, order = biased_attention(rng), rng.normal(size=(N, D)), rng.permutation(N)
    assert np.allclose(run(X[order], B), run(X, B)[order])
    spoiled = B.copy()
    spoiled[0, 1] += 1
    moved = np.roll(np.arange(N), 1)
    assert not np.allclose(run(X[moved], spoiled), run(X, spoiled)[moved])
    c = np.array([B[m, m - 1] for m in range(N)])  # what a row has for one other position
    return {"B": B, "c": c, "a": B[0, 0] - c[0], "m": range(N), "n": range(N)}


@equation("eq-wave-step", first_index=0)
def test_wave_step(rng):
    def wave(theta):
        angles = theta * np.arange(N + 1)
        P = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return {"P": P, r"\theta": theta, "m": range(N)}

    theta = float(rng.uniform(0.1, 6.2))
    return [wave(theta), wave(-theta)]  # both ways round: the length is never negative


@equation("eq-wave-alias")
def test_alias(rng):
    return {"m": range(2, 9), r"\theta": float(rng.uniform(0.1, 3.0))}


N_TEXT = 4


def self_or_other(rng):
    """A bias of the form that the proof arrives at, off its diagonal."""
    a, c = 2 + rng.uniform(), rng.normal(size=N_TEXT)
    B = c[:, None] + a * np.eye(N_TEXT)
    m = int(rng.integers(N_TEXT))
    return {"B": B, "a": a, "c": c, "m": m, "n": (m + 1) % N_TEXT}


def bindings(rng):
    """The two claims have values of their own."""
    del rng
    return {}


test_sentences = sentences(
    "deeper/06-position-codes",
    first_index=0,
    where={
        "number, $, and …": self_or_other,
        "With … this": self_or_other,
    },
    unchecked={
        "word by word, …": "Not executed yet.",
        "row constants: …": "Not executed yet.",
        "only up to …": "Not executed yet.",
    },
)(bindings)

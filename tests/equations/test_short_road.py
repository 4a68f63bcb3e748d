"""The short road: its equations, executed against the library where it has them."""

import numpy as np

from attention_to_rope import rotary_frequencies
from bookcheck.equations.checks import Random, equation, sentences
from shared import (
    PERMUTATION,
    TWO_MATRICES,
    UNIT,
    every,
    library_attention,
    library_scores,
    sizes,
)
from shared_deriving_rope import turned_rows
from shared_rotations import plane_rotation, some_angle

N, D_K, D_V = 4, 3, 2


@equation("eq-road-attention", equivalent=every("Q", "K"))
def test_attention(rng):
    N, keys, d_k, d_v = sizes(rng, 4, 6, 3, 2)
    Q, K, V = (rng.normal(size=shape) for shape in ((N, d_k), (keys, d_k), (keys, d_v)))
    return {"Q": Q, "K": K, "V": V, "d_k": d_k, r"\operatorname{Attention}": library_attention}


@equation(
    "eq-road-variance",
    first_index=0,
    equivalent={
        "drop factor: q_i → ∅": "One coordinate has variance 1, as the product has.",
        "drop factor: k_i → ∅": "One coordinate has variance 1, as the product has.",
    },
)
def test_variance(rng):
    d_k = int(rng.integers(1, 5))
    q, k = (Random(*UNIT, shape=(d_k,)) for _ in range(2))
    return {"q": q, "k": k, "d_k": d_k}


@equation("eq-road-order", equivalent={**every("Q", "K"), **PERMUTATION, **TWO_MATRICES})
def test_order(rng):
    Q, K, V = (rng.normal(size=(N, size)) for size in (D_K, D_K, D_V))
    Pi = np.eye(N)[rng.permutation(N)]
    return {r"\Pi": Pi, "Q": Q, "K": K, "V": V, r"\operatorname{Attention}": library_attention}


@equation("eq-road-shift")
def test_shift(rng):
    """Positions on the circle, moved by the library's rotation."""
    theta = some_angle(rng)
    points = {"P": lambda m: np.array([1.0, 0.0]) @ plane_rotation(m * theta), r"\theta": theta}
    return {
        **points,
        "R": plane_rotation,
        r"\alpha": rng.uniform(0.3, 2),
        "m": range(5),
        "n": int(rng.integers(5, 20)),
    }


@equation("eq-road-cross", first_index=0, names={1: r"\sqrt{2} S_{mn}"})
def test_cross(rng):
    """The terms of a score of the library; `P` is a point on the circle."""
    q, k, theta = rng.normal(size=2), rng.normal(size=2), some_angle(rng)
    P = np.stack([np.array([1.0, 0.0]) @ plane_rotation(n * theta) for n in range(5)])
    S = library_scores(q + P[1:], k + P)
    return {"P": P, "S": S, "q": q, "k": k, "m": range(4), "n": range(5)}


@equation("eq-road-relative", first_index=0, names={1: "s_{mn}"})
def test_relative(rng):
    """The dot products of rows that the library has rotated."""
    q, k = rng.normal(size=(2, 2))
    theta = some_angle(rng)
    s = turned_rows(q, theta) @ turned_rows(k, theta).T
    return {
        "q": q,
        "k": k,
        "s": s,
        "R": plane_rotation,
        r"\theta": theta,
        "m": range(4),
        "n": range(5),
    }


def frequencies(rng):
    """All frequencies of a head of the library."""
    d_k = 2 * int(rng.integers(2, 9))
    return {r"\theta": rotary_frequencies(d_k).numpy(), "i": range(d_k // 2), "d_k": d_k}


test_sentences = sentences("short-road", first_index=0, where={"own frequency …": frequencies})(
    lambda _: {}
)

"""The chapter: the displayed equations of the page are executed, most against the library."""

from itertools import permutations

import numpy as np
import torch

from attention_to_rope import (
    Architecture,
    Block,
    Rotary,
    attention,
    causal_mask,
    rotary_frequencies,
)
from bookcheck.equations.checks import equation, sentences
from shared import FOR_EVERY, PERMUTATION, even, every, library_scores, tensor
from texcheck import depends

N, D = 5, 6
INDICES = {"m": range(N), "n": range(N)}


def page(rng):
    """What the page names: tokens, a permutation, a bias, a stack, attention and rotations."""
    X, B, d_k = rng.normal(size=(N, D)), rng.normal(size=(N, N)), even(rng, 4)
    W_Q, W_K, W_V = (rng.normal(size=(D, width)) for width in (d_k, d_k, 2))
    blocks = [Block(Architecture(d=D, heads=2, layers=1), seed=rng).double() for _ in range(2)]
    rotary = Rotary(rotary_frequencies(d_k), layout="half")

    def stack(x):
        with torch.no_grad():
            return blocks[1](blocks[0](tensor(x)[None]))[0].numpy()

    def biased(x, bias):
        given = {"bias": tensor(bias)}
        return attention(tensor(x @ W_Q), tensor(x @ W_K), tensor(x @ W_V), **given).numpy()

    def rotate(m, x):
        return rotary.rotate(tensor(x)[None, None, None], torch.tensor([int(m)]))[0, 0, 0].numpy()

    q, k = X @ W_Q, X @ W_K
    return {
        "X": X,
        "B": B,
        "S": library_scores(q, k),
        "q": q,
        "k": k,
        "d_k": d_k,
        r"\operatorname{Stack}": stack,
        "f": rotate,
        r"\Pi": np.eye(N)[rng.permutation(N)],
        r"\operatorname{Attention}": biased,
    }


ANY_ORDER = {**every("X"), **PERMUTATION}
ANY_BIAS = {
    **every("B"),
    **PERMUTATION,
    **dict.fromkeys(("transpose everywhere: B", "inverse everywhere: B"), FOR_EVERY),
}
test_stack_equivariance = equation(
    "eq-stack-equivariance", equivalent=ANY_ORDER, symbols=r"X, \operatorname{Stack}, \Pi"
)(page)
test_bias_permuted = equation(
    "eq-bias-permuted", equivalent=ANY_BIAS, symbols=r"X, B, \Pi, \operatorname{Attention}"
)(page)


@equation("eq-nope-counter", first_index=0)
def test_nope_counter(rng):
    scores = torch.full((N, 1), float(rng.normal()), dtype=torch.float64)

    def outputs(v):
        return attention(scores, scores, tensor(v)[:, None], mask=causal_mask(N))[:, 0].numpy()

    first = np.eye(N)[0]
    found = [{"o": outputs(first), "v": first, "m": m} for m in range(N)]
    # At one position, any values that add up to 1 so far: the weights are equal.
    for m in range(N):
        v = rng.normal(size=N)
        v[0] += 1 - v[: m + 1].sum()
        found.append({"o": outputs(v), "v": v, "m": m})
    return found


@equation("eq-position-bias", first_index=0, symbols="B, S, q, k, d_k, m, n")
def test_position_bias(rng):
    values = page(rng)
    return {**values, "S": library_scores(values["q"], values["k"], values["B"]), **INDICES}


@equation("eq-position-rotate", first_index=0, symbols="S, q, k, d_k, f, m, n")
def test_position_rotate(rng):
    values = page(rng)
    rotated = (np.stack([values["f"](m, values[y][m]) for m in range(N)]) for y in "qk")
    return {**values, "S": library_scores(*rotated), **INDICES}


def integers(rng):
    """The angle between a word and the same word with its position, with c = 1 / m among them."""
    c, m = rng.uniform(0.01, 2, size=2)
    angle = depends("m", lambda m: float(np.angle(1 + 1j * c * m)))
    return [{"c": c, "m": at, r"\varphi_m": angle} for at in (m, 1 / c)]


test_scale_step = equation("eq-scale-step")(integers)


def reversal(rng):
    """The penalty by distance, with a random slope, and the permutation that reverses a text."""
    distance = np.abs(np.subtract.outer(range(N), range(N)))
    return {"B": -rng.uniform(0.2, 2) * distance, r"\Pi": np.eye(N)[::-1]}


def orders(rng):
    """The orders of four words, counted."""
    del rng
    return {"N": 4, "n": len(list(permutations(range(4))))}


test_sentences = sentences(
    "why-position",
    first_index=0,
    where={
        "limited rate, because …": integers,
        "all distances, so …": reversal,
        "each of the … orders": orders,
    },
    numbers={"each of the … orders": "N, n"},
    fixed={
        "all distances, so …": {
            "B": "A penalty by distance is symmetric.",
            r"\Pi": "Only to reverse a text keeps all distances.",
        }
    },
    equivalent={
        "all distances, so …": {
            r"drop transpose: ^\top → ∅": "To reverse a text twice gives the text."
        }
    },
)(page)

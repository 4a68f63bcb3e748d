"""The chapter: the equations of the page, executed against the library where it has them."""

import itertools
import math

import numpy as np
import torch

from attention_to_rope import proportional_frequencies, rotary_frequencies, softmax
from bookcheck.equations.checks import Random, depends, equation, sentences
from shared import UNIT, even
from shared_rotations import rotation_of_all_pairs, some_base, turned_row
from shared_what_rope_encodes import contents


def page(rng):
    """A query and a key, their waves, and the weight of one key that leads N - 1 others."""
    values, N, lead = (
        contents(rng, even(rng, 6)),
        int(rng.integers(3, 9)),
        float(rng.uniform(0.3, 2)),
    )
    scores = torch.zeros(N, dtype=torch.float64)
    scores[1] = lead
    values |= {"A": float(softmax(scores)[1]), "N": N, r"\Delta": lead}
    return {**values, r"\lambda": 2 * np.pi / values[r"\theta"], "i": range(values["d_k"] // 2)}


@equation(
    "eq-waves", first_index=0, symbols=r"q, k, z, w, \rho, \varphi, \theta, \mathbf{R}, d_k, r"
)
def test_waves(rng):
    return {**page(rng), "r": range(-2, 5)}


test_wavelengths = equation(
    "eq-rope-wavelengths", first_index=0, symbols=r"\theta, b, d_k, \lambda, i"
)(page)
test_dilution = equation("eq-dilution", names={1: "A"}, symbols=r"A, N, \Delta")(page)
test_lead = equation("eq-lead", names={1: r"\Delta"}, symbols=r"A, N, \Delta")(page)


def signs(rng, d=None):
    """Entries with mean 0 and variance 1, all outcomes of which can be counted."""
    d = d or int(rng.choice([2, 4]))
    theta = rotary_frequencies(d, some_base(rng)).numpy()
    q, k = (Random(*UNIT, shape=(d,)) for _ in range(2))
    turn = rotation_of_all_pairs(theta)
    return {
        "q": q,
        "k": k,
        r"\theta": theta,
        r"\mathbf{R}": turn,
        "d_k": d,
        "r": int(rng.integers(2, 9)),
    }


@equation("eq-equal-mean", names={1: "s"}, first_index=0)
def test_equal_mean(rng):
    """s is the mean of the scores of a row that the library turns and the row, over all of them."""
    values = signs(rng, int(rng.choice([2, 4, 6])))
    turned = [
        chance * float(turned_row(row, values["r"], values[r"\theta"]) @ row)
        for row, chance in values["q"].joint()
    ]
    return {**values, "s": math.fsum(turned)}


# What is left without a factor has mean 0 too, and without the rotation the same variance.
TRUE = {
    "drop factor: q → ∅, after [": "It is true as well.",
    r"drop factor: \mathbf{R}_r → ∅, after [q": "It is true as well.",
    r"drop factor: k^\top → ∅, before ]": "It is true as well.",
    r"drop factor: \mathbf{R}_r → ∅, after (q": "It is true as well.",
    r"index off by one: r → {r+1}, before k^\top]": "It is true for every r.",
    r"index off by one: r → {r+1}, before k^\top)": "It is true for every r.",
}
test_random_score = equation("eq-random-score", equivalent=TRUE)(signs)


def mean_of_all(values, mean_q, mean_k):
    """The mean of the library's scores, a query at position r and a key at 0, over all outcomes."""
    likely = {2.0: 0.2, -0.5: 0.8}
    theta, r = values[r"\theta"], values["r"]
    total = 0.0
    for a in itertools.product(likely, repeat=4):
        chance = math.prod(likely[one] for one in a)
        turned = turned_row(mean_q + np.array(a), r, theta)
        for c in itertools.product((-2.0, 2.0), repeat=4):
            total += chance / 2**4 * float(turned @ (mean_k + np.array(c)))
    return total


@equation("eq-mean-score", names={1: r"\bar{s}"})
def test_mean_score(rng):
    values, mean_q, mean_k = signs(rng, 4), *rng.normal(size=(2, 4))
    values[r"\bar{s}"] = mean_of_all(values, mean_q, mean_k)
    values |= {"a": values["q"], "c": Random([-2, 2], shape=(4,))}
    values |= {"q": depends("a", lambda a: mean_q + a), "k": depends("c", lambda c: mean_k + c)}
    return {**values, r"\mu_q": mean_q, r"\mu_k": mean_k}


def looking_far(rng):
    """A key of two lengths, and as the query this key, rotated back."""
    values, goal = page(rng), int(rng.integers(2, 9))
    cases = []
    for length in (1, 5):
        k, w = length * values["k"], length * values["w"]
        turned = {"k": k, "w": w, "q": k @ values[r"\mathbf{R}"](-goal)}
        cases.append({**values, **turned, "r_0": goal, "r": range(goal - 3, goal + 4)})
    return cases


ONCE = {2: "Only at the goal all cosines are 1."}
SAME = {
    r"exchange name: k → q, after \lVert": "A rotated key has the same length.",
    r"another symbol: k → {q}, after \lVert": "A rotated key has the same length.",
    "turn difference: r-r_0 → r_0-r": "The cosine is even.",
}
test_look_far = equation(
    "eq-look-far",
    first_index=0,
    somewhere=ONCE,
    equivalent=SAME,
    symbols=r"q, k, w, \theta, \mathbf{R}, d_k, r_0, r",
)(looking_far)


@equation("eq-p-rope", first_index=0)
def test_p_rope(rng):
    b, cases = some_base(rng), []
    # The product p d_k / 2 is whole, and nearer to the whole number below it or above it.
    whole = (8 * int(rng.integers(1, 4)), float(rng.choice([0.25, 0.5, 0.75])))
    for d, p in ((10, 0.25), (10, 0.75), whole):
        theta = proportional_frequencies(d, b, share=p).numpy()
        cases.append({r"\theta": theta, "b": b, "d_k": d, "p": p, "i": range(d // 2)})
    return cases


def longest_score(rng):
    """Besides free vectors, a key along the rotated query reaches the bound, on either side."""
    values = {**page(rng), "r": int(rng.integers(2, 9))}
    along = values["q"] @ values[r"\mathbf{R}"](values["r"])
    return [values, *({**values, "k": length * along} for length in (-2, 0.3, 5))]


def by_hand(rng):
    return {r"\theta": rotary_frequencies(4, 100.0).numpy()}


test_sentences = sentences(
    "what-rope-encodes",
    first_index=0,
    where={
        "keeps lengths, so …": longest_score,
        "frequencies are …": by_hand,
        "some distance $, so …": looking_far,
    },
    equivalent={
        "keeps lengths, so …": {
            r"drop absolute value: \lvert q\mathbf{R}_rk^\top\rvert → (q\mathbf{R}_rk^\top)": (
                "Without the bars the left side is at most as large."
            ),
        },
    },
)(page)

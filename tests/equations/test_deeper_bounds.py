"""Deeper 12: bounds, odd parts and distances."""

import numpy as np

from bookcheck.equations.checks import equation, sentences
from shared import even
from shared_rotations import some_frequencies, turned_row
from shared_what_rope_encodes import D, contents, only, pairs


def sums(values, r):
    """All U_j from j = 0 on, and the products with a 0 behind the last."""
    steps = np.exp(1j * r * values[r"\theta"])
    return np.concatenate([[0], np.cumsum(steps)]), np.concatenate([values["h"], [0]])


@equation("eq-partial-sums", first_index=0)
def test_partial_sums(rng):
    d = even(rng, 6)
    values = contents(rng, d)
    r = int(rng.integers(2, 9))
    U, _ = sums(values, r)
    known = {"r": r, "d_k": d, "j": range(d // 2 + 1)}
    return {"U": U, r"\theta": values[r"\theta"], **known}


ZERO = "The term that is added or left out is 0."
SHIFTED = (
    "off by one: 0 → 1, before }^{d_k/2-1}h_iU_i",
    "off by one: 1 → 2, before }h_{",
    "drop one: -1 → ∅, before }h_iU_i",
    "bound off by one: {d_k/2-1} → {d_k/2-1+1}, before h_iU_i",
    "bound off by one: {d_k/2-1} → {d_k/2-1-1}, before h_{",
)
ABEL = dict.fromkeys(SHIFTED, ZERO)


@equation("eq-abel", first_index=0, equivalent=ABEL)
def test_abel(rng):
    cases = []
    for d in (D, D + 2, 2 * D):
        values = contents(rng, d)
        r = int(rng.integers(2, 9))
        U, h = sums(values, r)
        cases.append({"U": U, "h": h, r"\theta": values[r"\theta"], "r": r, "d_k": d})
    return cases


def with_score(values, theta):
    """The values, and the size of the score of the query that the library has turned."""
    turned = turned_row(values["q"], values["r"], theta)
    return {**values, "s": abs(turned @ values["k"])}


@equation(
    "eq-abel-bound", first_index=0, names={1: "s"}, symbols=r"q, k, \mathbf{R}, U, h, r, d_k, s"
)
def test_abel_bound(rng):
    """Besides free products: some for which one of the three sides is close to the next."""
    d = even(rng, 6)
    free = contents(rng, d)
    equal_steps = 2.5 * np.arange(d // 2, 0, -1.0)
    alternating = (-1.0) ** np.arange(d // 2)
    one_large_step = np.array([5.0, 1.0, *[0.5] * (d // 2 - 2)])
    chosen = (equal_steps, alternating, one_large_step, np.ones(d // 2))
    # All waves agree at distance 0; at the other one they nearly cancel.
    cancel = min(range(4, 400), key=lambda r: abs(sums(free, r)[0][-1]))
    cases = [(free, int(rng.integers(4, 9)))]
    for h, r in zip(chosen, (0, 0, 0, cancel), strict=True):
        q = np.repeat(h, 2) / 2
        cases.append(({**free, "q": q, "k": np.ones(d), "h": h.astype(complex)}, r))
    bound = []
    for values, r in cases:
        U, h = sums(values, r)
        known = {**only(values, "q", "k", r"\mathbf{R}"), "U": U, "h": h, "r": r, "d_k": d}
        bound.append(with_score(known, values[r"\theta"]))
    return bound


@equation("eq-trivial-bound", first_index=0, names={1: "s"})
def test_trivial_bound(rng):
    free = contents(rng)
    one_pair = contents(rng, 2)
    same = contents(rng)
    same["q"] = same["k"] = 5 * same["q"]
    same["h"] = np.abs(pairs(same["q"])) ** 2
    long_key = {**free, "k": 6 * free["k"], "h": 6 * free["h"]}
    other = [(contents(rng, D + 2), 4, D + 2)]
    cases = []
    for values, r, d_k in ((free, 3, D), (long_key, 0, D), (one_pair, 2, 2), (same, 0, D), *other):
        known = {**only(values, "q", "k", "h", r"\mathbf{R}"), "r": r, "d_k": d_k}
        cases.append(with_score(known, values[r"\theta"]))
    return cases


RATIO = (
    r"bound off by one: {d_k/2-1} → {d_k/2-1+1}, before \lvert",
    "bound off by one: {d_k/2-1} → {d_k/2-1+1}, before (",
    r"drop one: -1 → ∅, before }\lvert",
    "drop one: -1 → ∅, before }(",
)


@equation("eq-abel-ratio", first_index=0, equivalent=dict.fromkeys(RATIO, ZERO))
def test_abel_ratio(rng):
    pairs, step = int(rng.integers(3, 7)), float(rng.uniform(0.3, 2))
    free = np.concatenate([rng.normal(size=pairs) + 1j * rng.normal(size=pairs), [0]])
    even = step * np.arange(pairs, -1, -1.0)  # falls in equal steps: equality
    return [{"h": h, "D": np.abs(np.diff(h)).max(), "d_k": 2 * pairs} for h in (free, even)]


@equation("eq-odd-part", first_index=0)
def test_odd_part(rng):
    names = ("q", "k", "h", r"\theta", r"\mathbf{R}", "d_k")
    return {**only(contents(rng, even(rng, 6)), *names), "r": range(1, 6)}


EVEN = {"turn difference: n-m → m-n": "A squared sine is even."}


@equation("eq-rope-distance", first_index=0, equivalent=EVEN)
def test_rope_distance(rng):
    values = only(contents(rng, even(rng, 6)), "q", "z", r"\theta", r"\mathbf{R}", "d_k")
    return {**values, "u": values["q"], "m": range(4), "n": range(2, 6)}


def bindings(rng, P=None):
    """Products h_0 … h_P with h_P = 0, their largest step D, and the sums U_0 … U_P of waves."""
    P = P or int(rng.integers(3, 7))
    _, theta = some_frequencies(rng, 2 * P)
    r = int(rng.integers(2, 9))
    U = np.concatenate([[0], np.cumsum(np.exp(1j * r * theta.numpy()))])
    h = np.concatenate([rng.normal(size=P) + 1j * rng.normal(size=P), [0]])
    steps = {"h": h, "D": np.abs(np.diff(h)).max(), "U": U}
    return {**steps, r"\theta": theta.numpy(), "r": r, "d_k": 2 * P, "i": range(P)}


def equal_steps(rng):
    """Products that fall to 0 in equal steps: the case of equality."""
    step, P = float(rng.uniform(0.3, 2)), int(rng.integers(3, 7))
    return {"h": step * np.arange(P, -1, -1.0), "D": step, "d_k": 2 * P, "i": range(P)}


test_sentences = sentences(
    "deeper/bounds",
    first_index=0,
    where={
        "Let … ,": None,
        "old first term has …": None,
        "from $ on, …": lambda rng: [{}, equal_steps(rng)],
        "steps to 0, …": equal_steps,
    },
)(bindings)

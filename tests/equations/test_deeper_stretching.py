"""Deeper 15: the equations of the page, executed against the library where it has them."""

import math

import numpy as np
import torch

from attention_to_rope import rotary_frequencies, rotary_table, rotate, softmax
from attention_to_rope.context_extension import (
    dynamic_ntk,
    longrope_attention_factor,
    ntk_aware,
    ntk_by_parts,
    position_interpolation,
    yarn_attention_factor,
)
from bookcheck.equations.checks import equation, sentences
from shared import even, every, tensor
from shared_deriving_rope import complex_turn
from shared_longer_contexts import (
    ALPHA,
    BETA,
    PAIRS,
    THETA,
    L,
    by_parts,
    scale,
    stretch,
)


@equation("eq-last-full-pair")
def test_last_full_pair(rng):
    base, length = float(rng.uniform(50, 5000)), int(rng.integers(20, 900))
    d_k = even(rng, 12)
    border = math.log(length / (2 * math.pi), base) * d_k / 2
    return {"i^*": border, "d_k": d_k, "L_0": length, "b": base}


def head(rng):
    """A query and a key, and their score at each distance as the library rotates them."""
    d_k = even(rng, 12)
    q, k = rng.normal(size=(2, d_k))
    pairs = range(d_k // 2)
    a = np.array([q[2 * i] * k[2 * i] + q[2 * i + 1] * k[2 * i + 1] for i in pairs])
    c = np.array([q[2 * i] * k[2 * i + 1] - q[2 * i + 1] * k[2 * i] for i in pairs])
    theta = rotary_frequencies(d_k, float(rng.uniform(500, 2000)))

    def turned(x, position):
        table = rotary_table(torch.tensor([position]), theta, dtype=torch.float64)
        return rotate(torch.from_numpy(x)[None], table, layout="interleaved")[0].numpy()

    def score(distance):
        return float(turned(q, 3 + int(distance)) @ turned(k, 3))

    return q, k, a, c, theta, score


@equation("eq-head-score", first_index=0, equivalent=every("r"))
def test_head_score(rng):
    _, _, a, c, theta, score = head(rng)
    distances = {"r": int(rng.integers(5, 200)), "d_k": 2 * len(theta)}
    return {"h": score, "a": a, "c": c, r"\theta": theta.numpy(), **distances}


@equation("eq-head-coefficients", first_index=0)
def test_head_coefficients(rng):
    q, k, *_ = head(rng)
    pairs_q, pairs_k = (x[0::2] + 1j * x[1::2] for x in (q, k))
    product = pairs_q.conj() * pairs_k
    return {"q": q, "k": k, "a": product.real, "c": product.imag, "i": range(len(product))}


def waves(a, c, theta):
    return lambda x: float((a * np.cos(x * theta) + c * np.sin(x * theta)).sum())


WEAKER = "Without the bars the bound says less, and is true."
ERROR = "h(x)-(1-u)h(r)-uh(r+1)"
WAVE = r"a_i\cos(x\theta_i)+c_i\sin(x\theta_i)"


def bars(inside):
    return {rf"drop absolute value: \lvert {inside}\rvert → ({inside})": WEAKER}


@equation(
    "eq-interpolation-bound",
    first_index=0,
    equivalent=bars(ERROR),
    fixed={"x": "The sentence before it says x = r + u."},
)
def test_interpolation_bound(rng):
    pairs = int(rng.integers(4, 9))
    (a, c), theta = rng.normal(size=(2, pairs)), rng.uniform(0.05, 1, size=pairs)
    r, u = int(rng.integers(3, 50)), float(rng.uniform(0.2, 0.8))
    draws = [
        (a, c, theta, r, u),
        *((a, c, theta, r, end) for end in (0.0, 1.0)),
    ]  # there both sides are 0
    # A wave with its top between r and r + 1 reaches the bound up to terms of fourth order.
    for u, angle in ((0.5, 0.03), (0.31, 0.03), (0.72, 0.03), (0.5, 1.3)):
        slow = np.full(pairs, angle)
        phase = (r + 0.5) * slow
        for sign in (1, -1):
            draws.append((sign * 2.5 * np.cos(phase), sign * 2.5 * np.sin(phase), slow, r, u))
    return [
        {
            "h": waves(a, c, theta),
            "x": r + u,
            "r": r,
            "u": u,
            r"\rho": np.hypot(a, c),
            r"\theta": theta,
            "d_k": 2 * pairs,
        }
        for a, c, theta, r, u in draws
    ]


def between(rng):
    """Waves, the error of the straight line at x, and by a search the ξ that is known to exist."""
    from scipy.optimize import brentq

    pairs, r = int(rng.integers(1, 5)), int(rng.integers(2, 9))
    (a, c), theta = rng.normal(size=(2, pairs)), rng.uniform(0.05, 1, size=pairs)
    h, bent = waves(a, c, theta), waves(-a * theta**2, -c * theta**2, theta)

    def error(y):
        return h(y) - (r + 1 - y) * h(r) - (y - r) * h(r + 1)

    u = float(rng.uniform(0.1, 0.9))
    eta = error(r + u) / (u * (1 - u))
    places = np.linspace(r, r + 1, 2000)
    signs = np.sign([bent(y) + 2 * eta for y in places])
    first = int(np.flatnonzero(signs[1:] != signs[:-1])[0])
    xi = brentq(lambda y: bent(y) + 2 * eta, places[first], places[first + 1], xtol=1e-15)
    assert r < xi < r + 1
    return {"h": h, "h''": bent, "e": error, "x": r + u, "u": u, r"\eta": eta, r"\xi": xi}


test_rolle = equation("eq-rolle")(between)


@equation("eq-wave-curvature", first_index=0, names={1: "b_i"})
def test_wave_curvature(rng):
    """The second derivatives of the waves of the library's angles, by autograd."""
    a, c = rng.normal(size=(2, PAIRS))
    theta = rng.uniform(0.2, 1, size=PAIRS)
    x = float(rng.uniform(1, 9))

    def wave(y):
        angles = y * tensor(theta)
        return tensor(a) * angles.cos() + tensor(c) * angles.sin()

    def slopes(y):
        return torch.autograd.functional.jacobian(wave, y, create_graph=True)

    b = torch.autograd.functional.jacobian(slopes, torch.tensor(x, dtype=torch.float64)).numpy()
    return {"a": a, "c": c, r"\theta": theta, "x": x, "b": b, "i": range(PAIRS)}


@equation(
    "eq-wave-amplitude", first_index=0, equivalent=bars(WAVE), symbols=r"a, c, \theta, x, \rho, i"
)
def test_wave_amplitude(rng):
    a, c = rng.normal(size=(2, PAIRS))
    theta, x = rng.uniform(0.2, 1, size=PAIRS), float(rng.uniform(1, 9))
    general = {"a": a, "c": c, r"\theta": theta, "x": x}
    # Just beside the top of every wave both sides are nearly equal; at the top they are equal.
    beside, at = (
        {"a": 2 * np.cos(p), "c": 2 * np.sin(p), r"\theta": theta, "x": x}
        for p in (x * theta + 1e-3, x * theta)
    )
    return [
        {**draw, r"\rho": np.hypot(draw["a"], draw["c"]), "i": range(PAIRS)}
        for draw in (general, beside, at)
    ]


@equation("eq-ntk-base")
def test_ntk_base(rng):
    s = scale(rng)
    b, d_k = float(rng.uniform(500, 2000)), even(rng, 12)
    # The base that the library's frequencies have: the second pair is base^(-2/d).
    base = float(ntk_aware(rotary_frequencies(d_k, b), s)[1]) ** (-d_k / 2)
    return {"b'": base, "b": b, "s": s, "d_k": d_k}


@equation("eq-by-parts-stretch", first_index=0)
def test_by_parts_stretch(rng):
    s = scale(rng)
    turns = L * THETA.numpy() / (2 * math.pi)
    gamma = np.clip((turns - ALPHA) / (BETA - ALPHA), 0, 1)
    known = {"s": s, "i": range(PAIRS)}
    return {r"\kappa": stretch(by_parts(s)), r"\gamma": gamma, **known}


@equation("eq-stretch-limits", first_index=0, names={1: r"\kappa_i"})
def test_stretch_limits(rng):
    draws = []
    for s in (scale(rng), 1.0, 1.0 + 1e-6, 1e6):
        theta = THETA.numpy()
        changed = by_parts(s)
        gamma = np.clip((L * theta / (2 * math.pi) - ALPHA) / (BETA - ALPHA), 0, 1)
        inside = np.flatnonzero(gamma > 0)  # 1/γ needs γ > 0
        known = {"s": s, "i": range(len(inside))}
        draws.append({r"\kappa": stretch(changed)[inside], r"\gamma": gamma[inside], **known})
    return draws


@equation("eq-dynamic-at-target", names={1: "s_L"})
def test_dynamic_at_target(rng):
    """The scale that the slowest pair of the library's dynamic NTK has at s times the length."""
    start = int(rng.integers(200, 900))
    target = int(rng.integers(2 * start, 7 * start))
    s = target / start
    changed = dynamic_ntk(THETA, s, length=target, original_length=start)
    return {"s": s, "L_0": start, "s_L": float(THETA[-1] / changed[-1])}


@equation("eq-leader-factor", names={2: "A"})
def test_leader_factor(rng):
    """The library's weight of a key that leads N others, before they are s N."""
    s, lead, others = scale(rng), float(rng.uniform(2, 6)), int(rng.integers(9, 99))
    scores = torch.zeros(1 + others, dtype=torch.float64)
    scores[0] = lead
    A = float(softmax(scores)[0])
    return {"s": s, r"\Delta": lead, "N": others, "f": (lead + math.log(s)) / lead, "A": A}


@equation("eq-longrope-factor", symbols=r"s, L_0, \mu")
def test_longrope_factor(rng):
    s, length = scale(rng), int(rng.integers(200, 900))
    return {"s": s, "L_0": length, r"\mu": longrope_attention_factor(s, length)}


@equation("eq-two-mscales")
def test_two_mscales(rng):
    mu_a, mu_c, d = float(rng.uniform(1.1, 2)), float(rng.uniform(1.1, 2)), even(rng, 6)
    # What the page wants: a rotated part grows by μ_A², an unrotated one by μ_C².
    score = 1 / math.sqrt(d)
    symbols = {r"\mu_A": mu_a, r"\mu_C": mu_c, "d_k": d, r"\sigma": mu_c**2 * score}
    return {**symbols, r"\mu_{\text{table}}": math.sqrt(mu_a**2 * score / symbols[r"\sigma"])}


@equation("eq-short-base", first_index=0)
def test_short_base(rng):
    s = scale(rng)
    b, d_k = float(rng.uniform(500, 2000)), even(rng, 12)
    factors = (rotary_frequencies(d_k, b) / rotary_frequencies(d_k, b * s)).numpy()
    return {r"\kappa": factors, "s": s, "d_k": d_k}


def bindings(rng):
    """YaRN's factor, and the frequencies of some base."""
    s, b = float(rng.uniform(2, 9)), float(rng.uniform(50, 5000))
    theta = rotary_frequencies(16, b).numpy()
    return {"s": s, r"\mu": yarn_attention_factor(s), r"\theta": theta, "b": b}


def grown(rng):
    """The scale of dynamic NTK before, at and beyond the training length, from the slowest pair."""
    s, start, cases = scale(rng), int(rng.integers(200, 400)), []
    for current in (start // 2, start, 2 * start + 17):
        changed = dynamic_ntk(THETA, s, length=current, original_length=start)
        found = float(THETA[-1] / changed[-1])
        cases.append({"L_0": start, "L": current, "s": s, "s_L": found})
    return cases


def two_factors(rng):
    """What the page wants: rotated parts grow by μ_A², others by μ_C²."""
    mu_a, mu_c = rng.uniform(1.1, 2, size=2)
    on_table = math.sqrt(mu_a**2 / mu_c**2)
    return {r"\mu_A": mu_a, r"\mu_C": mu_c, r"\mu_{\text{table}}": on_table}


def unchanged(rng):
    """One of the methods, with the scale 1."""
    theta = rotary_frequencies(16, float(rng.uniform(50, 5000)))
    changed = [
        position_interpolation(theta, 1.0),
        ntk_aware(theta, 1.0),
        ntk_by_parts(theta, 1.0, original_length=300),
    ][int(rng.integers(3))]
    return {r"\kappa": (theta / changed).numpy(), "i": range(8)}


def second_derivative(rng):
    """Of a sum of waves, anywhere, and where all of them are at their crest: the bound is met."""
    theta = rotary_frequencies(8, 20.0).numpy()
    rho, phases = rng.uniform(0.5, 2, size=4), rng.uniform(0, 6, size=4)

    def bent(phases):
        return lambda x: -float(rho @ (theta**2 * np.cos(theta * x + phases)))

    waves = {r"\rho": rho, r"\theta": theta}
    crest = {"h''": bent(np.zeros(4)), r"\xi": 0.0, **waves}
    return [{"h''": bent(phases), r"\xi": rng.uniform(0, 9), **waves}, crest]


@equation("eq-cached-angle", names={1: r"\delta"})
def test_cached_angle(rng):
    """The angle from a query to a key of the slowest pair that the library turned before."""
    m, n = int(rng.integers(500, 600)), int(rng.integers(310, 400))
    late, early = (
        float(dynamic_ntk(THETA, 2.5, length=length + 1, original_length=L)[-1])
        for length in (m, n)
    )
    query = complex_turn(late)(m, 1)
    key = complex_turn(early)(n, 1)
    delta = float(np.angle(np.conj(query) * key))
    return {"m": m, "n": n, r"\theta'": late, r"\theta''": early, r"\delta": delta}


test_sentences = sentences(
    "deeper/stretching",
    first_index=0,
    where={
        "derivative, so …": between,
        "So … ,": second_derivative,
        ": all give …": unchanged,
        "score grows by …": two_factors,
        "not affected: …": grown,
    },
    fixed={
        "factor on the scores is …": {r"\mu": "It is YaRN's factor."},
        "score grows by …": {r"\mu_A": "This is how the sentence chooses the table's factor."},
    },
)(bindings)

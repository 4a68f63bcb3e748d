"""The chapter: the equations of the page, executed against the library where it has them."""

from inspect import signature

import numpy as np
import torch

from attention_to_rope import alibi_bias, alibi_slopes, causal_mask, relative_positions, t5_bucket
from attention_to_rope.relative import shaw_scores
from bookcheck.equations.checks import equation, sentences
from bookkit.trained.query_bias import query_bias
from shared import library_scores, library_weights, sizes, tensor

N, RHO_MAX = 7, 2
AT = torch.arange(N)
OFFSETS = relative_positions(AT, AT).numpy()


def page(rng):
    """Tokens, queries, keys and a number for each offset; S has the bias of these numbers."""
    (d_k,) = sizes(rng, 3)
    x, (W_Q, W_K) = rng.normal(size=(N, 4)), rng.normal(size=(2, 4, d_k))
    q, k, numbers = x @ W_Q, x @ W_K, rng.normal(size=2 * N - 1)
    B = numbers[OFFSETS + N - 1]

    def b(offset):
        return numbers[int(offset) + N - 1]

    def g(one, other, offset):
        return one @ W_Q @ (other @ W_K) / d_k**0.5 + b(offset)

    symbols = {"x": x, "q": q, "k": k, "B": B, "b": b, "g": g, "S": library_scores(q, k, B)}
    return {**symbols, "d_k": d_k, r"\rho_{\max}": RHO_MAX, "m": range(N), "n": range(N)}


def alibi(slope):
    """The library's bias of one head."""
    return alibi_bias(torch.tensor([slope], dtype=torch.float64), AT, AT)[0].numpy()


def earlier(rng):
    """A slope, and for every query all keys up to it."""
    slope = float(rng.uniform(0.2, 2))
    values = {**page(rng), "B": alibi(slope), "s": slope}
    return [{**values, "m": m, "n": range(m + 1)} for m in range(1, N)]


test_relative_goal = equation("eq-relative-goal", first_index=0, symbols="x, g, S, m, n")(page)
test_relative_bias = equation(
    "eq-relative-bias", first_index=0, symbols="q, k, B, b, S, d_k, m, n"
)(page)
test_alibi_appended = equation(
    "eq-alibi-appended",
    first_index=0,
    fixed={"n": "The sentence before it says n ≤ m."},
    symbols="B, m, n, s",
)(earlier)


SAME = {r"strictness: < → \le": "At r = n_e both lines give n_e."}


@equation(
    "eq-t5-bucket", equivalent=SAME, fixed={"n_e": "The sentence before it says n_e = n_b / 2."}
)
def test_t5_bucket(rng):
    cases = []
    for n_b, farthest, exact in ((32, 128, 16), (12, 50, 6), (20, 90, 10)):

        def bucket(r, n_b=n_b, farthest=farthest):
            options = {"bidirectional": False, "buckets": n_b, "max_distance": farthest}
            return int(t5_bucket(-torch.tensor([int(r)]), **options))

        scale = {"n_b": n_b, "n_e": exact, r"r_{\max}": farthest}
        distances = (*range(30), 47, 51, 65, 127, 300)
        cases += [{"r": r, r"\operatorname{bucket}": bucket, **scale} for r in distances]
    return cases


@equation("eq-alibi-slopes", first_index=0)
def test_alibi_slopes(rng):
    values, h = page(rng), int(rng.choice([2, 4, 8]))
    slopes = alibi_slopes(h).tolist()
    scores = [library_scores(values["q"], values["k"], alibi(slope)) for slope in slopes]
    heads = zip(range(1, h + 1), slopes, scores, strict=True)
    return [{**values, "h": h, "j": j, "s": {j: s}.__getitem__, "S": S} for j, s, S in heads]


NO_LATER_KEY = {"n": "The sum says n ≤ m; the other weights are 0."}


@equation("eq-alibi-key", first_index=0, names={1: "A_{mn}"}, fixed=NO_LATER_KEY)
def test_alibi_key(rng):
    """Both sides are the weights of the library's causal attention with the full bias."""
    cases = earlier(rng)
    # Small scores, so that the least weight is no rounding error of the others.
    q = cases[0]["q"] / 3
    k = cases[0]["k"] / 3
    B = cases[0]["B"]
    S = library_scores(q, k)
    A = library_weights(q, k, B, causal_mask(N))
    return [{**case, "S": S, "A": A} for case in cases]


@equation("eq-shaw", first_index=0)
def test_shaw(rng):
    values, farthest = page(rng), int(rng.integers(1, 5))
    a = rng.normal(size=(2 * farthest + 1, values["d_k"]))
    q, k, table = (tensor(x) for x in (values["q"], values["k"], a))
    rho = OFFSETS.clip(-farthest, farthest)
    functions = {
        "a": lambda offset: a[int(offset) + farthest],
        r"\rho": lambda m, n: int(rho[int(m), int(n)]),
    }
    S = shaw_scores(q, k, torch.from_numpy(OFFSETS), table).numpy()
    return {**values, "S": S, r"\rho_{\max}": farthest, **functions}


def inkling_scores(q, k, features, vectors):
    """Scores pair by pair, with a loop; the bias of `bookkit` has to be the same."""
    S = q @ k.T / q.shape[1]
    for m in range(len(q)):
        for n in range(m + 1):
            if m - n < len(vectors):
                S[m, n] += features[m] @ vectors[m - n]
    profiles = tensor(vectors.T[None])  # (heads, features, reach)
    bias = query_bias(tensor(features[None, None]), profiles, len(k))[0, 0].numpy()
    causal = np.tril(np.ones_like(S))
    np.testing.assert_allclose(causal * (S - q @ k.T / q.shape[1]), bias, atol=1e-12)
    return S


@equation("eq-query-bias", first_index=0)
def test_query_bias(rng):
    values = page(rng)
    features = rng.normal(size=(N, 5))
    vectors = rng.normal(size=(RHO_MAX, 5))
    beyond = np.zeros(5)
    S = inkling_scores(values["q"], values["k"], features, vectors)

    def a(distance):
        return vectors[int(distance)] if 0 <= distance < RHO_MAX else beyond

    return {**values, "S": S, "r": features, "a": a}


def scale_of_t5(rng):
    """What the library does if nobody says otherwise."""
    defaults = signature(t5_bucket).parameters
    return {"n_b": defaults["buckets"].default, r"r_{\max}": defaults["max_distance"].default}


test_sentences = sentences(
    "relative-positions",
    first_index=0,
    where={"uses all … buckets": scale_of_t5, "up to … .": scale_of_t5},
)(lambda rng: earlier(rng)[int(rng.integers(1, N - 1))])

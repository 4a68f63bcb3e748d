"""Fewer scores: patterns, an indexer and sinks, against the library."""

import torch
from scipy.special import expit

from attention_to_rope import (
    MultiHeadAttention,
    attention,
    sink_gate,
    sliding_window_mask,
)
from bookcheck.equations.checks import equation, sentences
from shared import sizes
from shared_fewer_scores import index_scores, window

SIZE, D_V = 5, 4


def tokens(rng, *shape):
    return torch.from_numpy(rng.normal(size=shape))


@equation("eq-reach-pairs", names={1: "P"})
def test_reach_pairs(rng):
    """The pairs that the library's mask leaves."""
    values = window(rng)
    return {"N": values["N"], "W": values["W"], "P": int(values["M"].sum())}


@equation("eq-reach-depth", symbols="N, W, L")
def test_reach_depth(rng):
    def deepest(N, W):
        mask, reached, depth = sliding_window_mask(N, window=W).double(), torch.eye(N)[-1], 0
        while not reached[0]:
            reached, depth = reached.double() @ mask, depth + 1
        return depth

    N, W = int(rng.integers(7, 30)), int(rng.integers(3, 6))
    exact = 5 * (W - 1) + 1
    # A wide window too: there the window and the depth cannot be taken for each other.
    pairs = [(N, W), (exact, W), (exact + 1, W), (N, N // 2 + 1)]
    return [{"N": n, "W": w, "L": deepest(n, w)} for n, w in pairs]


@equation("eq-sparse-indexer", first_index=1)
def test_sparse_indexer(rng):
    """Against the function that is held to the keys which DeepSeek-V3.2's own code selects."""
    N, keys, heads = sizes(rng, 4, 5, 3)
    a, q, k = tokens(rng, N, heads), tokens(rng, N, heads, 2), tokens(rng, keys, 2)
    places = {"m": range(1, N + 1), "n": range(1, keys + 1), "h_I": heads}
    return {"I": index_scores(q, k, a), "a": a, "q": q, "k": k, **places}


def sink(rng):
    """One query whose scores are given, so that the library's sink can be compared."""
    (N,) = sizes(rng, 5)
    scores, values = tokens(rng, N) * 2, tokens(rng, N, D_V)
    s, v, one = scores[None, :, None], values[None], torch.ones(1, 1, 1, dtype=torch.float64)
    b, lam = tokens(rng, 1), scores.logsumexp(0)
    o = attention(one, s, v, scale=1.0)
    gated = sink_gate(lam[None, None], b)[..., None] * o
    sunk = attention(one, s, v, sink=b.view(1, 1, 1), scale=1.0)
    assert torch.allclose(gated, sunk, rtol=0, atol=1e-12)
    named = {"s": scores, "v": values, "N": N, "b": b.item(), "o": o[0, 0], "y": sunk[0, 0]}
    return {**named, r"\lambda": lam.item(), r"\sigma": expit}


# y is what the library's attention with this sink gives.
test_sink_as_gate = equation("eq-sink-as-gate", first_index=0, names={1: "y"})(sink)


@equation("eq-output-gate", first_index=0)
def test_output_gate(rng):
    """The library's gated heads; o is what they give without W^O and without a gate."""
    layer = MultiHeadAttention(6, 2, bias=False, gate=True, seed=int(rng.integers(99))).double()
    x = tokens(rng, 1, SIZE, 6)
    with torch.no_grad():
        W_G, W_O, y = layer.gate.W.clone(), layer.output.W.detach(), layer(x)[0]
        layer.gate.W.zero_()
        o = 2 * layer(x)[0] @ torch.linalg.inv(W_O)
    named = {"y": y, "o": o, "x": x[0], "W^G": W_G, "W^O": W_O, r"\sigma": expit}
    return {**named, "m": range(SIZE)}


def page(rng):
    values = sink(rng)
    return {**values, "m": range(values["N"]), "n": range(values["N"])}


def window_within(rng):
    """A window smaller than the text, and one as large."""
    N = int(rng.integers(5, 12))
    return [{"N": N, "W": W} for W in (3, N)]


def equal_scores(rng):
    N = int(rng.integers(2, 9))
    return {"N": N, r"\lambda": torch.zeros(N, dtype=torch.float64).logsumexp(0).item()}


test_sentences = sentences(
    "fewer-scores",
    first_index=0,
    where={
        "are 0, then …": equal_scores,
        "For … this leaves": window_within,
    },
)(page)

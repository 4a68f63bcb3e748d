"""Chapter 17: patterns, fixed states and sinks, against the library."""

import numpy as np
import torch
from scipy.special import expit

from attention_to_rope import (
    MultiHeadAttention,
    attention,
    sink_gate,
    sliding_window_mask,
)
from attention_to_rope.recurrent_attention import delta_rule_steps, linear_attention_steps
from bookcheck.equations.checks import equation, sentences
from shared_beyond_softmax import index_scores, window

SIZE, D_K, D_V = 5, 3, 4


def tokens(rng, *shape):
    return torch.from_numpy(rng.normal(size=shape))


@equation("eq-reach-pairs")
def test_reach_pairs(rng):
    values = window(rng)
    N, W = values["N"], values["W"]
    assert values["M"].sum() == N * W - W * (W - 1) / 2
    return {"N": N, "W": W}


@equation("eq-reach-depth")
def test_reach_depth(rng):
    def deepest(N, W):
        mask, reached, depth = sliding_window_mask(N, window=W).double(), torch.eye(N)[-1], 0
        while not reached[0]:
            reached, depth = reached.double() @ mask, depth + 1
        return depth

    N, W = int(rng.integers(7, 30)), int(rng.integers(3, 6))
    exact = 5 * (W - 1) + 1
    return [{"N": n, "W": W, "L": deepest(n, W)} for n in (N, exact, exact + 1)]


@equation("eq-sparse-indexer", first_index=1)
def test_sparse_indexer(rng):
    """Against the function that is held to the keys which DeepSeek-V3.2's own code selects."""
    a, q, k = tokens(rng, 4, 3), tokens(rng, 4, 3, 2), tokens(rng, 5, 2)
    places = {"m": range(1, 5), "n": range(1, 6), "h_I": 3}
    return {"I": index_scores(q, k, a), "a": a, "q": q, "k": k, **places}


def state(rng, steps=linear_attention_steps, beta=None):
    """Tokens 1, 2, … and the library's states after them; before the first the state is 0."""
    q, k, v = tokens(rng, SIZE, D_K), tokens(rng, SIZE, D_K), tokens(rng, SIZE, D_V)
    rates = () if beta is None else (beta,)
    after = [
        steps(q[:n], k[:n], v[:n], *(rate[:n] for rate in rates))[1] for n in range(1, SIZE + 1)
    ]
    named = {"q": q, "k": k, "v": v, "o": steps(q, k, v, *rates)[0], r"\beta": beta}
    named = {name: x for name, x in named.items() if x is not None}
    # There is no token 0: a formula that uses it is wrong.
    named = {name: np.concatenate([x[:1] + 9, x]) for name, x in named.items()}
    return {**named, "C": np.stack([0 * after[0], *after]), "n": range(1, SIZE + 1)}


test_linear_state = equation("eq-linear-state", first_index=0)(state)


@equation("eq-delta-rule", first_index=0)
def test_delta_rule(rng):
    return state(rng, delta_rule_steps, torch.from_numpy(rng.uniform(0.2, 0.9, size=SIZE)))


def sink(rng):
    """One query whose scores are given, so that the library's sink can be compared."""
    scores, values = tokens(rng, 7) * 2, tokens(rng, 7, D_V)
    s, v, one = scores[None, :, None], values[None], torch.ones(1, 1, 1, dtype=torch.float64)
    b, lam = tokens(rng, 1), scores.logsumexp(0)
    o = attention(one, s, v, scale=1.0)
    gated = sink_gate(lam[None, None], b)[..., None] * o
    sunk = attention(one, s, v, sink=b.view(1, 1, 1), scale=1.0)
    assert torch.allclose(gated, sunk, rtol=0, atol=1e-12)
    named = {"s": scores, "v": values, "N": 7, "b": b.item(), "o": o[0, 0]}
    return {**named, r"\lambda": lam.item(), r"\sigma": expit}


test_sink_as_gate = equation("eq-sink-as-gate", first_index=0)(sink)


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
    q, k, c, C = (tokens(rng, *shape) for shape in ((7, D_K), (7, D_K), (7,), (D_K, D_V)))
    places = {"m": range(7), "n": range(7), "q": q, "k": k}
    return {**sink(rng), **places, "c": c, "C": C, r"\tilde{k}": c @ k}


def equal_scores(rng):
    N = int(rng.integers(2, 9))
    return {"N": N, r"\lambda": torch.zeros(N, dtype=torch.float64).logsumexp(0).item()}


def overwritten(rng):
    """At rate 1, reading with the last key, of length 1, gives the last value."""
    k, v, beta = tokens(rng, SIZE, D_K), tokens(rng, SIZE, D_V), torch.ones(SIZE)
    k /= k.norm(dim=-1, keepdim=True)
    assert torch.allclose(delta_rule_steps(k, k, v, beta)[0][-1], v[-1], rtol=0, atol=1e-12)
    return {r"\beta_n": beta[-1].item()}


test_sentences = sentences(
    "beyond-softmax",
    first_index=0,
    where={
        "are 0, then …": equal_scores,
        "say …": page,
        "For … this leaves": lambda rng: [{"N": 7, "W": W} for W in (3, 7)],
        "With … and a key": overwritten,
    },
)(page)

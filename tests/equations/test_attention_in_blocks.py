"""The chapter: online softmax and its backward pass, executed against the library."""

import numpy as np
import torch

from attention_to_rope import attention
from attention_to_rope.merge import (
    Partial,
    finish,
    log_total,
    merge,
    partial_attention,
    partial_gradients,
)
from bookcheck.equations.checks import depends, equation, sentences
from shared import sizes

ONE = torch.ones(1, 1, dtype=torch.float64)


def keys(rng, *names):
    """One query and some keys in two sets: the states of both and of all, by the library."""
    N, a, d_v = sizes(rng, 8, 2, 3)
    s, v = rng.normal(scale=2, size=N), rng.normal(size=(N, d_v))
    keys, values = torch.from_numpy(s)[:, None], torch.from_numpy(v)
    first, second = (
        partial_attention(ONE, keys[part], values[part], scale=1.0)
        for part in (slice(a), slice(a, N))
    )
    found = {"s": s, "v": v, "a": a, "N": N}
    for end, state in (("_1", first), ("_2", second), ("", merge(first, second))):
        c, total, u = (part[0].numpy() for part in state)
        found |= {f"c{end}": c[0], rf"\ell{end}": total[0], f"u{end}": u}
        found |= {rf"\lambda{end}": log_total(state).item(), f"o{end}": finish(state)[0].numpy()}
    found["o"] = attention(ONE, keys, values, scale=1.0)[0].numpy()
    return {name: found[name] for name in names}


@equation("eq-online-state", first_index=0)
def test_online_state(rng):
    return keys(rng, "s", "v", "N", "c", r"\ell", "u")


@equation("eq-online-output", first_index=0)
def test_online_output(rng):
    return keys(rng, "s", "v", "N", r"\ell", "u", "o")


@equation("eq-online-merge")
def test_online_merge(rng):
    names = [f"{name}{end}" for name in ("c", r"\ell", "u") for end in ("", "_1", "_2")]
    drawn = keys(rng, *names)
    # The other set has the larger maximum.
    other = {name: drawn[name.translate({49: "2", 50: "1"})] for name in names}
    return [drawn, other]


EMPTY = {
    "exchange everywhere: a ↔ N": "The first sum then has all scores, and the second has none."
}


LARGER = {"c": "The sentence before it says that it is the larger of the two maxima."}


@equation("eq-online-merge-proof", first_index=0, equivalent=EMPTY, fixed=LARGER)
def test_online_merge_proof(rng):
    return keys(rng, "s", "a", "N", "c", "c_1", "c_2", r"\ell", r"\ell_1", r"\ell_2")


@equation("eq-online-backward", first_index=0)
def test_online_backward(rng):
    N, d_v = sizes(rng, 4, 3)
    g, v = rng.normal(size=(2, N, d_v))
    S = rng.normal(size=(N, N))

    def loss(scores):
        powers = torch.as_tensor(scores).exp()
        weights = powers / powers.sum(-1, keepdim=True)
        return (torch.as_tensor(g) * (weights @ torch.as_tensor(v))).sum()

    # Unit vectors as keys make the queries the scores.
    unit = torch.eye(N, dtype=torch.float64)
    three = torch.from_numpy(S), unit, torch.from_numpy(v)
    o, logs = attention(*three, scale=1.0), log_total(partial_attention(*three, scale=1.0))
    share = (torch.from_numpy(g) * o).sum(-1, keepdim=True)
    ours = partial_gradients(*three, logs, torch.from_numpy(g), share, scale=1.0).scores.numpy()
    slope = torch.autograd.functional.jacobian(loss, torch.from_numpy(S)).numpy()
    assert np.allclose(ours, slope, rtol=0, atol=1e-12)
    every = {"m": range(N), "n": range(N)}
    values = {"S": S, r"\mathcal{L}": depends("S", loss), "g": g, "v": v, "o": o.numpy()}
    return {**values, r"\lambda": logs[:, 0].numpy(), "D": share[:, 0].numpy(), **every}


@equation("eq-online-logsum")
def test_online_logsum(rng):
    names = [f"{name}{end}" for name in (r"\lambda", "o") for end in ("", "_1", "_2")]
    return keys(rng, *names)


def weights(rng):
    """Scores, weights and logarithms of sums of three queries."""
    S = torch.from_numpy(rng.normal(size=(3, 5)))
    logs = S.logsumexp(-1).numpy()
    every = {"m": range(3), "n": range(5)}
    return {"S": S.numpy(), "A": S.softmax(-1).numpy(), r"\lambda": logs, **every}


def merged_by_hand(rng):
    """The two states of the exercise, merged by the library."""
    del rng
    states = {"_1": [2.0, 1.5, 3.0], "_2": [2.0 + np.log(4), 2.0, 1.0]}
    parts = [Partial(*torch.tensor(state, dtype=torch.float64)) for state in states.values()]
    states[""] = [float(one) for one in merge(*parts)]
    names = ("c", r"\ell", "u")
    return {
        f"{n}{end}": x for end, state in states.items() for n, x in zip(names, state, strict=True)
    }


@sentences(
    "attention-in-blocks",
    first_index=0,
    where={
        "because …": weights,
        "a quarter: … and": merged_by_hand,
        "a quarter: $ and …": merged_by_hand,
    },
    numbers={
        "a quarter: … and": r"\ell_1, e^{c_2 - c_1}, \ell_2",
        "a quarter: $ and …": "u_1, e^{c_2 - c_1}, u_2",
    },
)
def test_sentences(rng):
    return keys(rng, "c", r"\ell", r"\lambda")

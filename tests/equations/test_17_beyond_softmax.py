"""Chapter 17: patterns, fixed states and sinks, against the library."""

import itertools

import numpy as np
import torch

from attention_to_rope import sink_attention, sink_gate, sliding_window_mask
from attention_to_rope.merge import finish, log_total, partial_attention
from attention_to_rope.recurrent_attention import delta_rule_steps, linear_attention_steps
from bookcheck.equations.checks import equation, sentences
from shared_17_beyond_softmax import index_scores, window


@equation("eq-reach-pairs")
def test_reach_pairs(rng):
    values = window(rng)
    N, W = values["N"], values["W"]
    assert values["M"].sum() == N * W - W * (W - 1) / 2
    return {"N": N, "W": W}


@equation("eq-reach-depth")
def test_reach_depth(rng):
    def deepest(N, W):
        mask = sliding_window_mask(N, window=W).double()
        powers = itertools.accumulate(itertools.repeat(mask), torch.matmul)
        return next(depth for depth, power in enumerate(powers, start=1) if power[-1, 0] > 0)

    N, W = int(rng.integers(7, 30)), int(rng.integers(3, 6))
    exact = 5 * (W - 1) + 1
    return [{"N": n, "W": W, "L": deepest(n, W)} for n in (N, exact, exact + 1)]


@equation("eq-sparse-indexer", first_index=1)
def test_sparse_indexer(rng):
    """Against the function that is held to the keys which DeepSeek-V3.2's own code selects."""
    J, rows, columns, width = 3, 4, 5, 2
    a, q = rng.normal(size=(rows, J)), rng.normal(size=(rows, J, width))
    k = rng.normal(size=(columns, width))
    score = index_scores(*map(torch.from_numpy, (q, k, a))).numpy()
    places = {"m": range(1, rows + 1), "n": range(1, columns + 1)}
    return {"I": score, "a": a, "q": q, "k": k, "J": J, **places}


def states(steps, rng, *rates):
    """Keys, queries, values, and the states and outputs of the library, one for each token."""
    N, d = 5, 3
    q, k, v = (torch.from_numpy(rng.normal(size=(N, d))) for _ in range(3))
    state, before, after, outputs = None, [], [], []
    for n in range(N):
        one = slice(n, n + 1)
        before.append(np.zeros((d, d)) if state is None else state.numpy())
        output, state = steps(q[one], k[one], v[one], *(rate[one] for rate in rates), state=state)
        after.append(state.numpy())
        outputs.append(output[0].numpy())
    table = np.stack([before[0], *after])
    row = {"q": q.numpy()[:, None, :], "k": k.numpy()[:, None, :], "v": v.numpy()[:, None, :]}
    return table, row, np.stack(outputs)[:, None, :]


@equation("eq-linear-state", first_index=0)
def test_linear_state(rng):
    table, row, o = states(linear_attention_steps, rng)
    # Index 0 is the state before the first token, and nothing else has an entry there.
    padded = {name: np.concatenate([np.zeros_like(x[:1]), x]) for name, x in row.items()}
    o = np.concatenate([np.zeros_like(o[:1]), o])
    return {"C": table, **padded, "o": o, "n": range(1, len(table))}


@equation("eq-delta-rule", first_index=0)
def test_delta_rule(rng):
    rate = torch.from_numpy(rng.uniform(0.2, 0.9, size=5))
    table, row, _ = states(delta_rule_steps, rng, rate)
    padded = {name: np.concatenate([np.zeros_like(x[:1]), x]) for name, x in row.items()}
    del padded["q"]
    beta = np.concatenate([[0.0], rate.numpy()])
    return {"C": table, **padded, r"\beta": beta, "n": range(1, len(table))}


@equation("eq-sink-as-gate", first_index=0)
def test_sink_as_gate(rng):
    scores, values = rng.normal(scale=2, size=7), rng.normal(size=(7, 3))
    s, v = torch.from_numpy(scores)[None, :, None], torch.from_numpy(values)[None]
    one, b = torch.ones(1, 1, 1, dtype=torch.float64), torch.from_numpy(rng.normal(size=1))
    state = partial_attention(one, s, v, scale=1.0)
    lam, o = log_total(state), finish(state)
    gated = sink_gate(lam[..., 0], b)[..., None] * o
    assert torch.allclose(gated, sink_attention(one, s, v, b, scale=1.0), rtol=0, atol=1e-12)
    plain = {"s": scores, "v": values, "N": 7, "b": b.item()}
    return {**plain, r"\lambda": lam.item(), "o": o[0, 0].numpy()}


def bindings(rng):
    """Its sentences state a condition and the sizes of examples only."""
    del rng
    return {}


test_sentences = sentences(
    "17-beyond-softmax",
    unchecked={
        "causal window of …": "Not executed yet.",
    },
)(bindings)

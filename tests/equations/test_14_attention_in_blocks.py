"""Chapter 14: online softmax, its backward, patterns and fixed states, against the library."""

import itertools
import math

import numpy as np
import torch

from attention_to_rope import (
    attention,
    dilated_mask,
    sink_attention,
    sink_gate,
    sliding_window_mask,
)
from attention_to_rope.merge import (
    Partial,
    finish,
    log_total,
    merge,
    partial_attention,
    partial_gradients,
)
from attention_to_rope.recurrent_attention import delta_rule_steps, linear_attention_steps
from bookcheck.equations.checks import depends, equation
from shared_14_attention_in_blocks import index_scores, window

D_V = 3


def state(s, v):
    """The library's state of one query with scores s (the keys are the scores) and values v."""
    keys = torch.as_tensor(np.ascontiguousarray(s))[:, None]
    one = torch.ones(1, 1, dtype=torch.float64)
    partial = partial_attention(one, keys, torch.as_tensor(np.ascontiguousarray(v)), scale=1.0)
    return partial.largest.item(), partial.total.item(), partial.output[0].numpy()


def unpack(vector):
    vector = torch.as_tensor(np.ascontiguousarray(vector, dtype=float))
    return Partial(vector[:1], vector[1:2], vector[2:])


def library_merge(first, second):
    """The library's merge on states written as one vector (c, ℓ, u)."""
    return torch.cat(tuple(merge(unpack(first), unpack(second)))).numpy()


def random_state(rng):
    return np.concatenate([rng.normal(scale=2, size=1), rng.uniform(1, 4, 1), rng.normal(size=D_V)])


def keys(rng):
    """Seven keys in two sets, with the states of both and of all."""
    s, v, a = rng.normal(scale=2, size=7), rng.normal(size=(7, D_V)), 3
    c, total, u = state(s, v)
    c_1, total_1, u_1 = state(s[:a], v[:a])
    c_2, total_2, u_2 = state(s[a:], v[a:])
    values = {"s": s, "v": v, "a": a, "N": 7, "c": c, r"\ell": total, "u": u}
    values |= {"c_1": c_1, r"\ell_1": total_1, "u_1": u_1}
    return values | {"c_2": c_2, r"\ell_2": total_2, "u_2": u_2}


@equation("eq-online-state", first_index=0, library=partial_attention)
def test_online_state(rng):
    values = keys(rng)
    return {name: values[name] for name in ("s", "v", "N", "c", r"\ell", "u")}


@equation("eq-online-output", first_index=0, library=[finish, attention])
def test_online_output(rng):
    values = keys(rng)
    s, v = torch.from_numpy(values["s"])[:, None], torch.from_numpy(values["v"])
    one = torch.ones(1, 1, dtype=torch.float64)
    o = attention(one, s, v, scale=1.0)[0].numpy()
    same = finish(partial_attention(one, s, v, scale=1.0))[0].numpy()
    assert np.allclose(o, same, rtol=0, atol=1e-12)
    return {name: values[name] for name in ("s", "v", "N", r"\ell", "u")} | {"o": o}


@equation("eq-online-merge", library=[merge, partial_attention])
def test_online_merge(rng):
    values = keys(rng)
    first, second = (
        np.array([values[f"c_{i}"], values[rf"\ell_{i}"], *values[f"u_{i}"]]) for i in (1, 2)
    )
    c, total, *u = library_merge(first, second)
    del values["s"], values["v"], values["a"], values["N"]
    swapped = dict(values)
    for name in ("c", r"\ell", "u"):
        swapped[f"{name}_1"], swapped[f"{name}_2"] = values[f"{name}_2"], values[f"{name}_1"]
    return [{**values, "c": c, r"\ell": total, "u": np.array(u)}, swapped]


@equation("eq-online-associative", library=merge)
def test_online_associative(rng):
    x, y, z = (random_state(rng) for _ in range(3))
    return {"x": x, "y": y, "z": z, r"\operatorname{merge}": library_merge}


@equation("eq-online-merge-proof", first_index=0, library=partial_attention)
def test_online_merge_proof(rng):
    values = keys(rng)
    return {name: values[name] for name in values if name[0] != "u" and name != "v"}


@equation("eq-online-associative-proof", library=merge)
def test_online_associative_proof(rng):
    states = [random_state(rng) for _ in range(3)]
    cases = []
    # Each of the three holds the largest score once.
    for largest in range(3):
        x, y, z = states[largest:] + states[:largest]
        c, total, *_ = library_merge(x, library_merge(y, z))
        values = {"c": c, r"\ell": total, "c_{12}": max(x[0], y[0])}
        for number, one in enumerate((x, y, z), start=1):
            values |= {f"c_{number}": one[0], rf"\ell_{number}": one[1]}
        cases.append(values)
    return cases


@equation("eq-online-backward", first_index=0, library=[attention, partial_gradients, log_total])
def test_online_backward(rng):
    N, g, v = 4, rng.normal(size=(4, D_V)), rng.normal(size=(4, D_V))
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
    values = {"S": S, "f": depends("S", loss), "g": g, "v": v, "o": o.numpy()}
    return {**values, r"\lambda": logs[:, 0].numpy(), "D": share[:, 0].numpy(), **every}


@equation("eq-reach-pairs", library=dilated_mask)
def test_reach_pairs(rng):
    values = window(rng)
    N, w = values["N"], values["w"]
    assert values["M"].sum() == N * w - w * (w - 1) / 2
    return {"N": N, "w": w}


@equation("eq-reach-depth", library=dilated_mask)
def test_reach_depth(rng):
    def deepest(N, w):
        mask = sliding_window_mask(N, window=w).double()
        powers = itertools.accumulate(itertools.repeat(mask), torch.matmul)
        return next(depth for depth, power in enumerate(powers, start=1) if power[-1, 0] > 0)

    N, w = int(rng.integers(7, 30)), int(rng.integers(3, 6))
    exact = 5 * (w - 1) + 1
    return [{"N": n, "w": w, "L": deepest(n, w)} for n in (N, exact, exact + 1)]


@equation("eq-sparse-indexer", first_index=1)
def test_sparse_indexer(rng):
    """Against the function that is held to the keys which DeepSeek-V3.2's own code selects."""
    J, rows, columns, width = 3, 4, 5, 2
    w, q = rng.normal(size=(rows, J)), rng.normal(size=(rows, J, width))
    k = rng.normal(size=(columns, width))
    score = index_scores(*map(torch.from_numpy, (q, k, w))).numpy()
    places = {"m": range(1, rows + 1), "n": range(1, columns + 1)}
    return {"I": score, "w": w, "q": q, "k": k, "J": J, **places}


def states(steps, rng, *rates):
    """Keys, queries, values, and the states and outputs of the library, one for each token."""
    N, d = 5, 3
    q, k, v = (torch.from_numpy(rng.normal(size=(N, d))) for _ in range(3))
    state, before, after, outputs = None, [], [], []
    for t in range(N):
        one = slice(t, t + 1)
        before.append(np.zeros((d, d)) if state is None else state.numpy())
        output, state = steps(q[one], k[one], v[one], *(rate[one] for rate in rates), state=state)
        after.append(state.numpy())
        outputs.append(output[0].numpy())
    table = np.stack([before[0], *after])
    row = {"q": q.numpy()[:, None, :], "k": k.numpy()[:, None, :], "v": v.numpy()[:, None, :]}
    return table, row, np.stack(outputs)[:, None, :]


@equation("eq-linear-state", first_index=0, library=linear_attention_steps)
def test_linear_state(rng):
    table, row, o = states(linear_attention_steps, rng)
    # Index 0 is the state before the first token, and nothing else has an entry there.
    padded = {name: np.concatenate([np.zeros_like(x[:1]), x]) for name, x in row.items()}
    o = np.concatenate([np.zeros_like(o[:1]), o])
    return {"C": table, **padded, "o": o, "t": range(1, len(table))}


@equation("eq-delta-rule", first_index=0, library=delta_rule_steps)
def test_delta_rule(rng):
    rate = torch.from_numpy(rng.uniform(0.2, 0.9, size=5))
    table, row, _ = states(delta_rule_steps, rng, rate)
    padded = {name: np.concatenate([np.zeros_like(x[:1]), x]) for name, x in row.items()}
    del padded["q"]
    beta = np.concatenate([[0.0], rate.numpy()])
    return {"C": table, **padded, r"\beta": beta, "t": range(1, len(table))}


@equation("eq-sink-as-gate", first_index=0, library=[sink_attention, sink_gate])
def test_sink_as_gate(rng):
    values = keys(rng)
    s, v = torch.from_numpy(values["s"])[None, :, None], torch.from_numpy(values["v"])[None]
    one, b = torch.ones(1, 1, 1, dtype=torch.float64), torch.from_numpy(rng.normal(size=1))
    state = partial_attention(one, s, v, scale=1.0)
    lam, o = log_total(state), finish(state)
    gated = sink_gate(lam[..., 0], b)[..., None] * o
    assert torch.allclose(gated, sink_attention(one, s, v, b, scale=1.0), rtol=0, atol=1e-12)
    plain = {"s": values["s"], "v": values["v"], "N": 7, "b": b.item()}
    return {**plain, r"\lambda": lam.item(), "o": o[0, 0].numpy()}


@equation("eq-online-logsum", library=[partial_attention, finish])
def test_online_logsum(rng):
    values = keys(rng)
    finished = {}
    for end in ("", "_1", "_2"):
        c, total, u = (values[name + end] for name in ("c", r"\ell", "u"))
        vector = torch.tensor([c, total, *u], dtype=torch.float64)
        finished[rf"\lambda{end}"] = c + math.log(total)
        finished[f"o{end}"] = finish(Partial(vector[:1], vector[1:2], vector[2:])).numpy()
    return finished

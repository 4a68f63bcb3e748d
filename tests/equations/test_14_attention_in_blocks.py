"""Chapter 14: online softmax and its backward, against the library."""

import math

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


@equation("eq-online-state", first_index=0)
def test_online_state(rng):
    values = keys(rng)
    return {name: values[name] for name in ("s", "v", "N", "c", r"\ell", "u")}


@equation("eq-online-output", first_index=0)
def test_online_output(rng):
    values = keys(rng)
    s, v = torch.from_numpy(values["s"])[:, None], torch.from_numpy(values["v"])
    one = torch.ones(1, 1, dtype=torch.float64)
    o = attention(one, s, v, scale=1.0)[0].numpy()
    same = finish(partial_attention(one, s, v, scale=1.0))[0].numpy()
    assert np.allclose(o, same, rtol=0, atol=1e-12)
    return {name: values[name] for name in ("s", "v", "N", r"\ell", "u")} | {"o": o}


@equation("eq-online-merge")
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


@equation("eq-online-associative")
def test_online_associative(rng):
    x, y, z = (random_state(rng) for _ in range(3))
    return {"x": x, "y": y, "z": z, r"\operatorname{merge}": library_merge}


@equation("eq-online-merge-proof", first_index=0)
def test_online_merge_proof(rng):
    values = keys(rng)
    return {name: values[name] for name in values if name[0] != "u" and name != "v"}


@equation("eq-online-associative-proof")
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


@equation("eq-online-backward", first_index=0)
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
    values = {"S": S, r"\mathcal{L}": depends("S", loss), "g": g, "v": v, "o": o.numpy()}
    return {**values, r"\lambda": logs[:, 0].numpy(), "D": share[:, 0].numpy(), **every}


@equation("eq-online-logsum")
def test_online_logsum(rng):
    values = keys(rng)
    finished = {}
    for end in ("", "_1", "_2"):
        c, total, u = (values[name + end] for name in ("c", r"\ell", "u"))
        vector = torch.tensor([c, total, *u], dtype=torch.float64)
        finished[rf"\lambda{end}"] = c + math.log(total)
        finished[f"o{end}"] = finish(Partial(vector[:1], vector[1:2], vector[2:])).numpy()
    return finished


def bindings(rng):
    """The state of one query and seven keys, with the library's logarithm of its sum."""
    s, v = torch.from_numpy(rng.normal(size=(7, 1))), torch.from_numpy(rng.normal(size=(7, 2)))
    state = partial_attention(torch.ones(1, 1, dtype=torch.float64), s, v, scale=1.0)
    names = {"c": state.largest.item(), r"\ell": state.total.item()}
    return {**names, r"\lambda": log_total(state).item()}


test_sentences = sentences(
    "14-attention-in-blocks",
    where={
        "the number …": None,
    },
    unchecked={
        "output and …": "Not executed yet.",
        "another has …": "Not executed yet.",
    },
)(bindings)

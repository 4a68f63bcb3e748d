"""Chapter 14: online softmax, reach by depth, the ring, executed against the library."""

import functools
import itertools
import math

import numpy as np
import torch

from attention_to_rope import attention, dilated_mask, sliding_window_mask
from attention_to_rope.fast.ring import (
    Partial,
    finish,
    merge,
    partial_attention,
    ring_attention,
    ring_positions,
    simulate_ring,
)
from bookcheck.equations.checks import Random, depends, equation

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


@equation("eq-online-traffic")
def test_online_traffic(rng):
    """Count the transfers by walking through the two programs, one load or store at a time."""
    blocks, b, d_k = (int(x) for x in rng.integers(2, 9, size=3))
    N = blocks * b
    naive = 2 * N * d_k + N * N  # read Q and K, write S
    naive += 2 * N * N  # read S, write A
    naive += N * N + 2 * N * d_k  # read A and V, write the output
    block = 0
    for _ in range(blocks):
        block += 2 * b * d_k  # read one block of Q, write one of the output
        block += sum(2 * b * d_k for _ in range(blocks))  # read every block of K and V
    names = {r"T_{\text{naive}}": naive, r"T_{\text{block}}": block}
    return {"N": N, "b": b, "d_k": d_k, **names}


def window(rng):
    N, w = int(rng.integers(7, 12)), int(rng.integers(2, 5))
    mask = sliding_window_mask(N, window=w).double().numpy()
    return {"N": N, "w": w, "M": mask}


@equation("eq-reach-pairs", library=dilated_mask)
def test_reach_pairs(rng):
    values = window(rng)
    N, w = values["N"], values["w"]
    assert values["M"].sum() == N * w - w * (w - 1) / 2
    return {"N": N, "w": w}


@equation("eq-reach-paths", first_index=0)
def test_reach_paths(rng):
    mask = (rng.random((5, 5)) < 0.5).astype(float)
    return {"M": mask, "N": 5, "L": 3, "m": range(5), "n": range(5)}


@equation("eq-reach-window", first_index=0, library=dilated_mask)
def test_reach_window(rng):
    values = window(rng)
    every = range(values["N"])
    return {"M": values["M"], "w": values["w"], "L": range(2, 4), "m": every, "n": every}


@equation("eq-reach-depth", library=dilated_mask)
def test_reach_depth(rng):
    def deepest(N, w):
        mask = sliding_window_mask(N, window=w).double()
        powers = itertools.accumulate(itertools.repeat(mask), torch.matmul)
        return next(depth for depth, power in enumerate(powers, start=1) if power[-1, 0] > 0)

    N, w = int(rng.integers(7, 30)), int(rng.integers(3, 6))
    exact = 5 * (w - 1) + 1
    return [{"N": n, "w": w, "L": deepest(n, w)} for n in (N, exact, exact + 1)]


@equation("eq-reach-dilated", first_index=0, draws=2, library=dilated_mask)
def test_reach_dilated(rng):
    N, w = 30, int(rng.integers(2, 4))

    @functools.cache
    def layer(number):
        return dilated_mask(N, window=w, dilation=w ** int(number)).double().numpy()

    return {"M": layer, "w": w, "m": range(N), "n": range(N)}


@equation("eq-reach-walk", draws=2)
def test_reach_walk(rng):
    w, L = int(rng.integers(3, 5)), int(rng.integers(2, 5))
    return {"D": Random(list(range(w)), shape=(L,)), "L": L, "w": w}


def pairs_of(rank, ranks, N, order):
    """How many pairs a rank computes: a query at m sees m + 1 keys."""
    return int((ring_positions(N, rank, ranks, order=order) + 1).sum())


@equation("eq-ring-contiguous", library=ring_positions)
def test_ring_contiguous(rng):
    P, b = int(rng.integers(2, 6)), 2 * int(rng.integers(1, 5))
    r = int(rng.integers(1, P))
    return {"r": r, "b": b, "C": lambda rank: pairs_of(rank, P, P * b, "contiguous")}


@equation("eq-ring-zigzag", library=ring_positions)
def test_ring_zigzag(rng):
    P, a = int(rng.integers(3, 6)), int(rng.integers(2, 5))
    N, r = 2 * P * a, int(rng.integers(1, P))
    return {"r": r, "a": a, "P": P, "N": N, "C": lambda rank: pairs_of(rank, P, N, "zigzag")}


@equation("eq-ring-speedup")
def test_ring_speedup(rng):
    return {"P": int(rng.integers(2, 20))}


@equation("eq-ring-gradient", first_index=0, library=attention)
def test_ring_gradient(rng):
    N, g, v = 4, rng.normal(size=(4, D_V)), rng.normal(size=(4, D_V))
    S = rng.normal(size=(N, N))

    def loss(scores):
        powers = torch.as_tensor(scores).exp()
        weights = powers / powers.sum(-1, keepdim=True)
        return (torch.as_tensor(g) * (weights @ torch.as_tensor(v))).sum()

    scores = torch.from_numpy(S)
    # Unit vectors as keys make the queries the scores; as values, the output the weights.
    unit = torch.eye(N, dtype=torch.float64)
    A = attention(scores, unit, unit, scale=1.0).numpy()
    o = attention(scores, unit, torch.from_numpy(v), scale=1.0).numpy()
    every = {"m": range(N), "n": range(N)}
    return {"S": S, "f": depends("S", loss), "A": A, "g": g, "v": v, "o": o, **every}


@equation("eq-ring-traffic", library=simulate_ring)  # its threads run ring_attention
def test_ring_traffic(rng):
    P, d_k, N = int(rng.integers(2, 5)), int(rng.integers(2, 6)), 24
    greeting = 9

    def work(ring):
        q, k, v = (torch.ones(N // P, d_k, dtype=torch.float64).requires_grad_() for _ in range(3))
        output = ring_attention(q, k, v, order="zigzag", ring=ring)
        forward = ring.sent_numbers - greeting
        output.sum().backward()
        return forward, ring.sent_numbers - greeting - forward

    ((forward, backward),) = set(simulate_ring(P, work))
    names = {r"T_{\text{forward}}": forward, r"T_{\text{backward}}": backward}
    return {"P": P, "N": N, "d_k": d_k, **names}


@equation("eq-ring-overlap")
def test_ring_overlap(rng):
    F, beta, y, d_k = rng.uniform(50, 90), rng.uniform(1.5, 3), rng.uniform(2, 4), 5.0
    return {"b": y * F / (2 * beta), "F": F, r"\beta": beta, "y": y, "d_k": d_k}


@equation("eq-ring-billion")
def test_ring_billion(rng):
    N, d, layers = (int(x) for x in rng.integers(2, 50, size=3))
    # Half of the two products of N × N × d, in every layer.
    work = layers * (2 * N * N * d + 2 * N * N * d) // 2
    return {"N": N, "d": d, r"n_{\text{layers}}": layers, r"F_{\text{billion}}": work}


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

"""What the formulas in the docstrings of `score_shaping` are compared with."""

import math

import numpy as np
import torch
from formulas import RESULT, array_function, tensor

import attention_to_rope as book

N, D, HEADS = 3, 4, 2
SMALL = 1e-300
SIGMOID = {r"\sigma": array_function(torch.sigmoid)}


def rms(row):
    return float(np.sqrt(np.mean(np.square(row))))


def normed(which):
    def bindings(rng):
        q, k, w_q, w_k = rng.normal(size=(4, D))
        result = book.query_key_norm(*map(tensor, (q, k, w_q, w_k)), eps=SMALL)[which].numpy()
        symbols = {"q": q, "k": k, "w_q": w_q, "w_k": w_k}
        return {**symbols, r"\operatorname{rms}": rms, RESULT: result}

    return bindings


def bounded(rng):
    """Two directions, and one twice: the bound is attained."""
    q, k = rng.normal(size=(2, D))
    for pair in ((q, k), (q, -q)):
        rows = [row.numpy() for row in book.query_key_norm(*map(tensor, pair), eps=SMALL)]
        yield {"q": rows[0], "k": rows[1] * (1 - 1e-12), "d": D}


def soft_cap(rng):
    s, c = float(rng.normal(scale=3)), float(rng.uniform(1, 4))
    return {"s": s, "c": c, RESULT: book.soft_cap(tensor(s), c).item()}


def clip(rng):
    """Factors from the changed weights; one head below the threshold, one above it."""
    W_Q, W_K = rng.normal(size=(2, D, HEADS * 2))
    largest, threshold = np.array([rng.uniform(1, 4), rng.uniform(6, 9)]), 5.0
    changed, _ = book.query_key_clip(*map(tensor, (W_Q, W_K, largest)), threshold=threshold)
    ratios = (changed.numpy() / W_Q)[0, ::2]
    for h in range(HEADS):
        symbols = {r"\gamma": ratios**2, r"\tau": threshold, "S": largest, "h": h}
        yield {**symbols, RESULT: ratios[h]}


def sinks(rng):
    """Weights are outputs for the identity as values; v = 1 gives what the gate leaves."""
    q, k = rng.normal(size=(2, HEADS, N, D))
    b = rng.normal(size=HEADS)
    identity = tensor(np.eye(N)).expand(HEADS, N, N)
    p = book.sink_attention(*map(tensor, (q, k)), identity, tensor(b)).numpy()
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(D)
    lse = np.log(np.exp(scores).sum(-1))
    gate = book.sink_gate(tensor(lse), tensor(b)).numpy()
    return p, scores, lse, gate, b


def sink_attention(rng):
    p, scores, lse, _, b = sinks(rng)
    for h, i in np.ndindex(HEADS, N):
        symbols = {"p": p[h], "s": scores[h], r"\operatorname{lse}": lse[h], "b": b, "h": h, "i": i}
        yield {**symbols, "j": range(N), **SIGMOID, RESULT: p[h, i].sum()}


def sink_gate(rng):
    *_, lse, gate, b = sinks(rng)
    for h, i in np.ndindex(HEADS, N):
        symbols = {r"\operatorname{lse}": lse[h], "b": b, "h": h, "i": i}
        yield {**symbols, **SIGMOID, RESULT: gate[h, i]}


def gated(rng):
    q, k, v, g = rng.normal(size=(4, N, D))
    output = book.gated_attention(*map(tensor, (q, k, v, g))).numpy()

    def attention(*rows):
        return book.attention(*map(tensor, rows)).numpy()

    symbols = {"q": q, "k": k, "v": v, "g": g, r"\operatorname{attention}": attention}
    return {**symbols, **SIGMOID, RESULT: output}


def log_length(rng):
    n, s, z = int(rng.integers(3, 9)), float(rng.uniform(0.2, 2)), rng.normal(size=4)
    factor = book.log_length_factor(torch.tensor([n]), s).item()
    return {"n": n, "s": s, "z": z, "f": factor, "i": range(4), RESULT: factor}


def stepped(rng):
    step, slope, first = int(rng.integers(3, 6)), float(rng.uniform(0.1, 1)), int(rng.integers(2))
    factors = book.stepped_length_factor(torch.arange(12), step=step, slope=slope, first=first)
    for i, factor in enumerate(factors.tolist()):
        yield {"a": slope, "i": i, "f": first, "L": step, RESULT: factor}


BINDINGS = {
    "query_key_norm": {
        r"q / \operatorname{rms}(q) \odot w_q": normed(0),
        r"k / \operatorname{rms}(k) \odot w_k": normed(1),
        r"\lvert q k^\top \rvert / \sqrt{d} \le \sqrt{d}": bounded,
    },
    "soft_cap": soft_cap,
    "query_key_clip": clip,
    "sink_attention": sink_attention,
    "sink_gate": sink_gate,
    "gated_attention": gated,
    "log_length_factor": log_length,
    "stepped_length_factor": stepped,
}

"""Deeper, below fewer scores: reach by depth, executed against the library."""

import functools

import numpy as np
import torch

from attention_to_rope import causal_mask, dilated_mask, global_mask, sliding_window_mask
from bookcheck.equations.checks import Random, equation, sentences
from shared_fewer_scores import window


def paths(mask, start, end, steps):
    """How many ways lead from one place to another in so many steps, by walking them."""
    if steps == 0:
        return int(start == end)
    return sum(paths(mask, near, end, steps - 1) for near in mask[start].nonzero()[0])


@equation("eq-reach-paths", first_index=0, names={1: "p_{mn}"})
def test_reach_paths(rng):
    N, L = (int(size) for size in rng.choice([2, 3, 4, 5], size=2, replace=False))
    mask = (rng.random((N, N)) < 0.5).astype(float)
    places = range(N)
    p = np.array([[paths(mask, m, n, L + 1) for n in places] for m in places])
    return {"M": mask, "p": p, "N": N, "L": L, "m": places, "n": places}


@equation("eq-reach-window", first_index=0, fixed={"M": "A window holds no later token."})
def test_reach_window(rng):
    values = window(rng)
    every = range(values["N"])
    return {"M": values["M"], "W": values["W"], "L": range(2, 4), "m": every, "n": every}


@equation("eq-reach-dilated", first_index=0, draws=2)
def test_reach_dilated(rng):
    N, W = 30, int(rng.integers(2, 5))

    @functools.cache
    def layer(number):
        return dilated_mask(N, window=W, dilation=W ** int(number)).double().numpy()

    return {"M": layer, "W": W, "m": range(N), "n": range(N)}


@equation("eq-reach-walk")
def test_reach_walk(rng):
    W, L = int(rng.integers(3, 6)), int(rng.integers(2, 5))
    return {"r": Random(list(range(W)), shape=(L,)), "L": L, "W": W}


def bindings(rng):
    """The mask of one global token among six."""
    g = int(rng.integers(6))
    mask = global_mask(6, torch.tensor([g])).double().numpy()
    return {"M": mask, "g": g, "m": range(6), "n": range(6)}


def reached(rng):
    """The pairs that two layers of a causal window connect."""
    mask = sliding_window_mask(6, window=3).double()
    return [{"m": m, "n": n} for m, n in (mask @ mask).nonzero().tolist()]


def through_global(rng):
    """Queries that see a global token under a causal mask, and the keys that this token sees."""
    g = int(rng.integers(1, 5))
    mask = global_mask(6, torch.tensor([g])) & causal_mask(6)
    sees, seen = mask[:, g].nonzero().flatten().tolist(), mask[g].nonzero().flatten().tolist()
    return [{"g": g, "m": m, "n": n} for m in sees for n in seen]


test_sentences = sentences(
    "deeper/reach",
    first_index=0,
    where={
        "if $, where …": lambda rng: {"M": sliding_window_mask(6, window=3).double().numpy()},
        "exactly if …": reached,
        "path needs …": through_global,
    },
    equivalent={
        "both ways: …": dict.fromkeys(
            ("exchange name: m → n", "exchange name: n → m", "another index: m → g"),
            "A global token sees all keys, itself too, and every query sees it.",
        ),
    },
)(bindings)

"""Deeper, chapter 17: reach by depth, executed against the library."""

import functools

from attention_to_rope import dilated_mask
from bookcheck.equations.checks import Random, equation
from shared_17_beyond_softmax import window


@equation("eq-reach-paths", first_index=0)
def test_reach_paths(rng):
    mask = (rng.random((5, 5)) < 0.5).astype(float)
    return {"M": mask, "N": 5, "L": 3, "m": range(5), "n": range(5)}


@equation("eq-reach-window", first_index=0, library=dilated_mask)
def test_reach_window(rng):
    values = window(rng)
    every = range(values["N"])
    return {"M": values["M"], "W": values["W"], "L": range(2, 4), "m": every, "n": every}


@equation("eq-reach-dilated", first_index=0, draws=2, library=dilated_mask)
def test_reach_dilated(rng):
    N, W = 30, int(rng.integers(2, 4))

    @functools.cache
    def layer(number):
        return dilated_mask(N, window=W, dilation=W ** int(number)).double().numpy()

    return {"M": layer, "W": W, "m": range(N), "n": range(N)}


@equation("eq-reach-walk", draws=2)
def test_reach_walk(rng):
    W, L = int(rng.integers(3, 5)), int(rng.integers(2, 5))
    return {"r": Random(list(range(W)), shape=(L,)), "L": L, "W": W}

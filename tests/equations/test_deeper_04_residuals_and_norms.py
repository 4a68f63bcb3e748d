"""Deeper page of chapter 4: norms, depth and DeepNorm, executed against the library."""

import numpy as np

from attention_to_rope import deep_norm, deepnorm_constants, layer_norm, relu
from bookcheck.equations.checks import Random, equation
from shared import tensor
from shared_04_residuals_and_norms import (
    EPSILON,
    D,
    centring,
    library_layer_norm,
    norm,
    placed,
)


@equation("eq-norm-jacobian-proof", vectors="row", tolerance=1e-6)
def test_norm_jacobian_proof(rng):
    z = rng.normal(size=D) @ centring() * 2
    sigma = np.sqrt((z**2).mean())
    return {"z": z, "y": z / sigma, "d": D, r"\sigma": sigma, "I": np.eye(D)}


@equation("eq-eps-radius", library=layer_norm)
def test_eps_radius(rng):
    x = rng.normal(size=D)
    y = library_layer_norm(x, EPSILON)
    return {"y": y, "d": D, r"\sigma": x.std(), r"\epsilon": EPSILON}


@equation("eq-deep-norm", library=deep_norm)
def test_deep_norm(rng):
    alpha = rng.uniform(1.2, 3)
    values = placed(rng, "deep", lambda x, f: deep_norm(x, f, norm, alpha=alpha))
    return {**values, r"\alpha": alpha}


def constants(rng):
    blocks = int(rng.integers(2, 200))
    alpha, beta = deepnorm_constants(blocks)
    return {"L": blocks, r"\alpha": alpha, r"\beta": beta}


@equation("eq-deep-constants", library=deepnorm_constants)
def test_deep_constants(rng):
    return constants(rng)


@equation("eq-deep-balance", library=deepnorm_constants)
def test_deep_balance(rng):
    return constants(rng)


@equation("eq-relu-half")
def test_relu_half(rng):
    half = rng.normal(size=4)
    return {"z": Random([*half, *-half])}


def mean_square_of_the_stream(rng, blocks, equal):
    """The mean square after each Pre-Norm block, averaged over weights, at an extreme of attention.

    With `equal` all values are the same, and attention passes on one of them; without, the values
    are independent and so many that their average is 0.
    """
    d, tokens = 48, 400
    x = rng.normal(size=(1 if equal else tokens, d))
    x /= np.sqrt((x**2).mean())
    v = [1.0]
    for _ in range(blocks):
        total = 0.0
        runs = 40
        for _ in range(runs):
            W = rng.normal(size=(4, d, d)) / np.sqrt(d)
            y = x if not equal else x + library_layer_norm(x) @ W[0] @ W[1]
            hidden = relu(tensor(library_layer_norm(y) @ W[2])).numpy()
            total += ((y + hidden @ W[3]) ** 2).mean()
        v.append(total / runs)
        x = y + hidden @ W[3]
        x *= np.sqrt(v[-1] / (x**2).mean())
    return np.array(v)


@equation("eq-stream-bounds", first_index=0, draws=1, library=layer_norm)
def test_stream_bounds(rng):
    # Both extremes of attention, with 4 % for the average over finitely many weights; block 0 is
    # the input, where both bounds are exact.
    low = 1.04 * mean_square_of_the_stream(rng, 4, equal=False)
    high = 0.96 * mean_square_of_the_stream(rng, 4, equal=True)
    low[0] = high[0] = 1.0
    return [{"v": low, "l": range(5)}, {"v": high, "l": range(5)}]


@equation("eq-pre-step", first_index=0)
def test_pre_step(rng):
    blocks = 6
    v = 1 + np.arange(blocks + 1) / 2
    G = rng.uniform(1, 2) / v
    return {"G": G, "v": v, "l": range(1, blocks + 1)}


@equation("eq-pre-telescope", first_index=0)
def test_pre_telescope(rng):
    """G_l computed by the recursion, from the last block down."""
    blocks = 6
    v = 1 + np.arange(blocks + 1) / 2
    G = [rng.uniform(1.2, 2)]
    for before in v[-2::-1]:
        G.insert(0, G[0] * (1 + 1 / (2 * before)))
    return {"G": np.array(G), "v": v, "l": range(blocks + 1), "L": blocks}

"""Deeper page of chapter 4: norms, depth and DeepNorm, executed against the library."""

import numpy as np
import torch

from attention_to_rope import deep_norm, deepnorm_constants, layer_norm, pre_norm, relu, rms_norm
from bookcheck.equations.checks import Random, equation, sentences
from shared_04_residuals_and_norms import (
    EPSILON,
    D,
    centring,
    library_layer_norm,
    measured_stack,
    norm,
    placed,
)
from texcheck import depends


@equation("eq-norm-jacobian-proof", vectors="row")
def test_norm_jacobian_proof(rng):
    z = rng.normal(size=D) @ centring() * 2
    sigma = np.sqrt((z**2).mean())
    return {"z": z, "y": z / sigma, "d": D, r"\sigma": sigma, "I": np.eye(D)}


@equation("eq-eps-radius")
def test_eps_radius(rng):
    x = rng.normal(size=D)
    y = library_layer_norm(x, EPSILON)
    return {"y": y, "d": D, r"\sigma": x.std(), r"\epsilon": EPSILON}


@equation("eq-deep-norm")
def test_deep_norm(rng):
    alpha = rng.uniform(1.2, 3)
    values = placed(rng, "deep", lambda x, f: deep_norm(x, f, norm, alpha=alpha))
    return {**values, r"\alpha": alpha}


def constants(rng):
    blocks = int(rng.integers(2, 200))
    alpha, beta = deepnorm_constants(blocks)
    return {"L": blocks, r"\alpha": alpha, r"\beta": beta}


test_deep_constants = equation("eq-deep-constants")(constants)


test_deep_balance = equation("eq-deep-balance")(constants)


@equation("eq-relu-half")
def test_relu_half(rng):
    half = rng.normal(size=4)
    return {"z": Random([*half, *-half])}


def mean_square_of_the_stream(rng, blocks, equal, width=400, tokens=400):
    """The mean square after each Pre-Norm block, at an extreme of attention.

    With `equal` attention passes on the value of its own token; without, the values are
    independent and so many that their average is 0. Many tokens average over the weights.
    """
    x = torch.from_numpy(rng.normal(size=(tokens, width)))
    v = []
    for _ in range(blocks + 1):
        v.append(float(x.square().mean()))
        W = torch.from_numpy(rng.normal(size=(4, width, width)) / np.sqrt(width))
        y = x + layer_norm(x) @ W[0] @ W[1] if equal else x
        x = y + relu(layer_norm(y) @ W[2]) @ W[3]
    return np.array(v)


@equation("eq-stream-bounds", first_index=0, draws=1)
def test_stream_bounds(rng):
    # Both extremes of attention, moved by the percent that finitely many weights deviate.
    low = 1.01 * mean_square_of_the_stream(rng, 4, equal=False)
    high = 0.99 * mean_square_of_the_stream(rng, 4, equal=True)
    # With infinitely many weights every block adds exactly one half, and attention one more.
    exact = [1 + np.cumsum([0.0, *[added] * 4]) for added in (0.5, 1.5)]
    # Not at block 0, where every bound of the form 1 + c l is exact.
    return [{"v": v, "l": range(1, 5)} for v in (low, high, *exact)]


def measured_steps(rng):
    G, v = measured_stack(rng, pre_norm)
    return {"G": G, "v": v, "l": range(1, len(v))}


test_pre_step = equation("eq-pre-step", first_index=0, draws=1, sampling_error=3e-2)(measured_steps)


@equation("eq-pre-telescope", first_index=0, draws=1, sampling_error=3e-2)
def test_pre_telescope(rng):
    values = measured_steps(rng)
    return {**values, "L": len(values["v"]) - 1}


D_TEXT = 5


def bindings(rng):
    """One token, centred, and its norm by the library; DeepNorm's constants."""
    x = rng.normal(size=D_TEXT) * 2 + 1
    blocks = int(rng.integers(2, 200))
    alpha, beta = deepnorm_constants(blocks)
    return {
        "z": x - x.mean(),
        "y": layer_norm(torch.from_numpy(x), eps=1e-300).numpy(),
        "d": D_TEXT,
        "P": np.eye(D_TEXT) - np.ones((D_TEXT, D_TEXT)) / D_TEXT,
        r"\sigma": x.std(),
        "L": blocks,
        r"\alpha": alpha,
        r"\beta": beta,
    }


def two_sublayers(rng):
    """A stream that starts at 1 and gets a vector of mean square 1 from each of two sublayers."""
    del rng
    sizes = [1.0]
    for _ in range(6):
        sizes.append(sizes[-1] + 1 + 1)
    return {"v": np.array(sizes), "l": range(7)}


def after_the_last_norm(rng):
    """The mean square of a gradient before and behind RMSNorm, across the stream's direction."""
    x, gradient = rng.normal(size=(2, D_TEXT)) * 3
    gradient -= (gradient @ x) / (x @ x) * x
    stream = torch.from_numpy(x).requires_grad_()
    rms_norm(stream, eps=1e-300).backward(torch.from_numpy(gradient))
    mean_squares = {"G_L": np.mean(stream.grad.numpy() ** 2), r"\Gamma": np.mean(gradient**2)}
    return {**mean_squares, "v_L": np.mean(x**2)}


test_sentences = sentences(
    "deeper/04-norms-and-depth",
    first_index=0,
    where={
        "Write $, so …": lambda rng: {
            "x": rng.normal(size=D_TEXT),
            "z": depends("x", lambda x: x - x.mean()),
        },
        "block give …": two_sublayers,
        "divides by $, so …": after_the_last_norm,
    },
    loose={
        "multiplied by …": "Only that the weights start smaller; the display says by how much.",
    },
)(bindings)

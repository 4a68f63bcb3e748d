"""Deeper page of the chapter: norms, depth and DeepNorm, executed against the library."""

import numpy as np
import torch

from attention_to_rope import deep_norm, deepnorm_constants, layer_norm, pre_norm, relu, rms_norm
from bookcheck.equations.checks import Random, depends, equation, sentences
from shared import SOLVED, exchanged, tensor
from shared_residuals_and_norms import (
    TINY,
    D,
    as_array,
    layer_norm_of,
    measured_stack,
    norm,
    some_epsilon,
    sublayer,
    token,
)


def page(rng):
    """One token, centred, and its norm by the library; DeepNorm's constants; a scale."""
    values, blocks = token(rng), int(rng.integers(2, 200))
    alpha, beta = deepnorm_constants(blocks)
    s = rng.uniform(0.5, 1.5)
    return {
        **values,
        "s": s,
        "c": s**4 / 2,
        "z": values["x"] - values["x"].mean(),
        "L": blocks,
        r"\alpha": alpha,
        r"\beta": beta,
    }


test_norm_jacobian_proof = equation("eq-norm-jacobian-proof", symbols=r"y, d, I, \sigma, z")(page)
test_deep_constants = equation(
    "eq-deep-constants", names={1: r"\alpha"}, symbols=r"L, \alpha, \beta"
)(page)


@equation("eq-deep-balance")
def test_deep_balance(rng):
    """For the library's constants, and for both made larger by one factor."""
    blocks = int(rng.integers(2, 200))
    alpha, beta = deepnorm_constants(blocks)
    factor = float(rng.uniform(1.5, 3))
    return [
        {"L": blocks, r"\alpha": alpha, r"\beta": beta},
        {"L": blocks, r"\alpha": factor * alpha, r"\beta": factor * beta},
    ]


@equation("eq-eps-radius")
def test_eps_radius(rng):
    values, eps = token(rng), some_epsilon(rng)
    return {**values, "y": layer_norm_of(values["x"], eps), r"\epsilon": eps}


@equation("eq-deep-norm")
def test_deep_norm(rng):
    alpha, f = rng.uniform(1.2, 3), sublayer(rng)
    return {
        "x": rng.normal(size=D),
        "f": as_array(f),
        r"\alpha": alpha,
        r"\operatorname{norm}": as_array(norm),
        r"\operatorname{deep}": lambda x: deep_norm(tensor(x), f, norm, alpha=alpha).numpy(),
    }


@equation("eq-relu-half")
def test_relu_half(rng):
    half = rng.normal(size=4)
    return {"z": Random([*half, *-half])}


def mean_square_of_the_stream(rng, s, blocks, equal, width=400, tokens=400):
    """The mean square after each Pre-Norm block: values all equal, or so many that they cancel."""
    x = torch.from_numpy(rng.normal(size=(tokens, width)))
    v = []
    for _ in range(blocks + 1):
        v.append(float(x.square().mean()))
        W = torch.from_numpy(rng.normal(size=(4, width, width)) * s / np.sqrt(width))
        y = x + layer_norm(x) @ W[0] @ W[1] if equal else x
        x = y + relu(layer_norm(y) @ W[2]) @ W[3]
    return np.array(v)


EXACT = "Drawn rows have v_0 = 1 up to 2.5 percent, where both bounds are 1."


@equation("eq-stream-bounds", first_index=0, draws=2, fixed={"l": EXACT})
def test_stream_bounds(rng):
    # Both extremes of attention, moved by the 2.5 percent that finitely many weights deviate.
    s = rng.uniform(0.88, 0.95)
    low = 1.025 * mean_square_of_the_stream(rng, s, 4, equal=False)
    high = 0.975 * mean_square_of_the_stream(rng, s, 4, equal=True)
    c = s**4 / 2
    # With infinitely many weights every block adds exactly c, and attention 2c more.
    exact = [1 + np.cumsum([0.0, *[added] * 4]) for added in (c, 3 * c)]
    # Not at block 0, where every bound of the form 1 + k l is exact.
    return [{"v": v, "c": c, "l": range(1, 5)} for v in (low, high, *exact)]


def measured_steps(rng):
    values = measured_stack(rng, pre_norm, blocks=int(rng.integers(4, 7)))
    return {**values, "L": len(values["v"]) - 1}


test_pre_step = equation("eq-pre-step", first_index=0, draws=2, sampling_error=8e-3)(measured_steps)
OTHER = exchanged("G ↔ v", reason=SOLVED)
test_pre_telescope = equation(
    "eq-pre-telescope",
    first_index=0,
    draws=2,
    sampling_error=1.5e-2,
    equivalent=OTHER,
    symbols="G, v, l, L",
)(measured_steps)


@equation("eq-pre-gradient", first_index=0, draws=2, sampling_error=3e-2, equivalent=OTHER)
def test_pre_gradient(rng):
    """Autograd through a deep stack; Γ is what the last block gives."""
    values = measured_stack(rng, pre_norm)
    G, v = values["G"], values["v"]
    return {**values, r"\Gamma": G[-1] * v[-1], "l": range(len(v))}


@equation("eq-cross-step", first_index=0, draws=3, sampling_error=1.2e-2)
def test_cross_step(rng):
    """Autograd through two norms of sums whose second part is not the stream's."""
    width, c = 40_000, rng.uniform(0.5, 2)
    x, gradient, *branches = torch.from_numpy(rng.normal(size=(4, width)))
    states = [x.requires_grad_()]
    for branch in branches:
        states.append(rms_norm(states[-1] + c**0.5 * branch, eps=TINY))
    back = torch.autograd.grad(states[-1], states, gradient)
    return {"G": np.array([float(g.square().mean()) for g in back]), "c": c, "l": range(1, 3)}


@equation("eq-adam-first")
def test_adam_first(rng):
    """PyTorch's Adam, with an ε as large as the gradient."""
    rate, start, slope = rng.uniform(0.01, 0.5), rng.normal(), rng.normal() * 7
    eps = some_epsilon(rng)

    def loss(w):
        return slope * w + w**3

    weight = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=rate, eps=eps)
    loss(weight).backward()
    optimizer.step()
    return {
        r"\Delta w": weight.item() - start,
        r"\eta": rate,
        r"\epsilon": eps,
        "w": start,
        r"\mathcal{L}": depends("w", loss),
    }


@equation("eq-constant-loss", first_index=0, names={1: r"\mathcal{L}"})
def test_constant_loss(rng):
    """A text's frequencies and a constant prediction, by PyTorch's cross-entropy."""
    f, p = rng.dirichlet(np.ones(256), size=2)
    loss = torch.nn.functional.cross_entropy(tensor(np.log(p))[None], tensor(f)[None])
    return {"f": f, "p": p, r"\mathcal{L}": loss.item()}


def sandwich_stream(rng):
    """A stream that starts at 1 and gets a vector of mean square 1 from each of two sublayers."""
    del rng
    return {"v": 1 + np.cumsum([0.0, *[1 + 1] * 6]), "l": range(7)}


def after_the_last_norm(rng):
    """The mean square of a gradient before and behind RMSNorm, across the stream's direction."""
    x, gradient = rng.normal(size=(2, D)) * 3
    gradient -= (gradient @ x) / (x @ x) * x
    stream = tensor(x).requires_grad_()
    rms_norm(stream, eps=TINY).backward(tensor(gradient))
    mean_squares = {"G_L": np.mean(stream.grad.numpy() ** 2), r"\Gamma": np.mean(gradient**2)}
    return {**mean_squares, "v_L": np.mean(x**2)}


def of_few_blocks(rng):
    """The factor is nearest to 1 in the shallowest stacks."""
    del rng
    return [{r"\beta": deepnorm_constants(blocks)[1]} for blocks in (1, 2, 9)]


def centred(rng):
    return {**token(rng), "z": depends("x", lambda x: x - x.mean())}


test_sentences = sentences(
    "deeper/norms-and-depth",
    fixed={"P": "It projects at right angles: such a matrix is symmetric."},
    first_index=0,
    where={
        "Its derivative is …": centred,
        "so on average …": sandwich_stream,
        "by $, so …": after_the_last_norm,
        "multiplied by …": of_few_blocks,
    },
    equivalent={
        "Let … be": {"another symbol: x → {z}": "A centred token stays as it is."},
        "multiplied by …": {
            r"strictness: < → \le": "The display says by how much, as loose= tells.",
        },
    },
    loose={
        "multiplied by …": {
            1: (0.41, "Only that the weights start smaller; the display says by how much.")
        },
    },
)(page)

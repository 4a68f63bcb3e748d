"""Chapter 4: residuals, norms and their placement, executed against the library."""

import numpy as np
import torch

from attention_to_rope import layer_norm, post_norm, pre_norm, relu, rms_norm, sandwich_norm
from bookcheck.equations.checks import depends, equation, sentences
from shared import tensor
from shared_04_residuals_and_norms import (
    EPSILON,
    TINY,
    D,
    as_array,
    centring,
    library_layer_norm,
    measured_stack,
    norm,
    placed,
    sublayer,
)


def library_rms_norm(x, eps=TINY):
    return rms_norm(tensor(x), eps=eps).numpy()


def other_norm(x):
    return rms_norm(tensor(x), eps=EPSILON)


@equation("eq-pre-block")
def test_pre_block(rng):
    X, A, F = rng.normal(size=(4, D)), sublayer(rng), sublayer(rng)
    after_attention = pre_norm(tensor(X), A, norm)
    Y = pre_norm(after_attention, F, other_norm)
    return {
        "X": X,
        "X'": after_attention.numpy(),
        "Y": Y.numpy(),
        "A": as_array(A),
        "F": as_array(F),
        r"\operatorname{norm}_1": as_array(norm),
        r"\operatorname{norm}_2": as_array(other_norm),
    }


@equation("eq-residual-sum", first_index=0)
def test_residual_sum(rng):
    blocks = 4
    functions = [sublayer(rng) for _ in range(blocks)]
    states = [rng.normal(size=D)]
    for f in functions:
        states.append(states[-1] + f(states[-1]).numpy())
    return {
        "x": np.array(states),
        "L": blocks,
        "f": lambda block, x: functions[int(block) - 1](x).numpy(),
    }


@equation("eq-residual-jacobian")
def test_residual_jacobian(rng):
    W_1, W_2 = rng.normal(size=(D, D)), rng.normal(size=(D, D))
    return {"x": rng.normal(size=D), "f": lambda x: np.tanh(x @ W_1) @ W_2, "I": np.eye(D)}


@equation("eq-moments", first_index=0)
def test_moments(rng):
    x = rng.normal(size=D)
    return {"x": x, "d": D, r"\mu": x.mean(), r"\sigma": x.std()}


@equation("eq-layer-norm", first_index=0)
def test_layer_norm(rng):
    x, gain, bias = rng.normal(size=(3, D))
    return {
        "x": x,
        "g": gain,
        "b": bias,
        "j": range(D),
        r"\mu": x.mean(),
        r"\sigma": x.std(),
        r"\epsilon": EPSILON,
        r"\operatorname{LayerNorm}": lambda x: layer_norm(
            tensor(x), tensor(gain), tensor(bias), eps=EPSILON
        ).numpy(),
    }


@equation("eq-centring", vectors="row")
def test_centring(rng):
    x = rng.normal(size=D)
    return {
        "x": x,
        "d": D,
        "u": np.ones(D),
        r"\mu": x.mean(),
        "I": np.eye(D),
        "P": centring(),
    }


def on_the_sphere(rng):
    x = rng.normal(size=D) * 3 + 2
    return {
        "x": x,
        "y": library_layer_norm(x),
        "d": D,
        "u": np.ones(D),
        "P": centring(),
        r"\mu": x.mean(),
        r"\sigma": x.std(),
    }


test_sphere = equation("eq-sphere")(on_the_sphere)


test_sphere_proof = equation("eq-sphere-proof")(on_the_sphere)


@equation("eq-norm-invariance")
def test_norm_invariance(rng):
    return {
        "x": rng.normal(size=D),
        "u": np.ones(D),
        "a": rng.uniform(0.2, 4),
        "c": rng.normal(),
        r"\operatorname{LayerNorm}": library_layer_norm,
    }


@equation("eq-norm-jacobian", vectors="row")
def test_norm_jacobian(rng):
    x = rng.normal(size=D) * 2 + 1
    return {
        "x": x,
        "y": depends("x", library_layer_norm),
        "d": D,
        r"\sigma": x.std(),
        "P": centring(),
    }


@equation("eq-rms-norm", first_index=0)
def test_rms_norm(rng):
    x, gain = rng.normal(size=(2, D))
    return {
        "x": x,
        "g": gain,
        "d": D,
        "j": range(D),
        r"\epsilon": EPSILON,
        r"\operatorname{RMSNorm}": lambda x: rms_norm(tensor(x), tensor(gain), eps=EPSILON).numpy(),
    }


@equation("eq-layer-is-rms")
def test_layer_is_rms(rng):
    return {
        "x": rng.normal(size=D),
        "P": centring(),
        r"\operatorname{LayerNorm}": lambda x: library_layer_norm(x, EPSILON),
        r"\operatorname{RMSNorm}": lambda x: library_rms_norm(x, EPSILON),
    }


@equation("eq-post-norm")
def test_post_norm(rng):
    return placed(rng, "post", lambda x, f: post_norm(x, f, norm))


@equation("eq-pre-norm")
def test_pre_norm(rng):
    return placed(rng, "pre", lambda x, f: pre_norm(x, f, norm))


@equation("eq-sandwich-norm")
def test_sandwich_norm(rng):
    values = placed(rng, "sandwich", lambda x, f: sandwich_norm(x, f, norm, other_norm))
    norms = {
        r"\operatorname{norm}_1": as_array(norm),
        r"\operatorname{norm}_2": as_array(other_norm),
    }
    del values[r"\operatorname{norm}"]
    return {**values, **norms}


@equation("eq-output-norm")
def test_output_norm(rng):
    """The library's sandwich with nothing before the sublayer."""
    return placed(rng, "out", lambda x, f: sandwich_norm(x, f, lambda y: y, norm))


@equation("eq-output-identity")
def test_output_identity(rng):
    """A ReLU layer without biases hands a positive factor on; RMSNorm removes it."""
    W_1, W_2 = (tensor(rng.normal(size=(D, 2 * D))), tensor(rng.normal(size=(2 * D, D))))
    return {
        "x": rng.normal(size=D) * 3,
        "f": lambda x: (relu(tensor(x) @ W_1) @ W_2).numpy(),
        r"\operatorname{norm}": library_rms_norm,
    }


@equation("eq-pre-gradient", first_index=0, draws=1, sampling_error=3e-2)
def test_pre_gradient(rng):
    """Autograd through a deep stack; Γ is what the last block gives."""
    G, v = measured_stack(rng, pre_norm)
    return {"G": G, r"\Gamma": G[-1] * v[-1], "v": v, "l": range(len(v))}


@equation("eq-post-step", first_index=0, draws=1, sampling_error=3e-2)
def test_post_step(rng):
    G, _ = measured_stack(rng, post_norm)
    return {"G": G, "l": range(1, len(G))}


@equation("eq-cross-step", first_index=0, draws=3, sampling_error=3e-2)
def test_cross_step(rng):
    """Autograd through two norms of sums whose second part is another stream's, in a wide layer."""
    width, c = 40_000, rng.uniform(0.5, 2)
    x, gradient, *branches = torch.from_numpy(rng.normal(size=(4, width)))
    states = [x.requires_grad_()]
    for branch in branches:
        states.append(rms_norm(states[-1] + c**0.5 * branch, eps=TINY))
    back = torch.autograd.grad(states[-1], states, gradient)
    means = np.array([float(g.square().mean()) for g in back])
    return {"G": means, "c": c, "l": range(1, 3)}


@equation("eq-adam-first")
def test_adam_first(rng):
    """PyTorch's Adam makes this step; its ε is far below the gradient."""
    rate, start, slope = rng.uniform(0.01, 0.5), rng.normal(), rng.normal() * 7

    def loss(w):
        return slope * w + w**3

    weight = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([weight], lr=rate, eps=1e-300)
    loss(weight).backward()
    optimiser.step()
    moved = weight.item() - start
    return {r"\Delta w": moved, r"\eta": rate, "w": start, r"\mathcal{L}": depends("w", loss)}


@equation("eq-vanishing-pre", vectors="row")
def test_vanishing_pre(rng):
    x = rng.normal(size=D)
    r = np.sqrt((x**2).mean())
    return {"r": r, "d": D, "I": np.eye(D), "y": library_rms_norm(x)}


@equation("eq-fold-gain")
def test_fold_gain(rng):
    y, gain, bias = rng.normal(size=(3, D))
    return {
        "y": y,
        "g": gain,
        "b": bias,
        "W": rng.normal(size=(D, 3)),
        r"\operatorname{diag}": np.diag,
    }


def bindings(rng):
    """One token, its moments, its norm by the library, and the projection that centres."""
    x = rng.normal(size=D) * 2 + 1
    return {
        "x": x,
        "y": library_layer_norm(x),
        "u": np.ones(D),
        "d": D,
        "P": centring(),
        "j": range(D),
        r"\mu": x.mean(),
        r"\sigma": x.std(),
        r"\operatorname{LayerNorm}": library_layer_norm,
    }


def homogeneous(rng):
    """A ReLU layer without biases, and a positive factor."""
    W_1, W_2 = torch.from_numpy(rng.normal(size=(2, D, D)))
    return {
        "x": rng.normal(size=D),
        "a": rng.uniform(0.2, 4),
        "f": lambda x: (relu(torch.from_numpy(np.asarray(x)) @ W_1) @ W_2).numpy(),
    }


def stream(rng):
    """The mean square of the stream, one half more in each block."""
    blocks = 6
    v = np.concatenate([[1.0], 1 + np.cumsum(np.full(blocks, 0.5))])
    return {"v": v, "l": range(blocks + 1)}


test_sentences = sentences(
    "04-residuals-and-norms",
    first_index=0,
    where={
        "If $ obeys …": homogeneous,
        "stream, so …": stream,
    },
)(bindings)

"""Deeper page of chapter 4: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import deepnorm_constants, layer_norm, rms_norm
from texcheck import depends

PAGE = "deeper/04-norms-and-depth"
OPTIONS = {"first_index": 0}
D = 5


def bindings(rng):
    """One token, centred, and its norm by the library; DeepNorm's constants."""
    x = rng.normal(size=D) * 2 + 1
    blocks = int(rng.integers(2, 200))
    alpha, beta = deepnorm_constants(blocks)
    return {
        "z": x - x.mean(),
        "y": layer_norm(torch.from_numpy(x), eps=1e-300).numpy(),
        "d": D,
        "P": np.eye(D) - np.ones((D, D)) / D,
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
    x, gradient = rng.normal(size=(2, D)) * 3
    gradient -= (gradient @ x) / (x @ x) * x
    stream = torch.from_numpy(x).requires_grad_()
    rms_norm(stream, eps=1e-300).backward(torch.from_numpy(gradient))
    mean_squares = {"G_L": np.mean(stream.grad.numpy() ** 2), r"\Gamma": np.mean(gradient**2)}
    return {**mean_squares, "v_L": np.mean(x**2)}


CHECKS = {
    r"\frac{\partial z}{\partial x} = P": lambda rng: {
        "x": rng.normal(size=D),
        "z": depends("x", lambda x: x - x.mean()),
    },
    r"v_l = 1 + 2 l": two_sublayers,
    r"G_L = \Gamma / v_L": after_the_last_norm,
}
LOOSE = {r"\beta < 1": "Only that the weights start smaller; the display says by how much."}
# Definitions and conditions; how a stream of each kind grows is the premise of its section.
DEFINITIONS = [
    r"z = x P",
    r"\sigma \gg \sqrt{\epsilon}",
    r"v_0 = 1",
    r"v_l = v_{l-1} + \frac{1}{2}",
]

"""Chapter 4 and its page of depth: what the formulas of both are bound to."""

import numpy as np
import torch

from attention_to_rope import layer_norm, relu, rms_norm
from shared import tensor

D = 5
EPSILON = 0.3  # large, so that a formula without it fails
TINY = 1e-300  # stands for ε = 0, which the library refuses


def library_layer_norm(x, eps=TINY):
    return layer_norm(tensor(x), eps=eps).numpy()


def centring():
    return np.eye(D) - np.ones((D, D)) / D


def sublayer(rng):
    """A smooth sublayer with its own weights, for tensors."""
    W_1, W_2 = (tensor(rng.normal(size=(D, D))) for _ in range(2))
    return lambda x: torch.tanh(tensor(x) @ W_1) @ W_2


def norm(x):
    return layer_norm(tensor(x), eps=EPSILON)


def as_array(function):
    return lambda x: function(tensor(x)).numpy()


def placed(rng, name, place):
    """A sublayer, its norm, and the placement of the library under its printed name."""
    f = sublayer(rng)
    return {
        "x": rng.normal(size=D),
        "f": as_array(f),
        r"\operatorname{norm}": as_array(norm),
        rf"\operatorname{{{name}}}": lambda x: place(tensor(x), f).numpy(),
    }


def measured_stack(rng, place, blocks=6, width=200, runs=24):
    """Mean squares of the gradients (blocks + 1,) and of the stream in a stack of ReLU layers.

    The weights keep the mean square, so that a ReLU layer halves it. Tokens with gradients of
    their own and many draws of the weights leave a deviation of about one percent.
    """

    def squares(parts):
        return np.array([float(part.detach().square().mean()) for part in parts])

    found = []
    for _ in range(runs):
        start, gradient = torch.from_numpy(rng.normal(size=(2, width, width)))
        states = [(start / start.square().mean().sqrt()).requires_grad_()]
        for _ in range(blocks):
            W_1, W_2 = torch.from_numpy(rng.normal(size=(2, width, width)) / width**0.5)
            sublayer = lambda x, W_1=W_1, W_2=W_2: relu(x @ W_1) @ W_2  # noqa: E731
            states.append(place(states[-1], sublayer, lambda x: rms_norm(x, eps=TINY)))
        back = torch.autograd.grad(states[-1], states, 1.3 * gradient)
        found.append((squares(back), squares(states)))
    return np.mean(found, axis=0)

"""Chapter 4 and its page of depth: what the formulas of both are bound to."""

import numpy as np
import torch

from attention_to_rope import layer_norm
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

"""The chapter and its page of depth: what the formulas of both are bound to."""

import numpy as np
import torch

from attention_to_rope import layer_norm, relu, rms_norm
from shared import sizes, tensor

D = 5
EPSILON = 0.3  # large, so that a formula without it fails
TINY = 1e-300  # for ε = 0, which the library refuses


def layer_norm_of(x, eps=TINY):
    return layer_norm(tensor(x), eps=eps).numpy()


def rms_norm_of(x, eps=TINY):
    return rms_norm(tensor(x), eps=eps).numpy()


def some_epsilon(rng):
    """An ε that is large, so that a formula without it fails."""
    return float(rng.uniform(0.2, 0.6))


def token(rng):
    """One token, its moments, its norm by the library, and the projection that centres."""
    (d,) = sizes(rng, 3)
    x = rng.normal(size=d) * 3 + 2
    return {
        "x": x,
        "y": layer_norm_of(x),
        "d": d,
        "j": range(d),
        "u": np.ones(d),
        "I": np.eye(d),
        "P": np.eye(d) - np.ones((d, d)) / d,
        r"\mu": x.mean(),
        r"\sigma": x.std(),
    }


def sublayer(rng, d=D):
    """A smooth sublayer with its own weights, for tensors."""
    W_1, W_2 = (tensor(rng.normal(size=(d, d))) for _ in range(2))
    return lambda x: torch.tanh(tensor(x) @ W_1) @ W_2


def as_array(function):
    return lambda x: function(tensor(x)).numpy()


def norm(x):
    return layer_norm(tensor(x), eps=EPSILON)


def measured_stack(rng, place, blocks=6, width=200, runs=24):
    """Mean squares of gradients and stream, (blocks + 1,) each, in a stack of ReLU layers, and c.

    Tokens with gradients of their own and many draws of the weights leave a deviation of about one
    percent over all blocks, and of half a percent in one. The weights are so large that c / v_l
    and c / v_(l-1) differ by several percent.
    """
    s = rng.uniform(0.85, 0.95)

    def squares(parts):
        return np.array([float(part.detach().square().mean()) for part in parts])

    found = []
    for _ in range(runs):
        start, gradient = torch.from_numpy(rng.normal(size=(2, width, width)))
        states = [(start / start.square().mean().sqrt()).requires_grad_()]
        for _ in range(blocks):
            W_1, W_2 = torch.from_numpy(rng.normal(size=(2, width, width)) * s / width**0.5)
            layer = lambda x, W_1=W_1, W_2=W_2: relu(x @ W_1) @ W_2  # noqa: E731
            states.append(place(states[-1], layer, lambda x: rms_norm(x, eps=TINY)))
        back = torch.autograd.grad(states[-1], states, 1.3 * gradient)
        found.append((squares(back), squares(states)))
    G, v = np.mean(found, axis=0)
    return {"G": G, "v": v, "c": s**4 / 2, "l": range(1, blocks + 1)}

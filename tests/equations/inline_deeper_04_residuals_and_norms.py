"""Deeper page of chapter 4: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import deepnorm_constants, layer_norm

PAGE = "deeper/04-residuals-and-norms"
OPTIONS = {"first_index": 0, "absolute": 1e-12}
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


CHECKS = {}
# Definitions and conditions; how a stream of each kind grows is the premise of its section.
DEFINITIONS = [
    r"z = x P",
    r"\frac{\partial z}{\partial x} = P",
    r"\sigma \gg \sqrt{\epsilon}",
    r"v_0 = 1",
    r"v_l = 1 + 2 l",
    r"v_l = v_{l-1} + \frac{1}{2}",
    r"G_L = \Gamma / v_L",
]

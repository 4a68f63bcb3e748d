"""Chapter 4: the relations inside its sentences."""

import numpy as np
import torch

from attention_to_rope import relu
from bookcheck.equations.expressions import RESULT
from shared_04_residuals_and_norms import D, centring, library_layer_norm

PAGE = "04-residuals-and-norms"
OPTIONS = {"first_index": 0}


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


CHECKS = {
    r"f(a x) = a f(x)": homogeneous,
    r"v_l = 1 + l/2": stream,
}
# Definitions, conditions and examples: they say for which values the sentence speaks.
DEFINITIONS = [
    r"Y = F(A(X))",
    r"x_l = x_{l-1} + f_l(x_{l-1})",
    r"\epsilon = 0",
    r"g = 1",
    r"b = 0",
    r"a > 0",
    r"\alpha > 1",
    r"x = (2, 0, 4, 2)",
    r"d = 2",
    r"b \ne 0",
    r"f(y) = -r y",
]


EXPRESSIONS = {r"2^{-11/2}": lambda rng: {RESULT: 0.5**5.5}}

"""What the formulas in the docstrings of `rope_axes` are compared with."""

import math

import numpy as np
import torch
from formulas import RESULT

import attention_to_rope as book

AXES = (0, 1, 0, 1)


def axial(rng):
    """Angles below half a turn, from the two tables."""
    theta = book.rotary_frequencies(2 * len(AXES), float(rng.uniform(5, 50)))
    coordinates = rng.integers(0, 3, size=(2, 4))
    cos, sin = book.axial_table(torch.from_numpy(coordinates), theta, AXES, dtype=torch.float64)
    for token, i in np.ndindex(4, len(AXES)):
        angle = math.atan2(sin[token, i], cos[token, i])
        symbols = {"p": coordinates[:, token], "a": lambda pair: AXES[int(pair)], "i": i}
        yield {r"\theta": theta.numpy(), **symbols, RESULT: angle}


BINDINGS = {"axial_table": axial}

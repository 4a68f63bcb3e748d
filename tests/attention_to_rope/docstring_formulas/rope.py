"""What the formulas in the docstrings of `rope` are compared with."""

import math

import numpy as np
import torch
from formulas import RESULT, tensor

import attention_to_rope as book

D, PAIRS, N = 8, 4, 3
# The numbers of pair i in each layout.
LAYOUTS = {"interleaved": lambda i: (2 * i, 2 * i + 1), "half": lambda i: (i, i + PAIRS)}


def frequencies(rng):
    base = float(rng.uniform(5, 50))
    theta = book.rotary_frequencies(D, base).numpy()
    return {r"\theta": theta, "b": base, "d": D, "i": range(PAIRS)}


def proportional(first, last):
    def bindings(rng):
        base = float(rng.uniform(5, 50))
        theta = book.proportional_frequencies(D, base, share=0.5).numpy()
        return {r"\theta": theta, "b": base, "d": D, "p": 0.5, "i": range(first, last)}

    return bindings


def angles(rng):
    """Angles below half a turn, from the two tables."""
    theta = book.rotary_frequencies(D, float(rng.uniform(5, 50)))
    cos, sin = book.rotary_table(torch.arange(N), theta, dtype=torch.float64)
    for m, i in np.ndindex(N, PAIRS):
        angle = math.atan2(sin[m, i], cos[m, i])
        yield {r"\theta": theta.numpy(), "m": m, "i": i, RESULT: angle}


def turned(rng, function):
    """Rows and their rotation, with the two numbers of each pair in both layouts."""
    theta, x = book.rotary_frequencies(D, float(rng.uniform(5, 50))), rng.normal(size=(N, D))
    for layout, members in LAYOUTS.items():
        rotated = function(tensor(x), theta, layout).numpy()
        for m, i in np.ndindex(N, PAIRS):
            a, b = members(i)
            yield m, i, a, b, x[m], rotated[m], theta.numpy()


def by_table(x, theta, layout):
    return book.rotate(x, book.rotary_table(torch.arange(N), theta, dtype=x.dtype), layout=layout)


def rotate(rng):
    for m, i, a, b, x, rotated, theta in turned(rng, by_table):
        yield {"x": x, "x'": rotated, "m": m, "i": i, "a": a, "b": b, r"\theta": theta}


def as_complex(x, theta, layout):
    return book.rotate_complex(x, torch.arange(N), theta, layout=layout)


def rotate_complex(rng):
    for m, i, a, b, x, rotated, theta in turned(rng, as_complex):
        pair = complex(rotated[a], rotated[b])
        yield {"x": x, "m": m, "a": a, "b": b, r"\theta": theta[i], RESULT: pair}


def dense(rng):
    theta, x = book.rotary_frequencies(D, float(rng.uniform(5, 50))), rng.normal(size=(N, D))
    for layout in LAYOUTS:
        rotated = by_table(tensor(x), theta, layout).numpy()
        matrices = book.rotation_matrix(torch.arange(N), theta, layout=layout).numpy()
        for m in range(N):
            yield {"x": x[m], "R": matrices, "m": m, RESULT: rotated[m]}


def one_pair(rng):
    theta = tensor([rng.uniform(0.1, 1)])
    for m in range(N):
        matrix = book.rotation_matrix(torch.tensor(m), theta, layout="half").numpy()
        yield {"m": m, r"\theta": theta.item(), RESULT: matrix}


BLOCK = r"\begin{pmatrix}\cos m\theta & \sin m\theta\\ -\sin m\theta & \cos m\theta \end{pmatrix}"
BINDINGS = {
    "rotary_frequencies": frequencies,
    "proportional_frequencies": {
        r"\theta_i = b^{-2i/d}": proportional(0, 2),
        r"\theta_i = 0": proportional(2, PAIRS),
        r"i \ge p\,d/2": proportional(2, PAIRS),
    },
    "rotary_table": angles,
    "rotate": rotate,
    "rotate_complex": rotate_complex,
    "rotation_matrix": {
        r"x R_m": dense,
        BLOCK: one_pair,
    },
}

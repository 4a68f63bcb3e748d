"""Chapter 7 and its page of depth: what the formulas of both are bound to."""

import numpy as np
import torch

from attention_to_rope import rotary_frequencies, rotation_matrix

N, D = 5, 8
J = np.array([[0.0, 1.0], [-1.0, 0.0]])


def frequencies(b, d=D):
    return rotary_frequencies(d, b).numpy()


def hand(alpha):
    return np.array([np.sin(alpha), np.cos(alpha)])


def shifts(b, d=D):
    """delta -> T_delta: the transpose of the library's rotation, its inverse for delta < 0."""

    def shift(delta):
        position = torch.tensor([abs(int(delta))])
        matrix = rotation_matrix(position, rotary_frequencies(d, b), layout="interleaved")[0]
        return (matrix if delta < 0 else matrix.T).numpy()

    return shift


def g(b, d=D):
    table = frequencies(b, d)
    return lambda delta: float(np.cos(delta * table).sum())

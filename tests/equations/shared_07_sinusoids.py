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
    """k -> T_k: the transpose of the library's rotation, and its inverse for k < 0."""

    def shift(k):
        position = torch.tensor([abs(int(k))])
        matrix = rotation_matrix(position, rotary_frequencies(d, b), layout="interleaved")[0]
        return (matrix if k < 0 else matrix.T).numpy()

    return shift


def g(b, d=D):
    table = frequencies(b, d)
    return lambda k: float(np.cos(k * table).sum())

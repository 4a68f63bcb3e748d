"""Values for checks of rotary formulas: rotations from the library, angles that tell signs apart.

Several pages print formulas of the same objects, so they bind the same values.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from attention_to_rope import rotary_frequencies, rotary_table, rotate, rotation_matrix

Array = npt.NDArray[np.float64]

IDENTITY: Array = np.eye(2)
QUARTER_TURN: Array = np.array([[0.0, 1.0], [-1.0, 0.0]])


@functools.cache
def plane_rotation(alpha: float) -> Array:
    """The library's rotation by any angle: position 1 of a plane with this frequency, (2, 2)."""
    frequency = torch.tensor([float(alpha)], dtype=torch.float64)
    matrix: Array = rotation_matrix(torch.tensor(1), frequency, layout="interleaved").numpy()
    return matrix


def some_angle(rng: np.random.Generator) -> float:
    """No angle near a multiple of a quarter turn, where sine and cosine have equal sizes or 0."""
    return float(rng.choice([-1, 1]) * rng.uniform(0.2, 0.6))


def some_base(rng: np.random.Generator) -> float:
    """A base small enough that all its frequencies differ much."""
    return float(rng.uniform(5, 60))


def some_frequencies(rng: np.random.Generator, d_k: int) -> tuple[float, torch.Tensor]:
    """A random base b and the library's frequencies (d_k/2,) for it."""
    b = some_base(rng)
    return b, rotary_frequencies(d_k, b)


def rotation_of_all_pairs(theta: Any) -> Callable[[int], Array]:
    """m → R_m, the library's dense matrix of all pairs (d_k, d_k)."""

    @functools.cache
    def matrix(m: int) -> Array:
        frequencies = torch.as_tensor(theta)
        position = torch.tensor(int(m))
        dense: Array = rotation_matrix(position, frequencies, layout="interleaved").numpy()
        return dense

    return matrix


def turned_row(x: Array, m: int, theta: Any) -> Array:
    """A row x (d_k,) at position m, turned by the library."""
    table = rotary_table(torch.tensor([int(m)]), torch.as_tensor(theta), dtype=torch.float64)
    row: Array = rotate(torch.as_tensor(x)[None], table, layout="interleaved")[0].numpy()
    return row


def passing_part(M: Array) -> Array:
    """What is left when M (2, 2) is averaged over rotations of its two sides."""
    turns = [plane_rotation(turn) for turn in np.linspace(0, 2 * np.pi, 8, endpoint=False)]
    average: Array = np.mean([turn @ M @ turn.T for turn in turns], axis=0)
    return average


def split_matrix(rng: np.random.Generator) -> dict[str, Any]:
    """A random M (2, 2) and its parts: aI + cJ lets rotations pass, H reverses them."""
    M = rng.normal(size=(2, 2))
    passing = passing_part(M)
    H = M - passing
    parts = {"M": M, "a": passing[0, 0], "c": passing[0, 1], "H": H, "u": H[0, 0], "v": H[0, 1]}
    return {**parts, "I": IDENTITY, "J": QUARTER_TURN}

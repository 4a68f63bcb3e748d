"""How much of a difference is rounding: random noise in the last places of every inexact result.

A formula is evaluated again with noise on each intermediate value. What the noise changes in the
result shows how large the terms were that produced it: where two terms of size 1 cancel, the
result moves by the rounding of 1 although it is 0 itself. Two sides agree if they differ by at
most a small multiple of that.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence

import numpy as np

from texcheck.values import Array, Crossed, Value

EPSILON = float(np.finfo(np.float64).eps)
# The comparison's noise has this many units in the last place: one unit is a grid so coarse that
# two changes often cancel, and the noise would then show nothing.
NOISE_UNITS = 128
# Two sides may differ by this many times what one unit in the last place changes.
ROOM = 64
# How often both sides are evaluated with noise, at most: chance may make one sample small.
SAMPLES = 4
# A check whose room is a larger share of its value could not see a wrong digit.
LARGEST_SHARE = 1e-6


class Noise:
    """Random changes of at most ``units`` units in the last place, from a generator of its own."""

    def __init__(self, seed: int, units: int = NOISE_UNITS) -> None:
        self.seed = seed
        self.units = units

    @functools.cached_property
    def arrays(self) -> np.random.Generator:
        """The noise of arrays."""
        return np.random.default_rng(self.seed)

    @functools.cached_property
    def numbers(self) -> random.Random:
        """The noise of numbers, each by itself."""
        return random.Random(self.seed)

    def disturbed(self, value: Value, scale: float | None = None) -> Value:
        """The value with noise on what is rounded; exact and whole numbers stay as they are.

        ``scale`` is the size to which the noise belongs, where that is not the value's own: entries
        of a declared array are sums of terms as large as the largest entry.
        """
        if isinstance(value, float):
            return self.number(value, scale)
        if isinstance(value, complex):
            return complex(self.number(value.real, scale), self.number(value.imag, scale))
        if isinstance(value, Crossed):
            return Crossed(self.array(value.array, scale))
        return self.array(value, scale) if isinstance(value, np.ndarray) else value

    def number(self, value: float, scale: float | None) -> float:
        """One real number with noise."""
        if value % 1 == 0 or not math.isfinite(value):
            return value
        size = value if scale is None else scale
        return value + size * EPSILON * self.units * self.numbers.uniform(-1, 1)

    def array(self, value: Array, scale: float | None) -> Array:
        """An array with noise on every entry that is not a whole number."""
        if value.dtype.kind == "c":
            return np.asarray(self.array(value.real, scale) + 1j * self.array(value.imag, scale))
        if value.dtype.kind != "f":
            return value
        size = value if scale is None else scale
        noise = size * EPSILON * self.units * self.arrays.uniform(-1, 1, value.shape)
        exact = (value == np.round(value)) | ~np.isfinite(value)
        return np.asarray(np.where(exact, value, value + noise))

    def shifted(self, value: Value, error: float) -> Value:
        """The value moved at random within an error that its computation knows."""
        largest = error * self.units / ROOM
        if isinstance(value, Crossed):
            return Crossed(self.shifted(value.array, error))
        if isinstance(value, np.ndarray):
            return value + largest * self.arrays.uniform(-1, 1, value.shape)
        return value + largest * self.numbers.uniform(-1, 1)


def room_between(pair: tuple[Array, Array], noisy: Sequence[tuple[Array, Array]]) -> Array:
    """How far each entry of two sides may differ, given both sides under noise."""
    size = np.maximum(np.abs(pair[0]), np.abs(pair[1]))
    moved = np.zeros(size.shape)
    for sample in noisy:
        for disturbed, side in zip(sample, pair, strict=True):
            change = np.abs(disturbed - side)
            moved = np.maximum(moved, np.where(np.isfinite(change), change, 0.0))
    finite = np.where(np.isfinite(size), size, 0.0)
    room = ROOM * (EPSILON * finite + moved / NOISE_UNITS)
    # Whole numbers that no noise moves were computed from whole numbers: they are exact.
    whole = (pair[0] == np.round(pair[0])) & (pair[1] == np.round(pair[1])) & (size < 2**53)
    return np.asarray(np.where(whole & (moved == 0), 0.0, room))


def badly_conditioned(pair: tuple[Array, Array], room: Array) -> bool:
    """Whether sides that agree would also agree with a wrong sixth digit.

    A value that vanishes by cancellation has no size of its own and is held against 1.
    """
    size = np.maximum(np.abs(pair[0]), np.abs(pair[1]))
    return bool(np.any(room > LARGEST_SHARE * np.where(size <= room, 1.0, size)))

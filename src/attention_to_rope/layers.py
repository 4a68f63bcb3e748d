"""The two layers with weights that everything else is built from, started from a NumPy seed."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from attention_to_rope.checks import (
    check_count,
    check_float,
    check_integers,
    check_positive,
    check_same_kind,
)

Seed = int | np.random.Generator


def generator(seed: Seed) -> np.random.Generator:
    """The generator for a seed; a generator stays as it is: the parts of a model share one."""
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed must be a whole number >= 0, got {seed!r}")
    return np.random.Generator(np.random.PCG64(seed))


def parameter(values: np.ndarray) -> nn.Parameter:
    """A trainable parameter in torch's default dtype with these values."""
    return nn.Parameter(torch.from_numpy(values).to(torch.get_default_dtype()))


class Linear(nn.Module):
    r"""Row vectors times a matrix: $x W + b$, with W of shape (d_in, d_out).

    W starts uniform with variance $2 g^2/(d_\text{in}+d_\text{out})$ (Xavier, gain g), b at 0.
    torch's `nn.Linear` stores the transpose of W.
    """

    def __init__(
        self, d_in: int, d_out: int, *, seed: Seed, bias: bool = True, gain: float = 1.0
    ) -> None:
        super().__init__()
        check_count("d_in", d_in)
        check_count("d_out", d_out)
        check_positive("gain", gain)
        bound = gain * math.sqrt(6 / (d_in + d_out))
        self.W = parameter(generator(seed).uniform(-bound, bound, (d_in, d_out)))
        self.b = parameter(np.zeros(d_out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_in) → (..., d_out)"""
        check_float("x", x)
        check_same_kind("x", x, "W", self.W)
        if x.shape[-1] != self.W.shape[0]:
            raise ValueError(
                f"x must have {self.W.shape[0]} entries on its last axis, got {x.shape[-1]}"
            )
        y = x @ self.W
        return y if self.b is None else y + self.b


class Embedding(nn.Module):
    """One row of a table for each token, started normal with standard deviation `deviation`."""

    def __init__(self, count: int, d: int, *, seed: Seed, deviation: float = 1.0) -> None:
        super().__init__()
        check_count("count", count)
        check_count("d", d)
        self.rows = parameter(generator(seed).standard_normal((count, d)) * deviation)

    def forward(self, tokens: Tensor) -> Tensor:
        """Integers (...) below `count` → (..., d)"""
        check_integers("tokens", tokens, 0, self.rows.shape[0] - 1)
        return self.rows[tokens.long()]

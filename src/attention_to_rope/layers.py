"""The two layers with weights that everything else is built from, started from a NumPy seed."""

import math
import numbers
import zlib
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attention_to_rope.checks import (
    check_count,
    check_flag,
    check_float,
    check_integer_type,
    check_integers,
    check_positive,
    check_same_device,
    check_same_kind,
)

Seed = int | np.random.Generator
BIAS = True  # whether layers add a bias, wherever nothing else is said


def stream_of(seed: Seed, part: str) -> np.random.Generator:
    """The stream of random numbers of one part of a model, such as "Decoder" or "Learned".

    Two parts with equal seeds draw from different streams: their tables have nothing in common. A
    generator stays as it is: who gives one decides what shares it.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        raise ValueError(f"seed must be a whole number >= 0, got {seed!r}")
    stream = np.random.SeedSequence(int(seed), spawn_key=(zlib.crc32(part.encode()),))
    return np.random.Generator(np.random.PCG64(stream))


def parameter(values: np.ndarray) -> nn.Parameter:
    """A trainable parameter with these values, in torch's default dtype, on its default device."""
    tensor = torch.from_numpy(values)
    return nn.Parameter(tensor.to(torch.get_default_device(), torch.get_default_dtype()))


def drawn_parameter(
    shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], np.ndarray]
) -> nn.Parameter:
    """A parameter with drawn values; on "meta", where there are none, nothing is drawn."""
    if torch.get_default_device().type == "meta":
        return nn.Parameter(torch.empty(shape))
    return parameter(draw(shape))


class FixedSizes(nn.Module):
    """A module that refuses to change what its weights were built from: nothing would follow."""

    fixed: ClassVar[tuple[str, ...]] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, but one in `fixed` only once, when the module is built."""
        if name in self.fixed and name in self.__dict__:
            raise AttributeError(
                f"{name} of a {type(self).__name__} cannot change: its parts were built from it. "
                f"Build a new {type(self).__name__}"
            )
        super().__setattr__(name, value)


class Linear(nn.Module):
    r"""Row vectors times a matrix: $x W + b$, with W of shape (d_in, d_out).

    W starts uniform with variance $2 g^2 / (d_{\text{in}} + d_{\text{out}})$ (Xavier, gain g), b at
    0. torch's `nn.Linear` stores the transpose of W.
    """

    def __init__(
        self, d_in: int, d_out: int, *, seed: Seed, bias: bool = BIAS, gain: float = 1.0
    ) -> None:
        super().__init__()
        check_count("d_in", d_in)
        check_count("d_out", d_out)
        check_flag("bias", bias)
        check_positive("gain", gain)
        bound = gain * math.sqrt(6 / (d_in + d_out))
        rng = stream_of(seed, "Linear")
        self.W = drawn_parameter((d_in, d_out), lambda shape: rng.uniform(-bound, bound, shape))
        self.b = parameter(np.zeros(d_out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_in) → (..., d_out)"""
        check_float("x", x)
        check_same_kind("x", x, "W", self.W)
        if x.ndim == 0 or x.shape[-1] != self.W.shape[0]:
            raise ValueError(
                f"x must have {self.W.shape[0]} entries on its last axis, got shape "
                f"{tuple(x.shape)}"
            )
        y = x @ self.W
        return y if self.b is None else y + self.b

    def extra_repr(self) -> str:
        """The sizes, for `repr`."""
        d_in, d_out = self.W.shape
        return f"{d_in}, {d_out}, bias={self.b is not None}"


class Embedding(nn.Module):
    """One row of a table for each token, started normal with standard deviation `deviation`."""

    def __init__(self, count: int, d: int, *, seed: Seed, deviation: float = 1.0) -> None:
        super().__init__()
        check_count("count", count)
        check_count("d", d)
        check_positive("deviation", deviation)
        rng = stream_of(seed, "Embedding")
        self.rows = drawn_parameter(
            (count, d), lambda shape: rng.standard_normal(shape) * deviation
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """Integers (...) below `count` → (..., d)"""
        check_integer_type("tokens", tokens)
        check_same_device("tokens", tokens, "the table", self.rows)
        try:
            return functional.embedding(tokens.long(), self.rows)
        except IndexError:
            # Looked at only now: a look at every token would wait for the device at every step.
            check_integers("tokens", tokens, 0, self.rows.shape[0] - 1)
            raise

    def extra_repr(self) -> str:
        """The sizes, for `repr`."""
        count, d = self.rows.shape
        return f"{count}, {d}"

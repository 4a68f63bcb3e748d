"""Activation functions, gated units, and the feed-forward layer built on them."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attention_to_rope.checks import (
    check_choice,
    check_count,
    check_float,
    check_same_kind,
    working_dtype,
)
from attention_to_rope.layers import BIAS, Linear, Seed, stream_of


def relu(x: Tensor) -> Tensor:
    r"""Keep what is positive: $\max(0, x)$. The slope at 0 is 0."""
    check_float("x", x)
    return torch.relu(x)


def silu(x: Tensor, beta: float = 1.0) -> Tensor:
    r"""Swish: x times a soft step, $x\, \sigma(\beta x)$. β = 1 is called SiLU."""
    check_float("x", x)
    exact = x.to(working_dtype(x.dtype))
    return (exact * torch.sigmoid(beta * exact)).to(x.dtype)


def gelu(x: Tensor) -> Tensor:
    r"""x times the chance that a standard normal number lies below it.

    $x\, \Phi(x) = \tfrac{x}{2} \left(1 + \operatorname{erf}(x / \sqrt 2)\right)$

    >>> gelu(torch.tensor([-1.0, 1.0]))
    tensor([-0.1587,  0.8413])
    """
    check_float("x", x)
    exact = x.to(working_dtype(x.dtype))
    # 1 + erf(a) = erfc(−a); the right side keeps its digits where erf(a) is close to −1.
    return (0.5 * exact * torch.erfc(exact * -math.sqrt(0.5))).to(x.dtype)


def gelu_tanh(x: Tensor) -> Tensor:
    r"""The approximation of GELU by tanh.

    $\tfrac{x}{2} \left(1 + \tanh\left(\sqrt{2/\pi}\,(x + 0.044715\, x^3)\right)\right)$
    """
    check_float("x", x)
    exact = x.to(working_dtype(x.dtype))
    inner = math.sqrt(2 / math.pi) * (exact + 0.044715 * exact**3)
    return (0.5 * exact * (1 + torch.tanh(inner))).to(x.dtype)


def _gated(gate: Tensor, value: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    check_float("gate", gate)
    check_float("value", value)
    check_same_kind("gate", gate, "value", value)
    if gate.shape != value.shape:
        raise ValueError(
            f"gate and value must have the same shape, got {tuple(gate.shape)} and "
            f"{tuple(value.shape)}"
        )
    return activation(gate) * value


def glu(gate: Tensor, value: Tensor) -> Tensor:
    r"""Gated linear unit: $\sigma(a) \odot b$."""
    return _gated(gate, value, torch.sigmoid)


def swiglu(gate: Tensor, value: Tensor) -> Tensor:
    r"""Gate with Swish: $\operatorname{silu}(a) \odot b$."""
    return _gated(gate, value, silu)


def geglu(gate: Tensor, value: Tensor) -> Tensor:
    r"""Gate with GELU: $\operatorname{gelu}(a) \odot b$."""
    return _gated(gate, value, gelu)


def geglu_tanh(gate: Tensor, value: Tensor) -> Tensor:
    r"""Gate with GELU's approximation f = `gelu_tanh` (Gemma): $f(a) \odot b$."""
    return _gated(gate, value, gelu_tanh)


PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": relu,
    "silu": silu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
}
GATED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "glu": glu,
    "swiglu": swiglu,
    "geglu": geglu,
    "geglu_tanh": geglu_tanh,
}


def parity_width(d: int) -> int:
    """The hidden width at which a gated layer has the weights of a plain one of width 4d: 8d/3.

    Rounded to the nearest integer.

    >>> parity_width(96)
    256
    """
    check_count("d", d)
    return round(8 * d / 3)


class FeedForward(nn.Module):
    r"""The same two-layer network at every position.

    Plain (`relu`, `silu`, `gelu`, `gelu_tanh`): $f(x W_1 + b_1) W_2 + b_2$, width 4d if not given.
    Gated (`glu`, `swiglu`, `geglu`, `geglu_tanh`):
    $(f(x W_1 + b_1) \odot (x W_3 + b_3)) W_2 + b_2$, width 8d/3.
    """

    def __init__(
        self,
        d: int,
        hidden: int | None = None,
        *,
        activation: str,
        seed: Seed,
        bias: bool = BIAS,
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        check_choice("activation", activation, (*PLAIN, *GATED))
        check_count("d", d)
        if hidden is not None:
            check_count("hidden", hidden)
        gated = activation in GATED
        if hidden is None:
            hidden = parity_width(d) if gated else 4 * d
        rng = stream_of(seed, "FeedForward")
        self.activation = activation
        self.up = Linear(d, hidden, bias=bias, seed=rng, gain=gain)
        self.value = Linear(d, hidden, bias=bias, seed=rng, gain=gain) if gated else None
        self.down = Linear(hidden, d, bias=bias, seed=rng, gain=gain)

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) → (..., d)"""
        if self.value is None:
            hidden = PLAIN[self.activation](self.up(x))
        else:
            hidden = GATED[self.activation](self.up(x), self.value(x))
        y: Tensor = self.down(hidden)
        return y

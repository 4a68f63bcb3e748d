"""Activation functions, gated units, and the feed-forward layer built on them.

Between two linear maps there must be a function that is not linear, or both would be one map
(`eq-two-linear`). All functions here act on each number by itself, so shapes stay the same.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_to_rope.layers import Linear, Seed, check_at_least, stream_of, wide


def relu(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    r"""Keep what is positive: $\max(0, x)$. The slope at 0 is 0. See `eq-relu`.

    A unit whose input is negative for all data gets no gradient.

    >>> relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return torch.relu(x)


def silu(x: Float[Tensor, "*n"], beta: float = 1.0) -> Float[Tensor, "*n"]:
    r"""Swish: $x\, \sigma(\beta x)$, `eq-swish`. With β = 1 it is called SiLU.

    A smooth ReLU: the sigmoid is a soft step from 0 to 1 that multiplies x.

    >>> silu(torch.tensor([1.0]))
    tensor([0.7311])
    """
    return (wide(x) * torch.sigmoid(beta * wide(x))).to(x.dtype)


def gelu(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    r"""x times the probability that a standard normal number lies below it.

    $x\, \Phi(x) = \tfrac{x}{2} \left(1 + \operatorname{erf}(x / \sqrt 2)\right)$, `eq-gelu-erf`.

    >>> gelu(torch.tensor([-1.0, 1.0]))
    tensor([-0.1587,  0.8413])
    """
    # 1 + erf(a) = erfc(−a); the right side keeps its digits where erf(a) is close to −1.
    return (0.5 * wide(x) * torch.erfc(wide(x) * -math.sqrt(0.5))).to(x.dtype)


def gelu_tanh(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    r"""The approximation of GELU by tanh, `eq-gelu-tanh`; a checkpoint needs the one it has.

    $\tfrac{x}{2} \left(1 + \tanh\left(\sqrt{2/\pi}\,(x + 0.044715\, x^3)\right)\right)$

    >>> gelu_tanh(torch.tensor([-1.0, 1.0]))
    tensor([-0.1588,  0.8412])
    """
    exact = wide(x)
    inner = math.sqrt(2 / math.pi) * (exact + 0.044715 * exact**3)
    return (0.5 * exact * (1 + torch.tanh(inner))).to(x.dtype)


# The activation f by its name; a gated unit multiplies f(a) by a second product b.
PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": relu,
    "silu": silu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
}
GATED: dict[str, Callable[[Tensor], Tensor]] = {
    "glu": torch.sigmoid,
    "swiglu": silu,
    "geglu": gelu,
    "geglu_tanh": gelu_tanh,
}


def parity_width(d: int) -> int:
    """The hidden width at which a gated layer has the weights of a plain one of width 4d: 8d/3.

    It has three matrices in place of two, so each is two thirds as wide (`eq-parity`).

    >>> parity_width(96)
    256
    """
    return round(8 * d / 3)


class FeedForward(nn.Module):
    r"""The same two-layer network at every position, `eq-ffn`, or gated, `eq-glu-family`.

    Plain (`relu`, `silu`, `gelu`, `gelu_tanh`): $f(x W_1 + b_1) W_2 + b_2$, width 4d if not given.
    Gated (`glu`, `swiglu`, `geglu`, `geglu_tanh`):
    $(f(x W_1 + b_1) \odot (x W_3 + b_3)) W_2 + b_2$, width 8d/3 if not given.

    >>> FeedForward(4, activation="swiglu", seed=0)(torch.zeros(2, 4)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self,
        d: int,
        hidden: int | None = None,
        *,
        activation: str,
        seed: Seed,
        bias: bool = True,
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        every = PLAIN | GATED
        if activation not in every:
            raise ValueError(f"activation must be one of {', '.join(every)}; got {activation!r}")
        gated = activation in GATED
        self.f = every[activation]
        if hidden is None:
            hidden = parity_width(d) if gated else 4 * d
        check_at_least("hidden", hidden, 1)
        rng = stream_of(seed, "FeedForward")
        self.up = Linear(d, hidden, bias=bias, seed=rng, gain=gain)
        self.value = Linear(d, hidden, bias=bias, seed=rng, gain=gain) if gated else None
        self.down = Linear(hidden, d, bias=bias, seed=rng, gain=gain)

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Every position by itself."""
        # Each hidden unit compares x with a pattern; the last map adds a vector for each match.
        hidden = self.f(self.up(x))  # (..., hidden)
        # A gate decides how much of a second product passes.
        if self.value is not None:
            hidden = hidden * self.value(x)  # (..., hidden)
        y: Tensor = self.down(hidden)  # (..., d)
        return y

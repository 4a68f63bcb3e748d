"""RoPE and attention as most published code writes them, to compare with."""

import torch
from torch import Tensor


def rotated_half(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The form of most published code: the table is as wide as x and has its dtype."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def as_complex(x: Tensor, turn: Tensor) -> Tensor:
    """The form of Meta's Llama code: pairs as complex numbers in float32."""
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * turn).flatten(-2).to(x.dtype)


def textbook(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Attention as the formula has it: all scores, all weights, in operations of their own."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(hidden, -torch.inf)
    output: Tensor = scores.softmax(-1) @ v
    return output

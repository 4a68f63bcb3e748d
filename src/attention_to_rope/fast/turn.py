"""The rotation of `rope.rotate` with fewer passes over memory, for eager mode.

`rotate` reads as the formula; this file is what it calls when the numbers stand in memory.
"""

from typing import Any

import torch
from torch import Tensor

from attention_to_rope.checks import values_are_known


def can_turn(x: Tensor, cos: Tensor, sin: Tensor) -> bool:
    """Whether `turn` may be used: numbers in memory, and no gradient of the table is asked for."""
    if cos.requires_grad or sin.requires_grad:
        return False
    return values_are_known(x) and values_are_known(cos) and values_are_known(sin)


def turn(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Turn the pairs of x (..., d) by a table (..., d/2) that broadcasts against them."""
    if x.requires_grad:
        turned: Tensor = _Turn.apply(x, cos, sin, interleaved)
        return turned
    return _turned(x, cos, sin, interleaved)


def _turned(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    return _turn_complex(x, cos, sin) if interleaved else _turn_halves(x, cos, sin)


def _turn_complex(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Neighbours in memory are the two parts of a complex number: one product does it all."""
    wide = x.to(cos.dtype)
    strides_fit = wide.stride(-1) == 1 and all(step % 2 == 0 for step in wide.stride()[:-1])
    if not strides_fit or wide.storage_offset() % 2:
        wide = wide.clone(memory_format=torch.contiguous_format)
    z = torch.view_as_complex(wide.reshape(*wide.shape[:-1], cos.shape[-1], 2))
    factor = torch.complex(cos, sin)
    product = z * factor if wide is x else z.mul_(factor)
    return torch.view_as_real(product).flatten(-2).to(x.dtype)


def _turn_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The products with cos at once, those with sin added by halves.

    A table as wide as x runs through whole heads in one loop; a half at a time stops at every
    position.
    """
    wide = x.to(cos.dtype)
    middle = cos.shape[-1]
    rotated = wide * torch.cat((cos, cos), dim=-1)
    rotated[..., :middle].addcmul_(wide[..., middle:], sin, value=-1)
    rotated[..., middle:].addcmul_(wide[..., :middle], sin)
    return rotated.to(x.dtype)


class _Turn(torch.autograd.Function):
    """`turn` with the inverse rotation as its gradient: nothing of x is kept."""

    @staticmethod
    def forward(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
        return _turned(x, cos, sin, interleaved)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, cos, sin, ctx.interleaved = inputs
        ctx.save_for_backward(cos, sin)
        ctx.save_for_forward(cos, sin)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        cos, sin = ctx.saved_tensors
        return turn(gradient, cos, -sin, ctx.interleaved), None, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: None) -> Tensor:
        cos, sin = ctx.saved_tensors
        return _turned(tangent, cos, sin, ctx.interleaved)

"""RoPE in fewer operations than the formula, for models that PyTorch runs without compiling.

In eager mode every operation reads its arguments from memory and writes its result. `rotate` is the
formula, in seven operations. Here the half layout takes five, because a product and a sum are one
(`addcmul_`). The interleaved layout takes one product, because neighbours are the two parts of a
complex number. A compiler makes one loop of the formula by itself, so it gets `rotate`.
"""

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from attention_to_rope.layers import wide
from attention_to_rope.positions import Rotary
from attention_to_rope.rope import Layout, RotaryTable, fitting_table, rotate


def rotate_eagerly(
    x: Float[Tensor, "*shape d"],
    table: RotaryTable | tuple[Tensor, Tensor],
    *,
    layout: Layout,
    rotary_dim: int | None = None,
) -> Float[Tensor, "*shape d"]:
    """`rotate`, for x (..., N, d), in fewer passes over memory; equal up to rounding.

    >>> from attention_to_rope import rotary_frequencies, rotary_table
    >>> table = rotary_table(torch.tensor([1]), rotary_frequencies(2))
    >>> rotate_eagerly(torch.tensor([[1.0, 0.0]]), table, layout="half")
    tensor([[0.5403, 0.8415]])
    """
    if torch.compiler.is_compiling() or layout not in ("half", "interleaved"):
        return rotate(x, table, layout=layout, rotary_dim=rotary_dim)
    if rotary_dim is not None and rotary_dim < x.shape[-1]:
        first = x[..., :rotary_dim]
        rest = x[..., rotary_dim:]
        rotated = rotate_eagerly(first, table, layout=layout)
        return torch.cat((rotated, rest), dim=-1)
    cos, sin = table
    alike = cos.dtype == sin.dtype == x.dtype
    shared = (x.shape[-2], x.shape[-1] / 2)  # the same for all leading axes: nothing to reshape
    if not (alike and cos.shape == sin.shape == shared):
        cos, sin = fitting_table(x, table, -2)
    if layout == "half":
        x_a, x_b = x.chunk(2, -1)
        y_a = (x_a * cos).addcmul_(x_b, sin, value=-1)  # x_a cos − x_b sin
        y_b = (x_b * cos).addcmul_(x_a, sin)  # x_b cos + x_a sin
        rotated = torch.cat((y_a, y_b), -1)
    else:
        z = _as_complex(wide(x)) * torch.complex(cos, sin)  # (x_a + i x_b) e^{imθ}
        rotated = torch.view_as_real(z).flatten(-2)
    return rotated if alike else rotated.to(x.dtype)


def _as_complex(x: Tensor) -> Tensor:
    """Neighbours as complex numbers, without a copy if memory allows. (..., d) → (..., d/2)"""
    neighbours = x.reshape(*x.shape[:-1], -1, 2)
    try:
        return torch.view_as_complex(neighbours)
    except RuntimeError:  # a view with odd steps
        return torch.view_as_complex(neighbours.clone(memory_format=torch.contiguous_format))


class EagerRotary(Rotary):
    """`Rotary` with the faster rotation: give it to a model that is not compiled.

    >>> from attention_to_rope import rotary_frequencies
    >>> scheme = EagerRotary(rotary_frequencies(2), layout="half")
    >>> scheme.rotate(torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([1]))
    tensor([[[[0.5403, 0.8415]]]])
    """

    def rotate(
        self, x: Float[Tensor, "b h n d"], positions: Integer[Tensor, "*b n"] | RotaryTable
    ) -> Float[Tensor, "b h n d"]:
        """Every head rotated by the angles of its position."""
        table = positions
        if not isinstance(table, RotaryTable):
            table = self.angles(table, x.dtype)
        return rotate_eagerly(x, table, layout=self.layout, rotary_dim=self.rotary_dim)

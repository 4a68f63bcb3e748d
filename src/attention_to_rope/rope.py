"""Rotary position embedding: position m turns the i-th pair of a vector by the angle m θ_i.

A pair is made of dimensions (2i, 2i + 1) in the `interleaved` layout (RoFormer, meta-llama) and of
(i, i + d/2) in the `half` layout (GPT-NeoX, Hugging Face Llama). Both are in wide use and neither
is a safe guess, so every function that depends on it asks for `layout=`.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_choice,
    check_count,
    check_float,
    check_positions,
    check_positive,
    check_same_device,
    working_dtype,
)
from attention_to_rope.fast import turn as fast
from attention_to_rope.rope_checks import (
    LAYOUTS,
    check_angle_dtype,
    check_float_dtype,
    check_frequencies,
    check_rotary_dim,
    check_share,
    check_table,
    fit_table,
)

Layout = Literal["half", "interleaved"]
BASE = 10000.0  # the slowest pair turns by about 1 / BASE per position


def rotary_frequencies(
    dim: int, base: float = BASE, *, device: torch.device | str | None = None
) -> Tensor:
    r"""The angle per position of each pair: $\theta_i = b^{-2i/d}$, i = 0 … d/2 − 1, in float64.

    >>> rotary_frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    check_rotary_dim(dim)
    check_positive("base", base)
    exponents = torch.arange(0, dim, 2, dtype=torch.float64, device=device) / dim
    return torch.pow(torch.tensor(base, dtype=torch.float64, device=device), -exponents)


def proportional_frequencies(
    dim: int, base: float = BASE, *, share: float, device: torch.device | str | None = None
) -> Tensor:
    r"""p-RoPE: the fastest pairs keep their $\theta_i = b^{-2i/d}$, the slowest stand still.

    $\theta_i = 0$ for $i \ge p\,d/2$, p = `share`. This cuts the slow end of the spectrum. Partial
    rotary, `rotary_frequencies(p · d)` with `rotary_dim`, squeezes the whole spectrum into fewer
    pairs: another object. In the half layout the still dimensions are two blocks, not the tail.

    >>> proportional_frequencies(8, 10000.0, share=0.5)
    tensor([1.0000, 0.1000, 0.0000, 0.0000], dtype=torch.float64)
    """
    frequencies = rotary_frequencies(dim, base, device=device)
    check_share(share)
    frequencies[int(share * dim // 2) :] = 0
    return frequencies


class RotaryTable(NamedTuple):
    """cos and sin of the angle of every position and pair, (N, d/2) or (B, N, d/2) each."""

    cos: Tensor
    sin: Tensor


def rotary_table(
    positions: Tensor,
    frequencies: Tensor,
    *,
    dtype: torch.dtype = torch.float32,
    attention_factor: float = 1.0,
    angle_dtype: torch.dtype = torch.float64,
) -> RotaryTable:
    r"""cos and sin of $m \theta_i$ for integer positions: angles in float64, rounded once.

    positions (N,) or (B, N); frequencies (d/2,) in float64; `dtype` is that of the vectors to be
    rotated. The table is float64 for float64 vectors and float32 for all others: never half.
    `attention_factor` multiplies the table (YaRN, LongRoPE). Negative positions turn backwards.
    `angle_dtype=torch.float32` rounds θ and m θ, as the code did that most checkpoints were trained
    with: only to repeat its numbers bit for bit.

    >>> rotary_table(torch.arange(2), rotary_frequencies(2)).cos
    tensor([[1.0000],
            [0.5403]])
    """
    check_positions(positions)
    check_frequencies(frequencies)
    check_same_device("positions", positions, "frequencies", frequencies)
    check_positive("attention_factor", attention_factor)
    check_float_dtype(dtype)
    check_angle_dtype(angle_dtype)
    angles = positions.to(angle_dtype).unsqueeze(-1) * frequencies.to(angle_dtype)  # (..., N, d/2)
    rounded = working_dtype(dtype)
    return RotaryTable(
        (angles.cos() * attention_factor).to(rounded), (angles.sin() * attention_factor).to(rounded)
    )


def _pairs(x: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """First and second members of all pairs, views of x. (..., d) → (..., d/2) twice"""
    if layout == "half":
        middle = x.shape[-1] // 2
        return x[..., :middle], x[..., middle:]
    return x[..., 0::2], x[..., 1::2]


def _join(first: Tensor, second: Tensor, layout: Layout) -> Tensor:
    """The vector whose pairs these are. (..., d/2) twice → (..., d)"""
    if layout == "half":
        return torch.cat((first, second), dim=-1)
    return torch.stack((first, second), dim=-1).flatten(-2)


def _append(rotated: Tensor, rest: Tensor) -> Tensor:
    """The head again, with the dimensions that were not turned behind those that were."""
    return rotated if rest.shape[-1] == 0 else torch.cat((rotated, rest), dim=-1)


def rotate(
    x: Tensor,
    table: RotaryTable | tuple[Tensor, Tensor],
    *,
    layout: Layout,
    rotary_dim: int | None = None,
    sequence_axis: int = -2,
) -> Tensor:
    r"""Turn every pair of each vector by the angle of its position.

    $x'_a = x_a \cos m\theta_i - x_b \sin m\theta_i$,
    $x'_b = x_a \sin m\theta_i + x_b \cos m\theta_i$ for the i-th pair (a, b) of the layout.

    x (..., N, d), or (..., N, H, d) with `sequence_axis=-3`. A table (N, d/2) is shared by all
    leading axes; a table (B, N, d/2) has its own positions for each entry of the first axis.
    `rotary_dim` turns the first dimensions only and leaves the others as they are. Half types are
    computed in float32 and rounded once. The gradient is the inverse rotation.

    >>> table = rotary_table(torch.tensor([1]), rotary_frequencies(2))
    >>> rotate(torch.tensor([[1.0, 0.0]]), table, layout="half")
    tensor([[0.5403, 0.8415]])
    """
    cos, sin = fit_table(x, table, layout, rotary_dim, sequence_axis)
    turned, rest = x[..., : 2 * cos.shape[-1]], x[..., 2 * cos.shape[-1] :]
    if fast.can_turn(x, cos, sin):  # the three lines below, with fewer passes over memory
        return _append(fast.turn(turned, cos, sin, layout == "interleaved"), rest)
    first, second = _pairs(turned.to(cos.dtype), layout)
    rotated = _join(first * cos - second * sin, first * sin + second * cos, layout)
    return _append(rotated.to(x.dtype), rest)


def rotate_back(
    x: Tensor,
    table: RotaryTable | tuple[Tensor, Tensor],
    *,
    layout: Layout,
    rotary_dim: int | None = None,
    sequence_axis: int = -2,
) -> Tensor:
    """Turn by the opposite angles: the inverse of `rotate`, for an attention factor of 1."""
    cos, sin = check_table(table)
    opposite = RotaryTable(cos, -sin)
    return rotate(x, opposite, layout=layout, rotary_dim=rotary_dim, sequence_axis=sequence_axis)


def rotation_matrix(positions: Tensor, frequencies: Tensor, *, layout: Layout) -> Tensor:
    r"""The dense matrix that turns row vectors: $x R_m$, block-diagonal in the interleaved layout.

    Each pair holds $\begin{pmatrix}\cos m\theta & \sin m\theta\\ -\sin m\theta & \cos m\theta
    \end{pmatrix}$. positions (...), a scalar too → (..., d, d) in float64. To learn from, not to
    use: it costs d² where `rotate` costs d.
    """
    check_choice("layout", layout, LAYOUTS)
    scalar = isinstance(positions, Tensor) and positions.ndim == 0
    cos, sin = rotary_table(
        positions.unsqueeze(0) if scalar else positions, frequencies, dtype=torch.float64
    )
    dim = 2 * frequencies.shape[0]
    first, second = _pairs(torch.arange(dim, device=frequencies.device), layout)
    matrix = torch.zeros(*cos.shape[:-1], dim, dim, dtype=torch.float64, device=cos.device)
    matrix[..., first, first] = cos
    matrix[..., second, second] = cos
    matrix[..., first, second] = sin
    matrix[..., second, first] = -sin
    return matrix[0] if scalar else matrix


def rotate_complex(x: Tensor, positions: Tensor, frequencies: Tensor, *, layout: Layout) -> Tensor:
    r"""The same rotation as a product of complex numbers.

    $(x_a + \mathrm{i} x_b)\, e^{\mathrm{i} m \theta}$

    x (..., N, d), positions (N,). To learn from and to check against: `rotate` is what to use.
    """
    check_float("x", x)
    table = rotary_table(positions, frequencies, dtype=x.dtype)
    cos, sin = fit_table(x, table, layout, None, -2)
    first, second = _pairs(x.to(cos.dtype), layout)
    product = torch.complex(first, second) * torch.complex(cos, sin)
    return _join(product.real, product.imag, layout).to(x.dtype)


def layout_permutation(
    dim: int, *, source: Layout, target: Layout, rotary_dim: int | None = None
) -> Tensor:
    """The order in which the target layout takes the dimensions of the source: y = x[permutation].

    >>> layout_permutation(6, source="interleaved", target="half")
    tensor([0, 2, 4, 1, 3, 5])
    """
    check_count("dim", dim)
    check_choice("source", source, LAYOUTS)
    check_choice("target", target, LAYOUTS)
    rotary_dim = dim if rotary_dim is None else rotary_dim
    check_rotary_dim(rotary_dim)
    if rotary_dim > dim:
        raise ValueError(f"rotary dim {rotary_dim} exceeds the dim {dim}")
    order = torch.arange(dim)
    turned = _join(*_pairs(order[:rotary_dim], source), target)
    return torch.cat((turned, order[rotary_dim:]))


def convert_layout(
    x: Tensor, *, source: Layout, target: Layout, rotary_dim: int | None = None
) -> Tensor:
    """Reorder the last axis of vectors from one layout to the other. (..., d) → (..., d)

    Rotating the converted vector in the target layout equals converting the rotated one.
    """
    if not isinstance(x, Tensor) or x.ndim == 0:
        raise TypeError(f"x must be a torch.Tensor of shape (..., d), got {type(x).__name__}")
    order = layout_permutation(x.shape[-1], source=source, target=target, rotary_dim=rotary_dim)
    return x[..., order.to(x.device)]


def convert_projection_layout(
    W: Tensor,
    heads: int,
    *,
    source: Layout,
    target: Layout,
    rotary_dim: int | None = None,
    axis: int = -1,
) -> Tensor:
    """Reorder W^Q or W^K (or their bias) so that x @ W comes out in the target layout.

    W (d, H · d_k) for row vectors, or a bias (H · d_k,). `axis` is the one that holds the heads:
    torch's `nn.Linear` stores the transpose, so its `weight` needs axis=0. Scores stay the same if
    W^Q and W^K both change.
    """
    check_float("W", W)
    check_count("heads", heads)
    if not -W.ndim <= axis < W.ndim:
        raise ValueError(f"axis must name an axis of W, got {axis} for shape {tuple(W.shape)}")
    columns = W.shape[axis]
    if columns % heads:
        raise ValueError(
            f"heads must divide the columns of W, got {columns} and heads={heads}; nn.Linear keeps "
            "them on axis=0"
        )
    last = W.movedim(axis, -1)
    per_head = last.reshape(*last.shape[:-1], heads, columns // heads)
    converted = convert_layout(per_head, source=source, target=target, rotary_dim=rotary_dim)
    return converted.flatten(-2).movedim(-1, axis)

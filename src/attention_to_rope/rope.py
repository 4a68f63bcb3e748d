"""Rotary position embedding: position m turns the i-th pair of a vector by the angle m θ_i.

A pair is made of dimensions (2i, 2i + 1) in the `interleaved` layout (RoFormer, meta-llama) and of
(i, i + d/2) in the `half` layout (GPT-NeoX, Hugging Face Llama). Both are in wide use and neither
is a safe guess, so every function that depends on it asks for `layout=`.
"""

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_choice,
    check_count,
    check_float,
    check_positions,
    check_positive,
    check_same_device,
    values_are_known,
    working_dtype,
)

Layout = Literal["half", "interleaved"]
LAYOUTS = ("half", "interleaved")


def _check_rotary_dim(dim: int) -> None:
    check_count("rotary dim", dim, at_least=2)
    if dim % 2:
        raise ValueError(
            f"rotary dim must be even, got {dim}; dimensions turn in pairs, so use {dim - 1} or "
            f"{dim + 1}"
        )


def _check_frequencies(frequencies: Tensor) -> None:
    check_float("frequencies", frequencies)
    if frequencies.dtype != torch.float64:
        raise TypeError(
            f"frequencies must be float64, got {frequencies.dtype}: a rounding of θ grows with the "
            "position; take them from rotary_frequencies"
        )
    if frequencies.ndim != 1 or frequencies.shape[0] == 0:
        raise ValueError(
            f"frequencies must have shape (d/2,) with d ≥ 2, got {tuple(frequencies.shape)}"
        )


def rotary_frequencies(
    dim: int, base: float = 10000.0, *, device: torch.device | str | None = None
) -> Tensor:
    r"""The angle per position of each pair: $\theta_i = b^{-2i/d}$, i = 0 … d/2 − 1, in float64.

    >>> rotary_frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    _check_rotary_dim(dim)
    check_positive("base", base)
    exponents = torch.arange(0, dim, 2, dtype=torch.float64, device=device) / dim
    return torch.pow(torch.tensor(base, dtype=torch.float64, device=device), -exponents)


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
) -> RotaryTable:
    r"""cos and sin of $m \theta_i$ for integer positions: angles in float64, rounded once.

    positions (N,) or (B, N); frequencies (d/2,) in float64; `dtype` is that of the vectors to be
    rotated. The table is float64 for float64 vectors and float32 for all others: never half.
    `attention_factor` multiplies the table (YaRN, LongRoPE). Negative positions turn backwards.

    >>> rotary_table(torch.arange(2), rotary_frequencies(2)).cos
    tensor([[1.0000],
            [0.5403]])
    """
    check_positions(positions)
    _check_frequencies(frequencies)
    check_same_device("positions", positions, "frequencies", frequencies)
    check_positive("attention_factor", attention_factor)
    check_float("a tensor of dtype=", torch.empty(0, dtype=dtype))
    angles = positions.to(torch.float64).unsqueeze(-1) * frequencies  # (..., N, d/2)
    rounded = working_dtype(dtype)
    return RotaryTable(
        (angles.cos() * attention_factor).to(rounded), (angles.sin() * attention_factor).to(rounded)
    )


def _aligned_table(
    x: Tensor, table: RotaryTable, rotary_dim: int | None, sequence_axis: int
) -> RotaryTable:
    """The table with axes of size 1 where x has heads, after all checks of x against it."""
    check_float("x", x)
    cos, sin = table
    if x.ndim < 2:
        raise ValueError(f"x must have shape (..., N, d), got {tuple(x.shape)}")
    axis = sequence_axis % x.ndim if -x.ndim <= sequence_axis < x.ndim else x.ndim
    if axis >= x.ndim - 1:
        raise ValueError(
            f"sequence_axis must name an axis of x before the last, got {sequence_axis} for "
            f"{x.ndim} axes; -2 for (..., H, N, d), -3 for (..., N, H, d)"
        )
    head_dim = x.shape[-1]
    if rotary_dim is None:
        _check_rotary_dim(head_dim)
        rotary_dim = head_dim
    else:
        _check_rotary_dim(rotary_dim)
        if rotary_dim > head_dim:
            raise ValueError(f"rotary dim {rotary_dim} exceeds the head dim {head_dim} of x")
    if cos.shape != sin.shape:
        raise ValueError(
            f"cos and sin must have the same shape, got {tuple(cos.shape)} and {tuple(sin.shape)}"
        )
    if 2 * cos.shape[-1] != rotary_dim:
        raise ValueError(
            f"a table of {cos.shape[-1]} pairs turns {2 * cos.shape[-1]} dimensions, but "
            f"{rotary_dim} are to be turned (head dim {head_dim}); build the table for this dim, "
            f"or pass rotary_dim={2 * cos.shape[-1]} to leave the rest of the head unturned"
        )
    if cos.shape[-2] != x.shape[axis]:
        raise ValueError(
            f"the table holds {cos.shape[-2]} positions but x has {x.shape[axis]} on axis "
            f"{sequence_axis}; build it from the positions of x"
        )
    leading = cos.shape[:-2]
    if len(leading) > axis or leading != x.shape[: len(leading)]:
        raise ValueError(
            f"the table's batch axes {tuple(leading)} must equal the first axes of x, whose shape "
            f"is {tuple(x.shape)}"
        )
    wanted = working_dtype(x.dtype)
    if cos.dtype != wanted or sin.dtype != wanted:
        raise TypeError(
            f"x of {x.dtype} needs a table of {wanted}, got {cos.dtype}; "
            f"build it with rotary_table(..., dtype={x.dtype})"
        )
    check_same_device("x", x, "table", cos)
    shape = (
        *leading,
        *(1,) * (axis - len(leading)),
        cos.shape[-2],
        *(1,) * (x.ndim - 2 - axis),
        cos.shape[-1],
    )
    return RotaryTable(cos.reshape(shape), sin.reshape(shape))


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


def rotate(
    x: Tensor,
    table: RotaryTable,
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
    check_choice("layout", layout, LAYOUTS)
    cos, sin = _aligned_table(x, table, rotary_dim, sequence_axis)
    width = 2 * cos.shape[-1]
    turned = x if width == x.shape[-1] else x[..., :width]
    if (
        not (values_are_known(x) and values_are_known(cos))
        or cos.requires_grad
        or sin.requires_grad
    ):
        rotated = _turn_by_formula(turned, cos, sin, layout)
    elif turned.requires_grad:
        rotated = _Turn.apply(turned, cos, sin, layout)  # type: ignore[no-untyped-call]
    else:
        rotated = _turn(turned, cos, sin, layout)
    return rotated if width == x.shape[-1] else torch.cat((rotated, x[..., width:]), dim=-1)


def _turn_by_formula(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """The rotation as the formula reads, for compilers, vmap and gradients of the table."""
    first, second = _pairs(x.to(cos.dtype), layout)
    return _join(first * cos - second * sin, first * sin + second * cos, layout).to(x.dtype)


def _turn(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    """The same with fewer passes over memory, for eager mode."""
    wide = x.to(cos.dtype)
    if layout == "interleaved":
        # Neighbours in memory are the two parts of a complex number: one product does it all.
        strides_fit = wide.stride(-1) == 1 and all(step % 2 == 0 for step in wide.stride()[:-1])
        if not strides_fit or wide.storage_offset() % 2:
            wide = wide.clone(memory_format=torch.contiguous_format)
        z = torch.view_as_complex(wide.reshape(*wide.shape[:-1], cos.shape[-1], 2))
        turn = torch.complex(cos, sin)
        product = z * turn if wide is x else z.mul_(turn)
        return torch.view_as_real(product).flatten(-2).to(x.dtype)
    # A table as wide as x runs through whole heads in one loop; a half at a time stops at every
    # position. So the products with cos are made at once, those with sin are added by halves.
    rotated = wide * torch.cat((cos, cos), dim=-1)
    first, second = _pairs(wide, layout)
    first_out, second_out = _pairs(rotated, layout)
    first_out.addcmul_(second, sin, value=-1)
    second_out.addcmul_(first, sin)
    return rotated.to(x.dtype)


class _Turn(torch.autograd.Function):
    """`_turn` with the inverse rotation as its gradient: nothing of x is kept."""

    @staticmethod
    def forward(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
        return _turn(x, cos, sin, layout)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, cos, sin, ctx.layout = inputs
        ctx.save_for_backward(cos, sin)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        cos, sin = ctx.saved_tensors
        return _Turn.apply(gradient, cos, -sin, ctx.layout), None, None, None  # type: ignore[no-untyped-call]


def rotate_back(
    x: Tensor,
    table: RotaryTable,
    *,
    layout: Layout,
    rotary_dim: int | None = None,
    sequence_axis: int = -2,
) -> Tensor:
    """Turn by the opposite angles: the inverse of `rotate`, for an attention factor of 1."""
    opposite = RotaryTable(table.cos, -table.sin)
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
    r"""The same rotation as a product of complex numbers: $(x_a + i x_b)\, e^{i m \theta}$.

    x (..., N, d), positions (N,). To learn from and to check against: `rotate` is what to use.
    """
    check_choice("layout", layout, LAYOUTS)
    table = rotary_table(positions, frequencies, dtype=x.dtype)
    cos, sin = _aligned_table(x, table, None, -2)
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
    check_choice("source", source, LAYOUTS)
    check_choice("target", target, LAYOUTS)
    rotary_dim = dim if rotary_dim is None else rotary_dim
    _check_rotary_dim(rotary_dim)
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
    order = layout_permutation(x.shape[-1], source=source, target=target, rotary_dim=rotary_dim)
    return x[..., order.to(x.device)]


def convert_projection_layout(
    W: Tensor, heads: int, *, source: Layout, target: Layout, rotary_dim: int | None = None
) -> Tensor:
    """Reorder W^Q or W^K (or their bias) so that x @ W comes out in the target layout.

    W (d, H · d_k) for row vectors, or a bias (H · d_k,). torch's `nn.Linear` stores the transpose:
    convert `linear.weight.T` and transpose back. Scores stay the same if W^Q and W^K both change.
    """
    check_count("heads", heads)
    if W.shape[-1] % heads:
        raise ValueError(f"heads must divide the columns of W, got {W.shape[-1]} and heads={heads}")
    per_head = W.reshape(*W.shape[:-1], heads, W.shape[-1] // heads)
    converted = convert_layout(per_head, source=source, target=target, rotary_dim=rotary_dim)
    return converted.flatten(-2)

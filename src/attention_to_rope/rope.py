r"""Rotary position embedding: position m rotates the i-th pair of a vector by $m\theta_i$.

A query at position m and a key at position n are rotated before their dot product is taken. Their
score then depends on n − m alone, not on m and n. The reason takes two lines:

- The transpose of a rotation rotates back, and rotations one after the other add their angles, so
  $\mathbf{R}_m \mathbf{R}_n^\top = \mathbf{R}_{m-n}$.
- The score is $(q \mathbf{R}_m)(k \mathbf{R}_n)^\top = q\, \mathbf{R}_m \mathbf{R}_n^\top k^\top =
  q\, \mathbf{R}_{m-n}\, k^\top$ (`eq-rope-score`).

A pair consists of dimensions (2i, 2i + 1) in the `interleaved` layout (RoFormer, meta-llama) and of
(i, i + d/2) in the `half` layout (GPT-NeoX, Hugging Face Llama). Both are in wide use and neither
is a safe guess, so every function that depends on it asks for `layout=`.

In three steps: `rotary_frequencies` once per model, `rotary_table` once per call of the model, and
`rotate` for the queries and the keys of each layer. Values are not rotated.
"""

from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Integer, Shaped
from torch import Tensor

from attention_to_rope.layers import check_positive, wide
from attention_to_rope.masks import Device

Layout = Literal["half", "interleaved"]
BASE = 10000.0  # the slowest pair rotates by about 1 / BASE per position


class RotaryTable(NamedTuple):
    """cos and sin of the angle of every position and pair, (N, d/2) or (B, N, d/2) each.

    All heads and layers use the same angles, so a model computes one table for all of them.

    >>> RotaryTable(torch.ones(1, 2), torch.zeros(1, 2)).cos
    tensor([[1., 1.]])
    """

    cos: Float[Tensor, "*batch n pairs"]
    sin: Float[Tensor, "*batch n pairs"]


def rotary_frequencies(
    dim: int, base: float = BASE, *, device: Device = None
) -> Float[Tensor, " pairs"]:
    r"""The angle per position of each pair: $\theta_i = b^{-2i/d}$, i = 0 … d/2 − 1, in float64.

    The first pair rotates by 1 radian per position, the others slower and slower, down to about
    1/b. Fast pairs tell neighbours apart, slow pairs tell far positions apart. See `eq-pe`, which
    has the same frequencies, and their wavelengths in `eq-rope-wavelengths`.

    >>> rotary_frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    _check_even(dim)
    check_positive("base", base)
    if device is None and torch.get_default_device().type == "meta":
        device = "cpu"  # a model without numbers, on the "meta" device, needs these all the same
    # 2i/d for i = 0 … d/2 − 1. In float64, because an error in θ is multiplied by the position.
    exponents = torch.arange(0, dim, 2, dtype=torch.float64, device=device) / dim  # (d/2,)
    return torch.pow(torch.tensor(base, dtype=torch.float64, device=device), -exponents)


def proportional_frequencies(
    dim: int, base: float = BASE, *, share: float, device: Device = None
) -> Float[Tensor, " pairs"]:
    r"""p-RoPE: the fastest pairs keep their $\theta_i = b^{-2i/d}$, the slowest do not rotate.

    $\theta_i = 0$ for $i \ge \lfloor p\,d/2 \rfloor$, p = `share`; see `rotary_dim` of `rotate`.
    A pair that does not rotate compares contents at any distance alike. See `eq-p-rope`.

    >>> proportional_frequencies(8, 10000.0, share=0.5)
    tensor([1.0000, 0.1000, 0.0000, 0.0000], dtype=torch.float64)
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    frequencies = rotary_frequencies(dim, base, device=device)  # (d/2,)
    frequencies[int(share * dim // 2) :] = 0  # in floats, as Hugging Face rounds it
    return frequencies


def rotary_table(
    positions: Integer[Tensor, "*batch n"],
    frequencies: Float[Tensor, " pairs"],
    *,
    dtype: torch.dtype = torch.float32,
    attention_factor: float = 1.0,
) -> RotaryTable:
    r"""cos and sin of $m \theta_i$ for integer positions.

    `dtype` is that of the vectors to rotate: the table is float64 for float64 vectors and float32
    for all others, never half. `attention_factor` multiplies it (YaRN, LongRoPE).

    Angles are computed in the dtype of the frequencies, float64 from `rotary_frequencies`. Only if
    you must repeat the table of another library bit for bit, compute the frequencies as its code
    does: `transformers` takes the power in float32, which gives some of them another last bit.

    >>> rotary_table(torch.arange(2), rotary_frequencies(2)).cos
    tensor([[1.0000],
            [0.5403]])
    """
    check_integer_positions(positions)
    if frequencies.dtype not in (torch.float64, torch.float32):
        raise TypeError(
            f"frequencies must be float64 or float32, got {frequencies.dtype}, in which the angles "
            "of neighbouring positions are equal"
        )
    check_positive("attention_factor", attention_factor)
    # The angle m θ_i of position m and pair i.
    angles = positions.unsqueeze(-1) * frequencies  # (..., N, d/2)
    # Queries and keys are both multiplied by the factor, so scores are multiplied by its square.
    cos = angles.cos() * attention_factor  # (..., N, d/2)
    sin = angles.sin() * attention_factor  # (..., N, d/2)
    # Only the finished table is rounded: float16 rounds an angle of 10 000 by up to 4.
    exact = torch.float64 if dtype == torch.float64 else torch.float32
    return RotaryTable(cos.to(exact), sin.to(exact))


def rotate(
    x: Float[Tensor, "*shape d"],
    table: RotaryTable | tuple[Tensor, Tensor],
    *,
    layout: Layout,
    rotary_dim: int | None = None,
    sequence_axis: int = -2,
) -> Float[Tensor, "*shape d"]:
    r"""Rotate every pair of each vector by the angle of its position.

    $x'_a = x_a \cos m\theta_i - x_b \sin m\theta_i$,
    $x'_b = x_a \sin m\theta_i + x_b \cos m\theta_i$ for the i-th pair (a, b) of the layout:
    `eq-half-split` or `eq-form-sparse`. It is a rotation, so the length of x stays the same.

    x (..., N, d), or (..., N, H, d) with `sequence_axis=-3`. A table (N, d/2) is shared by all
    leading axes; a table (B, N, d/2) has its own positions for each entry of the first axis.
    `rotary_dim` rotates the first dimensions only and leaves the others as they are.

    >>> table = rotary_table(torch.tensor([1]), rotary_frequencies(2))
    >>> rotate(torch.tensor([[1.0, 0.0]]), table, layout="half")
    tensor([[0.5403, 0.8415]])
    """
    # Partial RoPE: the dimensions behind `rotary_dim` carry no position.
    if rotary_dim is not None and rotary_dim < x.shape[-1]:
        first = x[..., :rotary_dim]  # (..., N, rotary_dim)
        rest = x[..., rotary_dim:]  # (..., N, d − rotary_dim)
        rotated = rotate(first, table, layout=layout, sequence_axis=sequence_axis)
        return torch.cat((rotated, rest), dim=-1)  # (..., N, d)
    # Four products and two sums for each pair, all pairs and positions at once.
    cos, sin = fitting_table(x, table, sequence_axis)  # (N, d/2) or (B, 1, N, d/2)
    x_a, x_b = _pairs(x, layout)  # (..., N, d/2) each
    y_a = x_a * cos - x_b * sin  # (..., N, d/2), in the table's float32 if x is half
    y_b = x_a * sin + x_b * cos  # (..., N, d/2)
    return _join(y_a, y_b, layout).to(x.dtype)  # (..., N, d)


def rotate_back(
    x: Float[Tensor, "*shape d"], table: RotaryTable | tuple[Tensor, Tensor], **options: Any
) -> Float[Tensor, "*shape d"]:
    """Rotate by the opposite angles, the inverse for an attention factor of 1; see `rotate`.

    cos(−a) = cos(a) and sin(−a) = −sin(a), so the same table serves with another sign.

    >>> table = rotary_table(torch.arange(3), rotary_frequencies(2))
    >>> rotated = rotate(torch.ones(3, 2), table, layout="half")
    >>> rotate_back(rotated, table, layout="half")[2].round(decimals=4)
    tensor([1., 1.])
    """
    cos, sin = table
    return rotate(x, RotaryTable(cos, -sin), **options)


def rotation_matrix(
    positions: Integer[Tensor, "*batch"], frequencies: Float[Tensor, " pairs"], *, layout: Layout
) -> Float[Tensor, "*batch d d"]:
    r"""The dense matrix that rotates row vectors: $x R_m$, in float64.

    Each pair holds $\begin{pmatrix}\cos m\theta & \sin m\theta\\ -\sin m\theta & \cos m\theta
    \end{pmatrix}$, the blocks of `eq-rope-matrix`. To learn from, not to use: it costs d² where
    `rotate` costs d.

    >>> rotation_matrix(torch.tensor(1), rotary_frequencies(2), layout="half")[0]
    tensor([0.5403, 0.8415], dtype=torch.float64)
    """
    cos, sin = rotary_table(positions.unsqueeze(-1), frequencies, dtype=torch.float64)
    d = 2 * frequencies.shape[0]
    # Row a of the matrix is the rotated unit vector e_a: d vectors at the same position.
    rows = torch.eye(d, dtype=torch.float64, device=cos.device)
    rows = rows.expand(*positions.shape, d, d)
    cos = cos.expand(*positions.shape, d, -1)
    sin = sin.expand(*positions.shape, d, -1)
    return rotate(rows, RotaryTable(cos, sin), layout=layout)


def rotate_complex(
    x: Float[Tensor, "*batch n d"],
    positions: Integer[Tensor, " n"],
    frequencies: Float[Tensor, " pairs"],
    *,
    layout: Layout,
) -> Float[Tensor, "*batch n d"]:
    r"""The same rotation as a product of complex numbers: $(x_a + i x_b)\, e^{i m \theta}$.

    This is the form of Meta's code for Llama, and `eq-form-complex`.

    >>> x = torch.tensor([[1.0, 0.0]])
    >>> rotate_complex(x, torch.tensor([1]), rotary_frequencies(2), layout="half")
    tensor([[0.5403, 0.8415]])
    """
    x_a, x_b = _pairs(wide(x), layout)  # (..., N, d/2) each
    cos, sin = rotary_table(positions, frequencies, dtype=x.dtype)  # (N, d/2) each
    z = torch.complex(x_a, x_b) * torch.complex(cos, sin)  # (..., N, d/2)
    return _join(z.real, z.imag, layout).to(x.dtype)  # (..., N, d)


def layout_permutation(
    dim: int, *, source: Layout, target: Layout, rotary_dim: int | None = None
) -> Integer[Tensor, " {dim}"]:
    """The order in which the target layout takes the dimensions of the source: y = x[permutation].

    It is `eq-layout-permutation` as a list of indices. The same pairs rotate in both layouts; only
    the places of their two members differ.

    >>> layout_permutation(6, source="interleaved", target="half")
    tensor([0, 2, 4, 1, 3, 5])
    """
    if rotary_dim is None:
        rotary_dim = dim
    _check_even(rotary_dim)
    if rotary_dim > dim:
        raise ValueError(f"rotary_dim must be at most the {dim} dimensions, got {rotary_dim}")
    # Number the dimensions, take them apart as the source has its pairs, and join them as the
    # target has its own.
    order = torch.arange(dim)  # (d,)
    first, second = _pairs(order[:rotary_dim], source)  # (rotary_dim / 2,) each
    rotated = _join(first, second, target)  # (rotary_dim,)
    return torch.cat((rotated, order[rotary_dim:]))


def convert_layout(
    x: Shaped[Tensor, "*shape d"], *, source: Layout, target: Layout, rotary_dim: int | None = None
) -> Shaped[Tensor, "*shape d"]:
    """Reorder the last axis of vectors from one layout to the other.

    Rotating the converted vector in the target layout equals converting the rotated one
    (`eq-layout-matrices`).

    >>> convert_layout(torch.tensor([1, 2, 3, 4]), source="half", target="interleaved")
    tensor([1, 3, 2, 4])
    """
    order = layout_permutation(x.shape[-1], source=source, target=target, rotary_dim=rotary_dim)
    return x[..., order.to(x.device)]


def convert_projection_layout(
    W: Float[Tensor, "..."],
    heads: int,
    *,
    source: Layout,
    target: Layout,
    rotary_dim: int | None = None,
    axis: int | None = None,
) -> Float[Tensor, "..."]:
    """Reorder W^Q or W^K (or their bias) so that x @ W comes out in the target layout.

    W (d, H · d_k) for row vectors, or a bias (H · d_k,). `axis` is the one that holds the heads,
    and a matrix needs it: -1 for this W, 0 for the `weight` of torch's `nn.Linear`, which is the
    transpose. Scores stay the same if W^Q and W^K both change.

    >>> b = torch.tensor([0.0, 1, 2, 3])
    >>> convert_projection_layout(b, heads=1, source="half", target="interleaved")
    tensor([0., 2., 1., 3.])
    """
    if axis is None and W.ndim > 1:
        raise ValueError(
            f"W of shape {tuple(W.shape)} needs the axis that holds the heads: axis=0 for the "
            "weight of nn.Linear, axis=-1 for W of x @ W"
        )
    # The columns of W make the dimensions of queries and keys, head by head, so they are reordered
    # within each head.
    axis = -1 if axis is None else axis
    last = W.movedim(axis, -1)  # (..., H · d_k)
    per_head = last.reshape(*last.shape[:-1], heads, -1)  # (..., H, d_k)
    converted = convert_layout(per_head, source=source, target=target, rotary_dim=rotary_dim)
    return converted.flatten(-2).movedim(-1, axis)


def check_integer_positions(positions: Tensor) -> None:
    """Raise unless positions are integers: bfloat16 rounds 0…4095 to only 769 different numbers."""
    if positions.is_floating_point() or positions.dtype == torch.bool:
        raise TypeError(f"positions must be integers, got {positions.dtype}, in which they collide")


def check_layout(layout: object) -> None:
    """Raise unless the layout is one of the two; neither is a safe guess."""
    if layout not in ("half", "interleaved"):
        raise ValueError(
            f"layout must be 'half' or 'interleaved', got {layout!r}: look into the code that "
            "trained the model, because neither is a safe guess"
        )


def _check_even(dim: int) -> None:
    if dim % 2 or dim < 2:
        raise ValueError(f"rotary dim must be even, got {dim}; dimensions rotate in pairs")


def _pairs(x: Tensor, layout: Layout) -> tuple[Tensor, ...]:
    """First and second members of all pairs, views of x. (..., d) → (..., d/2) twice"""
    if layout == "half":
        return x.chunk(2, -1)
    check_layout(layout)
    return x[..., 0::2], x[..., 1::2]


def _join(first: Tensor, second: Tensor, layout: Layout) -> Tensor:
    """The vector whose pairs these are. (..., d/2) twice → (..., d)"""
    if layout == "half":
        return torch.cat((first, second), -1)
    check_layout(layout)
    return torch.stack((first, second), dim=-1).flatten(-2)


def fitting_table(
    x: Float[Tensor, "*shape d"], table: RotaryTable | tuple[Tensor, Tensor], sequence_axis: int
) -> tuple[Tensor, Tensor]:
    """cos and sin with an axis of size 1 for the heads of x, which all use the same angles."""
    cos, sin = table
    # A table for one position would be broadcast to all positions without an error, so every other
    # axis must have the size that it has in x.
    axis = sequence_axis % x.ndim
    batch = x.shape[: min(cos.ndim - 2, axis)]  # the axes with positions of their own
    expected = (*batch, x.shape[axis], x.shape[-1] / 2)
    for name, part in (("cos", cos), ("sin", sin)):
        if (part.dtype == torch.float64) != (x.dtype == torch.float64):
            raise TypeError(
                f"a table with {name} in {part.dtype} does not fit x in {x.dtype}: build it with "
                f"rotary_table(dtype={x.dtype})"
            )
        if part.shape != expected:
            raise ValueError(
                f"a table with {name} of shape {tuple(part.shape)} does not fit x of shape "
                f"{tuple(x.shape)} with {x.shape[-1]} rotary dimensions: expected "
                f"{(*batch, x.shape[axis], x.shape[-1] // 2)}"
            )
    # For x (B, h, N, d_k) and a table (B, N, d_k/2): (B, 1, N, d_k/2), the same for all heads.
    size = [*batch] + [1] * (x.ndim - len(batch))
    size[axis] = x.shape[axis]
    size[-1] = cos.shape[-1]
    return cos.reshape(size), sin.reshape(size)

"""Where position enters: added to the input, added to the scores, or as a rotation of q and k.

A `PositionalScheme` has a method for each. Each scheme overrides the one it uses, so a model
changes its scheme by changing one argument.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Float64, Integer
from torch import Tensor, nn

from attention_to_rope.layers import Embedding, Seed, check_at_least, stream_of
from attention_to_rope.masks import Device
from attention_to_rope.relative import relative_positions, t5_bucket
from attention_to_rope.rope import (
    BASE,
    Layout,
    RotaryTable,
    check_integer_positions,
    check_layout,
    rotary_frequencies,
    rotary_table,
    rotate,
)

DEVIATION = 0.02  # of learned tables at the start
ALL = slice(None)


class PositionalScheme(nn.Module):
    """No position at all, and the interface of all schemes: three methods that do nothing.

    A layer calls `rotate` on its queries and keys and adds `bias` to its scores; a model calls
    `embed` on its input. A new scheme overrides the one that it needs, and `angles` if `rotate`
    needs something that all layers can share.

    >>> PositionalScheme().embed(torch.ones(1, 1, 2), torch.arange(1))
    tensor([[[1., 1.]]])
    """

    acts_on_input = False  # True: `embed` is all that the scheme does

    def embed(
        self, x: Float[Tensor, "b n d"], positions: Integer[Tensor, "*b n"]
    ) -> Float[Tensor, "b n d"]:
        """Act on the input, before the first layer. Sinusoids and learned tables are added here."""
        return x

    def rotate(
        self, x: Float[Tensor, "b h n d"], positions: Integer[Tensor, "*b n"] | RotaryTable
    ) -> Float[Tensor, "b h n d"]:
        """Act on queries or keys, in every layer (`eq-position-rotate`).

        positions: as numbers, or their `angles`. RoPE acts here.
        """
        return x

    def angles(
        self, positions: Integer[Tensor, "*b n"], dtype: torch.dtype
    ) -> Integer[Tensor, "*b n"] | RotaryTable:
        """What `rotate` needs to know of the positions, computed once for all layers."""
        return positions

    def bias(
        self, q_positions: Integer[Tensor, "*b n"], k_positions: Integer[Tensor, "*b m"]
    ) -> Float[Tensor, "*b h n m"] | None:
        """What to add to the scores, in every layer (`eq-position-bias`). ALiBi and T5 act here."""
        return None

    def at(
        self,
        positions: Integer[Tensor, "*b m"],
        dtype: torch.dtype,
        slots: slice | Integer[Tensor, " n"] = ALL,
    ) -> "Encoding":
        """The scheme for keys at all these positions and queries at those in some `slots`."""
        if self.acts_on_input:
            raise ValueError(
                f"{type(self).__name__} acts on the input of a model: call its embed(x, positions) "
                "first, and leave out scheme="
            )
        # With a cache, the queries are the new tokens, and the keys are all of them.
        new = positions[..., slots]  # (..., n)
        return Encoding(scheme=self, angles=self.angles(new, dtype), bias=self.bias(new, positions))


class Encoding(NamedTuple):
    """A scheme with what it knows of the positions of one call, computed once for all layers.

    A layer rotates its queries and keys by `scheme.rotate(q, angles)` and adds the bias to its
    scores.
    """

    scheme: PositionalScheme
    angles: Integer[Tensor, "*b n"] | RotaryTable
    bias: Float[Tensor, "*b h n m"] | None


def sinusoidal(
    positions: Integer[Tensor, "*b n"],
    d: int,
    base: float = BASE,
    *,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "*b n {d}"]:
    r"""Sinusoidal encoding: $P_{m,2i} = \sin m\theta_i$, $P_{m,2i+1} = \cos m\theta_i$.

    $\theta_i = b^{-2i/d}$; angles in float64, rounded once to `dtype`. See `eq-pe`. The sines and
    cosines are those of RoPE; here they are added to a vector, there they rotate it.

    >>> sinusoidal(torch.arange(2), 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    frequencies = rotary_frequencies(d, base, device=positions.device)  # (d/2,)
    cos, sin = rotary_table(positions, frequencies, dtype=torch.float64)  # (..., n, d/2) each
    pairs = torch.stack((sin, cos), dim=-1)  # (..., n, d/2, 2)
    return pairs.flatten(-2).to(dtype)  # (..., n, d)


def _check_positions(x: Float[Tensor, "b n d"], positions: Tensor) -> None:
    """Raise unless there is a position for each vector: one for all would be repeated unseen."""
    if positions.shape not in (x.shape[1:2], x.shape[:2]):
        raise ValueError(
            f"positions of x {tuple(x.shape)} must be {tuple(x.shape[1:2])} or "
            f"{tuple(x.shape[:2])}, got {tuple(positions.shape)}"
        )


class Sinusoidal(PositionalScheme):
    """Add the sinusoidal encoding to the input.

    >>> Sinusoidal().embed(torch.zeros(1, 1, 4), torch.arange(1))
    tensor([[[0., 1., 0., 1.]]])
    """

    acts_on_input = True

    def __init__(self, base: float = BASE) -> None:
        super().__init__()
        self.base = base

    def embed(
        self, x: Float[Tensor, "b n d"], positions: Integer[Tensor, "*b n"]
    ) -> Float[Tensor, "b n d"]:
        """The input plus the encoding."""
        _check_positions(x, positions)
        return x + sinusoidal(positions, x.shape[-1], self.base, dtype=x.dtype)


class Learned(PositionalScheme):
    """Add one trained vector per position to the input; positions end at `length` − 1.

    Nothing is known of positions that the table does not have, so a longer text is an error.

    >>> Learned(length=8, d=2, seed=0).embed(torch.zeros(1, 3, 2), torch.arange(3)).shape
    torch.Size([1, 3, 2])
    """

    acts_on_input = True

    def __init__(self, length: int, d: int, *, seed: Seed, deviation: float = DEVIATION) -> None:
        super().__init__()
        self.table = Embedding(length, d, seed=stream_of(seed, "Learned"), deviation=deviation)

    def embed(
        self, x: Float[Tensor, "b n d"], positions: Integer[Tensor, "*b n"]
    ) -> Float[Tensor, "b n d"]:
        """The input plus the rows of the table at these positions."""
        check_integer_positions(positions)
        _check_positions(x, positions)
        rows: Tensor = self.table(positions)  # (n, d), or (b, n, d)
        return x + rows


class T5Bias(PositionalScheme):
    """Add a trained number per head and bucket of the distance to the scores.

    Near distances have a bucket each, far ones share buckets that grow (`eq-t5-bucket`). The number
    depends on the distance alone, as `eq-relative-bias` says.

    >>> T5Bias(2, bidirectional=True, seed=0).bias(torch.arange(3), torch.arange(4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(
        self,
        heads: int,
        *,
        bidirectional: bool,
        seed: Seed,
        buckets: int = 32,
        max_distance: int = 128,
        deviation: float = DEVIATION,
    ) -> None:
        super().__init__()
        self.bidirectional = bidirectional
        self.buckets = buckets
        self.max_distance = max_distance
        self.table = Embedding(buckets, heads, seed=stream_of(seed, "T5Bias"), deviation=deviation)

    def bias(
        self, q_positions: Integer[Tensor, "*b n"], k_positions: Integer[Tensor, "*b m"]
    ) -> Float[Tensor, "*b h n m"]:
        """The number of each head for the bucket of each offset."""
        relative = relative_positions(q_positions, k_positions)  # (..., n, m)
        bucket = t5_bucket(
            relative,
            bidirectional=self.bidirectional,
            buckets=self.buckets,
            max_distance=self.max_distance,
        )  # (..., n, m)
        values: Tensor = self.table(bucket)  # (..., n, m, h)
        return values.movedim(-1, -3)  # (..., h, n, m)


def alibi_slopes(heads: int, *, device: Device = None) -> Float64[Tensor, " {heads}"]:
    r"""How fast each head's scores fall with distance.

    For $h = 2^a$ heads $2^{-8 i/h}$, i = 1…h (`eq-alibi-slopes`). For other numbers of heads, as in
    the authors' code: the slopes of the largest power of two below, then every second one of the
    next power of two.

    >>> alibi_slopes(2)
    tensor([0.0625, 0.0039], dtype=torch.float64)
    """
    check_at_least("heads", heads, 1)
    power = 2 ** (heads.bit_length() - 1)  # the largest power of two that is at most `heads`
    missing = heads - power
    first = torch.arange(1, power + 1, dtype=torch.float64, device=device) / power  # (power)
    odd = torch.arange(1, 2 * missing + 1, 2, dtype=torch.float64, device=device)  # (missing)
    others = odd / (2 * power)  # (missing)
    return torch.pow(2.0, -8 * torch.cat((first, others)))


def alibi_bias(
    slopes: Float[Tensor, " h"],
    q_positions: Integer[Tensor, "*b n"],
    k_positions: Integer[Tensor, "*b m"],
) -> Float[Tensor, "*b h n m"]:
    r"""A penalty that grows with distance: $-s_h\, \lvert n - m \rvert$.

    For a causal model combine it with `causal_mask`; without a mask it is the symmetric form.

    >>> alibi_bias(torch.tensor([0.5]), torch.tensor([2]), torch.arange(4))
    tensor([[[-1.0000, -0.5000, -0.0000, -0.5000]]])
    """
    distance = relative_positions(q_positions, k_positions).abs()  # (..., n, m)
    return -slopes[:, None, None] * distance.unsqueeze(-3)  # (..., h, n, m)


class ALiBi(PositionalScheme):
    """Add the ALiBi penalty to the scores.

    Nothing is trained. A head with a large slope sees only near tokens, one with a small slope
    sees far.

    >>> ALiBi(1).bias(torch.tensor([1]), torch.arange(2))
    tensor([[[-0.0039, -0.0000]]], dtype=torch.float64)
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def bias(
        self, q_positions: Integer[Tensor, "*b n"], k_positions: Integer[Tensor, "*b m"]
    ) -> Float[Tensor, "*b h n m"]:
        """The penalty of each head."""
        slopes = alibi_slopes(self.heads, device=q_positions.device)  # (h)
        return alibi_bias(slopes, q_positions, k_positions)


def _check_fixed(frequencies: Tensor) -> None:
    """Raise unless these are numbers that `Rotary` can keep exactly."""
    if frequencies.dtype != torch.float64:
        raise TypeError(
            f"frequencies must be float64, as rotary_frequencies gives them, got "
            f"{frequencies.dtype}; for frequencies rounded to float32 give .float().double()"
        )
    if frequencies.requires_grad:
        raise ValueError(
            "Rotary keeps fixed frequencies, and these require a gradient: for learned ones call "
            "rotary_table and rotate, or detach them"
        )
    if frequencies.is_meta:
        raise ValueError('frequencies on "meta" have no numbers: compute them on a device')


class Rotary(PositionalScheme):
    """Rotate queries and keys by their position (RoPE), `eq-rope-score`.

    frequencies: from `rotary_frequencies`, changed by a function of `context_extension` if wanted.
    They stay as they are when a model changes its dtype, and when it is built on "meta" and gets
    its memory and weights later. Fewer pairs than d_k/2 rotate the first dimensions of each head
    only (`rotary_dim`).

    >>> Rotary(rotary_frequencies(64), layout="half").frequencies.shape
    torch.Size([32])
    """

    def __init__(
        self,
        frequencies: Float64[Tensor, " pairs"],
        *,
        layout: Layout,
        rotary_dim: int | None = None,
        attention_factor: float = 1.0,
    ) -> None:
        super().__init__()
        check_layout(layout)
        _check_fixed(frequencies)
        # Python's numbers: no change of dtype or device can round or lose them.
        self.numbers: list[float] = frequencies.tolist()
        self.register_buffer("frequencies", frequencies.clone(), persistent=False)
        self.frequencies: Float64[Tensor, " pairs"]
        self.layout: Layout = layout
        self.rotary_dim = rotary_dim
        self.attention_factor = attention_factor

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Rotary":
        """What `.to`, `.half`, `.to_empty` and others call; the frequencies only change device."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]  # torch has no types here
        self.frequencies = self._on(self.frequencies.device)
        return self

    def _on(self, device: torch.device) -> Float64[Tensor, " pairs"]:
        """The frequencies on this device."""
        return torch.tensor(self.numbers, dtype=torch.float64, device=device)

    def angles(self, positions: Integer[Tensor, "*b n"], dtype: torch.dtype) -> RotaryTable:
        """cos and sin at these positions, for vectors of this dtype."""
        frequencies = self.frequencies
        if frequencies.device != positions.device:
            frequencies = self._on(positions.device)
        return rotary_table(
            positions, frequencies, dtype=dtype, attention_factor=self.attention_factor
        )

    def rotate(
        self, x: Float[Tensor, "b h n d"], positions: Integer[Tensor, "*b n"] | RotaryTable
    ) -> Float[Tensor, "b h n d"]:
        """Every head rotated by the angles of its position."""
        table = positions
        if not isinstance(table, RotaryTable):
            table = self.angles(table, x.dtype)
        return rotate(x, table, layout=self.layout, rotary_dim=self.rotary_dim)

"""Where position enters: added to the input, added to the scores, or turned into q and k.

A `PositionalScheme` has three places to act. Each scheme overrides the one it uses, so a model
changes its scheme by changing one argument.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_choice,
    check_count,
    check_flag,
    check_float,
    check_integers,
    check_positions,
    check_positive,
    check_same_device,
)
from attention_to_rope.layers import Embedding, FixedSizes, Seed, stream_of
from attention_to_rope.rope import (
    BASE,
    Layout,
    RotaryTable,
    rotary_frequencies,
    rotary_table,
    rotate,
)
from attention_to_rope.rope_checks import (
    LAYOUTS,
    check_angle_dtype,
    check_float_dtype,
    check_frequencies,
    check_rotary_dim,
)

DEVIATION = 0.02  # of learned tables at the start
T5_BUCKETS, T5_MAX_DISTANCE = 32, 128


def check_positions_of(x: Tensor, positions: Tensor, *, sequence_axis: int) -> None:
    """Raise unless `positions` is (N,) or (B, N) for x (B, …, N, …): nothing is repeated."""
    check_float("x", x)
    check_positions(positions)
    length = x.shape[sequence_axis]
    if tuple(positions.shape) not in ((length,), (x.shape[0], length)):
        raise ValueError(
            f"positions must have shape ({length},) or ({x.shape[0]}, {length}) for x of shape "
            f"{tuple(x.shape)}, got {tuple(positions.shape)}; they are never repeated"
        )


class PositionalScheme(FixedSizes):
    """No position at all, and the interface of all schemes: three places, nothing done in each.

    A scheme that turns queries and keys may also give its `angles`, a table that is built once per
    call of a model and handed to every layer, and `turn` by it.
    """

    depends_on_length = False  # True: keys are cached before they are turned

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Act on the input x (B, N, d), before the first layer; positions (N,) or (B, N)."""
        check_positions_of(x, positions, sequence_axis=-2)
        return x

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Act on queries or keys x (B, H, N, d_k), in every layer."""
        check_positions_of(x, positions, sequence_axis=-2)
        return x

    def angles(self, positions: Tensor, dtype: torch.dtype, *, length: int) -> RotaryTable | None:
        """What `turn` needs to know of the positions in a sequence of this length."""
        return None

    def turn(self, x: Tensor, table: RotaryTable) -> Tensor:
        """`rotate`, by a table at hand."""
        raise NotImplementedError(f"{type(self).__name__} has a table but does not say how to turn")

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """What to add to the scores: (H, N_q, N_k), or (B, H, N_q, N_k) for positions (B, N)."""
        return None

    def changes(self, before: int, after: int) -> bool:
        """Whether the scheme treats positions otherwise once the sequence has grown so long."""
        return False


def sinusoidal(
    positions: Tensor, d: int, base: float = BASE, *, dtype: torch.dtype = torch.float32
) -> Tensor:
    r"""Sinusoidal encoding: $P_{m,2i} = \sin m\theta_i$, $P_{m,2i+1} = \cos m\theta_i$.

    $\theta_i = b^{-2i/d}$; angles in float64, rounded once to `dtype`. (..., N) → (..., N, d)

    >>> sinusoidal(torch.arange(2), 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    check_positions(positions)
    check_float_dtype(dtype)
    frequencies = rotary_frequencies(d, base, device=positions.device)
    angles = positions.to(torch.float64).unsqueeze(-1) * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(dtype)


class Sinusoidal(PositionalScheme):
    """Add the sinusoidal encoding to the input."""

    def __init__(self, base: float = BASE) -> None:
        super().__init__()
        check_positive("base", base)
        self.base = base

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """x (B, N, d) plus the encoding (N, d) or (B, N, d)."""
        check_positions_of(x, positions, sequence_axis=-2)
        return x + sinusoidal(positions, x.shape[-1], self.base, dtype=x.dtype)


class Learned(PositionalScheme):
    """Add one trained vector per position to the input; positions end at `length` − 1."""

    def __init__(self, length: int, d: int, *, seed: Seed, deviation: float = DEVIATION) -> None:
        super().__init__()
        check_count("length", length)
        self.table = Embedding(length, d, seed=stream_of(seed, "Learned"), deviation=deviation)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """x (B, N, d) plus the rows of the table at `positions`."""
        check_positions_of(x, positions, sequence_axis=-2)
        count, d = self.table.rows.shape
        if x.shape[-1] != d:
            raise ValueError(f"x must have the {d} dimensions of the table, got {tuple(x.shape)}")
        check_integers("positions", positions, 0, count - 1)
        rows: Tensor = self.table(positions)
        return x + rows


def relative_positions(q_positions: Tensor, k_positions: Tensor) -> Tensor:
    """Where each key stands seen from each query, n − m: negative before it. (…, N_q, N_k)"""
    check_positions(q_positions, name="q_positions")
    check_positions(k_positions, name="k_positions")
    check_same_device("q_positions", q_positions, "k_positions", k_positions)
    q_batch, k_batch = q_positions.shape[:-1], k_positions.shape[:-1]
    if q_batch and k_batch and q_batch != k_batch:
        raise ValueError(
            f"q_positions and k_positions must have the same batch axes, got {tuple(q_batch)} and "
            f"{tuple(k_batch)}; they are never repeated"
        )
    return k_positions.unsqueeze(-2).long() - q_positions.unsqueeze(-1).long()


def check_buckets(bidirectional: bool, buckets: int, max_distance: int) -> None:
    """Raise unless distances can be sorted into so many buckets."""
    check_flag("bidirectional", bidirectional)
    check_count("buckets", buckets, at_least=4 if bidirectional else 2)
    if bidirectional and buckets % 2:
        raise ValueError(f"buckets must be even when bidirectional, got {buckets}")
    exact = buckets // 4 if bidirectional else buckets // 2
    check_count("max_distance", max_distance, at_least=exact + 1)
    if max_distance > 2**31:
        raise ValueError(
            f"max_distance must be at most 2³¹, the largest position, got {max_distance}"
        )


def t5_bucket(
    relative: Tensor,
    *,
    bidirectional: bool,
    buckets: int = T5_BUCKETS,
    max_distance: int = T5_MAX_DISTANCE,
) -> Tensor:
    r"""The bucket of each relative position n − m: exact when near, logarithmic when far.

    Half of the buckets (of each direction, if `bidirectional`) hold one distance each, the others
    grow geometrically up to `max_distance`; all beyond shares the last. Without `bidirectional`,
    later keys count as distance 0.

    $k = e + \lfloor (n - e) \ln(\delta/e) / \ln(\delta_{\max}/e) \rfloor$ with $e = n/2$ exact ones
    of the n of a direction.
    """
    check_buckets(bidirectional, buckets, max_distance)
    per_side = buckets // 2 if bidirectional else buckets
    exact = per_side // 2
    check_positions(relative, name="relative")
    relative = relative.long()  # small integers would wrap around when negated
    distance = relative.abs() if bidirectional else (-relative).clamp_min(0)
    thresholds = torch.tensor(
        _t5_thresholds(exact, per_side - exact, max_distance), device=relative.device
    )
    far = exact - 1 + torch.bucketize(distance, thresholds, right=True)
    bucket = torch.where(distance < exact, distance, far)
    return bucket + per_side * (relative > 0) if bidirectional else bucket


@cache
def _t5_thresholds(exact: int, far: int, max_distance: int) -> list[int]:
    """The first distance of every logarithmic bucket, in whole numbers.

    Bucket k starts where (δ/e)^far ≥ (δ_max/e)^k; powers of integers leave nothing to rounding.
    """
    distances = range(exact, max_distance + 1)

    def start(k: int) -> int:
        border = max_distance**k * exact ** (far - k)
        return distances[bisect_left(distances, border, key=lambda distance: distance**far)]

    return [start(k) for k in range(far)]


# A constant to the compiler, which cannot read `bisect_left`. This is the mark of
# `torch.compiler.assume_constant_result`, which itself would load the compiler: that takes longer
# than the import of the library, and few need it.
_t5_thresholds.__wrapped__._dynamo_marked_constant = True  # type: ignore[attr-defined]


class T5Bias(PositionalScheme):
    """Add a trained number per head and bucket of the distance to the scores."""

    fixed = ("buckets",)

    def __init__(
        self,
        heads: int,
        *,
        bidirectional: bool,
        seed: Seed,
        buckets: int = T5_BUCKETS,
        max_distance: int = T5_MAX_DISTANCE,
        deviation: float = DEVIATION,
    ) -> None:
        super().__init__()
        check_count("heads", heads)
        check_buckets(bidirectional, buckets, max_distance)
        self.bidirectional, self.buckets, self.max_distance = bidirectional, buckets, max_distance
        self.table = Embedding(buckets, heads, seed=stream_of(seed, "T5Bias"), deviation=deviation)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """(N_q,), (N_k,) → (H, N_q, N_k)"""
        bucket = t5_bucket(
            relative_positions(q_positions, k_positions),
            bidirectional=self.bidirectional,
            buckets=self.buckets,
            max_distance=self.max_distance,
        )
        values: Tensor = self.table(bucket)  # (..., N_q, N_k, H)
        return values.movedim(-1, -3)


def alibi_slopes(heads: int, *, device: torch.device | str | None = None) -> Tensor:
    r"""How fast each head's scores fall with distance, in float64.

    For $h = 2^a$ heads $2^{-8 i/h}$, i = 1…h. For other counts, as the authors' code does: the
    slopes of the largest power of two below, then every second one of the next power of two.

    >>> alibi_slopes(2)
    tensor([0.0625, 0.0039], dtype=torch.float64)
    """
    check_count("heads", heads)
    power = 2 ** int(math.log2(heads))

    def geometric(count: int) -> list[float]:
        return [2.0 ** (-8 * i / count) for i in range(1, count + 1)]

    slopes = geometric(power) + geometric(2 * power)[0::2][: heads - power]
    return torch.tensor(slopes, dtype=torch.float64, device=device)


def alibi_bias(slopes: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
    r"""A penalty that grows with distance: $-s_h\, \lvert n - m \rvert$.

    (H,), (N_q,), (N_k,) → (…, H, N_q, N_k), float64. For a causal model
    combine it with `causal_mask`; without a mask it is the symmetric form.
    """
    check_float("slopes", slopes)
    if slopes.ndim != 1:
        raise ValueError(f"slopes must have shape (H,), got {tuple(slopes.shape)}")
    distance = relative_positions(q_positions, k_positions).abs()
    check_same_device("slopes", slopes, "q_positions", q_positions)
    return -slopes[:, None, None] * distance.unsqueeze(-3)


class ALiBi(PositionalScheme):
    """Add the ALiBi penalty to the scores."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        check_count("heads", heads)
        self.heads = heads

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """(N_q,), (N_k,) → (H, N_q, N_k)"""
        slopes = alibi_slopes(self.heads, device=q_positions.device)
        return alibi_bias(slopes, q_positions, k_positions)


class Rotary(PositionalScheme):
    """Turn queries and keys by their position (RoPE).

    frequencies: from `rotary_frequencies`, changed by a function of `context_extension` if wanted.
    Fewer pairs than d_k/2 turn the first dimensions of each head only (`rotary_dim`).
    angle_dtype: float32 repeats the table that a checkpoint was trained with, see `rotary_table`.
    """

    def __init__(
        self,
        frequencies: Tensor,
        *,
        layout: Layout,
        rotary_dim: int | None = None,
        attention_factor: float = 1.0,
        angle_dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__()
        check_frequencies(frequencies)
        if frequencies.requires_grad:
            raise ValueError(
                "frequencies must not need a gradient: Rotary keeps a copy, which would lose it. "
                "Pass frequencies.detach(), or learn them through rotary_table"
            )
        check_choice("layout", layout, LAYOUTS)
        if rotary_dim is not None:
            check_rotary_dim(rotary_dim)
            if rotary_dim != 2 * len(frequencies):
                raise ValueError(
                    f"rotary_dim must be twice the {len(frequencies)} frequencies, got {rotary_dim}"
                )
        check_positive("attention_factor", attention_factor)
        check_angle_dtype(angle_dtype)
        # Whole numbers with the same bits: `.half()` rounds every floating-point buffer.
        self.register_buffer("bits", frequencies.clone().view(torch.int64), persistent=False)
        self.bits: Tensor
        self.layout: Layout = layout
        self.rotary_dim = rotary_dim
        self.attention_factor = attention_factor
        self.angle_dtype = angle_dtype

    @property
    def frequencies(self) -> Tensor:
        """The angle per position of each pair, in float64."""
        return self.bits.view(torch.float64)

    def angles(self, positions: Tensor, dtype: torch.dtype, *, length: int) -> RotaryTable:
        """cos and sin of positions (N,) or (B, N), for vectors of this dtype."""
        return rotary_table(
            positions,
            self.frequencies.to(positions.device),
            dtype=dtype,
            attention_factor=self.attention_factor,
            angle_dtype=self.angle_dtype,
        )

    def turn(self, x: Tensor, table: RotaryTable) -> Tensor:
        """x (B, H, N, d_k) turned by the table of its positions."""
        return rotate(x, table, layout=self.layout, rotary_dim=self.rotary_dim)

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """x (B, H, N, d_k) turned by positions (N,) or (B, N)."""
        check_float("x", x)
        return self.turn(x, self.angles(positions, x.dtype, length=positions.shape[-1]))

    def extra_repr(self) -> str:
        """The sizes, for `repr`."""
        return f"pairs={len(self.bits)}, layout={self.layout!r}"


class LengthScaledRotary(PositionalScheme):
    """Rotary with frequencies that depend on the length of the sequence (dynamic NTK, LongRoPE).

    frequencies: a function of the length, such as `lambda length: dynamic_ntk(...)`;
    attention_factor: a function of the length, or one number. Keys are cached unturned, since every
    new length may turn the earlier ones anew.
    """

    depends_on_length = True

    def __init__(
        self,
        frequencies: Callable[[int], Tensor],
        *,
        layout: Layout,
        rotary_dim: int | None = None,
        attention_factor: Callable[[int], float] | float = 1.0,
    ) -> None:
        super().__init__()
        if not callable(frequencies):
            raise TypeError(
                "frequencies must be a function from a length to frequencies, got "
                f"{type(frequencies).__name__}; for fixed ones take Rotary"
            )
        self.frequencies, self.attention_factor = frequencies, attention_factor
        self.layout: Layout = layout
        self.rotary_dim = rotary_dim
        self.at(1)  # a function that cannot be used says so here

    def at(self, length: int) -> Rotary:
        """The scheme for sequences of this length."""
        factor = self.attention_factor
        return Rotary(
            self.frequencies(length),
            layout=self.layout,
            rotary_dim=self.rotary_dim,
            attention_factor=factor(length) if callable(factor) else factor,
        )

    def angles(self, positions: Tensor, dtype: torch.dtype, *, length: int) -> RotaryTable:
        """cos and sin of positions (N,) or (B, N) in a sequence of this length."""
        return self.at(length).angles(positions, dtype, length=length)

    def turn(self, x: Tensor, table: RotaryTable) -> Tensor:
        """x (B, H, N, d_k) turned by the table of its positions."""
        return rotate(x, table, layout=self.layout, rotary_dim=self.rotary_dim)

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """x (B, H, N, d_k) turned by positions (N,) or (B, N), a whole sequence."""
        return self.at(positions.shape[-1]).rotate(x, positions)

    def changes(self, before: int, after: int) -> bool:
        """Whether the frequencies or the factor differ between the two lengths."""
        one, two = self.at(before), self.at(after)
        same = torch.equal(one.bits, two.bits) and one.attention_factor == two.attention_factor
        return not same

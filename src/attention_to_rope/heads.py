"""Attention in many heads, with keys and values of its own for each or shared among groups."""

import operator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from attention_to_rope.checks import (
    check_count,
    check_fits_scores,
    check_flag,
    check_float,
    check_heads,
    check_mask,
    check_mask_type,
    check_positive,
    check_same_device,
    check_same_kind,
    check_sequence_positions,
    extremes,
    working_dtype,
)
from attention_to_rope.fast.blockwise import (
    FARTHEST,
    BiasByPosition,
    blockwise_attention,
    near_by_position,
)
from attention_to_rope.key_value_cache import KeyValueCache
from attention_to_rope.layers import BIAS, FixedSizes, Linear, Seed, parameter, stream_of
from attention_to_rope.masks import causal_mask, sliding_window_mask
from attention_to_rope.norms import RMS_NORM_EPS, RMSNorm
from attention_to_rope.positions import PositionalScheme
from attention_to_rope.rope import RotaryTable
from attention_to_rope.scaled_dot_product import attention, score_scale

BLOCK = 512  # the queries and keys whose scores are held at once, where no more are needed


class PlacedScheme(NamedTuple):
    """A positional scheme at the positions of one call: its table and bias are built once.

    Queries stand at `q_positions`; `k_positions` are those of the keys that are turned, the new
    ones or, for a scheme that depends on the length, all. bias (1 or B, H, N_q, N_k), a table or,
    for many queries, made block by block.
    """

    scheme: PositionalScheme
    q_positions: Tensor
    k_positions: Tensor
    q_table: RotaryTable | None
    k_table: RotaryTable | None
    bias: Tensor | BiasByPosition | None

    def turn_queries(self, q: Tensor) -> Tensor:
        """q (B, H, N_q, d_k) turned as the scheme says."""
        if self.q_table is None:
            return self.scheme.rotate(q, self.q_positions)
        return self.scheme.turn(q, self.q_table)

    def turn_keys(self, k: Tensor) -> Tensor:
        """k (B, H_kv, N_k, d_k) turned as the scheme says."""
        if self.k_table is None:
            return self.scheme.rotate(k, self.k_positions)
        return self.scheme.turn(k, self.k_table)


def place(
    scheme: PositionalScheme | None, positions: Tensor, dtype: torch.dtype, *, start: int = 0
) -> PlacedScheme:
    """The scheme at `positions` (N,) or (B, N), of which those from `start` on are new."""
    scheme = PositionalScheme() if scheme is None else scheme
    new, length = positions[..., start:], positions.shape[-1]
    turned = positions if scheme.depends_on_length else new
    q_table = scheme.angles(new, dtype, length=length)
    k_table = q_table if turned is new else scheme.angles(turned, dtype, length=length)
    bias = placed_bias(scheme, new, positions, working_dtype(dtype))
    return PlacedScheme(scheme, new, turned, q_table, k_table, bias)


def goes_at_once(length: int) -> bool:
    """Whether so many queries or keys fit into one block; an exported model has no blocks."""
    return torch.compiler.is_exporting() or length <= BLOCK


class _BiasOf(nn.Module):
    """The bias of a scheme as a module's `forward`, to call it with other parameters."""

    def __init__(self, scheme: PositionalScheme) -> None:
        super().__init__()
        self.scheme = scheme

    def forward(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        return self.scheme.bias(q_positions, k_positions)


def placed_bias(
    scheme: PositionalScheme, q_positions: Tensor, k_positions: Tensor, dtype: torch.dtype
) -> Tensor | BiasByPosition | None:
    """What a scheme adds to the scores, (1 or B, H, N_q, N_k): a table, or block by block.

    A compiled model has the table. dtype: not half, in which many distances would share a number.
    """
    names = [f"scheme.{name}" for name, _ in scheme.named_parameters()]

    def function(q_positions: Tensor, k_positions: Tensor, *learned: Tensor) -> Tensor:
        given, at = dict(zip(names, learned, strict=True)), (q_positions, k_positions)
        bias = functional_call(_BiasOf(scheme), given, at) if given else scheme.bias(*at)
        return axes_of_scores(bias).to(dtype)

    if scheme.bias(q_positions[..., :1], k_positions[..., :1]) is None:
        return None
    # The compiler reads no function that is made here.
    if torch.compiler.is_compiling() or goes_at_once(q_positions.shape[-1]):
        return axes_of_scores(scheme.bias(q_positions, k_positions)).to(dtype)
    return BiasByPosition(function, q_positions, k_positions, tuple(scheme.parameters()))


def axes_of_scores(bias: Any) -> Tensor:
    """A tensor (H, N_q, N_k) or (B, H, N_q, N_k) → (1 or B, H, N_q, N_k)."""
    full: Tensor = bias.unsqueeze(0) if bias.ndim == 3 else bias
    return full


def check_bias_heads(placed: PlacedScheme, heads: int) -> None:
    """Raise unless the bias of a scheme has so many heads: one would be repeated in silence."""
    if placed.bias is None:
        return
    some = placed.bias if isinstance(placed.bias, Tensor) else placed.bias.corner()
    if some.shape[1] != heads:
        raise ValueError(
            f"position must be built for {heads} heads, got a bias for {some.shape[1]}"
        )


PARTS_IN_ATTENTION = ("rotate", "angles", "bias")


def acts_on_scores(scheme: PositionalScheme) -> bool:
    """Whether a scheme does anything inside attention, and not on the input alone."""
    own, plain = type(scheme), PositionalScheme
    if own is plain:
        return True
    return any(getattr(own, part) is not getattr(plain, part) for part in PARTS_IN_ATTENTION)


def check_scheme(position: PositionalScheme | None, *, name: str = "position") -> None:
    """Raise unless `position` is a positional scheme or None."""
    if position is not None and not isinstance(position, PositionalScheme):
        raise TypeError(
            f"{name} must be a PositionalScheme such as Rotary(...) or ALiBi(...), or None; got "
            f"{type(position).__name__} ({position!r})"
        )


class Sight(NamedTuple):
    """Which keys a query may see: what a mask (…, N_q, N_k) allows, by causality and window.

    positions (N_k,) or (B, N_k): what the window counts by, if not by order.
    """

    mask: Tensor | None
    causal: bool
    window: int | None
    positions: Tensor | None = None


def whole_mask(
    sight: Sight, q_len: int, k_len: int, device: torch.device, first: int = 0
) -> Tensor | None:
    """All of `sight` as one mask over the keys from `first` on; None if all see all."""
    parts, window = [sight.mask], sight.window
    if window is not None and sight.positions is not None:
        at = with_axis_of_heads(sight.positions)
        parts.append(near_by_position(at[..., k_len - q_len :], at, window))
        window = None
    # A single query is the last position: all keys are earlier, those outside the window cut off.
    if window is not None and q_len > 1:
        parts.append(
            sliding_window_mask(q_len, k_len, window=window, causal=sight.causal, device=device)
        )
    elif sight.causal and q_len > 1:
        parts.append(causal_mask(q_len, k_len, device=device))
    masks = [part for part in parts if part is not None]
    return reduce(operator.and_, masks)[..., first:] if masks else None


def with_axis_of_heads(positions: Tensor) -> Tensor:
    """Positions (N,) or (B, N) → (N,) or (B, 1, N)."""
    return positions if positions.ndim == 1 else positions.unsqueeze(1)


def first_seen(sight: Sight, q_len: int, k_len: int) -> int:
    """The first key that some query may see by a window that counts by order."""
    if sight.window is None or sight.positions is not None:
        return 0
    return max(0, k_len - q_len - sight.window + 1)


def near_some_query(positions: Tensor, q_len: int, window: int) -> Tensor:
    """Which keys lie near the range of the last `q_len` positions: (…, 1, N_k), none per pair."""
    at = with_axis_of_heads(positions).unsqueeze(-2).long()
    first, last = at[..., -q_len:].aminmax(dim=-1, keepdim=True)
    return (at - at.clamp(first, last)).abs() < min(window, FARTHEST)


def attend_at_any_length(
    q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None, causal: bool, scale: float
) -> Tensor:
    """Attention of q (B, H, N_q, d) to the H or 1 heads of k and v; long sequences in blocks.

    mask: as in `attention`; causal: as in `causal_mask`, and no mask is held in blocks.
    """
    check_flag("causal", causal)
    if mask is not None:
        check_mask(mask, q, k)
    q_len, k_len = q.shape[-2], k.shape[-2]
    if not goes_at_once(min(q_len, k_len)):
        return blockwise_attention(
            q, k, v, mask=mask, causal=causal, scale=scale, q_block=BLOCK, k_block=BLOCK
        )
    seen = whole_mask(Sight(mask, causal, window=None), q_len, k_len, q.device)
    k, v = (x.expand(-1, q.shape[1], -1, -1) for x in (k, v))
    return attention(q, k, v, mask=seen, scale=scale)


def check_leaves_something(sight: Sight, q_len: int, k_len: int) -> None:
    """Raise if a mask leaves nobody anything that causality and window allow: wrong polarity."""
    mask = sight.mask
    if mask is None or q_len == 1 or not (sight.causal or sight.window is not None):
        return
    if mask.shape[-2] == 1:  # the same for all queries: each of these keys is seen by one of them
        seen: Tensor | None = mask[..., first_seen(sight, q_len, k_len) :]
        if sight.window is not None and sight.positions is not None:
            seen = mask & near_some_query(sight.positions, q_len, sight.window)
    else:
        seen = whole_mask(sight, q_len, k_len, mask.device)
    if seen is not None and extremes(seen.any().to(torch.uint8)) == (0, 0):
        raise ValueError(
            "mask leaves no position anything to attend to: its polarity looks inverted. Here "
            "True = attend; pass ~mask"
        )


def check_two_sequences(
    position: object, positions: object, causal: bool, window: int | None
) -> None:
    """Raise if something asks for the order between x and a context, which is not known."""
    if position is not None or positions is not None or causal or window is not None:
        raise ValueError(
            "position=, positions=, causal= and window= belong to self-attention: the positions of "
            "two sequences cannot be compared. Leave them out, or context"
        )


class MultiHeadAttention(FixedSizes):
    r"""Attention in `heads` subspaces of dimension $d_k = d / h$, summed by $W^O$.

    $\sum_j \operatorname{attention}(x W^Q_j, c W^K_j, c W^V_j)\, W^O_j$: the heads joined, times
    $W^O$.

    `kv_heads` < `heads` shares keys and values among groups of queries (grouped-query attention);
    `kv_heads=1` is multi-query attention. Keys and values come from `context` (cross-attention) or,
    without it, from x. `position` is the positional scheme of the scores, given at the call.

    head_dim: another d_k than d / heads. scale: of the scores, 1/√d_k if not given. qk_norm:
    RMSNorm of queries and keys, per head, before they are turned. soft_cap c: scores become
    c tanh(s / c). sink: a learned score per head that takes weight and gives nothing. gate: the
    heads' outputs are multiplied by σ(x W^G) before W^O.
    """

    fixed = ("d", "heads", "kv_heads", "d_k")

    def __init__(
        self,
        d: int,
        heads: int,
        *,
        seed: Seed,
        kv_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = BIAS,
        gain: float = 1.0,
        scale: float | None = None,
        qk_norm: bool = False,
        soft_cap: float | None = None,
        sink: bool = False,
        gate: bool = False,
        eps: float = RMS_NORM_EPS,
    ) -> None:
        super().__init__()
        check_head_counts(d, heads, kv_heads, head_dim)
        for name, flag in (("bias", bias), ("qk_norm", qk_norm), ("sink", sink), ("gate", gate)):
            check_flag(name, flag)
        if soft_cap is not None:
            check_positive("soft_cap", soft_cap)
        self.d, self.heads, self.kv_heads = d, heads, heads if kv_heads is None else kv_heads
        self.d_k = d // heads if head_dim is None else head_dim
        self.scale, self.soft_cap = score_scale(self.d_k, scale), soft_cap
        rng = stream_of(seed, "MultiHeadAttention")
        wide, narrow = heads * self.d_k, self.kv_heads * self.d_k
        self.query = Linear(d, wide, bias=bias, seed=rng)
        self.key = Linear(d, narrow, bias=bias, seed=rng)
        self.value = Linear(d, narrow, bias=bias, seed=rng, gain=gain)
        self.output = Linear(wide, d, bias=bias, seed=rng, gain=gain)
        self.query_norm = RMSNorm(self.d_k, eps=eps) if qk_norm else None
        self.key_norm = RMSNorm(self.d_k, eps=eps) if qk_norm else None
        self.sink = parameter(np.zeros(heads)) if sink else None
        self.gate = Linear(d, wide, bias=bias, seed=rng) if gate else None

    def forward(
        self,
        x: Tensor,
        context: Tensor | KeyValueCache | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        window: int | None = None,
        position: PositionalScheme | PlacedScheme | None = None,
        positions: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """x (B, N_q, d), context (B, N_k, d) → (B, N_q, d); weights (B, H, N_q, N_k).

        mask: (N_q, N_k), (B, 1 or N_q, N_k) or with the head axis. causal, window: see as
        `causal_mask` and `sliding_window_mask` do, but no mask is held. `positions` (N,) or (B, N),
        0…N−1 if not given; a window then counts by them. context: vectors, or their keys and values
        as `remember` gives.

        Memory is linear in N. All pairs are held where `return_weights` asks for them, by a mask
        that you give for all of them, in an exported model, for a bias (ALiBi, T5) in a compiled
        one, and by a second derivative.
        """
        self._check_input("x", x)
        check_flag("return_weights", return_weights)
        if context is None:
            placed = self._placed(position, positions, x, 0)
            q, bias = placed.turn_queries(self._queries(x)), placed.bias
            k, v = placed.turn_keys(self._keys(x)), self._values(x)
        else:
            check_two_sequences(position, positions, causal, window)
            q, bias = self._queries(x), None
            k, v = self._remembered(context, x)
        sight = self._sight(x, k.shape[-2], mask, causal, window, positions)
        joined, weights = self._attend(q, k, v, bias, sight, return_weights)
        output = self._leave(x, joined)
        return output if weights is None else (output, weights)

    def remember(self, context: Tensor) -> KeyValueCache:
        """The keys and values of a context (B, N_k, d), for many calls with the same one."""
        self._check_input("context", context)
        return KeyValueCache(self._keys(context), self._values(context))

    def extend(
        self,
        x: Tensor,
        cache: KeyValueCache,
        *,
        mask: Tensor | None = None,
        position: PositionalScheme | PlacedScheme | None = None,
        positions: Tensor | None = None,
        window: int | None = None,
    ) -> tuple[Tensor, KeyValueCache]:
        """Causal self-attention of new positions x (B, N, d) to the cache and to themselves.

        Gives the output for the new positions and the cache that holds them too. Equal to the last
        N rows of `forward` with `causal=True` over the whole sequence. mask: further restriction
        (N, cache.length + N), or with a batch axis. positions: of all, the cached and the new,
        (cache.length + N,) or (B, cache.length + N). window: see the nearest so many only.
        """
        self._check_input("x", x)
        check_cache("cache", cache)
        placed = self._placed(position, positions, x, cache.length)
        new_keys = self._keys(x)
        if placed.scheme.depends_on_length:
            longer = cache.append(new_keys, self._values(x))
            k = placed.turn_keys(_held(longer)[0])
        else:
            longer = cache.append(placed.turn_keys(new_keys), self._values(x))
            k = _held(longer)[0]
        sight = self._sight(x, longer.length, mask, True, window, positions)
        q = placed.turn_queries(self._queries(x))
        joined, _ = self._attend(q, k, _held(longer)[1], placed.bias, sight, return_weights=False)
        return self._leave(x, joined), longer

    def extra_repr(self) -> str:
        """The sizes, for `repr`."""
        return f"{self.d}, heads={self.heads}, kv_heads={self.kv_heads}, d_k={self.d_k}"

    def _check_input(self, name: str, x: Tensor) -> None:
        check_float(name, x)
        if x.ndim != 3 or x.shape[-1] != self.d:
            raise ValueError(f"{name} must have shape (B, N, d={self.d}), got {tuple(x.shape)}")
        check_same_kind(name, x, "W", self.key.W)
        if x.shape[1] == 0:
            raise ValueError(f"{name} must hold at least one position, got shape {tuple(x.shape)}")

    def _placed(
        self,
        position: PositionalScheme | PlacedScheme | None,
        positions: Tensor | None,
        x: Tensor,
        start: int,
    ) -> PlacedScheme:
        """The scheme at the positions of this call, or as the model has placed it."""
        if isinstance(position, PlacedScheme):
            return position
        check_scheme(position)
        if position is not None and not acts_on_scores(position):
            raise ValueError(
                f"{type(position).__name__} acts on the input of a model and does nothing in "
                "attention: call its embed(x, positions) first, and leave out position="
            )
        length = start + x.shape[1]
        if positions is None:
            positions = torch.arange(length, device=x.device)
        check_sequence_positions(positions, x.shape[0], length, device=x.device)
        placed = place(position, positions, x.dtype, start=start)
        check_bias_heads(placed, self.heads)
        return placed

    def _queries(self, x: Tensor) -> Tensor:
        q = _split_heads(self.query(x), self.heads)  # (B, H, N_q, d_k)
        return q if self.query_norm is None else self.query_norm(q)

    def _keys(self, source: Tensor) -> Tensor:
        k = _split_heads(self.key(source), self.kv_heads)  # (B, H_kv, N_k, d_k)
        return k if self.key_norm is None else self.key_norm(k)

    def _values(self, source: Tensor) -> Tensor:
        return _split_heads(self.value(source), self.kv_heads)

    def _remembered(self, context: Tensor | KeyValueCache, x: Tensor) -> tuple[Tensor, Tensor]:
        if not isinstance(context, KeyValueCache):
            context = self.remember(context)
        k, v = _held(context)
        if k.shape[0] != x.shape[0]:
            raise ValueError(
                f"x and context must have the same batch size, got {x.shape[0]} and {k.shape[0]}"
            )
        return k, v

    def _score_mask(self, mask: Tensor, x: Tensor, k_len: int) -> Tensor:
        """The mask (…, N_q, N_k) with a head axis, after its checks: nothing broadcasts unseen."""
        check_mask_type(mask)
        check_same_device("x", x, "mask", mask)
        mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
        check_fits_scores("mask", mask, (x.shape[0], self.heads, x.shape[1], k_len))
        return mask

    def _sight(
        self,
        x: Tensor,
        k_len: int,
        mask: Tensor | None,
        causal: bool,
        window: int | None,
        positions: Tensor | None,
    ) -> Sight:
        """Which keys the queries of x may see, after all checks."""
        check_flag("causal", causal)
        mask = None if mask is None else self._score_mask(mask, x, k_len)
        if window is not None:
            check_count("window", window)
        sight = Sight(mask, causal, window, None if window is None else positions)
        check_leaves_something(sight, x.shape[1], k_len)
        return sight

    def _attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor | BiasByPosition | None,
        sight: Sight,
        return_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """The heads' outputs (B, H, N_q, d_k), in the way that holds the least.

        Long sequences go block by block and memory is linear in N; what fits into one block, is
        asked for its weights or is exported takes the plain formula.
        """
        q_len, k_len = q.shape[-2], k.shape[-2]
        if not return_weights and not goes_at_once(min(q_len, k_len)):
            joined = blockwise_attention(
                q,
                k,
                v,
                causal=sight.causal,
                window=sight.window,
                positions=sight.positions,
                mask=sight.mask,
                bias=bias,
                scale=self.scale,
                soft_cap=self.soft_cap,
                sink=None if self.sink is None else self.sink.view(1, -1, 1, 1),
                q_block=BLOCK,
                k_block=BLOCK,
            )
            return joined, None
        bias = bias.table() if isinstance(bias, BiasByPosition) else bias
        first = first_seen(sight, q_len, k_len)
        if first:
            k, v = k[..., first:, :], v[..., first:, :]
            bias = None if bias is None else bias[..., first:]
        mask = whole_mask(sight, q_len, k_len, q.device, first)
        return self._attend_at_once(q, k, v, mask, bias, return_weights)

    def _attend_at_once(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        return_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Queries that share keys and values become queries of one head: nothing is copied."""
        group, q_len = self.heads // self.kv_heads, q.shape[2]
        grouped = q if group == 1 else q.reshape(q.shape[0], self.kv_heads, group * q_len, self.d_k)
        mask = None if mask is None else _per_group(mask, group, self.kv_heads, q_len)
        bias = None if bias is None else _per_group(bias, group, self.kv_heads, q_len)
        plain = mask is None and self.sink is None and self.soft_cap is None
        exact = bias is None or bias.dtype == q.dtype  # a bias in half has lost its distances
        if plain and exact and not return_weights and not torch.is_grad_enabled():
            # Nothing is hidden and nobody asks for weights: torch's kernel keeps no scores.
            joined = functional.scaled_dot_product_attention(
                grouped, k, v, attn_mask=bias, scale=self.scale
            )
            return joined.reshape(q.shape), None
        joined, weights = attention(
            grouped,
            k,
            v,
            mask=mask,
            bias=bias,
            scale=self.scale,
            soft_cap=self.soft_cap,
            sink=self._grouped_sink(group, q_len),
            return_weights=True,
        )
        weights = weights.reshape(*q.shape[:3], k.shape[-2])
        return joined.reshape(q.shape), weights if return_weights else None

    def _leave(self, x: Tensor, joined: Tensor) -> Tensor:
        """The heads' outputs (B, H, N_q, d_k) joined, through the gate and W^O: (B, N_q, d)."""
        joined = joined.transpose(1, 2).flatten(2)
        joined = joined if self.gate is None else joined * torch.sigmoid(self.gate(x))
        output: Tensor = self.output(joined)
        return output

    def _grouped_sink(self, group: int, q_len: int) -> Tensor | None:
        """The sink of every head for each of its queries: (1, H_kv, G · N_q, 1)."""
        if self.sink is None:
            return None
        return (
            self.sink.view(1, self.kv_heads, group, 1)
            .expand(1, -1, -1, q_len)
            .reshape(1, self.kv_heads, group * q_len, 1)
        )


def check_cache(name: str, cache: KeyValueCache) -> None:
    """Raise unless `cache` is a KeyValueCache."""
    if not isinstance(cache, KeyValueCache):
        raise TypeError(
            f"{name} must be a KeyValueCache, KeyValueCache() to begin with; got "
            f"{type(cache).__name__}"
        )


def check_head_counts(d: int, heads: int, kv_heads: int | None, head_dim: int | None) -> None:
    """Raise unless `heads` divides d, or `head_dim` is given, and `kv_heads` divides `heads`."""
    if head_dim is None:
        check_heads(d, heads)
    else:
        check_count("d", d)
        check_count("heads", heads)
        check_count("head_dim", head_dim)
    if kv_heads is None:
        return
    check_count("kv_heads", kv_heads)
    if heads % kv_heads:
        raise ValueError(f"kv_heads must divide heads, got heads={heads} and kv_heads={kv_heads}")


def repeat_heads(x: Tensor, times: int) -> Tensor:
    """Give every head `times` copies next to each other, for grouped-query attention.

    (..., H, N, d) → (..., H · times, N, d)
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a torch.Tensor, got {type(x).__name__}")
    check_count("times", times)
    if x.ndim < 3:
        raise ValueError(f"x must have shape (..., H, N, d), got {tuple(x.shape)}")
    return x.repeat_interleave(times, dim=-3)


def _split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, N, H · d_k) → (B, H, N, d_k)."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).transpose(1, 2)


def _per_group(x: Tensor, group: int, kv_heads: int, q_len: int) -> Tensor:
    """A mask or bias for queries grouped by their keys: (…, H_kv or 1, G · N_q, N_k)."""
    if group == 1:
        return x
    if x.ndim == 2 or x.shape[1] == 1:  # the same for all heads
        x = x if x.shape[-2] == q_len else x.expand(*x.shape[:-2], q_len, x.shape[-1])
        return x.repeat(*(1,) * (x.ndim - 2), group, 1)
    batch, _, _, k_len = x.shape
    return x.expand(-1, -1, q_len, -1).reshape(batch, kv_heads, group * q_len, k_len)


def _held(cache: KeyValueCache) -> tuple[Tensor, Tensor]:
    """The keys and values of a cache that holds some."""
    if cache.keys is None or cache.values is None:
        raise ValueError("context must hold keys and values, got an empty KeyValueCache")
    return cache.keys, cache.values

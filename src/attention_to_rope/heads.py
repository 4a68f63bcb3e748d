"""Attention in many heads, with keys and values of its own for each or shared among groups."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attention_to_rope.checks import (
    check_count,
    check_fits_scores,
    check_flag,
    check_float,
    check_heads,
    check_mask_type,
    check_positive,
    check_same_device,
    check_sequence_positions,
    extremes,
    working_dtype,
)
from attention_to_rope.key_value_cache import KeyValueCache
from attention_to_rope.layers import Linear, Seed, parameter, stream_of
from attention_to_rope.masks import causal_mask, sliding_window_mask
from attention_to_rope.norms import RMSNorm
from attention_to_rope.positions import PositionalScheme
from attention_to_rope.rope import RotaryTable
from attention_to_rope.scaled_dot_product import attention, score_scale


class PlacedScheme(NamedTuple):
    """A positional scheme at the positions of one call: its table and bias are built once.

    Queries stand at `q_positions`; `k_positions` are those of the keys that are turned, the new
    ones or, for a scheme that depends on the length, all. bias (1 or B, H, N_q, N_k).
    """

    scheme: PositionalScheme
    q_positions: Tensor
    k_positions: Tensor
    q_table: RotaryTable | None
    k_table: RotaryTable | None
    bias: Tensor | None

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
    bias = scheme.bias(new, positions)
    if bias is not None:
        # Not rounded to half: many distances would share a number.
        bias = bias.to(working_dtype(dtype))
        bias = bias.unsqueeze(0) if bias.ndim == 3 else bias
    return PlacedScheme(scheme, new, turned, q_table, k_table, bias)


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


class MultiHeadAttention(nn.Module):
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

    def __init__(
        self,
        d: int,
        heads: int,
        *,
        seed: Seed,
        kv_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = False,
        gain: float = 1.0,
        scale: float | None = None,
        qk_norm: bool = False,
        soft_cap: float | None = None,
        sink: bool = False,
        gate: bool = False,
        eps: float = 1e-6,
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
        position: PositionalScheme | PlacedScheme | None = None,
        positions: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """x (B, N_q, d), context (B, N_k, d) → (B, N_q, d); weights (B, H, N_q, N_k).

        mask: (N_q, N_k), (B, 1 or N_q, N_k) or with the head axis. `positions` (N,) or (B, N),
        0…N−1 if not given. context: vectors, or their keys and values as `remember` gives.
        """
        self._check_input("x", x)
        check_flag("return_weights", return_weights)
        if context is None:
            placed = self._placed(position, positions, x, 0)
            q, bias = placed.turn_queries(self._queries(x)), placed.bias
            k, v = placed.turn_keys(self._keys(x)), self._values(x)
        else:
            if position is not None or positions is not None:
                raise ValueError(
                    "position= belongs to self-attention: the positions of two sequences cannot be "
                    "compared. Leave out context or position"
                )
            q, bias = self._queries(x), None
            k, v = self._remembered(context, x)
        mask = None if mask is None else self._score_mask(mask, x, k.shape[-2])
        output, weights = self._attend(x, q, k, v, mask, bias, return_weights)
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
        N rows of `forward` with a causal mask over the whole sequence. mask: further restriction
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
        v, bias, first = _held(longer)[1], placed.bias, 0
        if window is not None:
            check_count("window", window)
        if window is not None and positions is not None:
            near = near_by_position(positions, cache.length, window)
            mask = near if mask is None else self._score_mask(mask, x, longer.length) & near
        elif window is not None:
            first = max(0, longer.length - window - x.shape[1] + 1)  # what no new position sees
            k, v = k[..., first:, :], v[..., first:, :]
            bias = None if bias is None else bias[..., first:]
        by_slot = window if positions is None else None
        seen = self._extended_mask(x, longer.length, first, by_slot, mask)
        q = placed.turn_queries(self._queries(x))
        output, _ = self._attend(x, q, k, v, seen, bias, return_weights=False)
        return output, longer

    def extra_repr(self) -> str:
        """The sizes, for `repr`."""
        return f"{self.d}, heads={self.heads}, kv_heads={self.kv_heads}, d_k={self.d_k}"

    def _check_input(self, name: str, x: Tensor) -> None:
        check_float(name, x)
        if x.ndim != 3 or x.shape[-1] != self.d:
            raise ValueError(f"{name} must have shape (B, N, d={self.d}), got {tuple(x.shape)}")
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
        check_sequence_positions(positions, x.shape[0], length)
        placed = place(position, positions, x.dtype, start=start)
        if placed.bias is not None and placed.bias.shape[1] != self.heads:
            raise ValueError(
                f"position must be built for {self.heads} heads, got a bias for "
                f"{placed.bias.shape[1]}"
            )
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

    def _extended_mask(
        self, x: Tensor, length: int, first: int, window: int | None, mask: Tensor | None
    ) -> Tensor | None:
        """Which of the keys first…length − 1 each new position sees; None if all see all."""
        new = x.shape[1]
        mask = None if mask is None else self._score_mask(mask, x, length)
        if new == 1:  # all keys are earlier, and those outside the window are cut off
            return mask if mask is None else mask[..., first:]
        if window is None:
            seen = causal_mask(new, length, device=x.device)
        else:
            seen = sliding_window_mask(new, length, window=window, device=x.device)
        return (seen if mask is None else restricted(seen, mask))[..., first:]

    def _attend(
        self,
        x: Tensor,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        return_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Queries that share keys and values become queries of one head: nothing is copied."""
        group, weights = self.heads // self.kv_heads, None
        grouped = q.reshape(q.shape[0], self.kv_heads, group * q.shape[2], self.d_k)
        mask = None if mask is None else _per_group(mask, group, self.kv_heads, q.shape[2])
        bias = None if bias is None else _per_group(bias, group, self.kv_heads, q.shape[2])
        plain = mask is None and self.sink is None and self.soft_cap is None
        exact = bias is None or bias.dtype == q.dtype  # a bias in half has lost its distances
        if plain and exact and not return_weights and not torch.is_grad_enabled():
            # Nothing is hidden and nobody asks for weights: torch's kernel keeps no scores.
            joined = functional.scaled_dot_product_attention(
                grouped, k, v, attn_mask=bias, scale=self.scale
            )
        else:
            joined, weights = attention(
                grouped,
                k,
                v,
                mask=mask,
                bias=bias,
                scale=self.scale,
                soft_cap=self.soft_cap,
                sink=self._grouped_sink(group, q.shape[2]),
                return_weights=True,
            )
            weights = weights.reshape(*q.shape[:3], k.shape[-2]) if return_weights else None
        joined = joined.reshape(q.shape).transpose(1, 2).flatten(2)  # (B, N_q, H · d_k)
        joined = joined if self.gate is None else joined * torch.sigmoid(self.gate(x))
        output: Tensor = self.output(joined)
        return output, weights

    def _grouped_sink(self, group: int, q_len: int) -> Tensor | None:
        """The sink of every head for each of its queries: (1, H_kv, G · N_q, 1)."""
        if self.sink is None:
            return None
        return (
            self.sink.view(1, self.kv_heads, group, 1)
            .repeat_interleave(q_len, 2)
            .flatten(2, 3)[..., None]
        )


def near_by_position(positions: Tensor, start: int, window: int) -> Tensor:
    """Which keys lie less than `window` before each query: (N_q, N_k) or (B, 1, N_q, N_k).

    positions (N_k,) or (B, N_k); those from `start` on are the queries'.
    """
    near = positions[..., start:, None] - positions[..., None, :] < window
    return near.unsqueeze(1) if near.ndim == 3 else near


def restricted(causal: Tensor, mask: Tensor) -> Tensor:
    """Both masks together; a mask that leaves nobody anything to see has the wrong polarity."""
    both = causal & mask
    if extremes(both.any().to(torch.uint8)) == (0, 0):
        raise ValueError(
            "mask leaves no position anything to attend to: its polarity looks inverted. Here "
            "True = attend; pass ~mask"
        )
    return both


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

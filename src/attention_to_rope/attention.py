"""Scaled dot-product attention, many heads, key-value cache, block-wise attention."""

import math
from dataclasses import dataclass
from typing import Literal, overload

import torch
from torch import Tensor, nn

from attention_to_rope.checks import (
    check_count,
    check_float,
    check_heads,
    check_positive,
    check_same_device,
    check_same_kind,
    values_are_known,
    working_dtype,
)
from attention_to_rope.layers import Linear, Seed, generator
from attention_to_rope.positions import PositionalScheme


def softmax(logits: Tensor, dim: int = -1) -> Tensor:
    r"""Turn logits into weights that are positive and sum to 1, without overflow.

    $p_j = e^{x_j - \max_l x_l} / \sum_l e^{x_l - \max_l x_l}$

    A row that holds only −inf has nothing to choose from: its weights are 0, its gradient is 0.
    Half types are computed in float32 and rounded once.

    >>> softmax(torch.tensor([1000.0, 1000.0, -torch.inf]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    check_float("logits", logits)
    if logits.ndim == 0 or logits.shape[dim] == 0:
        raise ValueError(f"softmax needs at least one logit, got shape {tuple(logits.shape)}")
    exact = logits.to(working_dtype(logits.dtype))
    largest = exact.detach().amax(dim, keepdim=True)
    powers = torch.exp(exact - largest.masked_fill(largest == -torch.inf, 0.0))
    total = powers.sum(dim, keepdim=True)
    return (powers / total.masked_fill(total == 0, 1.0)).to(logits.dtype)


def _check_attention_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        check_float(name, tensor)
        if tensor.ndim < 2:
            raise ValueError(f"{name} must have shape (..., N, d), got {tuple(tensor.shape)}")
        if tensor.shape[-2] == 0 or tensor.shape[-1] == 0:
            raise ValueError(
                f"{name} must have at least one position and one dimension, "
                f"got shape {tuple(tensor.shape)}"
            )
    check_same_kind("q", q, "k", k)
    check_same_kind("q", q, "v", v)
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"q and k must have the same head dim d_k, got {q.shape[-1]} and {k.shape[-1]}"
        )
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"k and v must have the same length, got {k.shape[-2]} and {v.shape[-2]} positions"
        )
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise ValueError(
            f"q, k, v must have the same leading axes, got {tuple(q.shape[:-2])}, "
            f"{tuple(k.shape[:-2])}, {tuple(v.shape[:-2])}; for grouped queries use repeat_heads"
        )


def _check_score_shape(name: str, tensor: Tensor, q: Tensor, k: Tensor) -> None:
    """A mask or bias is (N_q, N_k), or has all axes of the scores; axes of size 1 repeat."""
    expected = (*q.shape[:-1], k.shape[-2])
    shape = tuple(tensor.shape)
    if tensor.ndim not in (2, len(expected)):
        raise ValueError(
            f"{name} must have 2 axes (N_q, N_k) or {len(expected)} axes like the scores "
            f"{tuple(expected)}, got shape {shape}; add an axis of size 1 where it repeats: "
            f"{name}[:, None] for the heads, {name}[None] for the batch"
        )
    repeatable = zip(shape[:-1], expected[-tensor.ndim : -1], strict=True)
    if shape[-1] != expected[-1] or any(size not in (1, full) for size, full in repeatable):
        raise ValueError(
            f"{name} of shape {shape} does not fit scores of shape {tuple(expected)}: its last "
            f"axis must be N_k = {expected[-1]}, every other axis 1 or equal"
        )


def _check_mask(mask: Tensor, q: Tensor, k: Tensor) -> None:
    if not isinstance(mask, Tensor):
        raise TypeError(f"mask must be a boolean torch.Tensor, got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        hint = "pass it as bias=" if mask.dtype.is_floating_point else "convert it with mask.bool()"
        raise TypeError(
            f"mask must be boolean with True = attend, got {mask.dtype}; an additive mask is a "
            f"bias: {hint}"
        )
    check_same_device("q", q, "mask", mask)
    _check_score_shape("mask", mask, q, k)
    rows, columns = mask.shape[-2:]
    if rows == columns > 1 and mask.numel() and values_are_known(mask):
        future_only = torch.ones_like(mask).triu(1)
        if torch.equal(mask, future_only):
            raise ValueError(
                "mask lets every query attend to later positions only: its polarity looks "
                "inverted. Here True = attend; pass ~mask"
            )


def _hide_what_nobody_may_see(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Replace what is not finite by 0 and give a (…, 1, N_k) row that is NaN where a key was bad.

    A matrix product computes 0 · NaN = NaN, so a masked NaN would leak into results and gradients.
    The row is added to the scores before the mask: only queries that may see a bad key get NaN.
    """
    key_is_sound = k.isfinite().all(-1) & v.isfinite().all(-1)
    poison = torch.zeros_like(k[..., 0]).masked_fill(~key_is_sound, torch.nan)
    sound = key_is_sound.unsqueeze(-1)
    query_sees_something = mask.any(-1, keepdim=True)
    return (
        torch.where(query_sees_something, q, 0.0),
        torch.where(sound, k, 0.0),
        torch.where(sound, v, 0.0),
        poison.unsqueeze(-2),
    )


@overload
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    return_weights: Literal[False] = False,
) -> Tensor: ...
@overload
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    return_weights: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    return_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    r"""Average the values, weighted by how well each key answers the query.

    $\operatorname{softmax}(Q K^\top / \sqrt{d_k} + \text{bias})\, V$

    q (..., N_q, d_k), k (..., N_k, d_k), v (..., N_k, d_v) → (..., N_q, d_v);
    with `return_weights` also the weights (..., N_q, N_k).

    mask: boolean, True = attend; bias: added to the scores. Both (N_q, N_k) or with all axes of
    the scores. A row that may attend to nothing gives 0. What stands behind the mask, NaN
    included, changes neither the result nor a gradient; a query that may see a key or value that
    is not finite gets NaN.

    >>> q = k = torch.zeros(2, 4)
    >>> attention(q, k, torch.tensor([[0.0], [6.0]]))
    tensor([[3.],
            [3.]])
    """
    _check_attention_shapes(q, k, v)
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1])
    else:
        check_positive("scale", scale)
    given = q.dtype
    exact = working_dtype(given)
    q, k, v = q.to(exact), k.to(exact), v.to(exact)
    poison = None
    if mask is not None:
        _check_mask(mask, q, k)
        q, k, v, poison = _hide_what_nobody_may_see(q, k, v, mask)
    scores = (q * scale) @ k.transpose(-2, -1)  # (..., N_q, N_k)
    if bias is not None:
        check_float("bias", bias)
        check_same_device("q", q, "bias", bias)
        if bias.dtype not in (given, exact):
            raise TypeError(f"bias must have the dtype of q, {given}; got {bias.dtype}")
        _check_score_shape("bias", bias, q, k)
        scores = scores + bias
    if mask is not None and poison is not None:
        scores = torch.where(mask, scores + poison, -torch.inf)
    weights = softmax(scores)
    output = (weights @ v).to(given)
    return (output, weights.to(given)) if return_weights else output


def repeat_heads(x: Tensor, times: int) -> Tensor:
    """Give every head `times` copies next to each other, for grouped-query attention.

    (..., H, N, d) → (..., H · times, N, d)
    """
    check_count("times", times)
    if x.ndim < 3:
        raise ValueError(f"x must have shape (..., H, N, d), got {tuple(x.shape)}")
    return x.repeat_interleave(times, dim=-3)


@dataclass(frozen=True)
class KeyValueCache:
    """The keys and values of the positions seen so far, (B, H_kv, N, d_k) each; None at the start.

    A cache is never changed: `append` gives a new one, so it can be kept, copied and branched.
    """

    keys: Tensor | None = None
    values: Tensor | None = None

    @property
    def length(self) -> int:
        """The number of positions held."""
        return 0 if self.keys is None else self.keys.shape[-2]

    def append(self, keys: Tensor, values: Tensor) -> "KeyValueCache":
        """The cache that holds these positions after its own."""
        if keys.shape[:-1] != values.shape[:-1]:
            raise ValueError(
                f"keys and values must agree but for the last axis, got {tuple(keys.shape)} and "
                f"{tuple(values.shape)}"
            )
        return KeyValueCache(
            _append("keys", self.keys, keys), _append("values", self.values, values)
        )


def _append(name: str, held: Tensor | None, new: Tensor) -> Tensor:
    if held is None:
        return new
    check_same_kind(f"cached {name}", held, f"new {name}", new)
    if held.shape[:-2] != new.shape[:-2] or held.shape[-1] != new.shape[-1]:
        raise ValueError(
            f"new {name} must agree with the cache but for the length, got {tuple(new.shape)} "
            f"after {tuple(held.shape)}"
        )
    return torch.cat((held, new), dim=-2)


class MultiHeadAttention(nn.Module):
    r"""Attention in `heads` subspaces of dimension $d_k = d / h$, summed by $W^O$.

    $\operatorname{concat}_h \operatorname{attention}(x W^Q_h, c W^K_h, c W^V_h)\, W^O$

    `kv_heads` < `heads` shares keys and values among groups of queries (grouped-query attention);
    `kv_heads=1` is multi-query attention. Keys and values come from `context` (cross-attention) or,
    without it, from x. `position` is the positional scheme of the scores, given at the call.
    """

    def __init__(
        self,
        d: int,
        heads: int,
        *,
        seed: Seed,
        kv_heads: int | None = None,
        bias: bool = False,
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        check_heads(d, heads)
        kv_heads = heads if kv_heads is None else kv_heads
        check_count("kv_heads", kv_heads)
        if heads % kv_heads:
            raise ValueError(
                f"kv_heads must divide heads, got heads={heads} and kv_heads={kv_heads}"
            )
        rng = generator(seed)
        self.d, self.heads, self.kv_heads, self.d_k = d, heads, kv_heads, d // heads
        self.query = Linear(d, d, bias=bias, seed=rng)
        self.key = Linear(d, kv_heads * self.d_k, bias=bias, seed=rng)
        self.value = Linear(d, kv_heads * self.d_k, bias=bias, seed=rng, gain=gain)
        self.output = Linear(d, d, bias=bias, seed=rng, gain=gain)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        position: PositionalScheme | None = None,
        positions: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """x (B, N_q, d), context (B, N_k, d) → (B, N_q, d); weights (B, H, N_q, N_k).

        mask: (N_q, N_k), (B, 1 or N_q, N_k) or with the head axis. `positions` (N,) or (B, N),
        0…N−1 if not given.
        """
        if context is not None and position is not None:
            raise ValueError(
                "position= belongs to self-attention: the positions of two sequences cannot be "
                "compared. Leave out context or position"
            )
        self._check_input("x", x)
        source = x if context is None else context
        self._check_input("context", source)
        if source.shape[0] != x.shape[0]:
            raise ValueError(
                f"x and context must have the same batch size, got {x.shape[0]} and "
                f"{source.shape[0]}"
            )
        position = PositionalScheme() if position is None else position
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)
        q, k, v = self._project(x, source, position, positions)
        bias = position.bias(positions, positions)
        output, weights = self._attend(q, k, v, mask, bias)
        return (output, weights) if return_weights else output

    def extend(
        self,
        x: Tensor,
        cache: KeyValueCache,
        *,
        mask: Tensor | None = None,
        position: PositionalScheme | None = None,
    ) -> tuple[Tensor, KeyValueCache]:
        """Causal self-attention of new positions x (B, N, d) to the cache and to themselves.

        Gives the output for the new positions and the cache that holds them too. Equal to the last
        N rows of `forward` with a causal mask over the whole sequence. mask: further restriction
        (N, cache.length + N), or with a batch axis.
        """
        self._check_input("x", x)
        position = PositionalScheme() if position is None else position
        length = cache.length + x.shape[1]
        every = torch.arange(length, device=x.device)
        new = every[cache.length :]
        q, k, v = self._project(x, x, position, new)
        k, v = _append("keys", cache.keys, k), _append("values", cache.values, v)
        causal = every <= new.unsqueeze(-1)
        mask = causal if mask is None else causal & mask
        output, _ = self._attend(q, k, v, mask, position.bias(new, every))
        return output, KeyValueCache(k, v)

    def _check_input(self, name: str, x: Tensor) -> None:
        check_float(name, x)
        if x.ndim != 3 or x.shape[-1] != self.d:
            raise ValueError(f"{name} must have shape (B, N, d={self.d}), got {tuple(x.shape)}")
        if x.shape[1] == 0:
            raise ValueError(f"{name} must hold at least one position, got shape {tuple(x.shape)}")

    def _project(
        self, x: Tensor, source: Tensor, position: PositionalScheme, positions: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        q = _split_heads(self.query(x), self.heads)  # (B, H, N_q, d_k)
        k = _split_heads(self.key(source), self.kv_heads)  # (B, H_kv, N_k, d_k)
        v = _split_heads(self.value(source), self.kv_heads)
        return position.rotate(q, positions), position.rotate(k, positions), v

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        group = self.heads // self.kv_heads
        if bias is not None:
            bias = bias.to(q.dtype)
            bias = bias.unsqueeze(0) if bias.ndim == 3 else bias
        per_head, weights = attention(
            q,
            repeat_heads(k, group),
            repeat_heads(v, group),
            mask=mask.unsqueeze(1) if mask is not None and mask.ndim == 3 else mask,
            bias=bias,
            return_weights=True,
        )
        joined = per_head.transpose(1, 2).flatten(2)  # (B, N_q, d)
        output: Tensor = self.output(joined)
        return output, weights


def _split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, N, H · d_k) → (B, H, N, d_k)."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).transpose(1, 2)

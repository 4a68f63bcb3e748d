"""Attention block by block with an online softmax: the exact result in memory linear in N."""

from functools import partial, reduce

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from attention_to_rope.layers import wide
from attention_to_rope.merge import Partial, finish, merge, partial_attention


def blockwise_attention(
    q: Float[Tensor, "*h n d_k"],
    k: Float[Tensor, "*g m d_k"],
    v: Float[Tensor, "*g m d_v"],
    *,
    causal: bool = False,
    window: int | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    sink: Float[Tensor, "..."] | None = None,
    q_block: int = 512,
    k_block: int = 512,
) -> Float[Tensor, "*h n d_v"]:
    r"""Attention without ever holding all n × m scores.

    For each block of queries the keys come block by block, each block's `partial_attention` is
    combined with the earlier ones by `merge`, and `finish` divides: exact, in any order. Keys
    may have fewer heads, on axis −3, than queries (grouped queries). mask, bias, soft_cap
    and sink as in `attention`. `causal` and `window` see as `causal_mask` and `sliding_window_mask`
    do: the queries are the last n positions of the keys; blocks that nobody may see are skipped.

    The backward pass computes the scores of each block of queries again instead of keeping them.

    >>> q, k, v = torch.zeros(1, 4, 8), torch.zeros(1, 4, 8), torch.ones(1, 4, 2)
    >>> blockwise_attention(q, k, v, q_block=2, k_block=2).shape
    torch.Size([1, 4, 2])
    """
    n, m = q.shape[-2], k.shape[-2]
    group = q.shape[-3] // k.shape[-3] if q.ndim > 2 else 1
    if (causal or window is not None) and n > m:
        raise ValueError(f"the queries are the last positions of the keys, got {n} and {m}")
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, the query's own position; got {window}")
    if bias is not None and not bias.is_floating_point():
        raise TypeError(f"bias is added to the scores and must be floating point, got {bias.dtype}")
    for name, x in (("mask", mask), ("bias", bias)):
        if x is not None and (x.shape[-1] != m or x.shape[-2] not in (1, n)):
            raise ValueError(f"{name} must end with (1 or {n}, {m}), got {tuple(x.shape)}")
    if n == 0 or m == 0:  # no queries, or nothing to attend to
        return q.new_zeros(*q.shape[:-1], v.shape[-1])
    if group > 1:
        k, v = k.repeat_interleave(group, dim=-3), v.repeat_interleave(group, dim=-3)

    attend = partial(
        _attend_rows, causal=causal, window=window, scale=scale, soft_cap=soft_cap, k_block=k_block
    )
    tensors = (wide(q), wide(k), wide(v), mask, bias, sink)
    blocks = [slice(i, min(i + q_block, n)) for i in range(0, n, q_block)]
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors):
        outputs = [checkpoint(attend, rows, *tensors, use_reentrant=False) for rows in blocks]
    else:
        outputs = [attend(rows, *tensors) for rows in blocks]
    return torch.cat(outputs, dim=-2).to(q.dtype)


def _attend_rows(
    rows: slice,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    sink: Tensor | None,
    *,
    causal: bool,
    window: int | None,
    scale: float | None,
    soft_cap: float | None,
    k_block: int,
) -> Tensor:
    """The output of some queries, from one block of keys after the other."""
    n, m = q.shape[-2], k.shape[-2]
    first, last = rows.start + m - n, rows.stop - 1 + m - n  # their positions among the keys
    low, high = 0, last + 1 if causal else m
    if window is not None:
        low, high = max(low, first - window + 1), min(high, last + window)
    parts = []
    for start in range(low, high, k_block):
        keys = slice(start, min(start + k_block, high))
        seen = _near(first, last, keys, causal, window, q.device)
        given = _block(mask, rows, keys)
        part = partial_attention(
            q[..., rows, :],
            k[..., keys, :],
            v[..., keys, :],
            mask=given if seen is None else seen if given is None else given & seen,
            bias=_block(bias, rows, keys),
            scale=scale,
            soft_cap=soft_cap,
        )
        parts.append(part)
    state = reduce(merge, parts)
    return finish(state if sink is None else merge(state, _of_sink(sink, rows, state)))


def _near(
    first: int, last: int, keys: slice, causal: bool, window: int | None, device: torch.device
) -> Tensor | None:
    """Which of these keys the queries from `first` to `last` see by their order; None for all."""
    if not causal and window is None:
        return None
    m = torch.arange(first, last + 1, device=device).unsqueeze(-1)
    distance = m - torch.arange(keys.start, keys.stop, device=device)
    allowed = distance >= 0 if causal else torch.ones_like(distance, dtype=torch.bool)
    return allowed if window is None else allowed & (distance.abs() < window)


def _block(x: Tensor | None, rows: slice, keys: slice) -> Tensor | None:
    """The block of a mask or bias, which may have one row for all queries."""
    if x is None:
        return None
    return x[..., rows, keys] if x.shape[-2] > 1 else x[..., keys]


def _of_sink(sink: Tensor, rows: slice, state: Partial) -> Partial:
    """A sink as a part: one key of this score, whose value is 0."""
    score = sink.to(state.total.dtype).expand(*state.total.shape[:-2], -1, 1)
    score = (score[..., rows, :] if score.shape[-2] > 1 else score).expand_as(state.total)
    largest = score.detach()
    return Partial(largest, (score - largest).exp(), torch.zeros_like(state.output))

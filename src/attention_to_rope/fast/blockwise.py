"""Attention block by block with an online softmax: the exact result in memory linear in N."""

from functools import partial

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
    n = q.shape[-2]
    m = k.shape[-2]
    _check(n, m, mask, bias, causal=causal, window=window)
    if q_block < 1 or k_block < 1:
        raise ValueError(f"q_block and k_block must be at least 1, got {q_block} and {k_block}")
    if n == 0 or m == 0:  # no queries, or nothing to attend to
        return q.new_zeros(*q.shape[:-1], v.shape[-1])
    group = q.shape[-3] // k.shape[-3] if q.ndim > 2 else 1  # the query heads that share a key
    if group > 1:
        k = k.repeat_interleave(group, dim=-3)  # (..., h, m, d_k)
        v = v.repeat_interleave(group, dim=-3)  # (..., h, m, d_v)
    attend = partial(
        _attend_rows, causal=causal, window=window, scale=scale, soft_cap=soft_cap, k_block=k_block
    )
    tensors = (wide(q), wide(k), wide(v), mask, bias, sink)
    has_gradient = any(x is not None and x.requires_grad for x in tensors)
    outputs = []
    for start in range(0, n, q_block):
        rows = slice(start, min(start + q_block, n))
        if torch.is_grad_enabled() and has_gradient:
            output = checkpoint(attend, rows, *tensors, use_reentrant=False)
        else:
            output = attend(rows, *tensors)
        outputs.append(output)  # (..., h, rows, d_v)
    return torch.cat(outputs, dim=-2).to(q.dtype)  # (..., h, n, d_v)


def _check(
    n: int,
    m: int,
    mask: Tensor | None,
    bias: Tensor | None,
    *,
    causal: bool,
    window: int | None,
) -> None:
    """Raise if n queries cannot be the last of m keys, or a window, mask or bias does not fit."""
    if (causal or window is not None) and n > m:
        raise ValueError(f"the queries are the last positions of the keys, got {n} and {m}")
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, the query's own position; got {window}")
    if bias is not None and not bias.is_floating_point():
        raise TypeError(f"bias is added to the scores and must be floating point, got {bias.dtype}")
    for name, x in (("mask", mask), ("bias", bias)):
        if x is not None and (x.shape[-1] != m or x.shape[-2] not in (1, n)):
            raise ValueError(f"{name} must end with (1 or {n}, {m}), got {tuple(x.shape)}")


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
    m = k.shape[-2]
    offset = m - q.shape[-2]  # the position of the first query among the keys
    first = offset + rows.start  # that of the first and the last of these queries
    last = offset + rows.stop - 1
    low = 0  # these queries see no key before `low` and none from `high` on
    high = last + 1 if causal else m
    if window is not None:
        low = max(low, first - window + 1)
        high = min(high, last + window)
    state: Partial | None = None
    for start in range(low, high, k_block):
        keys = slice(start, min(start + k_block, high))
        part = partial_attention(
            q[..., rows, :],
            k[..., keys, :],
            v[..., keys, :],
            mask=_both(
                _near(first, last, keys, causal, window, q.device), _block(mask, rows, keys)
            ),
            bias=_block(bias, rows, keys),
            scale=scale,
            soft_cap=soft_cap,
        )
        state = part if state is None else merge(state, part)
    assert state is not None, "every query sees a position"
    if sink is not None:
        state = merge(state, _of_sink(sink, rows, state))
    return finish(state)


def _near(
    first: int, last: int, keys: slice, causal: bool, window: int | None, device: torch.device
) -> Tensor | None:
    """Which of these keys the queries from `first` to `last` see by their order; None for all."""
    if not causal and window is None:
        return None
    m = torch.arange(first, last + 1, device=device)  # (rows), of the queries
    n = torch.arange(keys.start, keys.stop, device=device)  # (keys)
    distance = m[:, None] - n  # (rows, keys)
    if window is None:
        return distance >= 0
    near = distance.abs() < window
    if causal:
        return near & (distance >= 0)
    return near


def _both(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """What two masks allow together; None allows everything."""
    if first is None:
        return second
    if second is None:
        return first
    return first & second


def _block(x: Tensor | None, rows: slice, keys: slice) -> Tensor | None:
    """The block of a mask or bias, which may have one row for all queries."""
    if x is None:
        return None
    if x.shape[-2] == 1:
        return x[..., keys]
    return x[..., rows, keys]


def _of_sink(sink: Tensor, rows: slice, state: Partial) -> Partial:
    """A sink as a part: one key of this score, whose value is 0."""
    score = sink.to(state.total.dtype)
    score = score.expand(*state.total.shape[:-2], -1, 1)  # (..., 1 or n, 1)
    if score.shape[-2] > 1:
        score = score[..., rows, :]
    score = score.expand_as(state.total)  # (..., rows, 1)
    largest = score.detach()
    return Partial(
        largest=largest,
        total=(score - largest).exp(),  # 1, with the gradient of the score
        output=torch.zeros_like(state.output),
    )

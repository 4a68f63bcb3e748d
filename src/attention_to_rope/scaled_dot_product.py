"""Scaled dot-product attention, and the softmax that turns its scores into weights."""

import math
from typing import Literal, overload

import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_attention,
    check_axis,
    check_flag,
    check_float,
    check_positive,
    check_sink,
    working_dtype,
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
    soft_cap: float | None = None,
    sink: Tensor | None = None,
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
    soft_cap: float | None = None,
    sink: Tensor | None = None,
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
    soft_cap: float | None = None,
    sink: Tensor | None = None,
    return_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    r"""Average the values, weighted by how well each key answers the query.

    $\operatorname{softmax}(Q K^\top / \sqrt{d_k} + B)\, V$

    q (..., N_q, d_k), k (..., N_k, d_k), v (..., N_k, d_v) → (..., N_q, d_v);
    with `return_weights` also the weights (..., N_q, N_k).

    mask: boolean, True = attend; bias B: added to the scores. Both (N_q, N_k) or with all axes of
    the scores. soft_cap c: scores become $c \tanh(s / c)$ before the bias. sink (..., N_q, 1): one
    more score per query, that takes weight and gives nothing.

    A row that may attend to nothing gives 0. What stands behind the mask, or behind a bias of −inf,
    changes neither the result nor a gradient, NaN included; with a mask or bias, a query that may
    see a key or value that is not finite gets NaN.

    >>> q = k = torch.zeros(2, 4)
    >>> attention(q, k, torch.tensor([[0.0], [6.0]]))
    tensor([[3.],
            [3.]])
    """
    check_attention(q, k, v, mask, bias)
    check_sink(sink, q)
    check_flag("return_weights", return_weights)
    given, factor = q.dtype, score_scale(q.shape[-1], scale)
    q, k, v = (x.to(working_dtype(given)) for x in (q, k, v))
    visible = mask if bias is None else _visible(mask, bias)
    q, k, v, poison = _hide_what_nobody_may_see(q, k, v, visible)
    scores = (q * factor) @ k.transpose(-2, -1)
    scores = (scores if soft_cap is None else capped(scores, soft_cap)) + poison
    scores = scores if bias is None else scores + bias
    scores = scores if visible is None else scores.masked_fill(~visible, -torch.inf)
    weights = softmax(scores) if sink is None else _softmax_beside(scores, sink)
    output = (weights @ v).to(given)
    return (output, weights.to(given)) if return_weights else output


def softmax(logits: Tensor, dim: int = -1) -> Tensor:
    r"""Turn logits into weights that are positive and sum to 1, without overflow.

    $p_j = e^{x_j - c} / \sum_l e^{x_l - c}$ with $c = \max_l x_l$

    A row that holds only −inf has nothing to choose from: its weights are 0, its gradient is 0.
    Half types are computed in float32 and rounded once.

    >>> softmax(torch.tensor([1000.0, 1000.0, -torch.inf]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    check_float("logits", logits)
    check_axis("dim", dim, logits)
    if logits.shape[dim] == 0:
        raise ValueError(f"logits must hold at least one logit, got shape {tuple(logits.shape)}")
    exact = logits.to(working_dtype(logits.dtype))
    largest = exact.detach().amax(dim, keepdim=True)
    powers = torch.exp(exact - largest.masked_fill(largest == -torch.inf, 0.0))
    total = powers.sum(dim, keepdim=True)
    return (powers / total.masked_fill(total == 0, 1.0)).to(logits.dtype)


def score_scale(d_k: int, scale: float | None = None) -> float:
    r"""What the scores are multiplied by: `scale` if given, else $1 / \sqrt{d_k}$."""
    if scale is None:
        return 1 / math.sqrt(d_k)
    check_positive("scale", scale)
    return scale


def capped(scores: Tensor, cap: float, name: str = "soft_cap") -> Tensor:
    """c tanh(s / c): nearly s where it is small, never beyond ±c; `name` is the argument's."""
    check_positive(name, cap)
    return cap * torch.tanh(scores / cap)


def _softmax_beside(scores: Tensor, sink: Tensor) -> Tensor:
    """The weights of the scores when one more score, the sink, takes its share."""
    beside = sink.to(scores.dtype).expand(*scores.shape[:-1], 1)
    return softmax(torch.cat((scores, beside), dim=-1))[..., :-1]


def _visible(mask: Tensor | None, bias: Tensor) -> Tensor:
    """Where the mask allows and the bias is not −inf, which says the same."""
    allowed = bias != -torch.inf
    return allowed if mask is None else mask & allowed


def _hide_what_nobody_may_see(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | float]:
    """Replace what is not finite by 0 and give a (…, 1, N_k) row that is NaN where a key was bad.

    A matrix product computes 0 · NaN = NaN, so a masked NaN would leak into results and gradients.
    The row is added to the scores before the mask: only queries that may see a bad key get NaN.
    """
    if mask is None:  # everybody sees everything
        return q, k, v, 0.0
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

"""The merge: what some keys say and what other keys say join into what all of them say.

Attention over all keys needs only three things from any part of the keys: the largest score, the
sum of the powers, and the sum of the values times the powers. Parts join in any order and grouping,
so attention in blocks, in a tree, over a ring of processes, over the parts of a long cache
(flash-decoding) and over its pages is the same theorem, used with other parts.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attention_to_rope.checks import check_attention, working_dtype
from attention_to_rope.scaled_dot_product import capped, score_scale


class Partial(NamedTuple):
    r"""What some keys contribute to each query: all that another part of the keys has to know.

    largest $c = \max_j s_j$ (..., N, 1), total $\ell = \sum_j e^{s_j - c}$ (..., N, 1) and
    output $u = \sum_j e^{s_j - c} v_j$ (..., N, d_v), not yet divided by the total.
    """

    largest: Tensor
    total: Tensor
    output: Tensor


def partial_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
) -> Partial:
    """The contribution of these keys and values to these queries; arguments as in `attention`.

    A query that may see none of the keys gets the neutral element: largest −inf, total 0, output 0.
    """
    check_attention(q, k, v, mask, bias)
    scale = score_scale(q.shape[-1], scale)
    mask = _visible(mask, bias)
    exact = working_dtype(q.dtype)
    q, k, v = q.to(exact), k.to(exact), v.to(exact)
    if mask is not None:
        k, v = contain_nan(k, v)
    scores = _hidden(_scores(q, k, scale, soft_cap), mask, bias)
    # Moving all scores of a query by one number changes nothing, so neither does its gradient.
    largest = scores.detach().amax(-1, keepdim=True)
    # The scores are the largest thing in memory: changed in place, not copied.
    powers = scores.sub_(_finite(largest)).exp_()
    return Partial(largest, powers.sum(-1, keepdim=True), powers @ v)


def contain_nan(k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values whose NaN and infinities reach only the queries that may see them.

    A matrix product computes 0 · NaN = NaN, so a value behind a mask would leak into the result.
    Where a key or its value is not finite, the value becomes 0 and the key NaN: its scores are NaN
    and carry the news, and a mask that hides them hides it whole.
    """
    sound = (k.isfinite().all(-1) & v.isfinite().all(-1)).unsqueeze(-1)
    return torch.where(sound, k, torch.nan), torch.where(sound, v, 0.0)


def merge(first: Partial, second: Partial) -> Partial:
    r"""Join what two disjoint sets of keys contribute, in any order.

    $c = \max(c_1, c_2)$, $\ell = e^{c_1-c}\ell_1 + e^{c_2-c}\ell_2$,
    $u = e^{c_1-c} u_1 + e^{c_2-c} u_2$
    """
    largest = torch.maximum(first.largest, second.largest)
    a = torch.exp(first.largest - _finite(largest))
    b = torch.exp(second.largest - _finite(largest))
    total = a * first.total + b * second.total
    return Partial(largest, total, a * first.output + b * second.output)


def partial_sink(sink: Tensor, output: Tensor) -> Partial:
    """A sink as a part: one key of this score (..., N, 1), whose value is 0 like `output`."""
    largest = sink.detach()
    return Partial(largest, torch.exp(sink - _finite(largest)), torch.zeros_like(output))


def finish(partial: Partial) -> Tensor:
    r"""The attention output $u / \ell$ (..., N, d_v); a query that saw no key gets 0."""
    return partial.output / partial.total.masked_fill(partial.total == 0, 1.0)


def log_total(partial: Partial) -> Tensor:
    r"""The logarithm of a query's total, with which each weight is $e^{s_j - \lambda}$. (..., N, 1)

    $\lambda = \log \sum_j e^{s_j} = c + \log \ell$

    A query that saw no key gets +inf, which makes all its weights 0.
    """
    return torch.where(partial.total == 0, torch.inf, partial.largest + partial.total.log())


class PartialGradients(NamedTuple):
    """The gradients that some keys and some queries give each other."""

    q: Tensor
    k: Tensor
    v: Tensor
    scores: Tensor


def partial_gradients(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_totals: Tensor,
    upstream: Tensor,
    share: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float,
    soft_cap: float | None = None,
) -> PartialGradients:
    r"""The backward pass of these keys and queries, their weights computed again.

    With the upstream gradient g (..., N_q, d_v), `log_totals` λ of all keys (..., N_q, 1) and
    `share` $D_i = g_i \cdot o_i$ (..., N_q, 1), the weights are $p_{ij} = e^{s_{ij} - \lambda_i}$
    and the gradients $v'_j = \sum_i p_{ij} g_i$ and $s'_{ij} = p_{ij} (g_i \cdot v_j - D_i)$.
    Gradients of disjoint parts add up; a soft cap lets its slope of them through to q and k.
    Arguments in the dtype to compute in.
    """
    mask = _visible(mask, bias)
    if mask is not None:
        k, v = contain_nan(k, v)
    scores = _scores(q, k, scale, soft_cap)
    slope = None if soft_cap is None else 1 - (scores / soft_cap).square()  # of c tanh(s / c)
    weights = _hidden(scores, mask, bias).sub_(log_totals).exp_()
    if mask is not None:  # what takes part with weight 0 must be a number
        k = k.nan_to_num(0.0)
        q = torch.where(mask.any(-1, keepdim=True), q, 0.0)
    grad_v = weights.transpose(-2, -1) @ upstream
    grad_scores = (upstream @ v.transpose(-2, -1)).sub_(share).mul_(weights)
    grad_products = grad_scores
    if slope is not None:
        slope = slope if mask is None else slope.masked_fill_(~mask, 0.0)
        grad_products = grad_scores * slope
    return PartialGradients(
        (grad_products @ k) * scale,
        (grad_products.transpose(-2, -1) @ q) * scale,
        grad_v,
        grad_scores,
    )


def _visible(mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """Where the mask allows and the bias is not −inf, which says the same."""
    if bias is None:
        return mask
    allowed = bias != -torch.inf
    return allowed if mask is None else mask & allowed


def _scores(q: Tensor, k: Tensor, scale: float, soft_cap: float | None) -> Tensor:
    scores = (q * scale) @ k.transpose(-2, -1)
    return scores if soft_cap is None else capped(scores, soft_cap)


def _hidden(scores: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
    """The scores with the bias, −inf where the mask hides; in place where nothing is added."""
    scores = scores if bias is None else scores + bias
    return scores if mask is None else scores.masked_fill_(~mask, -torch.inf)


def _finite(largest: Tensor) -> Tensor:
    """−inf − (−inf) is not a number: a row without keys is shifted by 0 instead."""
    return largest.masked_fill(largest == -torch.inf, 0.0)

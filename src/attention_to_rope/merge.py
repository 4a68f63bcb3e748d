"""Attention over disjoint sets of keys, merged exactly.

Attention over all keys needs only three things from any set of keys: the largest score, the sum of
the exponentials, and the sum of the values times the exponentials. Sets merge in any order and
grouping, so attention in blocks, in a tree, over a ring of processes, over the parts of a long
cache (flash-decoding) and over its pages is one theorem with different sets.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_to_rope.layers import wide
from attention_to_rope.scaled_dot_product import check_options, without_nan


class Partial(NamedTuple):
    r"""What some keys contribute to each query: all that other keys have to know of them.

    largest $c = \max_j s_j$ (..., n, 1), total $\ell = \sum_j e^{s_j - c}$ (..., n, 1) and
    output $u = \sum_j e^{s_j - c} v_j$ (..., n, d_v), not yet divided by the total.
    """

    largest: Float[Tensor, "*batch n 1"]
    total: Float[Tensor, "*batch n 1"]
    output: Float[Tensor, "*batch n d_v"]


def partial_attention(
    q: Float[Tensor, "*batch n d_k"],
    k: Float[Tensor, "*batch m d_k"],
    v: Float[Tensor, "*batch m d_v"],
    *,
    mask: Bool[Tensor, "*#batch #n m"] | None = None,
    bias: Float[Tensor, "*#batch #n m"] | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
) -> Partial:
    """The contribution of these keys and values to these queries; arguments as in `attention`.

    A query that may see none of the keys gets the neutral element: largest −inf, total 0, output 0.
    """
    check_options(q, k, mask=mask, bias=bias, scale=scale, soft_cap=soft_cap)
    if scale is None:
        scale = q.shape[-1] ** -0.5
    q = wide(q)  # (..., n, d_k)
    k = wide(k)  # (..., m, d_k)
    v = wide(v)  # (..., m, d_v)
    if mask is not None:
        k, v, finite = without_nan(k, v)
    scores = (q * scale) @ k.mT  # (..., n, m)
    if soft_cap is not None:
        scores = soft_cap * torch.tanh(scores / soft_cap)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    if mask is not None:
        scores = scores.masked_fill(~finite, torch.nan)
        scores = scores.masked_fill(~mask, -torch.inf)
    # Shifting all scores of a query changes nothing, so the maximum needs no gradient.
    largest = scores.detach().amax(-1, keepdim=True)
    powers = (scores - _finite(largest)).exp()
    return Partial(largest, powers.sum(-1, keepdim=True), powers @ v)


def merge(first: Partial, second: Partial) -> Partial:
    r"""Combine what two disjoint sets of keys contribute, in any order.

    $c = \max(c_1, c_2)$, $\ell = e^{c_1-c}\ell_1 + e^{c_2-c}\ell_2$,
    $u = e^{c_1-c} u_1 + e^{c_2-c} u_2$
    """
    largest = torch.maximum(first.largest, second.largest)
    a = torch.exp(first.largest - _finite(largest))
    b = torch.exp(second.largest - _finite(largest))
    total = a * first.total + b * second.total
    return Partial(largest, total, a * first.output + b * second.output)


def finish(partial: Partial) -> Float[Tensor, "*shape"]:
    r"""The attention output $u / \ell$; a query that saw no key gets 0."""
    return partial.output / partial.total.masked_fill(partial.total == 0, 1.0)


def log_total(partial: Partial) -> Float[Tensor, "*shape"]:
    r"""The logarithm of a query's total, with which each weight is $e^{s_j - \lambda}$.

    $\lambda = \log \sum_j e^{s_j} = c + \log \ell$. A query that saw no key gets +inf, which makes
    all its weights 0.
    """
    return torch.where(partial.total == 0, torch.inf, partial.largest + partial.total.log())


class PartialGradients(NamedTuple):
    """The gradients that some queries and some keys give each other."""

    q: Float[Tensor, "*batch n d_k"]
    k: Float[Tensor, "*batch m d_k"]
    v: Float[Tensor, "*batch m d_v"]
    scores: Float[Tensor, "*batch n m"]


def partial_gradients(
    q: Float[Tensor, "*batch n d_k"],
    k: Float[Tensor, "*batch m d_k"],
    v: Float[Tensor, "*batch m d_v"],
    log_totals: Float[Tensor, "*batch n 1"],
    upstream: Float[Tensor, "*batch n d_v"],
    share: Float[Tensor, "*batch n 1"],
    *,
    mask: Bool[Tensor, "*#batch #n m"] | None = None,
    scale: float,
) -> PartialGradients:
    r"""The backward pass of these queries and keys, with their weights computed again.

    With the upstream gradient g, `log_totals` λ over all keys and `share` $D_i = g_i \cdot o_i$,
    the weights are $p_{ij} = e^{s_{ij} - \lambda_i}$ and the gradients $v'_j = \sum_i p_{ij} g_i$
    and $s'_{ij} = p_{ij} (g_i \cdot v_j - D_i)$. Gradients of disjoint sets add up; those of half
    precision are float32, so that their sum can be rounded once.
    """
    check_options(q, k, mask=mask)
    upstream = wide(upstream)  # (..., n, d_v)
    queries = wide(q)  # (..., n, d_k)
    keys = wide(k)  # (..., m, d_k)
    values = wide(v)  # (..., m, d_v)
    if mask is not None:
        keys, values, finite = without_nan(keys, values)
    scores = (queries * scale) @ keys.mT  # (..., n, m)
    if mask is not None:
        scores = scores.masked_fill(~finite, torch.nan)
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = (scores - log_totals).exp()
    grad_scores = weights * (upstream @ values.mT - share)  # (..., n, m)
    return PartialGradients(
        q=grad_scores @ keys * scale,
        k=grad_scores.mT @ queries * scale,
        v=weights.mT @ upstream,
        scores=grad_scores,
    )


def _finite(largest: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The maximum to subtract: 0 instead of −inf, because −inf − (−inf) is not a number."""
    return largest.masked_fill(largest == -torch.inf, 0.0)

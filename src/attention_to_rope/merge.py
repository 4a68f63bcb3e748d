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
from attention_to_rope.scaled_dot_product import adjusted, operands


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
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    q, k, v, finite = operands(q, k, v, mask)
    scores = adjusted((q * scale) @ k.mT, finite, mask, bias, soft_cap)
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
    q_exact, k_exact, v_exact, finite = operands(q, k, v, mask)
    upstream = wide(upstream)
    scores = adjusted((q_exact * scale) @ k_exact.mT, finite, mask, None, None)  # (..., n, m)
    weights = (scores - log_totals).exp()
    grad_scores = weights * (upstream @ v_exact.mT - share)  # (..., n, m)
    return PartialGradients(
        q=grad_scores @ k_exact * scale,
        k=grad_scores.mT @ q_exact * scale,
        v=weights.mT @ upstream,
        scores=grad_scores,
    )


def _finite(largest: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The maximum to subtract: 0 instead of −inf, because −inf − (−inf) is not a number."""
    return largest.masked_fill(largest == -torch.inf, 0.0)

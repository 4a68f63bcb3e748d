r"""Scaled dot-product attention: each query gets an average of values, weighted by its scores.

Attention lets a token collect what it needs from other tokens. A layer makes three vectors of each
token x with learned matrices: the query $q = x W^Q$ says what the token looks for, the key
$k = x W^K$ by what others find it, and the value $v = x W^V$ what it hands over. From them,
attention computes three things:

1. Scores. The dot product of a query and a key is large if the key fits the query. It is divided
   by $\sqrt{d_k}$, where $d_k$ is the length of both vectors.
2. Weights. The softmax turns the scores of a query into positive numbers that sum to 1.
3. The output. Each query gets the average of all values with its weights.

Why divide by $\sqrt{d_k}$? A dot product is a sum of $d_k$ products. If the numbers in q and k are
independent, with mean 0 and variance 1, the sum has variance $d_k$. Long vectors would have large
scores, the softmax would give almost all weight to one key, and almost no gradient would come back
through it. Divided by $\sqrt{d_k}$, the scores have variance 1 for every $d_k$.

Without options, each step is one line. Here one query meets two keys, and fits the first better:

>>> q = torch.tensor([[2.0, 0.0, 0.0, 0.0]])  # (1, 4)
>>> k = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])  # (2, 4)
>>> v = torch.tensor([[0.0], [10.0]])  # (2, 1)
>>> scores = q @ k.mT / math.sqrt(4)  # (1, 2)
>>> weights = softmax(scores)  # (1, 2)
>>> weights, weights @ v
(tensor([[0.7311, 0.2689]]), tensor([[2.6894]]))

Shapes: there are n queries and m keys of $d_k$ numbers each, and for each key a value of $d_v$
numbers. "..." stands for any axes in front, such as batch and heads, all computed side by side.
"""

import math
from typing import Literal, TypedDict, Unpack, overload

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from attention_to_rope.layers import check_positive, wide

# ------------------------------------------------ softmax: from scores to weights


def softmax(logits: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    r"""Turn logits into weights that are positive and sum to 1, without overflow.

    $p_j = e^{x_j - c} / \sum_l e^{x_l - c}$ with $c = \max_l x_l$, as in `eq-stable-softmax`.

    If all logits of a row are −inf, there is nothing to choose: weights and gradients are 0.

    >>> softmax(torch.tensor([1000.0, 1000.0, -torch.inf]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    _check_logits(logits)
    if logits.numel() == 0:  # nothing to choose from
        return logits
    exact = wide(logits)  # half precision becomes float32
    # In float32, exp overflows from 89 on, so a number c is subtracted from all logits first. Any c
    # cancels, because it divides numerator and sum by the same factor $e^c$; with the largest logit
    # as c, no power exceeds 1. What cancels has no gradient, hence `detach`.
    largest = exact.detach().amax(dim, keepdim=True)  # 1 along dim
    shift = largest.masked_fill(largest == -torch.inf, 0.0)  # −inf − (−inf) is not a number
    powers = torch.exp(exact - shift)  # between 0 and 1, and 1 for the largest
    total = powers.sum(dim, keepdim=True)  # 1 along dim; the sum is 0 if all logits are −inf
    weights = powers / total.masked_fill(total == 0, 1.0)
    return weights.to(logits.dtype)


# ------------------------------------------------ attention, with what models change in it


class Options(TypedDict, total=False):
    """The options of `attention`, for type checkers; each may be left out."""

    mask: Tensor | None  # which keys a query may see
    bias: Tensor | None  # a number to add to each score, such as one for the distance
    scale: float | None  # the factor on the dot products, in place of 1 / √d_k
    soft_cap: float | None  # the limit that scores approach
    sink: Tensor | None  # the score of an additional key that has no value


@overload
def attention(
    q: Tensor, k: Tensor, v: Tensor, *, return_weights: Literal[True], **options: Unpack[Options]
) -> tuple[Tensor, Tensor]: ...
@overload
def attention(q: Tensor, k: Tensor, v: Tensor, **options: Unpack[Options]) -> Tensor: ...
def attention(
    q: Float[Tensor, "*batch n d_k"],
    k: Float[Tensor, "*batch m d_k"],
    v: Float[Tensor, "*batch m d_v"],
    *,
    mask: Bool[Tensor, "*#batch #n m"] | None = None,
    bias: Float[Tensor, "*#batch #n m"] | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    sink: Float[Tensor, "*#batch #n 1"] | None = None,
    return_weights: bool = False,
) -> (
    Float[Tensor, "*batch n d_v"]
    | tuple[Float[Tensor, "*batch n d_v"], Float[Tensor, "*batch n m"]]
):
    r"""Average the values, weighted by how well each key fits the query.

    $\operatorname{softmax}(Q K^\top / \sqrt{d_k} + B)\, V$, which is `eq-attention` with a bias B.

    mask: True = attend; bias B: added to the scores; both (n, m) or with all axes of the scores.
    scale: the factor on the dot products, $1 / \sqrt{d_k}$ if not given. soft_cap c: scores become
    $c \tanh(s / c)$ before the bias. sink: one more score per query, which takes weight and
    contributes nothing (`eq-sink`). A query that may attend to nothing gets 0. Keys and values
    behind the mask change nothing, even if they are NaN (`eq-masked-weight`).

    >>> q = k = torch.zeros(2, 4)
    >>> attention(q, k, torch.tensor([[0.0], [6.0]]))
    tensor([[3.],
            [3.]])
    """
    check_options(q, k, mask=mask, bias=bias, scale=scale, soft_cap=soft_cap, sink=sink)
    if scale is None:
        scale = q.shape[-1] ** -0.5  # 1 / √d_k
    # In half precision, sums over many numbers lose their last digits, so they are float32 here.
    dtype = q.dtype
    q, k, v = wide(q), wide(k), wide(v)
    if mask is not None:
        k, v, finite = without_nan(k, v)  # a corner case, explained there
    # Step 1: a score for each query and key; to scale the queries is to scale all their scores.
    scores = (q * scale) @ k.mT  # (..., n, m)
    # A soft cap keeps scores between −c and c. A bias depends on the positions, not on contents.
    if soft_cap is not None:
        scores = soft_cap * torch.tanh(scores / soft_cap)  # (..., n, m)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)  # (..., n, m)
    # A mask gives hidden keys the score −∞, which becomes the weight exp(−∞) = 0.
    if mask is not None:
        scores = scores.masked_fill(~finite, torch.nan)  # where it is seen, a NaN stays one
        scores = scores.masked_fill(~mask, -torch.inf)  # (..., n, m)
    # A sink is one more column of scores. It competes with the keys for weight.
    if sink is not None:
        column = sink.to(scores.dtype).expand(*scores.shape[:-1], 1)  # (..., n, 1)
        scores = torch.cat((scores, column), dim=-1)  # (..., n, m + 1)
    # Step 2: each row of scores becomes weights that sum to 1. A sink's column, which has no value,
    # is cut off again; then they sum to less.
    weights = softmax(scores)  # (..., n, m), or m + 1 with a sink
    weights = weights[..., : k.shape[-2]]  # (..., n, m)
    # Step 3: the average of the values, for all queries in one product.
    output = (weights @ v).to(dtype)  # (..., n, d_v)
    return (output, weights.to(dtype)) if return_weights else output


# ------------------------------------------------ corner cases: hidden NaN, misread options


def without_nan(
    k: Float[Tensor, "*batch m d_k"], v: Float[Tensor, "*batch m d_v"]
) -> tuple[
    Float[Tensor, "*batch m d_k"], Float[Tensor, "*batch m d_v"], Bool[Tensor, "*batch 1 m"]
]:
    """Replace keys and values that are not finite by 0, and say which ones were finite.

    A weight of 0 does not hide a NaN, because a matrix product computes 0 · NaN = NaN. Therefore a
    key and its value both become 0 if one of them has a NaN or an infinite number, and `attention`
    makes the score of this key NaN. If the mask hides the key, −∞ replaces this score, and nothing
    is left of the NaN. If it does not, the NaN reaches the output, where it can be noticed.
    """
    finite = k.isfinite().all(-1) & v.isfinite().all(-1)  # (..., m)
    finite = finite.unsqueeze(-1)  # (..., m, 1)
    return k.where(finite, 0.0), v.where(finite, 0.0), finite.mT


def check_options(
    q: Float[Tensor, "*batch n d_k"],
    k: Float[Tensor, "*batch m d_k"],
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    sink: Tensor | None = None,
) -> None:
    """Raise if an option of `attention` would be misread; what is None is not looked at."""
    if scale is not None and not 0 <= scale < math.inf:
        raise ValueError(f"scale must be a finite number that is not negative, got {scale}")
    if soft_cap is not None:
        _check_cap(soft_cap)
    shape = (*q.shape[:-1], k.shape[-2])  # of the scores: (..., n, m)
    if mask is not None:
        if mask.dtype != torch.bool:
            raise TypeError(f"mask must be boolean with True = attend, got {mask.dtype}")
        _check_fits("mask", mask, shape)
    if bias is not None:
        if not bias.is_floating_point():
            raise TypeError(
                f"bias is added to the scores and must be floating point, got {bias.dtype}; what "
                "says True = attend is a mask"
            )
        _check_fits("bias", bias, shape)
    if sink is not None:
        _check_fits("sink", sink, (*shape[:-1], 1))


def _check_logits(logits: Tensor) -> None:
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point, got {logits.dtype}: weights are fractions")


def _check_cap(cap: float) -> None:
    if not 0 < cap < 1e30:  # an infinite cap would give infinity times tanh(0), which is NaN
        raise ValueError(f"cap must lie between 0 and 1e30, got {cap}; for no cap leave it out")


def _check_fits(name: str, x: Tensor, shape: tuple[int, ...]) -> None:
    """Raise unless x is (n, m) or has all axes of the scores: others would be repeated unseen."""
    fits = x.ndim in (2, len(shape)) and x.shape[-1] == shape[-1]
    for size, expected in zip(reversed(x.shape), reversed(shape), strict=False):
        fits = fits and size in (1, expected)
    if not fits:
        raise ValueError(
            f"{name} must have shape (n, m) or the {len(shape)} axes of the scores {shape}, "
            f"with 1 where it repeats; got {tuple(x.shape)}"
        )


# ------------------------------------------------ what some models do to their scores


def soft_cap(scores: Float[Tensor, "*shape"], cap: float) -> Float[Tensor, "*shape"]:
    r"""Limit scores smoothly to (−c, c): $c \tanh(s / c)$; small scores hardly change.

    However large a score is, it exceeds another by less than 2c, so no weight is smaller than
    $e^{-2c}$ times the largest. The slope is $1 - \tanh^2(s / c)$: a score near the limit gets
    almost no gradient.

    >>> soft_cap(torch.tensor([10.0, 50.0, 100.0]), 50.0)
    tensor([ 9.8688, 38.0797, 48.2014])
    """
    _check_cap(cap)
    return (cap * torch.tanh(wide(scores) / cap)).to(scores.dtype)


def sink_gate(
    log_sum_exp: Float[Tensor, "*batch h n"], sink: Float[Tensor, " h"]
) -> Float[Tensor, "*batch h n"]:
    r"""The factor $\sigma(\operatorname{lse}_i - b_h)$ by which a sink shrinks the output.

    Attention with a sink of score $b_h$ is attention without it times this factor, where
    $\operatorname{lse}_i$ is the log-sum-exp of the query's scores (`eq-sink-as-gate`). With a
    kernel that returns the log-sum-exp, sinks therefore cost almost nothing.

    For training, the kernel must also pass back the gradient of the log-sum-exp. Without it, the
    gradients of queries and keys are wrong, although those of values and sinks are right. The
    kernel of FlashAttention 2 ignores this gradient and raises no error; the log-sum-exp that
    `log_total` computes (in `merge.py`) has it.

    >>> sink_gate(torch.zeros(1, 2), torch.zeros(1))
    tensor([[0.5000, 0.5000]])
    """
    return torch.sigmoid(log_sum_exp - sink.unsqueeze(-1))


def log_length_factor(lengths: Integer[Tensor, "*batch"], slope: float) -> Float[Tensor, "*batch"]:
    r"""The factor $s \ln n$ on the scores over n keys, so that a lead survives many keys (SSMax).

    Without it, the more keys there are, the less weight a key gets that leads by a fixed margin:
    its weight falls like 1/n. With the factor f, $\operatorname{softmax}(f z)_i = n^{s z_i} /
    \sum_j n^{s z_j}$ (`eq-log-length`), and a lead of more than 1/s wins however large n is.

    >>> log_length_factor(torch.tensor([1, 1000]), 0.5)
    tensor([0.0000, 3.4539], dtype=torch.float64)
    """
    check_positive("slope", slope)
    return slope * lengths.double().log()


# ------------------------------------------------ how weights react to scores
#
# These functions serve to study the softmax; attention does not call them.


def softmax_jacobian(p: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n n"]:
    r"""All derivatives of p by the logits x: $J = \operatorname{diag}(p) - p^\top p$.

    Entry (i, j) is $\frac{\partial p_i}{\partial x_j} = p_i(\delta_{ij} - p_j)$. See `eq-jacobian`.

    >>> softmax_jacobian(torch.tensor([0.5, 0.5]))
    tensor([[ 0.2500, -0.2500],
            [-0.2500,  0.2500]])
    """
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


def softmax_jacobian_norm(
    p: Float[Tensor, "*batch n"], kind: Literal["spectral", "frobenius"]
) -> Float[Tensor, "*batch"]:
    r"""The size of the Jacobian at weights p: $\lVert J \rVert_2$ or $\lVert J \rVert_F$.

    >>> softmax_jacobian_norm(torch.tensor([0.5, 0.5]), "spectral")
    tensor(0.5000)
    """
    J = softmax_jacobian(wide(p))  # (..., n, n)
    if kind == "frobenius":
        return J.square().sum((-2, -1)).sqrt().to(p.dtype)
    # J is symmetric and positive semi-definite: its norm is its largest eigenvalue.
    eigenvalues: Tensor = torch.linalg.eigvalsh(J)
    return eigenvalues[..., -1].to(p.dtype)


def saturation(p: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch"]:
    r"""What the largest weight leaves to the others: $r = 1 - \max_i p_i$, as in `eq-rest`.

    Near 0, the softmax is saturated: one key has almost all weight, and the gradient is almost 0.
    The others are summed, because 1 − max would lose the digits of a tiny r.

    >>> saturation(torch.tensor([0.75, 0.25]))
    tensor(0.2500)
    """
    return p.sort(-1).values[..., :-1].sum(-1)


def gap_bound(gap: float, n: int) -> float:
    r"""The most that the others can have together if the largest of n logits leads by `gap`.

    With the lead Δ = `gap` ≥ 0 over the second largest logit, `saturation` is
    $r \le (n-1) e^{-\Delta} / (1 + (n-1) e^{-\Delta})$, an equality for n = 2; see `eq-gap-bound`.

    >>> gap_bound(0.0, 4)
    0.75
    """
    if not gap >= 0:
        raise ValueError(f"gap must not be negative, got {gap}")
    rest = (n - 1) * math.exp(-gap)
    return rest / (1 + rest)

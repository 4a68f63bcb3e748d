"""Scaled dot-product attention, its softmax and the derivative, and what models do to scores.

There are n queries and m keys, each of $d_k$ numbers, and a value of $d_v$ numbers for each key. In
a shape, "..." stands for any axes in front, such as batch and heads, all computed side by side.
"""

import math
from typing import Literal, TypedDict, Unpack, overload

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from attention_to_rope.layers import check_positive, wide


class Options(TypedDict, total=False):
    """What models change in attention; each may be left out."""

    mask: Tensor | None
    bias: Tensor | None
    scale: float | None
    soft_cap: float | None
    sink: Tensor | None


# Two signatures for type checkers: one result, or with `return_weights=True` two.
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
    r"""Average the values, weighted by how well each key answers the query.

    $\operatorname{softmax}(Q K^\top / \sqrt{d_k} + B)\, V$, which is `eq-attention` with a bias B.

    mask: True = attend; bias B: added to the scores; both (n, m) or with all axes of the scores.
    soft_cap c: scores become $c \tanh(s / c)$ before the bias. sink: one more score per query,
    which takes weight and contributes nothing (`eq-sink`). A query that may attend to nothing gets
    0. Keys and values behind the mask change nothing, even if they are NaN (`eq-masked-weight`).

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
    q = wide(q)  # (..., n, d_k)
    k = wide(k)  # (..., m, d_k)
    v = wide(v)  # (..., m, d_v)
    if mask is not None:
        k, v, finite = without_nan(k, v)  # so that 0 · NaN, behind the mask, is 0

    # A score for each query and key; each option then changes the scores in one step.
    scores = (q * scale) @ k.mT  # (..., n, m)
    if soft_cap is not None:
        scores = soft_cap * torch.tanh(scores / soft_cap)  # (..., n, m)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)  # (..., n, m)
    if mask is not None:
        scores = scores.masked_fill(~finite, torch.nan)  # where it is seen, a NaN stays one
        scores = scores.masked_fill(~mask, -torch.inf)  # (..., n, m), and exp(−inf) is 0
    if sink is not None:
        column = sink.to(scores.dtype).expand(*scores.shape[:-1], 1)  # (..., n, 1)
        scores = torch.cat((scores, column), dim=-1)  # (..., n, m + 1)

    # Weights are positive and sum to 1, at most 1 without the sink's: the output is an average.
    weights = softmax(scores)  # (..., n, m), or m + 1 with a sink
    weights = weights[..., : k.shape[-2]]  # (..., n, m)
    output = (weights @ v).to(dtype)  # (..., n, d_v)
    if return_weights:
        return output, weights.to(dtype)
    return output


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
    exact = wide(logits)  # the shape of the logits
    # In float32, exp overflows from 89 on. Any c cancels, because it multiplies numerator and sum
    # by the same factor; with the largest logit as c, no power exceeds 1. What cancels has no
    # gradient, hence `detach`.
    largest = exact.detach().amax(dim, keepdim=True)  # 1 along dim
    shift = largest.masked_fill(largest == -torch.inf, 0.0)  # −inf − (−inf) is not a number
    powers = torch.exp(exact - shift)  # between 0 and 1, and 1 for the largest
    total = powers.sum(dim, keepdim=True)  # 1 along dim; the sum is 0 if all logits are −inf
    weights = powers / total.masked_fill(total == 0, 1.0)
    return weights.to(logits.dtype)


def soft_cap(scores: Float[Tensor, "*shape"], cap: float) -> Float[Tensor, "*shape"]:
    r"""Limit scores smoothly to (−c, c): $c \tanh(s / c)$; small scores hardly change.

    A few large scores can then no longer saturate the softmax. The slope is
    $1 - \tanh^2(s / c)$, so a score near the limit gets almost no gradient.

    >>> soft_cap(torch.tensor([10.0, 50.0, 100.0]), 50.0)
    tensor([ 9.8688, 38.0797, 48.2014])
    """
    _check_cap(cap)
    return (cap * torch.tanh(wide(scores) / cap)).to(scores.dtype)


def without_nan(
    k: Float[Tensor, "*batch m d_k"], v: Float[Tensor, "*batch m d_v"]
) -> tuple[
    Float[Tensor, "*batch m d_k"], Float[Tensor, "*batch m d_v"], Bool[Tensor, "*batch 1 m"]
]:
    """Keys and values with 0 where one of the two is NaN or infinite, and where both are finite.

    A matrix product computes 0 · NaN = NaN, so a NaN behind the mask would spread. Where a key or
    its value is not finite, both become 0; `attention` makes the score NaN instead.
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
    if not 0 < cap < 1e30:  # beyond, float32 would make it infinite
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

    Summed over the others, so that tiny values keep their digits.

    >>> saturation(torch.tensor([0.75, 0.25]))
    tensor(0.2500)
    """
    return p.sort(-1).values[..., :-1].sum(-1)


def gap_bound(gap: float, n: int) -> float:
    r"""The largest saturation if the largest of n logits leads by Δ = `gap` ≥ 0.

    $r \le (n-1) e^{-\Delta} / (1 + (n-1) e^{-\Delta})$, an equality for n = 2; see `eq-gap-bound`.

    >>> gap_bound(0.0, 4)
    0.75
    """
    if not gap >= 0:
        raise ValueError(f"gap must not be negative, got {gap}")
    rest = (n - 1) * math.exp(-gap)
    return rest / (1 + rest)


def sink_gate(
    log_sum_exp: Float[Tensor, "*batch h n"], sink: Float[Tensor, " h"]
) -> Float[Tensor, "*batch h n"]:
    r"""What a sink of score $b_h$ does, as a gate: $\sigma(\operatorname{lse}_i - b_h)$.

    Multiply the output of plain attention by it (`eq-sink-as-gate`). A kernel that returns the
    log-sum-exp of each row's scores can therefore have sinks at almost no cost.

    For training, the kernel must pass back the gradient of the log-sum-exp as well: without it,
    the gradients of queries and keys are wrong, and those of values and sinks are right.
    FlashAttention 2 drops it without an error; `log_total` of `merge` has it.

    >>> sink_gate(torch.zeros(1, 2), torch.zeros(1))
    tensor([[0.5000, 0.5000]])
    """
    return torch.sigmoid(log_sum_exp - sink.unsqueeze(-1))


def log_length_factor(lengths: Integer[Tensor, "*batch"], slope: float) -> Float[Tensor, "*batch"]:
    r"""The factor $s \ln n$ on scores over n keys, which keeps a lead above 1/s visible (SSMax).

    $\operatorname{softmax}(f z)_i = n^{s z_i} / \sum_j n^{s z_j}$ with this f, as in
    `eq-log-length`. Without it, a score that leads by a fixed margin gets a weight that falls like
    1/n.

    >>> log_length_factor(torch.tensor([1, 1000]), 0.5)
    tensor([0.0000, 3.4539], dtype=torch.float64)
    """
    check_positive("slope", slope)
    return slope * lengths.double().log()

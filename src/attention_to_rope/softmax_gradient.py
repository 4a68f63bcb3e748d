"""The derivative of softmax, its size, and the bounds that say when it vanishes."""

import math

import torch
from torch import Tensor

from attention_to_rope.checks import check_choice, check_count, check_float


def _check_weights(p: Tensor) -> None:
    check_float("p", p)
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError(f"p must have shape (..., n) with n ≥ 1, got {tuple(p.shape)}")


def _check_number(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {type(value).__name__} ({value!r})")


def softmax_jacobian(p: Tensor) -> Tensor:
    r"""All derivatives of the weights p by the logits x: $J = \operatorname{diag}(p) - p^\top p$.

    Entry (i, j) is $\frac{\partial p_i}{\partial x_j} = p_i(\delta_{ij} - p_j)$.
    (..., n) → (..., n, n)

    >>> softmax_jacobian(torch.tensor([0.5, 0.5]))
    tensor([[ 0.2500, -0.2500],
            [-0.2500,  0.2500]])
    """
    _check_weights(p)
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


def softmax_jacobian_norm(p: Tensor, kind: str) -> Tensor:
    r"""The size of the Jacobian at weights p. (..., n) → (...)

    `spectral` is $\lVert J \rVert_2$, `frobenius` is $\lVert J \rVert_F$.
    """
    check_choice("kind", kind, ("spectral", "frobenius"))
    J = softmax_jacobian(p)
    if kind == "frobenius":
        return J.square().sum((-2, -1)).sqrt()
    # J is symmetric and positive semi-definite: its norm is its largest eigenvalue.
    eigenvalues: Tensor = torch.linalg.eigvalsh(J)
    return eigenvalues[..., -1]


def saturation(p: Tensor) -> Tensor:
    r"""What the largest weight leaves to the others: $m = 1 - \max_i p_i$. (..., n) → (...)

    Summed over the others, so that tiny values keep their digits.
    """
    _check_weights(p)
    return p.sort(-1).values[..., :-1].sum(-1)


def jacobian_norm_bound(p: Tensor) -> Tensor:
    r"""A bound of the Jacobian's size by the weights. (..., n) → (...)

    $\lVert J \rVert_2 \le \beta = 2 \max_i p_i (1 - p_i)$

    Twice the largest diagonal entry, by Gershgorin: each row's off-diagonal sizes sum to it.
    """
    _check_weights(p)
    return 2 * (p * (1 - p)).amax(-1)


def saturation_bound(m: float) -> float:
    r"""The bound by saturation alone, $\lVert J \rVert_2 \le \beta = 2 m (1 - m)$.

    Saturated is $m = 1 - \max_i p_i$ near 0.

    Either all weights are at most 1/2, or the others are at most m ≤ 1/2; in both cases
    $p_i (1 - p_i) \le m (1 - m)$.

    >>> saturation_bound(0.5)
    0.5
    """
    _check_number("m", m)
    if not 0 <= m <= 1:
        raise ValueError(f"m must lie in [0, 1], got {m}; it is 1 minus the largest weight")
    return 2 * m * (1 - m)


def gap_bound(gap: float, n: int) -> float:
    r"""The most that is left to the others if the largest of n logits leads by `gap` ≥ 0.

    $m \le \beta = (n-1) e^{-\Delta} / (1 + (n-1) e^{-\Delta})$, an equality for n = 2.

    >>> gap_bound(0.0, 4)
    0.75
    """
    check_count("n", n)
    _check_number("gap", gap)
    if not gap >= 0:
        raise ValueError(f"gap must be at least 0, got {gap}; it is the lead of the largest logit")
    rest = (n - 1) * math.exp(-gap)
    return rest / (1 + rest)

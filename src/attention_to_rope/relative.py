"""The family that edits the score, between Shaw and ALiBi: what the added term may see.

All take q (..., N_q, d), k (..., N_k, d) and give scores (..., N_q, N_k), or a bias of that shape.
None rotates. `relative` is n − m, from `relative_positions`; every function but TUPE depends on
positions through it alone.
"""

import math

import torch
from torch import Tensor

from attention_to_rope.checks import check_float, check_positions, check_positive, check_same_kind


def relative_rows(relative: Tensor, table: Tensor) -> Tensor:
    r"""The trained vector of each distance, cut at ±K. (N_q, N_k), (2K + 1, d) → (N_q, N_k, d)

    Row r of the table belongs to the distance r − K; distances beyond K share the last row.
    """
    check_positions(relative, name="relative")
    check_float("table", table)
    if table.ndim != 2 or table.shape[0] % 2 == 0:
        raise ValueError(
            f"table must have shape (2K + 1, d), an odd number of rows, got {tuple(table.shape)}"
        )
    K = table.shape[0] // 2
    return table[relative.clamp(-K, K) + K]


def _check_pair(q: Tensor, k: Tensor) -> None:
    check_float("q", q)
    check_float("k", k)
    check_same_kind("q", q, "k", k)
    if q.ndim < 2 or k.ndim < 2 or q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"q and k must have shape (..., N, d) with one d, got {tuple(q.shape)} and "
            f"{tuple(k.shape)}"
        )


def _check_distances(relative: Tensor, q: Tensor, k: Tensor) -> None:
    check_positions(relative, name="relative")
    if tuple(relative.shape) != (q.shape[-2], k.shape[-2]):
        raise ValueError(
            f"relative must have shape (N_q, N_k) = ({q.shape[-2]}, {k.shape[-2]}), got "
            f"{tuple(relative.shape)}"
        )


def shaw_scores(q: Tensor, k: Tensor, relative: Tensor, table: Tensor) -> Tensor:
    r"""Shaw et al.: the key gets a vector per distance, $q_m (k_n + a_{n-m})^\top/\sqrt d$."""
    _check_pair(q, k)
    _check_distances(relative, q, k)
    rows = relative_rows(relative, table)
    of_distance = torch.einsum("...md,mnd->...mn", q, rows)
    return (q @ k.mT + of_distance) / math.sqrt(q.shape[-1])


def shaw_output(weights: Tensor, v: Tensor, relative: Tensor, table: Tensor) -> Tensor:
    r"""Shaw's second table, added to the values: $\sum_n A_{mn} (v_n + b_{n-m})$."""
    check_float("weights", weights)
    check_float("v", v)
    rows = relative_rows(relative, table)
    return weights @ v + torch.einsum("...mn,mnd->...md", weights, rows)


def transformer_xl_scores(
    q: Tensor, k: Tensor, relative: Tensor, table: Tensor, u: Tensor, w: Tensor
) -> Tensor:
    r"""Transformer-XL: $\big((q_m + u) k_n^\top + (q_m + w) r_{n-m}^\top\big)/\sqrt d$.

    table (2K + 1, d): the rows $r_\delta$, there sinusoids times a matrix; u, w (d,) trained.
    """
    _check_pair(q, k)
    _check_distances(relative, q, k)
    rows = relative_rows(relative, table)
    of_distance = torch.einsum("...md,mnd->...mn", q + w, rows)
    return ((q + u) @ k.mT + of_distance) / math.sqrt(q.shape[-1])


def deberta_scores(
    q: Tensor, k: Tensor, relative: Tensor, key_table: Tensor, query_table: Tensor
) -> Tensor:
    r"""DeBERTa: content to content, content to position, position to content.

    $\big(q_m k_n^\top + q_m \kappa_{n-m}^\top + \rho_{m-n} k_n^\top\big)/\sqrt{3d}$: the third term
    sees the distance from the key's side. Three independent products, so 3d under the root.
    """
    _check_pair(q, k)
    _check_distances(relative, q, k)
    to_position = torch.einsum("...md,mnd->...mn", q, relative_rows(relative, key_table))
    from_position = torch.einsum("...nd,mnd->...mn", k, relative_rows(-relative, query_table))
    return (q @ k.mT + to_position + from_position) / math.sqrt(3 * q.shape[-1])


def tupe_scores(q: Tensor, k: Tensor, position_q: Tensor, position_k: Tensor) -> Tensor:
    r"""TUPE: content and absolute position in projections of their own.

    $\big(q_m k_n^\top + (p_m U_Q)(p_n U_K)^\top\big)/\sqrt{2d}$; position_q, position_k are the
    projected positions (N_q, d), (N_k, d). No term mixes content with position.
    """
    _check_pair(q, k)
    _check_pair(position_q, position_k)
    return (q @ k.mT + position_q @ position_k.mT) / math.sqrt(2 * q.shape[-1])


def kerple_log_bias(relative: Tensor, r1: float, r2: float) -> Tensor:
    r"""KERPLE's logarithmic bias, $-r_1 \ln(1 + r_2 \lvert n - m \rvert)$, in float64.

    With r₂ towards 0 it becomes ALiBi's bias of slope $r_1 r_2$.

    >>> kerple_log_bias(torch.tensor([0, 1]), 1.0, 1.0)
    tensor([-0.0000, -0.6931], dtype=torch.float64)
    """
    check_positions(relative, name="relative")
    check_positive("r1", r1)
    check_positive("r2", r2)
    return -r1 * torch.log1p(r2 * relative.abs().double())

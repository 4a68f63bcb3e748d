"""The family that edits the score, between Shaw and ALiBi: what the added term may see.

All take q (..., N_q, d), k (..., N_k, d) and give scores (..., N_q, N_k), or a bias of that shape.
None rotates but FoPE. `relative` is n − m, from `relative_positions`; TUPE, FIRE, CoPE and FoPE
depend on more than it.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_attention,
    check_float,
    check_positions,
    check_positive,
    check_same_kind,
)
from attention_to_rope.positions import relative_positions
from attention_to_rope.rope import RotaryTable


def check_table(name: str, table: Tensor, d: int | None = None) -> None:
    """Raise unless `table` has an odd number of rows, 2K + 1, of d entries."""
    check_float(name, table)
    if table.ndim != 2 or table.shape[0] % 2 == 0 or (d is not None and table.shape[1] != d):
        width = "" if d is None else f" = {d}"
        raise ValueError(
            f"{name} must have shape (2K + 1, d{width}), an odd number of rows, got "
            f"{tuple(table.shape)}"
        )


def relative_rows(relative: Tensor, table: Tensor) -> Tensor:
    r"""The trained vector of each distance, cut at ±K. (N_q, N_k), (2K + 1, d) → (N_q, N_k, d)

    Row r of the table belongs to the distance r − K; distances beyond K share the last row.
    """
    check_positions(relative, name="relative")
    check_table("table", table)
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
    r"""Shaw et al.: the key gets a vector per offset, $q_m (k_n + a_{n-m})^\top/\sqrt d$."""
    _check_pair(q, k)
    _check_distances(relative, q, k)
    check_table("table", table, q.shape[-1])
    rows = relative_rows(relative, table)
    of_distance = torch.einsum("...md,mnd->...mn", q, rows)
    return (q @ k.mT + of_distance) / math.sqrt(q.shape[-1])


def shaw_output(weights: Tensor, v: Tensor, relative: Tensor, table: Tensor) -> Tensor:
    r"""Shaw's second table, added to the values: $\sum_n A_{mn} (v_n + b_{n-m})$."""
    check_float("weights", weights)
    check_float("v", v)
    if weights.ndim < 2 or v.ndim < 2 or weights.shape[-1] != v.shape[-2]:
        raise ValueError(
            "weights (..., N_q, N_k) and v (..., N_k, d) must have one N_k, got "
            f"{tuple(weights.shape)} and {tuple(v.shape)}"
        )
    check_positions(relative, name="relative")
    if relative.shape != weights.shape[-2:]:
        raise ValueError(
            f"relative must have the shape {tuple(weights.shape[-2:])} of the weights' last axes, "
            f"got {tuple(relative.shape)}"
        )
    check_table("table", table, v.shape[-1])
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
    check_table("table", table, q.shape[-1])
    for name, vector in (("u", u), ("w", w)):
        check_float(name, vector)
        if vector.shape != q.shape[-1:]:
            raise ValueError(
                f"{name} must have shape (d,) = ({q.shape[-1]},), got {tuple(vector.shape)}"
            )
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
    check_table("key_table", key_table, q.shape[-1])
    check_table("query_table", query_table, q.shape[-1])
    to_position = torch.einsum("...md,mnd->...mn", q, relative_rows(relative, key_table))
    from_position = torch.einsum("...nd,mnd->...mn", k, relative_rows(-relative, query_table))
    return (q @ k.mT + to_position + from_position) / math.sqrt(3 * q.shape[-1])


def tupe_scores(q: Tensor, k: Tensor, position_q: Tensor, position_k: Tensor) -> Tensor:
    r"""TUPE: content and absolute position in projections of their own.

    $\big(q_m k_n^\top + (p_m U_Q)(p_n U_K)^\top\big)/\sqrt{2d}$; position_q, position_k are the
    projected positions (N_q, d), (N_k, d). No term mixes content with position.
    """
    _check_pair(q, k)
    check_float("position_q", position_q)
    check_float("position_k", position_k)
    if position_q.shape[-2:] != q.shape[-2:] or position_k.shape[-2:] != k.shape[-2:]:
        raise ValueError(
            f"position_q and position_k must have the last axes of q and k, "
            f"{tuple(q.shape[-2:])} and {tuple(k.shape[-2:])}; got {tuple(position_q.shape)} and "
            f"{tuple(position_k.shape)}"
        )
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


def fire_bias(
    q_positions: Tensor,
    k_positions: Tensor,
    f: Callable[[Tensor], Tensor],
    *,
    c: float = 0.1,
    threshold: float = 512.0,
) -> Tensor:
    r"""FIRE: a learned function of the distance, measured against how far the query has come.

    $f(\ln(1 + c \lvert n - m \rvert) / \ln(1 + c \max(L, m)))$, threshold L; in a causal model the
    argument lies in 0…1 at every length. f: a small network, number by number.

    Not relative: beyond L, a query further on sees the same distance as nearer. Integers (N_q,),
    (N_k,), not negative → what f gives for a float64 tensor (N_q, N_k).
    """
    check_positive("c", c)
    check_positive("threshold", threshold)
    if not callable(f):
        raise TypeError(f"f must be a function of a tensor, got {type(f).__name__}")
    for name, positions in (("q_positions", q_positions), ("k_positions", k_positions)):
        check_positions(positions, name=name, not_negative=True)
    distance = relative_positions(q_positions, k_positions).abs().double()
    reach = q_positions.double().clamp_min(threshold).unsqueeze(-1)
    return f(torch.log1p(c * distance) / torch.log1p(c * reach))


def cope_positions(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""CoPE's distances: how much of what lies between counts.

    $\sum_{l=n}^{N-1} \sigma(q_m k_l^\top / \sqrt d)$, where hidden keys count 0. → (..., N_q, N_k)
    """
    check_attention(q, k, k, mask, None)
    gates = torch.sigmoid(q @ k.mT / math.sqrt(q.shape[-1]))
    gates = gates if mask is None else gates * mask
    return gates.flip(-1).cumsum(-1).flip(-1)


def cope_scores(q: Tensor, k: Tensor, table: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""CoPE: a vector per counted step, $\big(q_m k_n^\top + q_m e(p_{mn})^\top\big)/\sqrt d$.

    The content decides what counts (`cope_positions`); e(p) lies on the line between the rows below
    and above p of the table (P, d), and stays at the last row beyond it.
    """
    check_float("q", q)
    check_float("table", table)
    check_same_kind("q", q, "table", table)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[-1] != q.shape[-1]:
        raise ValueError(
            f"table must have shape (P, d) with the d of q, {q.shape[-1]}; got {tuple(table.shape)}"
        )
    places = cope_positions(q, k, mask).clamp_max(table.shape[0] - 1)
    below = places.detach().floor()
    above = places.detach().ceil()
    of_rows = q @ table.mT  # (..., N_q, P)
    low, high = (of_rows.gather(-1, at.long()) for at in (below, above))
    return (q @ k.mT + low + (places - below) * (high - low)) / math.sqrt(q.shape[-1])


def fope_table(table: RotaryTable, mixing: Tensor) -> RotaryTable:
    r"""FoPE: every pair's cos and sin become fixed mixtures of those of all frequencies.

    Pair i at position m gets $\sum_{j=0}^{d/2-1} M_{ji} \cos(m \theta_j)$ and
    $\sum_{j=0}^{d/2-1} M_{ji} \sin(m \theta_j)$: a table (..., N, d/2) times mixing M (d/2, d/2).
    A mixture of turns is no turn: `rotate` by this table is not relative, unless each pair keeps
    one frequency.
    """
    check_float("mixing", mixing)
    if not isinstance(table, RotaryTable):
        raise TypeError(
            f"table must be a RotaryTable, from rotary_table; got {type(table).__name__}"
        )
    cos, sin = table
    check_same_kind("cos", cos, "mixing", mixing)
    if tuple(mixing.shape) != (cos.shape[-1], cos.shape[-1]):
        raise ValueError(
            f"mixing must have shape (d/2, d/2) = ({cos.shape[-1]}, {cos.shape[-1]}), got "
            f"{tuple(mixing.shape)}"
        )
    return RotaryTable(cos @ mixing, sin @ mixing)

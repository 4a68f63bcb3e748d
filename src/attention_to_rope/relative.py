"""Schemes that edit the score, between Shaw and ALiBi: what the added term may depend on.

`relative` is the offset n − m, from `relative_positions`; TUPE, FIRE and CoPE depend on more.
Scores of half-precision vectors are summed in float32 and rounded once. What all of them aim at is
`eq-relative-goal`.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor
from torch.nn import functional

from attention_to_rope.layers import check_positive, wide
from attention_to_rope.rope import check_integer_positions


def relative_positions(
    q_positions: Integer[Tensor, "*b n"], k_positions: Integer[Tensor, "*b m"]
) -> Int[Tensor, "*b n m"]:
    """The offset of each key from each query, n − m: negative for earlier keys.

    >>> relative_positions(torch.tensor([2]), torch.arange(4))
    tensor([[-2, -1,  0,  1]])
    """
    check_integer_positions(q_positions)
    check_integer_positions(k_positions)
    return k_positions.unsqueeze(-2).long() - q_positions.unsqueeze(-1).long()


def t5_bucket(
    relative: Integer[Tensor, "*shape"],
    *,
    bidirectional: bool,
    buckets: int = 32,
    max_distance: int = 128,
) -> Int[Tensor, "*shape"]:
    r"""The bucket of each offset n − m: exact when near, logarithmic when far.

    Half of the buckets (of each direction, if `bidirectional`) hold one distance each, the others
    grow geometrically up to `max_distance`; all beyond shares the last. Without `bidirectional`,
    later keys count as distance 0.

    $k = e + \lfloor (n - e) \ln(\delta/e) / \ln(\delta_{\max}/e) \rfloor$ with $e = n/2$ exact ones
    of the n of a direction; with other letters `eq-t5-bucket`.

    >>> t5_bucket(torch.tensor([0, -1, -100, 1]), bidirectional=True)
    tensor([ 0,  1, 15, 17])
    """
    offset = relative.long()  # small integer types would overflow when negated
    if bidirectional:
        per_side = buckets // 2  # n
        distance = offset.abs()  # δ
    else:
        per_side = buckets
        distance = (-offset).clamp_min(0)
    exact = per_side // 2  # e
    if exact < 1:
        raise ValueError(
            f"buckets must be at least 4 with two directions and 2 with one, got {buckets}"
        )
    if max_distance <= exact:  # the logarithmic buckets would run backwards
        raise ValueError(
            f"max_distance must be larger than the {exact} distances that have buckets of their "
            f"own, got {max_distance}"
        )
    # Far distances: equal steps of the logarithm, so each bucket holds more than the one before.
    positive = distance.clamp_min(1).double()  # the logarithm of 0 is not finite, nor needed
    share = (positive / exact).log() / math.log(max_distance / exact)
    # Distances such as 8 · 2^k lie on a border, and rounding must not put them below it.
    far = exact + ((per_side - exact) * share + 1e-9).long()
    bucket = torch.where(distance < exact, distance, far.clamp_max(per_side - 1))
    if bidirectional:
        bucket = bucket + per_side * (offset > 0)  # later keys have the second half
    return bucket


def relative_rows(
    relative: Integer[Tensor, "n m"], table: Float[Tensor, "rows d"]
) -> Float[Tensor, "n m d"]:
    r"""The trained vector of each offset, cut at ±K, from a table of 2K + 1 rows.

    Row r of the table belongs to the offset r − K; offsets beyond K share the last row.

    >>> relative_rows(torch.tensor([[-5, 0]]), torch.tensor([[1.0], [2.0], [3.0]]))
    tensor([[[1.],
             [2.]]])
    """
    if table.shape[0] % 2 == 0:
        raise ValueError(f"table must have 2K + 1 rows, an odd number; got {table.shape[0]}")
    if relative.device != table.device:  # torch would give numbers for offsets on "meta"
        raise ValueError(
            f"relative and table must be on one device, got {relative.device} and {table.device}"
        )
    K = table.shape[0] // 2
    row = relative.long().clamp(-K, K) + K  # (n, m), from 0 to 2K
    return functional.embedding(row, table)  # (n, m, d)


def shaw_scores(
    q: Float[Tensor, "*b n d"],
    k: Float[Tensor, "*b m d"],
    relative: Integer[Tensor, "n m"],
    table: Float[Tensor, "rows d"],
) -> Float[Tensor, "*b n m"]:
    r"""Shaw et al.: the key gets a vector per offset, $q_m (k_n + a_{n-m})^\top/\sqrt d$.

    This is `eq-shaw`. The query decides which offsets it prefers, where a bias is the same for all
    queries.
    """
    dtype = q.dtype
    q = wide(q)  # (..., n, d)
    k = wide(k)  # (..., m, d)
    rows = relative_rows(relative, wide(table))  # (n, m, d)
    of_offset = torch.einsum("...md,mnd->...mn", q, rows)  # (..., n, m)
    scores = (q @ k.mT + of_offset) / math.sqrt(q.shape[-1])  # (..., n, m)
    return scores.to(dtype)


def transformer_xl_scores(
    q: Float[Tensor, "*b n d"],
    k: Float[Tensor, "*b m d"],
    relative: Integer[Tensor, "n m"],
    table: Float[Tensor, "rows d"],
    u: Float[Tensor, " d"],
    w: Float[Tensor, " d"],
) -> Float[Tensor, "*b n m"]:
    r"""Transformer-XL: $\big((q_m + u) k_n^\top + (q_m + w) r_{n-m}^\top\big)/\sqrt d$.

    table: the rows $r_\delta$, there sinusoids times a matrix; u and w are trained.
    """
    dtype = q.dtype
    q = wide(q)  # (..., n, d)
    k = wide(k)  # (..., m, d)
    rows = relative_rows(relative, wide(table))  # (n, m, d)
    of_offset = torch.einsum("...md,mnd->...mn", q + w, rows)  # (..., n, m)
    scores = ((q + u) @ k.mT + of_offset) / math.sqrt(q.shape[-1])  # (..., n, m)
    return scores.to(dtype)


def deberta_scores(
    q: Float[Tensor, "*b n d"],
    k: Float[Tensor, "*b m d"],
    relative: Integer[Tensor, "n m"],
    key_table: Float[Tensor, "rows d"],
    query_table: Float[Tensor, "rows d"],
) -> Float[Tensor, "*b n m"]:
    r"""DeBERTa: content to content, content to position, position to content.

    $\big(q_m k_n^\top + q_m \kappa_{n-m}^\top + \rho_{m-n} k_n^\top\big)/\sqrt{3d}$: the third term
    sees the offset from the key's side. Three independent products, so 3d under the root.
    """
    dtype = q.dtype
    q = wide(q)  # (..., n, d)
    k = wide(k)  # (..., m, d)
    of_key = relative_rows(relative, wide(key_table))  # (n, m, d)
    of_query = relative_rows(-relative, wide(query_table))  # (n, m, d)
    to_position = torch.einsum("...md,mnd->...mn", q, of_key)  # (..., n, m)
    from_position = torch.einsum("...nd,mnd->...mn", k, of_query)  # (..., n, m)
    scores = (q @ k.mT + to_position + from_position) / math.sqrt(3 * q.shape[-1])
    return scores.to(dtype)


def tupe_scores(
    q: Float[Tensor, "*b n d"],
    k: Float[Tensor, "*b m d"],
    position_q: Float[Tensor, "n d"],
    position_k: Float[Tensor, "m d"],
) -> Float[Tensor, "*b n m"]:
    r"""TUPE: content and absolute position in projections of their own.

    $\big(q_m k_n^\top + (p_m U_Q)(p_n U_K)^\top\big)/\sqrt{2d}$; the projected positions are given.
    No term mixes content with position.
    """
    of_positions = wide(position_q) @ wide(position_k).mT  # (n, m)
    scores = (wide(q) @ wide(k).mT + of_positions) / math.sqrt(2 * q.shape[-1])  # (..., n, m)
    return scores.to(q.dtype)


def kerple_log_bias(
    relative: Integer[Tensor, "*shape"], r1: float, r2: float
) -> Float[Tensor, "*shape"]:
    r"""KERPLE's logarithmic bias, $-r_1 \ln(1 + r_2 \lvert n - m \rvert)$, in float64.

    With r₂ towards 0 it becomes ALiBi's bias of slope $r_1 r_2$.

    >>> kerple_log_bias(torch.tensor([0, 1]), 1.0, 1.0)
    tensor([-0.0000, -0.6931], dtype=torch.float64)
    """
    if not (r1 >= 0 and r2 >= 0):
        raise ValueError(f"r1 and r2 must not be negative, got {r1} and {r2}")
    return -r1 * torch.log1p(r2 * relative.abs().double())


def fire_bias(
    q_positions: Integer[Tensor, " n"],
    k_positions: Integer[Tensor, " m"],
    f: Callable[[Tensor], Tensor],
    *,
    c: float = 0.1,
    threshold: float = 512.0,
) -> Float[Tensor, "n m"]:
    r"""FIRE: a learned function of the distance, relative to the position of the query.

    $f(\ln(1 + c \lvert n - m \rvert) / \ln(1 + c \max(L, m)))$, threshold L; in a causal model the
    argument lies in 0…1 at every length. f is a small network that acts on each number.

    Not relative: beyond L, the same distance counts as nearer for a later query.
    """
    check_positive("c", c)
    check_positive("threshold", threshold)
    distance = relative_positions(q_positions, k_positions).abs().double()  # (n, m)
    reach = q_positions.double().clamp_min(threshold).unsqueeze(-1)  # (n, 1)
    return f(torch.log1p(c * distance) / torch.log1p(c * reach))


def cope_scores(
    q: Float[Tensor, "*b n d"],
    k: Float[Tensor, "*b m d"],
    table: Float[Tensor, "steps d"],
    mask: Bool[Tensor, "*#b n m"] | None = None,
) -> Float[Tensor, "*b n m"]:
    r"""CoPE: a vector per counted step, $\big(q_m k_n^\top + q_m e(p_{mn})^\top\big)/\sqrt d$.

    The content decides what counts: $p_{mn} = \sum_{l=n}^{N-1} \sigma(q_m k_l^\top / \sqrt d)$, and
    hidden keys count 0. e(p) is interpolated between the rows below and above p of the table, and
    stays at the last row beyond it.
    """
    dtype = q.dtype
    # In half precision the count p would stop growing: bfloat16 has no number between 256 and 258.
    q = wide(q)  # (..., n, d)
    k = wide(k)  # (..., m, d)
    table = wide(table)  # (steps, d)
    content = q @ k.mT  # (..., n, m)
    gates = torch.sigmoid(content / math.sqrt(q.shape[-1]))  # (..., n, m), what counts as a step
    if mask is not None:
        gates = gates * mask
    p = gates.flip(-1).cumsum(-1).flip(-1)  # (..., n, m): sums from each key to the last one
    p = p.clamp_max(table.shape[0] - 1)
    # The count is no whole number, so the term is read between two rows of the table.
    below = p.detach().floor()  # (..., n, m)
    above = p.detach().ceil()  # (..., n, m)
    of_rows = q @ table.mT  # (..., n, steps): q e(0), q e(1), …
    low = of_rows.gather(-1, below.long())  # (..., n, m)
    high = of_rows.gather(-1, above.long())  # (..., n, m)
    position = low + (p - below) * (high - low)  # q e(p)
    scores = (content + position) / math.sqrt(q.shape[-1])  # (..., n, m)
    return scores.to(dtype)

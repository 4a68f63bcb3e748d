"""Boolean masks for attention. True = attend, everywhere in this library.

Masks combine with `&` (both must allow) and `|` (one must allow).
"""

import torch
from torch import Tensor

from attention_to_rope.checks import check_count, check_flag, check_integers


def _distance(q_len: int, k_len: int | None, device: torch.device | str | None) -> Tensor:
    """How far each key lies before each query, m − n (N_q, N_k); the last query is the last key."""
    check_count("q_len", q_len)
    k_len = q_len if k_len is None else k_len
    check_count("k_len", k_len)
    if q_len > k_len:
        raise ValueError(
            f"q_len must not exceed k_len, got {q_len} queries and {k_len} keys: the queries are "
            "the last positions of the keys, so the first ones would stand before the sequence"
        )
    m = torch.arange(k_len - q_len, k_len, device=device)[:, None]
    n = torch.arange(k_len, device=device)
    return m - n


def causal_mask(
    q_len: int, k_len: int | None = None, *, device: torch.device | str | None = None
) -> Tensor:
    r"""Let every query attend to itself and to earlier positions. Shape (N_q, N_k).

    $M_{mn} = \mathbf{1}[n \le m]$. With fewer queries than keys (a key-value cache) the queries are
    the last positions.

    >>> causal_mask(2, 4).int()
    tensor([[1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    return _distance(q_len, k_len, device) >= 0


def padding_mask(lengths: Tensor, N: int) -> Tensor:
    """Let every query attend to the first `lengths[b]` keys of its sequence. Shape (B, 1, N).

    >>> padding_mask(torch.tensor([1, 3]), 3).int()
    tensor([[[1, 0, 0]],
    <BLANKLINE>
            [[1, 1, 1]]], dtype=torch.int32)
    """
    check_count("N", N)
    check_integers("lengths", lengths, 0, N)
    if lengths.ndim != 1:
        raise ValueError(f"lengths must have shape (B,), got {tuple(lengths.shape)}")
    return (torch.arange(N, device=lengths.device) < lengths[:, None])[:, None]


def sliding_window_mask(
    q_len: int,
    k_len: int | None = None,
    *,
    window: int,
    causal: bool = True,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""Let every query attend to the w = `window` nearest positions. Shape (N_q, N_k).

    $M_{mn} = \mathbf{1}[0 \le m - n < w]$; without `causal` both sides count,
    $M_{mn} = \mathbf{1}[\lvert n - m \rvert < w]$.
    """
    return dilated_mask(q_len, k_len, window=window, dilation=1, causal=causal, device=device)


def dilated_mask(
    q_len: int,
    k_len: int | None = None,
    *,
    window: int,
    dilation: int,
    causal: bool = True,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let every query attend to `window` positions at steps of `dilation`, itself included.

    m − n = 0, dilation, …, (window − 1) · dilation; without `causal` also later positions.

    >>> dilated_mask(5, window=2, dilation=2)[-1].int()
    tensor([0, 0, 1, 0, 1], dtype=torch.int32)
    """
    check_count("window", window)
    check_count("dilation", dilation)
    check_flag("causal", causal)
    distance = _distance(q_len, k_len, device)
    # Nothing lies further away than the keys reach; int64 cannot hold every number given.
    k_len = distance.shape[-1]
    window, dilation = min(window, k_len), min(dilation, k_len)
    reached = (distance.abs() < window * dilation) & (distance % dilation == 0)
    return reached & (distance >= 0) if causal else reached


def global_mask(N: int, tokens: Tensor) -> Tensor:
    """Let the given positions attend to all and be attended by all. Shape (N, N).

    Join it to a local pattern with `|`; for a decoder take `& causal_mask(N)` at the end.
    """
    check_count("N", N)
    check_integers("tokens", tokens, 0, N - 1)
    if tokens.ndim != 1:
        raise ValueError(f"tokens must have shape (count,), got {tuple(tokens.shape)}")
    is_global = (torch.arange(N, device=tokens.device) == tokens[:, None]).any(0)
    return is_global | is_global[:, None]

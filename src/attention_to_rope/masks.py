"""Boolean masks for attention. True = attend, everywhere in this library.

Masks combine with `&` (both must allow) and `|` (one must allow). A row belongs to a query at
position m, a column to a key at position n. Most masks compare the distance m − n with a number.
"""

import torch
from jaxtyping import Bool, Int, Integer
from torch import Tensor

Device = torch.device | str | None


def check_range(name: str, numbers: Integer[Tensor, "..."], low: int, high: int) -> None:
    """Raise unless all numbers lie in low…high; nothing is looked at while a compiler traces."""
    if torch.compiler.is_compiling() or numbers.is_meta or numbers.numel() == 0:
        return
    least = int(numbers.min())
    most = int(numbers.max())
    if least < low or most > high:
        raise ValueError(f"{name} must lie between {low} and {high}, got {least} to {most}")


def _distance(q_len: int, k_len: int | None, device: Device) -> Int[Tensor, "q_len k_len"]:
    """How far each key lies before each query, m − n; the last query is the last key.

    For 2 queries and 4 keys: [[2, 1, 0, −1], [3, 2, 1, 0]]. A negative distance is in the future.
    """
    if k_len is None:
        k_len = q_len
    if q_len > k_len:
        raise ValueError(
            f"q_len must not exceed k_len, got {q_len} queries and {k_len} keys: the queries are "
            "the last positions of the keys"
        )
    m = torch.arange(k_len - q_len, k_len, device=device)  # (q_len), of the queries
    n = torch.arange(k_len, device=device)  # (k_len), of the keys
    return m[:, None] - n  # (q_len, 1) − (k_len) = (q_len, k_len)


def causal_mask(
    q_len: int, k_len: int | None = None, *, device: Device = None
) -> Bool[Tensor, "q_len k_len"]:
    r"""Let every query attend to itself and to earlier positions.

    $M_{mn} = \mathbf{1}[n \le m]$. With fewer queries than keys (a key-value cache) the queries are
    the last positions, as in `eq-causal-offset`. PyTorch's `is_causal` takes them as the first ones
    instead, so with a cache it gives another result.

    >>> causal_mask(2, 4).int()
    tensor([[1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    return _distance(q_len, k_len, device) >= 0


def causal_mask_at(
    slots: Integer[Tensor, " q_len"], k_len: int, *, window: int | None = None
) -> Bool[Tensor, "q_len {k_len}"]:
    """Let the queries in these slots attend to themselves and to earlier slots of `k_len`.

    This is `causal_mask`, or with a window `sliding_window_mask`, where the queries are not the
    last positions: a `StaticCache` has slots behind them that are not written yet.

    >>> causal_mask_at(torch.tensor([1, 2]), 5).int()
    tensor([[1, 1, 0, 0, 0],
            [1, 1, 1, 0, 0]], dtype=torch.int32)
    """
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, the query's own position; got {window}")
    n = torch.arange(k_len, device=slots.device)  # (k_len), of the keys
    distance = slots[:, None] - n  # (q_len, k_len)
    if window is None:
        return distance >= 0
    return (distance >= 0) & (distance < window)


def padding_mask(lengths: Integer[Tensor, " B"], N: int) -> Bool[Tensor, "B 1 {N}"]:
    """Let every query attend to the first `lengths[b]` keys of its sequence.

    With `& causal_mask(N)` it is the mask of a padded batch, `eq-batch-mask`. The 0 and 1 per token
    that tokenizers give are no lengths: `mask.bool().unsqueeze(1)` is this mask.

    >>> padding_mask(torch.tensor([1, 3]), 3).int()
    tensor([[[1, 0, 0]],
    <BLANKLINE>
            [[1, 1, 1]]], dtype=torch.int32)
    """
    if lengths.ndim != 1 or lengths.dtype == torch.bool or lengths.is_floating_point():
        raise ValueError(
            f"lengths must be one integer per sequence, got {tuple(lengths.shape)} of "
            f"{lengths.dtype}; of an attention mask with a number per token take "
            "mask.bool().unsqueeze(1)"
        )
    check_range("lengths", lengths, 0, N)
    n = torch.arange(N, device=lengths.device)  # the positions of the keys, (N)
    seen = n < lengths[:, None]  # (B, N)
    return seen[:, None]  # (B, 1, N): the same for all queries


def sliding_window_mask(
    q_len: int,
    k_len: int | None = None,
    *,
    window: int,
    causal: bool = True,
    device: Device = None,
) -> Bool[Tensor, "q_len k_len"]:
    r"""Let every query attend to the w = `window` nearest positions.

    $M_{mn} = \mathbf{1}[0 \le m - n < w]$; without `causal` both sides count,
    $M_{mn} = \mathbf{1}[\lvert n - m \rvert < w]$. The query itself counts, so w = 1 is the query
    alone. Through L layers, a token still hears of those L (w − 1) positions away:
    `eq-reach-window`.

    >>> sliding_window_mask(4, window=2)[-1].int()
    tensor([0, 0, 1, 1], dtype=torch.int32)
    """
    return dilated_mask(q_len, k_len, window=window, dilation=1, causal=causal, device=device)


def dilated_mask(
    q_len: int,
    k_len: int | None = None,
    *,
    window: int,
    dilation: int,
    causal: bool = True,
    device: Device = None,
) -> Bool[Tensor, "q_len k_len"]:
    """Let every query attend to `window` positions at steps of `dilation`, itself included.

    m − n = 0, dilation, …, (window − 1) · dilation; without `causal` also later positions.

    >>> dilated_mask(5, window=2, dilation=2)[-1].int()
    tensor([0, 0, 1, 0, 1], dtype=torch.int32)
    """
    if window < 1 or dilation < 1:
        raise ValueError(
            f"window and dilation must be at least 1, got {window} and {dilation}: a window of 1 "
            "is the query's own position"
        )
    distance = _distance(q_len, k_len, device)  # (q_len, k_len)
    # No key is farther away than the number of keys; int64 cannot hold every number given.
    keys = distance.shape[1]
    window = min(window, keys)
    dilation = min(dilation, keys)
    near = distance.abs() < window * dilation  # (q_len, k_len)
    on_a_step = distance % dilation == 0  # (q_len, k_len)
    if causal:
        return near & on_a_step & (distance >= 0)
    return near & on_a_step


def global_mask(N: int, tokens: Integer[Tensor, " count"]) -> Bool[Tensor, "{N} {N}"]:
    """Let the given positions attend to all and be attended by all.

    Combine it with a local pattern by `|`; for a decoder take `& causal_mask(N)` at the end.

    >>> global_mask(3, torch.tensor([0])).int()
    tensor([[1, 1, 1],
            [1, 0, 0],
            [1, 0, 0]], dtype=torch.int32)
    """
    check_range("tokens", tokens, 0, N - 1)
    positions = torch.arange(N, device=tokens.device)  # (N)
    is_global = (positions == tokens[:, None]).any(0)  # (N)
    return is_global | is_global[:, None]  # (N, N)

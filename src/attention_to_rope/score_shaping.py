"""What models of today do to the scores: bound them, give them a way out, sharpen them with length.

Bound: `query_key_norm`, `soft_cap`, `query_key_clip`. A way out: `sink_attention`,
`gated_attention`. Sharpen: `log_length_factor`, `stepped_length_factor`; multiply the queries.
"""

import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_count,
    check_float,
    check_integers,
    check_positions,
    check_positive,
    check_same_device,
    check_same_kind,
    working_dtype,
)
from attention_to_rope.norms import RMS_NORM_EPS, rms_norm
from attention_to_rope.scaled_dot_product import attention, capped


def query_key_norm(
    q: Tensor,
    k: Tensor,
    q_gain: Tensor | None = None,
    k_gain: Tensor | None = None,
    *,
    eps: float = RMS_NORM_EPS,
) -> tuple[Tensor, Tensor]:
    r"""QK-norm: queries and keys of root mean square 1, times learned gains.

    $q / \operatorname{rms}(q) \odot w_q$ and $k / \operatorname{rms}(k) \odot w_k$. Without gains
    every score is bounded: $\lvert q k^\top \rvert / \sqrt{d} \le \sqrt{d}$.

    q (..., N_q, d), k (..., N_k, d), gains (d,). Per head (Qwen3, Gemma 3): after splitting the
    heads; all heads together (OLMo 2): before. It commutes with RoPE only if the two gains of every
    rotated pair are equal.
    """
    return rms_norm(q, q_gain, eps=eps), rms_norm(k, k_gain, eps=eps)


def soft_cap(scores: Tensor, cap: float) -> Tensor:
    r"""Squash scores smoothly into (−c, c): $c \tanh(s / c)$; small ones hardly change.

    >>> soft_cap(torch.tensor([10.0, 50.0, 100.0]), 50.0)
    tensor([ 9.8688, 38.0797, 48.2014])
    """
    check_float("scores", scores)
    exact = scores.to(working_dtype(scores.dtype))
    return capped(exact, cap, "cap").to(scores.dtype)


def query_key_clip(
    W_Q: Tensor, W_K: Tensor, largest: Tensor, *, threshold: float
) -> tuple[Tensor, Tensor]:
    r"""QK-clip: shrink the weights of every head whose largest score passed the threshold.

    $\gamma_h = \min(1, \tau / S_h)$; $W^Q_h$ and $W^K_h$ are multiplied by $\sqrt{\gamma_h}$ each,
    so all scores of head h by $\gamma_h$. Keys that several heads share stay as they are: $W^Q_h$
    then takes all of $\gamma_h$.

    W_Q (d, H · d_k), W_K (d, H_kv · d_k), largest S (H,) as seen in a step → the new W_Q, W_K.
    """
    for name, W in (("W_Q", W_Q), ("W_K", W_K)):
        check_float(name, W)
        if W.ndim != 2:
            raise ValueError(f"{name} must have shape (d, H · d_k), got {tuple(W.shape)}")
    check_float("largest", largest)
    check_same_kind("W_Q", W_Q, "W_K", W_K)
    check_same_device("W_Q", W_Q, "largest", largest)
    check_positive("threshold", threshold)
    if W_Q.shape[0] != W_K.shape[0]:
        raise ValueError(
            f"W_Q and W_K must have the same d, got {W_Q.shape[0]} and {W_K.shape[0]} rows"
        )
    if largest.ndim != 1 or largest.shape[0] == 0:
        raise ValueError(f"largest must have one entry per head, got {tuple(largest.shape)}")
    heads = largest.shape[0]
    if W_Q.shape[1] % heads or W_K.shape[1] % (W_Q.shape[1] // heads):
        raise ValueError(
            f"W_Q must have H · d_k columns and W_K H_kv · d_k, with H = {heads} the entries of "
            f"largest; got {W_Q.shape[1]} and {W_K.shape[1]}"
        )
    d_k = W_Q.shape[1] // heads
    # A head that saw no positive score needs no clipping; the clamp keeps it from dividing by 0.
    gamma = (threshold / largest.clamp_min(threshold)).to(W_Q.dtype)
    if W_K.shape[1] != W_Q.shape[1]:
        return W_Q * gamma.repeat_interleave(d_k), W_K
    root = gamma.sqrt().repeat_interleave(d_k)
    return W_Q * root, W_K * root


def sink_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sink: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    r"""Attention with a learned score per head that takes weight and gives nothing.

    $p_{ij} = e^{s_{ij}} / (e^{b_h} + \sum_l e^{s_{il}})$: one more key, with score $b_h$, value 0.
    Equal to $\sigma(\operatorname{lse}_i - b_h)$ times plain attention, see `sink_gate`.

    q (..., H, N_q, d_k), k, v (..., H, N_k, d), sink b (H,) → (..., H, N_q, d_v).
    mask: (N_q, N_k) or with all axes of the scores.
    """
    check_float("q", q)
    check_float("sink", sink)
    check_same_kind("q", q, "sink", sink)
    if q.ndim < 3 or sink.shape != q.shape[-3:-2]:
        raise ValueError(
            f"sink must have one entry per head of q (..., H, N, d), got sink "
            f"{tuple(sink.shape)} and q {tuple(q.shape)}"
        )
    per_query = sink[:, None, None].expand(*q.shape[:-1], 1)
    return attention(q, k, v, mask=mask, scale=scale, sink=per_query)


def sink_gate(log_sum_exp: Tensor, sink: Tensor) -> Tensor:
    r"""What a sink does, as a gate: $\sigma(\operatorname{lse}_i - b_h)$.

    log_sum_exp (..., H, N_q) of each row's scores, sink (H,) → (..., H, N_q). Multiply the output
    of plain attention by it. A kernel that returns its log-sum-exp thus has sinks for free.
    """
    check_float("log_sum_exp", log_sum_exp)
    check_float("sink", sink)
    check_same_kind("log_sum_exp", log_sum_exp, "sink", sink)
    if log_sum_exp.ndim < 2 or sink.shape != log_sum_exp.shape[-2:-1]:
        raise ValueError(
            f"sink must have one entry per head of log_sum_exp (..., H, N), got "
            f"{tuple(sink.shape)} and {tuple(log_sum_exp.shape)}"
        )
    return torch.sigmoid(log_sum_exp - sink.unsqueeze(-1))


def gated_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    gate: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    r"""Attention whose output passes a gate: $\operatorname{attention}(q, k, v) \odot \sigma(g)$.

    gate g (..., N_q, d_v), a linear map of the layer's input, or (..., N_q, 1) for one number
    per head. W^O comes after it. The gate lets a head say nothing.
    """
    output = attention(q, k, v, mask=mask, scale=scale)
    check_float("gate", gate)
    check_same_kind("q", q, "gate", gate)
    if gate.shape[:-1] != output.shape[:-1] or gate.shape[-1] not in (1, output.shape[-1]):
        raise ValueError(
            f"gate must have the shape of the output {tuple(output.shape)}, or 1 on its last "
            f"axis; got {tuple(gate.shape)}"
        )
    return output * torch.sigmoid(gate)


def log_length_factor(lengths: Tensor, slope: float) -> Tensor:
    r"""The factor $s \ln n$ on scores over n keys, which keeps a lead above 1/s visible (SSMax).

    $\operatorname{softmax}(f z)_i = n^{s z_i} / \sum_j n^{s z_j}$ with this f. Without it, a score
    ahead by a fixed margin gets a weight that falls like 1/n. Integers n (...) → (...) in float64.
    """
    check_integers("lengths", lengths, 1, 2**31)
    check_positive("slope", slope)
    return slope * lengths.double().log()


def stepped_length_factor(
    positions: Tensor, *, step: int = 8192, slope: float = 0.1, first: int = 1
) -> Tensor:
    r"""The factor on the query at position i that grows by steps.

    $1 + a \ln(1 + \lfloor (i + f) / L \rfloor)$

    Llama 4: f = `first` = 1, L = `step` = 8192, a = `slope` = 0.1, in its layers without RoPE.
    Ministral 3: f = 0, L = 16384, in all layers. Inside the first L positions it is 1.
    Integers (N,) or (B, N), not negative → the same shape in float64.

    >>> stepped_length_factor(torch.tensor([8190, 8191]))
    tensor([1.0000, 1.0693], dtype=torch.float64)
    """
    check_positions(positions, not_negative=True)
    check_count("step", step)
    check_positive("slope", slope)
    check_count("first", first, at_least=0)
    steps = torch.div(positions.long() + first, step, rounding_mode="floor")
    return 1 + slope * steps.double().log1p()

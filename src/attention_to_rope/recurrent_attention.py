"""Attention without softmax: a matrix that every token changes and every query reads.

The state S (d_k, d_v) has a fixed size, so memory is constant however long the text is; and its
rank is at most d_k, so it can hold at most d_k independent pairs of key and value exactly.
"""

import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_float,
    check_same_device,
    check_same_kind,
    values_are_known,
    working_dtype,
)


def _check_sequence(q: Tensor, k: Tensor, v: Tensor) -> None:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        check_float(name, tensor)
        check_same_kind("q", q, name, tensor)
        if tensor.ndim < 2 or tensor.shape[-2] == 0 or tensor.shape[-1] == 0:
            raise ValueError(
                f"{name} must have shape (..., N, d) with N, d ≥ 1, got {tuple(tensor.shape)}"
            )
        if tensor.shape[:-1] != q.shape[:-1]:
            raise ValueError(
                f"q, k and v must agree but for the last axis, got {tuple(q.shape)} for q and "
                f"{tuple(tensor.shape)} for {name}"
            )
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must have the same d_k, got {q.shape[-1]} and {k.shape[-1]}")


def _check_per_token(name: str, numbers: Tensor, q: Tensor) -> None:
    check_float(name, numbers)
    check_same_kind("q", q, name, numbers)
    if numbers.shape != q.shape[:-1]:
        raise ValueError(
            f"{name} must have one number per token, shape {tuple(q.shape[:-1])}; got "
            f"{tuple(numbers.shape)}"
        )


def _start(state: Tensor | None, k: Tensor, v: Tensor) -> Tensor:
    shape = (*k.shape[:-2], k.shape[-1], v.shape[-1])
    exact = working_dtype(k.dtype)
    if state is None:
        return torch.zeros(shape, dtype=exact, device=k.device)
    check_float("state", state)
    check_same_device("k", k, "state", state)
    if state.shape != shape or state.dtype != exact:
        raise ValueError(
            f"state must have shape (..., d_k, d_v) = {shape} and dtype {exact}, got "
            f"{tuple(state.shape)} and {state.dtype}; pass on what the last call gave"
        )
    return state


def linear_attention(q: Tensor, k: Tensor, v: Tensor, *, decay: Tensor | None = None) -> Tensor:
    r"""Causal attention without softmax, all tokens at once: $(Q K^\top \odot M)\, V$.

    $M_{ij} = \prod_{l=j+1}^{i} \alpha_l$ for $j \le i$, else 0; without `decay` all α are 1.
    Equal to `linear_attention_steps`. It costs N² like softmax attention, and runs in parallel.
    No feature map and no denominator: apply them to q, k and the result if wanted.

    q, k (..., N, d_k), v (..., N, d_v), decay α (..., N) above 0 → (..., N, d_v)
    """
    _check_sequence(q, k, v)
    exact = working_dtype(q.dtype)
    scores = q.to(exact) @ k.to(exact).transpose(-2, -1)
    if decay is not None:
        _check_per_token("decay", decay, q)
        if values_are_known(decay) and not bool((decay > 0).all()):
            raise ValueError(
                f"decay must be above 0 in this form, got a smallest of {float(decay.min())}; "
                "linear_attention_steps takes 0 too"
            )
        total = decay.to(exact).log().cumsum(-1)
        # Above the diagonal the exponent grows without bound: cut it before the power.
        gap = (total.unsqueeze(-1) - total.unsqueeze(-2)).tril()
        scores = scores * gap.exp()
    return (scores.tril() @ v.to(exact)).to(q.dtype)


def linear_attention_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    decay: Tensor | None = None,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""The same token by token: $S_t = \alpha_t S_{t-1} + k_t^\top v_t$, $o_t = q_t S_t$.

    Gives the outputs (..., N, d_v) and the state (..., d_k, d_v), with which the next call goes on.
    A key written twice reads back the sum of its values: nothing is ever replaced.
    """
    _check_sequence(q, k, v)
    if decay is not None:
        _check_per_token("decay", decay, q)
    S = _start(state, k, v)
    outputs = []
    for t in range(q.shape[-2]):
        q_t, k_t, v_t = (x[..., t, :].to(S.dtype) for x in (q, k, v))
        if decay is not None:
            S = decay[..., t, None, None].to(S.dtype) * S
        S = S + k_t.unsqueeze(-1) * v_t.unsqueeze(-2)
        outputs.append((q_t.unsqueeze(-2) @ S).squeeze(-2))
    return torch.stack(outputs, dim=-2).to(q.dtype), S


def delta_rule_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rate: Tensor,
    *,
    decay: Tensor | None = None,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Linear attention that replaces: write what the state gets wrong, not the value itself.

    $S_t = \alpha_t S_{t-1} + \beta_t k_t^\top (v_t - \alpha_t k_t S_{t-1})
    = \alpha_t (I - \beta_t k_t^\top k_t) S_{t-1} + \beta_t k_t^\top v_t$, $o_t = q_t S_t$.

    With `decay` this is the gated delta rule, without it α = 1. Keys of length 1 and β = 1 make
    the state answer $k_t$ with $v_t$ exactly; up to d_k orthonormal keys are all kept.
    rate β (..., N), decay α (..., N); the rest as in `linear_attention_steps`.
    """
    _check_sequence(q, k, v)
    _check_per_token("rate", rate, q)
    if decay is not None:
        _check_per_token("decay", decay, q)
    S = _start(state, k, v)
    outputs = []
    for t in range(q.shape[-2]):
        q_t, k_t, v_t = (x[..., t, :].to(S.dtype).unsqueeze(-2) for x in (q, k, v))
        if decay is not None:
            S = decay[..., t, None, None].to(S.dtype) * S
        missing = v_t - k_t @ S
        S = S + rate[..., t, None, None].to(S.dtype) * k_t.transpose(-2, -1) * missing
        outputs.append((q_t @ S).squeeze(-2))
    return torch.stack(outputs, dim=-2).to(q.dtype), S

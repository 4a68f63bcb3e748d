"""Attention without softmax: a matrix that every token changes and every query reads.

The state S (d_k, d_v) has a fixed size, so memory is constant however long the text is; and its
rank is at most d_k, so it can hold at most d_k independent pairs of key and value exactly.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_to_rope.layers import wide


def linear_attention_steps(
    q: Float[Tensor, "*batch n d_k"],
    k: Float[Tensor, "*batch n d_k"],
    v: Float[Tensor, "*batch n d_v"],
    *,
    decay: Float[Tensor, "*batch n"] | None = None,
    state: Float[Tensor, "*batch d_k d_v"] | None = None,
) -> tuple[Float[Tensor, "*batch n d_v"], Float[Tensor, "*batch d_k d_v"]]:
    r"""Linear attention, token by token: $S_t = \alpha_t S_{t-1} + k_t^\top v_t$, $o_t = q_t S_t$.

    Gives the outputs and the state, with which the next call continues. Without `decay` all α are
    1. A key written twice reads back the sum of its values: nothing is ever replaced.

    >>> one = torch.ones(2, 1)
    >>> linear_attention_steps(one, one, one)[0]
    tensor([[1.],
            [2.]])
    """
    _check_between("decay", decay, 1)
    S = _start(state, k, v)  # (..., d_k, d_v)
    outputs = []
    for t in range(q.shape[-2]):
        q_t = wide(q[..., t : t + 1, :])  # (..., 1, d_k)
        k_t = wide(k[..., t : t + 1, :])  # (..., 1, d_k)
        v_t = wide(v[..., t : t + 1, :])  # (..., 1, d_v)
        if decay is not None:
            S = decay[..., t, None, None] * S
        S = S + k_t.mT @ v_t
        outputs.append(q_t @ S)  # (..., 1, d_v)
    return torch.cat(outputs, dim=-2).to(q.dtype), S


def delta_rule_steps(
    q: Float[Tensor, "*batch n d_k"],
    k: Float[Tensor, "*batch n d_k"],
    v: Float[Tensor, "*batch n d_v"],
    rate: Float[Tensor, "*batch n"],
    *,
    decay: Float[Tensor, "*batch n"] | None = None,
    state: Float[Tensor, "*batch d_k d_v"] | None = None,
) -> tuple[Float[Tensor, "*batch n d_v"], Float[Tensor, "*batch d_k d_v"]]:
    r"""Linear attention that replaces: write what the state gets wrong, not the value itself.

    $S_t = \alpha_t S_{t-1} + \beta_t k_t^\top (v_t - \alpha_t k_t S_{t-1})$, $o_t = q_t S_t$, with
    the rate β. With `decay` α this is the gated delta rule. Keys of length 1 and β = 1 make the
    state answer $k_t$ with $v_t$ exactly; up to d_k orthonormal keys are all kept.

    >>> one = torch.ones(2, 1)
    >>> delta_rule_steps(one, one, one, torch.ones(2))[0]
    tensor([[1.],
            [1.]])
    """
    _check_between("decay", decay, 1)
    _check_between("rate", rate, 2)  # beyond 2, what is wrong grows with each step
    S = _start(state, k, v)  # (..., d_k, d_v)
    outputs = []
    for t in range(q.shape[-2]):
        q_t = wide(q[..., t : t + 1, :])  # (..., 1, d_k)
        k_t = wide(k[..., t : t + 1, :])  # (..., 1, d_k)
        v_t = wide(v[..., t : t + 1, :])  # (..., 1, d_v)
        if decay is not None:
            S = decay[..., t, None, None] * S
        wrong = v_t - k_t @ S  # (..., 1, d_v)
        S = S + rate[..., t, None, None] * k_t.mT @ wrong
        outputs.append(q_t @ S)  # (..., 1, d_v)
    return torch.cat(outputs, dim=-2).to(q.dtype), S


def _check_between(name: str, numbers: Tensor | None, most: int) -> None:
    """Raise unless all numbers lie in 0…most, where this is known without waiting for a GPU.

    Other libraries take the logarithm of the decay, which is negative.
    """
    if numbers is None or numbers.device.type != "cpu" or torch.compiler.is_compiling():
        return
    if not bool(((numbers >= 0) & (numbers <= most)).all()):
        lowest = float(numbers.min())
        highest = float(numbers.max())
        raise ValueError(f"{name} must lie between 0 and {most}, got {lowest} to {highest}")


def _start(state: Tensor | None, k: Tensor, v: Tensor) -> Tensor:
    """The state to begin with: zeros, in a dtype that is not half."""
    if state is not None:
        return state
    return wide(k).new_zeros(*k.shape[:-2], k.shape[-1], v.shape[-1])  # (..., d_k, d_v)

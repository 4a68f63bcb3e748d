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
    S, outputs = _start(state, k, v), []
    for t in range(q.shape[-2]):
        q_t, k_t, v_t = (wide(x[..., t : t + 1, :]) for x in (q, k, v))  # (..., 1, d) each
        S = S if decay is None else decay[..., t, None, None] * S
        S = S + k_t.mT @ v_t
        outputs.append(q_t @ S)
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
    S, outputs = _start(state, k, v), []
    for t in range(q.shape[-2]):
        q_t, k_t, v_t = (wide(x[..., t : t + 1, :]) for x in (q, k, v))  # (..., 1, d) each
        S = S if decay is None else decay[..., t, None, None] * S
        S = S + rate[..., t, None, None] * k_t.mT @ (v_t - k_t @ S)
        outputs.append(q_t @ S)
    return torch.cat(outputs, dim=-2).to(q.dtype), S


def _start(state: Tensor | None, k: Tensor, v: Tensor) -> Tensor:
    """The state to begin with: zeros, in a dtype that is not half."""
    zeros = wide(k).new_zeros(*k.shape[:-2], k.shape[-1], v.shape[-1])
    return zeros if state is None else state

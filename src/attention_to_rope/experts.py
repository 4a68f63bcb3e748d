"""Mixture of experts: a router picks k of many feed-forward layers for every token."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attention_to_rope.activations import FeedForward
from attention_to_rope.checks import (
    check_choice,
    check_count,
    check_flag,
    check_float,
    check_integers,
    check_positive,
    check_same_kind,
    values_are_known,
    working_dtype,
)
from attention_to_rope.layers import Linear, Seed, parameter, stream_of
from attention_to_rope.scaled_dot_product import softmax

GATES = ("softmax", "sigmoid")


class Routing(NamedTuple):
    """The chosen experts of every token, best first, and their weights; (..., k) each."""

    experts: Tensor
    gates: Tensor


def route(
    logits: Tensor,
    k: int,
    *,
    gate: str = "softmax",
    normalise: bool = True,
    bias: Tensor | None = None,
) -> Routing:
    r"""Choose the k experts of largest score plus bias and weigh them by their scores.

    $s = \operatorname{softmax}(z)$ or $\sigma(z)$; $g_i = s_i / \sum_j a_j s_j$ with
    `normalise`, else $s_i$; $a_j$ is 1 for the chosen and 0 for the others. The bias b (E,)
    decides who is chosen and never enters a weight.
    With softmax and `normalise` the weights are the softmax over the k chosen logits alone.

    logits z (..., E) → experts (..., k), gates (..., k).

    >>> route(torch.tensor([0.0, 3.0, 3.0, 1.0]).log1p(), 2)
    Routing(experts=tensor([1, 2]), gates=tensor([0.5000, 0.5000]))
    """
    check_float("logits", logits)
    check_choice("gate", gate, GATES)
    check_flag("normalise", normalise)
    count = logits.shape[-1] if logits.ndim else 0
    check_count("k", k)
    if k > count:
        raise ValueError(f"k must not exceed the number of experts, got k={k} of {count}")
    exact = logits.to(working_dtype(logits.dtype))
    scores = softmax(exact) if gate == "softmax" else torch.sigmoid(exact)
    wanted = scores
    if bias is not None:
        check_float("bias", bias)
        check_same_kind("logits", logits, "bias", bias)
        if bias.shape != (count,):
            raise ValueError(f"bias must have shape ({count},), got {tuple(bias.shape)}")
        wanted = scores + bias
    experts = wanted.topk(k).indices
    gates = scores.gather(-1, experts)
    if normalise:
        gates = gates / gates.sum(-1, keepdim=True)
    return Routing(experts, gates.to(logits.dtype))


def _choices(experts: Tensor, count: int) -> Tensor:
    """How often each expert was chosen, (..., k) → (count,) whole numbers."""
    check_count("count", count)
    check_integers("experts", experts, 0, count - 1)
    if experts.numel() == 0:
        raise ValueError("experts must hold at least one choice, got an empty tensor")
    # A comparison, not bincount: it works on every device without waiting for the values.
    return (experts.reshape(-1, 1) == torch.arange(count, device=experts.device)).sum(0)


def expert_load(experts: Tensor, count: int) -> Tensor:
    """The share of the choices that went to each expert, (..., k) → (count,), sum 1, float64."""
    return _choices(experts, count).double() / experts.numel()


def balance_loss(scores: Tensor, experts: Tensor) -> Tensor:
    r"""The auxiliary loss of Switch, without its factor α: $E \sum_i f_i P_i$.

    f_i is the share of the choices that expert i got, P_i its mean score; 1 where both are uniform.
    Only P has a gradient. scores (..., E), each row summing to 1, experts (..., k) → a number.
    """
    check_float("scores", scores)
    if (
        scores.ndim == 0
        or not isinstance(experts, Tensor)
        or scores.shape[:-1] != experts.shape[:-1]
    ):
        raise ValueError(
            "scores (..., E) and experts (..., k) must have the same tokens, got "
            f"{tuple(scores.shape)} and {getattr(experts, 'shape', type(experts).__name__)}"
        )
    count = scores.shape[-1]
    load = expert_load(experts, count).to(scores.dtype)
    return count * (load * scores.reshape(-1, count).mean(0)).sum()


def balanced_bias(bias: Tensor, experts: Tensor, *, step: float) -> Tensor:
    r"""One step of balancing without a loss: $b_i + \gamma\, \operatorname{sign}(1/E - f_i)$.

    An expert chosen too often becomes a little harder to choose, one chosen too seldom a little
    easier; γ = `step`. bias (E,), experts (..., k) of the last batch → (E,)
    """
    check_float("bias", bias)
    check_positive("step", step)
    if bias.ndim != 1:
        raise ValueError(f"bias must have shape (E,), got {tuple(bias.shape)}")
    count = bias.shape[0]
    # In whole numbers, so that an expert with exactly its share is seen to have it.
    choices = _choices(experts, count)
    direction = (choices.sum() - count * choices).sign()
    return bias + step * direction.to(bias.dtype)


class MixtureOfExperts(nn.Module):
    r"""The k best of E feed-forward layers for every token, and shared ones for all tokens.

    $y = \sum_i g_i\, \operatorname{FFN}_i(x) + \sum_{j=0}^{t-1} \operatorname{shared}_j(x)$ with t
    shared layers; $g_i$ is 0 for experts that are not chosen. With k = 1 the score itself is $g_i$.

    hidden: the width of each expert. gate, k: as in `route`. With `balanced` a bias, no parameter,
    takes part in the choice; `rebalance` moves it after a training step (DeepSeek-V3: sigmoid,
    256 experts, k = 8, 1 shared).
    """

    bias: Tensor | None

    def __init__(
        self,
        d: int,
        hidden: int,
        *,
        experts: int,
        k: int,
        seed: Seed,
        shared: int = 0,
        activation: str = "swiglu",
        gate: str = "softmax",
        balanced: bool = False,
    ) -> None:
        super().__init__()
        for name, value in (("d", d), ("hidden", hidden), ("experts", experts), ("k", k)):
            check_count(name, value)
        check_flag("balanced", balanced)
        check_count("shared", shared, at_least=0)
        check_choice("gate", gate, GATES)
        if k > experts:
            raise ValueError(f"k must not exceed the number of experts, got k={k} of {experts}")
        rng = stream_of(seed, "MixtureOfExperts")

        def layers(count: int) -> nn.ModuleList:
            return nn.ModuleList(
                FeedForward(d, hidden, activation=activation, bias=False, seed=rng)
                for _ in range(count)
            )

        self.k, self.gate = k, gate
        self.router = Linear(d, experts, bias=False, seed=rng)
        self.experts = layers(experts)
        self.shared = layers(shared)
        bias = parameter(np.zeros(experts)).detach() if balanced else None
        self.register_buffer("bias", bias)

    def route(self, x: Tensor) -> Routing:
        """The chosen experts and their weights for x (..., d).

        One expert alone keeps its score as weight: normalised it would be 1, without a gradient.
        """
        several = self.k > 1
        return route(self.router(x), self.k, gate=self.gate, normalise=several, bias=self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) → (..., d). Each expert computes its own tokens and no others.

        Where nobody can look at the choices (vmap, fake tensors), all compute all, weighted by 0.
        """
        check_float("x", x)
        if x.ndim == 0:
            raise ValueError("x must have shape (..., d), got a single number")
        tokens = x.reshape(-1, x.shape[-1])
        experts, gates = self.route(tokens)
        y = torch.zeros_like(tokens)
        for index, expert in enumerate(self.experts):
            chosen = experts == index  # (tokens, k)
            if values_are_known(x) or torch.compiler.is_compiling():
                row, place = chosen.nonzero(as_tuple=True)
                weighted = expert(tokens[row]) * gates[row, place].unsqueeze(-1)
                y = y.index_add(0, row, weighted.to(y.dtype))
            else:
                y = y + expert(tokens) * (gates * chosen).sum(-1, keepdim=True)
        for expert in self.shared:
            y = y + expert(tokens)
        return y.reshape(x.shape)

    @torch.no_grad()
    def rebalance(self, experts: Tensor, *, step: float = 0.001) -> None:
        """Move the bias of the choice by `balanced_bias`, given the experts of the last batch."""
        if self.bias is None:
            raise ValueError("this mixture has no bias to move: build it with balanced=True")
        self.bias.copy_(balanced_bias(self.bias, experts, step=step))

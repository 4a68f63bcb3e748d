"""Mixture of experts: a router picks k of many feed-forward layers for every token."""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.nn import functional

from attention_to_rope.activations import FeedForward
from attention_to_rope.layers import (
    Linear,
    Seed,
    check_at_least,
    check_positive,
    stream_of,
    wide,
)
from attention_to_rope.scaled_dot_product import softmax

Gate = Literal["softmax", "sigmoid"]
LOG_SCORES: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": partial(functional.log_softmax, dim=-1),
    "sigmoid": functional.logsigmoid,
}


class Routing(NamedTuple):
    """The chosen experts of every token, best first, and their weights."""

    experts: Integer[Tensor, "*n k"]
    gates: Float[Tensor, "*n k"]


def route(
    logits: Float[Tensor, "*n E"],
    k: int,
    *,
    gate: Gate = "softmax",
    normalise: bool = True,
    bias: Float[Tensor, " E"] | None = None,
    scaling: float = 1.0,
    groups: int = 1,
    kept_groups: int = 1,
) -> Routing:
    r"""Choose the k experts of largest score plus bias and weigh them by their scores.

    $s = \operatorname{softmax}(z)$ or $\sigma(z)$ for logits z; $g_i = s_i / \sum_j a_j s_j$ with
    `normalise`, else $s_i$; $a_j$ is 1 for the chosen and 0 for the others. The bias decides who is
    chosen and never enters a weight. With softmax and `normalise` the weights are the softmax over
    the k chosen logits alone. `scaling` multiplies the weights at the end.

    With more than one of `groups`, experts are chosen in the `kept_groups` best of them alone
    (DeepSeek-V3: 4 of 8, so that a token goes to few machines). A group counts by its two largest
    scores plus bias, summed.

    >>> route(torch.tensor([0.0, 3.0, 3.0, 1.0]).log1p(), 2)
    Routing(experts=tensor([1, 2]), gates=tensor([0.5000, 0.5000]))
    """
    check_at_least("k", k, 1)
    check_at_least("groups", groups, 1)
    check_positive("scaling", scaling)
    # The logarithm of the score: a score that underflows to 0 still has one.
    log_scores = LOG_SCORES[gate](wide(logits))  # (..., E)
    wanted = log_scores if bias is None else log_scores.exp() + bias
    if groups > 1:
        scores = log_scores.exp() if bias is None else wanted  # (..., E)
        wanted = wanted.masked_fill(~_in_best_groups(scores, groups, kept_groups, k), -torch.inf)
    experts = wanted.topk(k).indices  # (..., k)
    chosen = log_scores.gather(-1, experts)  # (..., k)
    gates = softmax(chosen) if normalise else chosen.exp()
    return Routing(experts, (scaling * gates).to(logits.dtype))


def _in_best_groups(
    scores: Float[Tensor, "*n E"], groups: int, kept_groups: int, k: int
) -> Bool[Tensor, "*n E"]:
    """Which experts are in the groups whose two largest scores have the largest sums."""
    count = scores.shape[-1]
    size = count // groups
    if count % groups or size < 2 or not k <= kept_groups * size <= count:
        raise ValueError(
            f"groups must divide {count} experts into equal groups of 2 or more, of which those "
            f"kept hold k={k} or more; got groups={groups} and kept_groups={kept_groups}"
        )
    grouped = scores.reshape(*scores.shape[:-1], groups, size)  # (..., groups, size)
    best_two = grouped.topk(2).values.sum(-1)  # (..., groups)
    best = best_two.topk(kept_groups).indices  # (..., kept_groups)
    is_kept = torch.zeros_like(best_two, dtype=torch.bool).scatter(-1, best, True)
    return is_kept.repeat_interleave(size, dim=-1)  # (..., E)


def expert_load(experts: Integer[Tensor, "*n k"], count: int) -> Float[Tensor, " {count}"]:
    """The share of the choices that went to each of `count` experts; sums to 1.

    >>> expert_load(torch.tensor([[0, 1], [0, 2]]), 4)
    tensor([0.5000, 0.2500, 0.2500, 0.0000], dtype=torch.float64)
    """
    return _choices(experts, count).double() / experts.numel()


def _choices(experts: Integer[Tensor, "*n k"], count: int) -> Integer[Tensor, " {count}"]:
    """How often each expert was chosen."""
    every = torch.arange(count, device=experts.device)
    return (experts.reshape(-1, 1) == every).sum(0)


def balance_loss(
    scores: Float[Tensor, "*n E"], experts: Integer[Tensor, "*n k"]
) -> Float[Tensor, ""]:
    r"""The auxiliary loss of Switch, without its factor α: $E \sum_i f_i P_i$.

    f_i is the share of the choices that expert i got, P_i its mean score; 1 where both are uniform.
    Only P has a gradient. Each row of scores sums to 1.

    >>> balance_loss(torch.full((2, 2), 0.5), torch.tensor([[0], [1]]))
    tensor(1.)
    """
    count = scores.shape[-1]
    load = expert_load(experts, count).to(scores.dtype)  # f, (E)
    mean_score = scores.reshape(-1, count).mean(0)  # P, (E)
    return count * (load * mean_score).sum()


def balanced_bias(
    bias: Float[Tensor, " E"], experts: Integer[Tensor, "*n k"], *, step: float
) -> Float[Tensor, " E"]:
    r"""One step of balancing without a loss: $b_i + \gamma\, \operatorname{sign}(1/E - f_i)$.

    An expert that was chosen too often in the last batch becomes a little harder to choose, one
    that was chosen too seldom a little easier; γ = `step`.

    >>> balanced_bias(torch.zeros(2), torch.tensor([[0], [0]]), step=0.1)
    tensor([-0.1000,  0.1000])
    """
    check_positive("step", step)
    choices = _choices(experts, bias.shape[0])  # integers: equal shares are seen to be equal
    direction = (choices.sum() - bias.shape[0] * choices).sign()
    return bias + step * direction.to(bias.dtype)


class MixtureOfExperts(nn.Module):
    r"""The k best of E feed-forward layers for every token, and shared ones for all tokens.

    $y = \sum_i g_i\, \operatorname{FFN}_i(x) + \sum_{j=0}^{t-1} \operatorname{shared}_j(x)$ with t
    shared layers; $g_i$ is 0 for experts that are not chosen. With k = 1 the score itself is $g_i$,
    because a normalized gate would be 1, without a gradient.

    hidden: the width of each expert. gate, k, scaling, groups and kept_groups: as in `route`. With
    `balanced` a bias, which is no parameter, takes part in the choice; `rebalance` moves it after a
    training step (DeepSeek-V3: sigmoid, 256 experts, k = 8, 1 shared, scaling 2.5). In a `Decoder`
    it replaces the feed-forward layer: see `LayerPattern`. How many tokens an expert gets is data,
    but `torch.compile` with fullgraph=True still makes one graph of it (tried with PyTorch 2.13).

    >>> layer = MixtureOfExperts(4, 8, experts=4, k=2, seed=0)
    >>> layer(torch.zeros(3, 4)).shape
    torch.Size([3, 4])
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
        gate: Gate = "softmax",
        balanced: bool = False,
        scaling: float = 1.0,
        groups: int = 1,
        kept_groups: int = 1,
    ) -> None:
        super().__init__()
        rng = stream_of(seed, "MixtureOfExperts")

        def layers(count: int) -> nn.ModuleList:
            return nn.ModuleList(
                FeedForward(d, hidden, activation=activation, bias=False, seed=rng)
                for _ in range(count)
            )

        self.k = k
        self.gate: Gate = gate
        self.scaling = scaling
        self.groups = groups
        self.kept_groups = kept_groups
        self.router = Linear(d, experts, bias=False, seed=rng)
        self.experts = layers(experts)
        self.shared = layers(shared)
        self.register_buffer("bias", torch.zeros(experts) if balanced else None)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "MixtureOfExperts":
        """What `.to`, `.bfloat16` and others call; the bias only changes device.

        It moves by small steps, which half precision would round away.
        """
        exact = self.bias
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]  # torch has no types here
        if exact is not None and self.bias is not None and self.bias.dtype != exact.dtype:
            self.bias = exact.to(self.bias.device)
        return self

    def route(self, x: Float[Tensor, "*n d"]) -> Routing:
        """The chosen experts and their weights, in float32 at least.

        As in DeepSeek-V3's code, a model in half precision still computes its logits in float32:
        rounded logits of two experts can be equal, and then the wrong one is chosen.
        """
        logits = wide(x) @ wide(self.router.W)  # (..., E)
        return route(
            logits,
            self.k,
            gate=self.gate,
            normalise=self.k > 1,
            bias=self.bias,
            scaling=self.scaling,
            groups=self.groups,
            kept_groups=self.kept_groups,
        )

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Each expert computes the tokens that chose it and no others."""
        tokens = x.reshape(-1, x.shape[-1])  # (N, d)
        experts, gates = self.route(tokens)  # (N, k) each
        y = torch.zeros_like(tokens)  # (N, d)
        for index, expert in enumerate(self.experts):
            # The tokens that chose this expert, and as which of their k choices.
            row, choice = (experts == index).nonzero(as_tuple=True)
            gate = gates[row, choice].unsqueeze(-1)  # (tokens of this expert, 1)
            weighted = gate * expert(tokens[row])  # (tokens of this expert, d)
            y = y.index_add(0, row, weighted.to(y.dtype))
        for expert in self.shared:
            y = y + expert(tokens)
        return y.reshape(x.shape)

    @torch.no_grad()
    def rebalance(self, experts: Integer[Tensor, "*n k"], *, step: float = 0.001) -> None:
        """Move the bias of the choice by `balanced_bias`, given the experts of the last batch."""
        if self.bias is None:
            raise ValueError("this mixture has no bias to move: build it with balanced=True")
        self.bias.copy_(balanced_bias(self.bias, experts, step=step))

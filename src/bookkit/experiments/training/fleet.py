"""Many small decoders trained at once: every weight has an axis for the models.

One small model leaves a GPU idle. A fleet runs models that differ in seed, learning rate and
rotary frequencies as one: each product becomes a product for all. The model is the book's
`Decoder` (RMS norm first, GELU); a test holds the two together.

Schemes are tables here. Turning by the frequency 0 is no turning, so no encoding, partial RoPE,
p-RoPE and layers without RoPE are all RoPE with zeros in its table of frequencies (layers, pairs).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attention_to_rope import alibi_slopes, rotary_frequencies, sinusoidal, t5_bucket
from attention_to_rope.transformer import Architecture, Decoder

Weights = dict[str, Tensor]
BUCKETS = 32


@dataclass(frozen=True)
class Scheme:
    """Where position enters: added to the input, added to the scores, turned into q and k.

    turned: the share of pairs that turn. whole: they are the fast ones of the whole spectrum
    (p-RoPE); otherwise a spectrum of their own is squeezed into them (partial RoPE). every: one
    layer in so many has no rotation. kind: fleets hold schemes of one kind.
    """

    name: str
    kind: str = "plain"
    base: float = 10000.0
    turned: float = 0.0
    whole: bool = True
    every: int = 0
    sinusoid: bool = False

    def frequencies(self, architecture: Architecture) -> Tensor:
        """θ of every layer and pair, (layers, d_k/2), 0 where nothing turns."""
        pairs = architecture.d // architecture.heads // 2
        count = round(pairs * self.turned)
        table = torch.zeros(architecture.layers, pairs, dtype=torch.float64)
        if count:
            spectrum = rotary_frequencies(2 * (pairs if self.whole else count), self.base)
            table[:, :count] = spectrum[:count]
        if self.every:
            table[min(self.every, architecture.layers) - 1 :: self.every] = 0
        return table


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("none"),
        Scheme("sinusoidal", sinusoid=True),
        Scheme("RoPE", turned=1.0),
        Scheme("RoPE, raised base", turned=1.0, base=500_000.0),
        Scheme("partial RoPE", turned=0.5, whole=False),
        Scheme("p-RoPE", turned=0.75),
        Scheme("hybrid", turned=1.0, every=4),
        Scheme("learned", kind="learned"),
        Scheme("T5", kind="T5"),
        Scheme("ALiBi", kind="ALiBi"),
    )
}
KINDS = ("plain", "learned", "T5", "ALiBi")
# Only these have position parameters of their own, which may want a faster rate.
TRAINED_KINDS = ("learned", "T5")


class Member(NamedTuple):
    """One model of a fleet."""

    scheme: str
    seed: int
    rate: float
    position_rate: float = 1.0  # how many times faster the position parameters learn


@dataclass(frozen=True)
class Fleet:
    """The weights of all models, stacked, and the tables of their schemes.

    weights: blocks' as (layers, M, …), all others (M, …). frequencies: (M, layers, d_k/2), float64.
    factor: YaRN's, on the rotary table.
    """

    architecture: Architecture
    vocabulary: int
    members: tuple[Member, ...]
    weights: Weights
    frequencies: Tensor
    factor: float = 1.0

    @property
    def kind(self) -> str:
        """The kind of all its schemes."""
        return SCHEMES[self.members[0].scheme].kind

    def subset(self, indices: Sequence[int]) -> "Fleet":
        """The fleet of some of the models."""
        chosen = torch.tensor(indices, device=self.frequencies.device)
        weights = {
            name: w.detach().index_select(1 if name.startswith("block.") else 0, chosen)
            for name, w in self.weights.items()
        }
        members = tuple(self.members[index] for index in indices)
        turned = self.frequencies[chosen]
        return replace(self, members=members, weights=weights, frequencies=turned)

    def stretched(self, frequencies: Tensor, factor: float = 1.0) -> "Fleet":
        """All models with these frequencies (d_k/2,) in every layer that turns."""
        turning = (self.frequencies != 0).any(-1, keepdim=True)
        new = frequencies.to(self.frequencies.device)
        return replace(self, frequencies=torch.where(turning, new, 0.0), factor=factor)


def stream(seed: int, part: str) -> np.random.Generator:
    """Independent random numbers for each part of an experiment with this seed."""
    parts = ("model", "position", "batches", "validation", "test")
    return np.random.Generator(np.random.PCG64([seed, parts.index(part)]))


def build(
    architecture: Architecture,
    vocabulary: int,
    members: Sequence[Member],
    longest: int,
    device: str = "cpu",
) -> Fleet:
    """A fleet whose models of one seed start from the same weights, as `Decoder` draws them."""
    a = architecture
    kinds = {SCHEMES[member.scheme].kind for member in members}
    if len(kinds) != 1 or (a.norm, a.placement, a.activation) != ("rms", "pre", "gelu"):
        raise ValueError(
            f"a fleet holds schemes of one kind and pre-norm RMS models with GELU; got {kinds} "
            f"and {a.norm}, {a.placement}, {a.activation}"
        )
    drawn: dict[int, Weights] = {}
    for seed in {member.seed for member in members}:
        own = Decoder(vocabulary, a, seed=stream(seed, "model")).state_dict()
        names = [name.removeprefix("blocks.0.") for name in own if name.startswith("blocks.0.")]
        drawn[seed] = {
            f"block.{name}": torch.stack(
                [own[f"blocks.{layer}.{name}"] for layer in range(a.layers)]
            )
            for name in names
        } | {name: w for name, w in own.items() if not name.startswith("blocks.")}
        shape = {"learned": (longest, a.d), "T5": (BUCKETS, a.heads)}.get(next(iter(kinds)))
        if shape:
            table = stream(seed, "position").standard_normal(shape) * 0.02
            drawn[seed]["position"] = torch.from_numpy(table).float()
    first = drawn[members[0].seed]
    weights = {
        name: torch.stack(
            [drawn[member.seed][name] for member in members],
            dim=1 if name.startswith("block.") else 0,
        )
        .to(device)
        .requires_grad_()
        for name in first
    }
    turned = [SCHEMES[member.scheme].frequencies(a) for member in members]
    frequencies = torch.stack(turned).to(device)
    return Fleet(a, vocabulary, tuple(members), weights, frequencies)


def forward(fleet: Fleet, tokens: Tensor) -> Tensor:
    """Tokens (M, B, N), each model its own → logits (M, B, N, vocabulary)."""
    a, w = fleet.architecture, fleet.weights
    models, batch, length = tokens.shape
    first = torch.arange(models, device=tokens.device)[:, None, None] * fleet.vocabulary
    x = functional.embedding(tokens + first, w["embedding.rows"].flatten(0, 1)) * math.sqrt(a.d)
    x = _add_position(fleet, x).reshape(models, batch * length, a.d)
    bias = _bias(fleet, length)
    turns = _rotary_table(fleet, length)
    blocks = {name: w[name].unbind(0) for name in w if name.startswith("block.")}
    for layer in range(a.layers):
        own = {name.removeprefix("block."): weight[layer] for name, weight in blocks.items()}
        turn = None if turns is None else (turns[0][:, layer], turns[1][:, layer])
        y = _norm(x, own["attention_residual.norm.gain"], a.eps)
        q, k, v = (
            _linear(y, own, f"attention.{name}")
            .reshape(models, batch, length, a.heads, a.d // a.heads)
            .transpose(2, 3)
            for name in ("query", "key", "value")
        )
        if turn is not None:
            q, k = _turn(q, *turn), _turn(k, *turn)
        joined = _attend(q, k, v, bias).transpose(2, 3).reshape(models, batch * length, a.d)
        x = x + _linear(joined, own, "attention.output")
        y = _norm(x, own["feed_forward_residual.norm.gain"], a.eps)
        hidden = functional.gelu(_linear(y, own, "feed_forward.up"))
        x = x + _linear(hidden, own, "feed_forward.down")
    logits = torch.bmm(_norm(x, w["norm.gain"], a.eps), w["head.W"])
    return logits.reshape(models, batch, length, fleet.vocabulary)


def _norm(x: Tensor, gain: Tensor, eps: float | None) -> Tensor:
    # As in the library, where no other number is given.
    return functional.rms_norm(x, x.shape[-1:], eps=1e-6 if eps is None else eps) * gain[:, None]


def _linear(x: Tensor, own: Weights, name: str) -> Tensor:
    return torch.baddbmm(own[f"{name}.b"][:, None], x, own[f"{name}.W"])


def _add_position(fleet: Fleet, x: Tensor) -> Tensor:
    """x (M, B, N, d) plus the table of the schemes that add one."""
    length, d = x.shape[-2:]
    if fleet.kind == "learned":
        return x + fleet.weights["position"][:, None, :length]
    adds = [SCHEMES[member.scheme].sinusoid for member in fleet.members]
    if not any(adds):
        return x
    return x + torch.tensor(adds, device=x.device)[:, None, None, None] * _waves(
        length, d, x.device
    )


# Cached, because the library's checks of values make a GPU wait in every step.
@cache
def _waves(length: int, d: int, device: torch.device) -> Tensor:
    return sinusoidal(torch.arange(length), d).to(device)


@cache
def _distances(length: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """How far back each key stands from each query, and its T5 bucket, (N, N) each."""
    distance = torch.arange(length)[:, None] - torch.arange(length)
    bucket = t5_bucket(-distance, bidirectional=False, buckets=BUCKETS)
    return distance.to(device), bucket.to(device)


def _bias(fleet: Fleet, length: int) -> Tensor | None:
    """What is added to the scores, (M, 1, H, N, N), −inf for later keys; None: causal alone."""
    if fleet.kind not in ("T5", "ALiBi"):
        return None
    distance, bucket = _distances(length, fleet.frequencies.device)
    if fleet.kind == "ALiBi":
        slopes = alibi_slopes(fleet.architecture.heads).to(distance.device)
        bias = (-slopes[:, None, None] * distance).float()[None]
    else:
        bias = fleet.weights["position"][:, bucket].movedim(-1, 1)
    return bias.masked_fill(distance < 0, -torch.inf)[:, None]


def _rotary_table(fleet: Fleet, length: int) -> tuple[Tensor, Tensor] | None:
    """cos and sin, (M, layers, 1, 1, N, d_k/2) in float32, or None if nothing turns."""
    if not any(SCHEMES[member.scheme].turned for member in fleet.members):
        return None
    places = torch.arange(length, dtype=torch.float64, device=fleet.frequencies.device)
    angles = places[:, None] * fleet.frequencies[:, :, None, None, None]
    # The factor belongs to what is turned: pairs that stand still keep theirs.
    factor = torch.where(fleet.frequencies != 0, fleet.factor, 1.0)[:, :, None, None, None]
    return (angles.cos() * factor).float(), (angles.sin() * factor).float()


def _turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x (M, B, H, N, d_k) in the half layout."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


def _attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """Causal attention, (M, B, H, N, d_k) → the same shape."""
    if bias is None:
        flat_q, flat_k, flat_v = (tensor.flatten(0, 1).to(v.dtype) for tensor in (q, k, v))
        mixed = functional.scaled_dot_product_attention(flat_q, flat_k, flat_v, is_causal=True)
        return mixed.reshape(v.shape)
    scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1) + bias
    return scores.softmax(-1).to(v.dtype) @ v


def losses(fleet: Fleet, tokens: Tensor) -> Tensor:
    """The loss of predicting each token from those before it, (M, B, N − 1), in nats."""
    logits = forward(fleet, tokens[..., :-1]).float()
    each = functional.cross_entropy(
        logits.flatten(0, 2), tokens[..., 1:].flatten(), reduction="none"
    )
    return each.reshape(tokens.shape[0], tokens.shape[1], -1)

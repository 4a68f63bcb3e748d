"""The Transformer block: attention and feed-forward layer, each with a residual and a norm."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_to_rope.activations import FeedForward
from attention_to_rope.heads import MultiHeadAttention
from attention_to_rope.key_value_cache import KeyValueCache
from attention_to_rope.layers import (
    DeepNormConstants,
    LayerNorm,
    RMSNorm,
    Seed,
    deepnorm_constants,
    deepnorm_pair,
    stream_of,
)

Mask = Bool[Tensor, "..."] | None
Memory = Float[Tensor, "b m d"] | KeyValueCache | None  # of an encoder


@dataclass(frozen=True)
class Architecture:
    """The shape of a Transformer: everything but vocabulary, positions and seed.

    placement: where the norm is placed; `deep` is DeepNorm, with its α and its β. activation: as in
    `FeedForward`. eps: of all norms, the norm's own if not given. kv_heads, head_dim, scale,
    qk_norm, soft_cap, sink, gate: as in `MultiHeadAttention`. embedding_scale: what multiplies the
    embedded tokens, √d if not given.

    >>> Architecture(d=8, heads=2, layers=1, norm="rms").new_norm()
    RMSNorm()
    """

    d: int
    heads: int
    layers: int
    kv_heads: int | None = None
    hidden: int | None = None
    activation: str = "relu"
    norm: Literal["layer", "rms"] = "layer"
    placement: Literal["pre", "post", "sandwich", "deep"] = "pre"
    bias: bool = True
    eps: float | None = None
    head_dim: int | None = None
    scale: float | None = None
    qk_norm: bool = False
    soft_cap: float | None = None
    sink: bool = False
    gate: bool = False
    embedding_scale: float | None = None

    def new_norm(self) -> nn.Module:
        """A fresh norm of this architecture."""
        kind = {"layer": LayerNorm, "rms": RMSNorm}[self.norm]
        return kind(self.d) if self.eps is None else kind(self.d, eps=self.eps)

    def new_attention(self, *, gain: float, seed: Seed) -> MultiHeadAttention:
        """Fresh heads of this architecture."""
        names = ("kv_heads", "head_dim", "bias", "scale", "qk_norm", "soft_cap", "sink", "gate")
        options = {name: getattr(self, name) for name in names}
        if self.eps is not None:
            options["eps"] = self.eps
        return MultiHeadAttention(self.d, self.heads, gain=gain, seed=seed, **options)

    def residual_constants(self, cross: bool, decoder_layers: int | None) -> DeepNormConstants:
        """The weight of the residual and the gain of the weights: DeepNorm's, or 1 and 1."""
        if self.placement != "deep":
            return DeepNormConstants(1.0, 1.0)
        if cross:  # the decoder's constants depend on its own depth alone
            return deepnorm_pair(self.layers, self.layers)[1]
        if decoder_layers is not None:
            return deepnorm_pair(self.layers, decoder_layers)[0]
        return deepnorm_constants(self.layers)


class BlockWeights(NamedTuple):
    """The attention weights of one block, to itself and to the memory."""

    own: Float[Tensor, "b h n n"]
    cross: Float[Tensor, "b h n m"] | None


class Residual(nn.Module):
    r"""A residual connection around a sublayer f, in two steps, with its norms.

    $x' = \operatorname{leave}(x, f(\operatorname{enter}(x)))$; `pre_norm`, `post_norm`,
    `sandwich_norm` and `deep_norm` are the same in one step.
    """

    def __init__(self, architecture: Architecture, *, alpha: float) -> None:
        super().__init__()
        self.placement, self.alpha = architecture.placement, alpha
        self.norm = architecture.new_norm()
        self.norm_out = architecture.new_norm() if self.placement == "sandwich" else nn.Identity()

    def enter(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """The input of the sublayer."""
        normed: Tensor = self.norm(x) if self.placement in ("pre", "sandwich") else x
        return normed

    def leave(self, x: Float[Tensor, "b n d"], y: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """The stream after the sublayer's output y is added."""
        inside = self.placement in ("pre", "sandwich")
        normed: Tensor = self.norm_out(y) if inside else self.norm(self.alpha * x + y)
        return x + normed if inside else normed


class Block(nn.Module):
    """Self-attention, cross-attention if wanted, feed-forward; a residual around each.

    decoder_layers: for DeepNorm, the depth of the decoder behind the encoder of this block.

    >>> Block(Architecture(d=8, heads=2, layers=1), seed=0)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        architecture: Architecture,
        *,
        seed: Seed,
        cross: bool = False,
        decoder_layers: int | None = None,
    ) -> None:
        super().__init__()
        a, rng = architecture, stream_of(seed, "Block")
        alpha, gain = a.residual_constants(cross, decoder_layers)
        self.attention = a.new_attention(gain=gain, seed=rng)
        self.attention_residual = Residual(a, alpha=alpha)
        self.cross_attention = a.new_attention(gain=gain, seed=rng) if cross else None
        self.cross_residual = Residual(a, alpha=alpha) if cross else None
        self.feed_forward = FeedForward(
            a.d, a.hidden, activation=a.activation, bias=a.bias, gain=gain, seed=rng
        )
        self.feed_forward_residual = Residual(a, alpha=alpha)

    def forward(
        self,
        x: Float[Tensor, "b n d"],
        *,
        memory: Memory = None,
        memory_mask: Mask = None,
        return_weights: bool = False,
        **options: Any,
    ) -> Float[Tensor, "b n d"] | tuple[Float[Tensor, "b n d"], BlockWeights]:
        """The whole block; memory: an encoder's output. Other options: see `MultiHeadAttention`."""
        inside = self.attention_residual.enter(x)
        y = self.attention(inside, return_weights=return_weights, **options)
        y, own = y if return_weights else (y, None)
        x = self.attention_residual.leave(x, y)
        x, cross = self._rest(x, memory, memory_mask, return_weights)
        return x if own is None else (x, BlockWeights(own, cross))

    def extend(
        self,
        x: Float[Tensor, "b n d"],
        cache: KeyValueCache,
        *,
        memory: Memory = None,
        memory_mask: Mask = None,
        **options: Any,
    ) -> tuple[Float[Tensor, "b n d"], KeyValueCache]:
        """The block for new positions, causal, with the cache of the earlier ones."""
        inside = self.attention_residual.enter(x)
        y, cache = self.attention.extend(inside, cache, **options)
        x = self.attention_residual.leave(x, y)
        return self._rest(x, memory, memory_mask, return_weights=False)[0], cache

    def _rest(
        self, x: Tensor, memory: Memory, memory_mask: Mask, return_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Cross-attention and feed-forward, and the weights of the former."""
        weights = None
        if (self.cross_attention is None) != (memory is None):
            raise ValueError("a block takes memory if it is built with cross=True, and only then")
        if self.cross_attention is not None and self.cross_residual is not None:
            inner = self.cross_residual.enter(x)
            y = self.cross_attention(inner, memory, mask=memory_mask, return_weights=return_weights)
            y, weights = y if return_weights else (y, None)
            x = self.cross_residual.leave(x, y)
        y = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual.leave(x, y), weights

"""The Transformer block: attention and feed-forward layer, each with a residual and a norm.

In attention, tokens read from each other; in the feed-forward layer, each token is transformed by
itself. Both only *add* to the stream x of shape (b, n, d), which runs through all blocks: with
Pre-Norm, x' = x + attention(norm(x)), then x'' = x' + feed_forward(norm(x')). See `eq-pre-block`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_to_rope.activations import FeedForward
from attention_to_rope.heads import MultiHeadAttention
from attention_to_rope.key_value_cache import Cache, KeyValueCache
from attention_to_rope.layers import (
    RMS_NORM_EPS,
    DeepNormConstants,
    LayerNorm,
    RMSNorm,
    Seed,
    check_at_least,
    deepnorm_constants,
    deepnorm_pair,
    stream_of,
)

Mask = Bool[Tensor, "..."] | None
Memory = Float[Tensor, "b m d"] | KeyValueCache | None  # of an encoder
NewLayer = Callable[..., nn.Module]  # called with seed=

NORMS = ("layer", "rms")
PLACEMENTS = ("pre", "post", "sandwich", "deep")


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

    def __post_init__(self) -> None:
        """Raise for a name that does not exist: a placement would else be taken as another."""
        check_at_least("layers", self.layers, 1)
        for name, known in (("norm", NORMS), ("placement", PLACEMENTS)):
            given = getattr(self, name)
            if given not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}; got {given!r}")

    def new_norm(self) -> nn.Module:
        """A fresh norm of this architecture; every residual connection has its own."""
        kind = {"layer": LayerNorm, "rms": RMSNorm}[self.norm]
        if self.eps is None:
            return kind(self.d)
        return kind(self.d, eps=self.eps)

    def new_attention(self, *, gain: float, seed: Seed) -> MultiHeadAttention:
        """Fresh heads of this architecture."""
        return MultiHeadAttention(
            self.d,
            self.heads,
            seed=seed,
            kv_heads=self.kv_heads,
            head_dim=self.head_dim,
            bias=self.bias,
            gain=gain,
            scale=self.scale,
            qk_norm=self.qk_norm,
            soft_cap=self.soft_cap,
            sink=self.sink,
            gate=self.gate,
            eps=RMS_NORM_EPS if self.eps is None else self.eps,
        )

    def new_feed_forward(self, *, gain: float, seed: Seed) -> FeedForward:
        """A fresh feed-forward layer of this architecture."""
        return FeedForward(
            self.d,
            self.hidden,
            activation=self.activation,
            bias=self.bias,
            gain=gain,
            seed=seed,
        )

    def residual_constants(self, cross: bool, decoder_layers: int | None) -> DeepNormConstants:
        """The weight of the residual and the gain of the weights: DeepNorm's, or 1 and 1.

        See `eq-deep-constants`.
        """
        if self.placement != "deep":
            return DeepNormConstants(alpha=1.0, beta=1.0)
        if cross:  # the decoder's constants depend on its own depth alone
            _, of_decoder = deepnorm_pair(self.layers, self.layers)
            return of_decoder
        if decoder_layers is not None:
            of_encoder, _ = deepnorm_pair(self.layers, decoder_layers)
            return of_encoder
        return deepnorm_constants(self.layers)


class BlockWeights(NamedTuple):
    """The attention weights of one block, to itself and to the memory."""

    own: Float[Tensor, "b h n n"]
    cross: Float[Tensor, "b h n m"] | None


class Residual(nn.Module):
    r"""A residual connection around a sublayer f, in two steps, with its norms.

    $x' = \operatorname{leave}(x, f(\operatorname{enter}(x)))$; `pre_norm`, `post_norm`,
    `sandwich_norm` and `deep_norm` are the same in one step. It is cut in two so that one block can
    hold any sublayer between them, with a cache or without. The four are `eq-placements`.
    """

    def __init__(self, architecture: Architecture, *, alpha: float) -> None:
        super().__init__()
        self.placement = architecture.placement
        self.alpha = alpha
        self.norm = architecture.new_norm()
        self.norm_out: nn.Module = nn.Identity()
        if self.placement == "sandwich":
            self.norm_out = architecture.new_norm()

    def enter(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """The input of the sublayer.

        Pre-Norm gives it a normalized copy. The stream itself is never normalized, so a gradient
        reaches every layer along it unchanged. Post-Norm gives it the stream as it is.
        """
        if self.placement in ("pre", "sandwich"):
            normed: Tensor = self.norm(x)  # (b, n, d)
            return normed
        return x

    def leave(self, x: Float[Tensor, "b n d"], y: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """The stream after the sublayer's output y is added.

        Post-Norm normalizes the sum; DeepNorm does too, after it has weighted the stream by α.
        """
        if self.placement in ("pre", "sandwich"):
            added: Tensor = self.norm_out(y)  # (b, n, d); only `sandwich` changes y here
            return x + added
        normed: Tensor = self.norm(self.alpha * x + y)  # (b, n, d)
        return normed


class Block(nn.Module):
    """Self-attention, cross-attention if wanted, feed-forward; a residual around each.

    decoder_layers: for DeepNorm, the depth of the decoder behind the encoder of this block.
    attention, feed_forward: functions that make another self-attention or feed-forward layer than
    the architecture's when they are called with `seed=`, such as
    `partial(MixtureOfExperts, d, hidden, experts=8, k=2)`. The attention has `forward`, `extend`
    and `static_cache` with the arguments of `MultiHeadAttention`; `LatentAttention` has them.
    DeepNorm's β does not reach such layers.

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
        attention: NewLayer | None = None,
        feed_forward: NewLayer | None = None,
    ) -> None:
        super().__init__()
        rng = stream_of(seed, "Block")
        alpha, gain = architecture.residual_constants(cross, decoder_layers)
        if attention is None:
            attention = partial(architecture.new_attention, gain=gain)
        if feed_forward is None:
            feed_forward = partial(architecture.new_feed_forward, gain=gain)
        self.attention: Any = attention(seed=rng)
        self.attention_residual = Residual(architecture, alpha=alpha)
        self.cross_attention: MultiHeadAttention | None = None
        self.cross_residual: Residual | None = None
        if cross:
            self.cross_attention = architecture.new_attention(gain=gain, seed=rng)
            self.cross_residual = Residual(architecture, alpha=alpha)
        self.feed_forward = feed_forward(seed=rng)
        self.feed_forward_residual = Residual(architecture, alpha=alpha)

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
        # First half: tokens read from each other, and the result is added to the stream.
        inside = self.attention_residual.enter(x)  # (b, n, d)
        own = None
        y = self.attention(inside, return_weights=return_weights, **options)
        if return_weights:
            y, own = y  # (b, n, d) and (b, h, n, n)
        x = self.attention_residual.leave(x, y)  # (b, n, d)
        # Second half: cross-attention, where there is an encoder, and the feed-forward layer.
        x, cross = self._rest(x, memory, memory_mask, return_weights=return_weights)
        return x if own is None else (x, BlockWeights(own, cross))

    def extend(
        self,
        x: Float[Tensor, "b n d"],
        cache: Cache,
        *,
        memory: Memory = None,
        memory_mask: Mask = None,
        **options: Any,
    ) -> tuple[Float[Tensor, "b n d"], Cache]:
        """The block for new positions, causal, with the cache of the earlier ones.

        Only attention looks at other tokens, so it alone needs a cache. All else is computed for
        the n new tokens.
        """
        inside = self.attention_residual.enter(x)  # (b, n, d)
        y, cache = self.attention.extend(inside, cache, **options)
        x = self.attention_residual.leave(x, y)  # (b, n, d)
        x, _ = self._rest(x, memory, memory_mask, return_weights=False)
        return x, cache

    def _rest(
        self, x: Tensor, memory: Memory, memory_mask: Mask, *, return_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Cross-attention and feed-forward, and the weights of the former."""
        if (self.cross_attention is None) != (memory is None):
            raise ValueError("a block takes memory if it is built with cross=True, and only then")
        # Queries from this stream, keys and values from the encoder's memory: `eq-cross-attention`.
        weights = None
        if self.cross_attention is not None and self.cross_residual is not None:
            inside = self.cross_residual.enter(x)  # (b, n, d)
            y = self.cross_attention(
                inside, memory, mask=memory_mask, return_weights=return_weights
            )
            if return_weights:
                y, weights = y  # (b, n, d) and (b, h, n, m)
            x = self.cross_residual.leave(x, y)  # (b, n, d)
        # Each token by itself: `eq-ffn`.
        inside = self.feed_forward_residual.enter(x)  # (b, n, d)
        y = self.feed_forward(inside)  # (b, n, d)
        return self.feed_forward_residual.leave(x, y), weights

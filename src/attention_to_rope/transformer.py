"""Block, encoder, decoder and encoder–decoder, with any positional scheme as one argument."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attention_to_rope.activations import GATED, PLAIN, FeedForward
from attention_to_rope.checks import (
    check_choice,
    check_count,
    check_flag,
    check_float,
    check_integer_type,
    check_mask_type,
    check_positive,
    check_sequence_positions,
)
from attention_to_rope.heads import (
    MultiHeadAttention,
    PlacedScheme,
    acts_on_scores,
    check_bias_heads,
    check_cache,
    check_head_counts,
    check_scheme,
    place,
)
from attention_to_rope.key_value_cache import KeyValueCache
from attention_to_rope.layers import BIAS, Embedding, FixedSizes, Linear, Seed, stream_of
from attention_to_rope.norms import (
    DeepNormConstants,
    LayerNorm,
    RMSNorm,
    deepnorm_constants,
    deepnorm_pair,
)
from attention_to_rope.positions import PositionalScheme

PLACEMENTS = ("pre", "post", "sandwich", "deep")
NORMS = ("layer", "rms")


@dataclass(frozen=True)
class Architecture:
    """The shape of a Transformer: everything but vocabulary, positions and seed.

    placement: where the norm stands, `pre`, `post`, `sandwich` or `deep` (DeepNorm, with its α and
    its β). norm: `layer` or `rms`. activation: as in `FeedForward`. eps: of all norms, the norm's
    own if not given. kv_heads, head_dim, scale, qk_norm, soft_cap, sink, gate: as in
    `MultiHeadAttention`. embedding_scale: what multiplies the embedded tokens, √d if not given.
    """

    d: int
    heads: int
    layers: int
    kv_heads: int | None = None
    hidden: int | None = None
    activation: str = "relu"
    norm: str = "layer"
    placement: str = "pre"
    bias: bool = BIAS
    eps: float | None = None
    head_dim: int | None = None
    scale: float | None = None
    qk_norm: bool = False
    soft_cap: float | None = None
    sink: bool = False
    gate: bool = False
    embedding_scale: float | None = None

    def __post_init__(self) -> None:
        check_head_counts(self.d, self.heads, self.kv_heads, self.head_dim)
        check_count("layers", self.layers)
        if self.hidden is not None:
            check_count("hidden", self.hidden)
        check_choice("activation", self.activation, (*PLAIN, *GATED))
        check_choice("norm", self.norm, NORMS)
        check_choice("placement", self.placement, PLACEMENTS)
        for name in ("bias", "qk_norm", "sink", "gate"):
            check_flag(name, getattr(self, name))
        for name in ("eps", "scale", "soft_cap", "embedding_scale"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))

    def new_norm(self, d: int | None = None) -> nn.Module:
        """A fresh norm of this architecture, over d or so many dimensions."""
        kind = LayerNorm if self.norm == "layer" else RMSNorm
        width = self.d if d is None else d
        return kind(width) if self.eps is None else kind(width, eps=self.eps)

    def new_attention(self, *, gain: float, seed: Seed) -> MultiHeadAttention:
        """Fresh heads of this architecture."""
        return MultiHeadAttention(
            self.d,
            self.heads,
            kv_heads=self.kv_heads,
            head_dim=self.head_dim,
            bias=self.bias,
            gain=gain,
            scale=self.scale,
            qk_norm=self.qk_norm,
            soft_cap=self.soft_cap,
            sink=self.sink,
            gate=self.gate,
            **({} if self.eps is None else {"eps": self.eps}),
            seed=seed,
        )


@dataclass(frozen=True)
class LayerPattern:
    """What may differ from layer to layer of a decoder.

    window: how many of the nearest positions a query sees, itself included; None: all earlier ones.
    position: the scheme of this layer's scores, such as `Rotary` with a base of its own; None:
    none (NoPE).
    """

    window: int | None = None
    position: PositionalScheme | None = None

    def __post_init__(self) -> None:
        if self.window is not None:
            check_count("window", self.window)
        check_scheme(self.position)
        if self.position is not None and not acts_on_scores(self.position):
            raise ValueError(
                f"{type(self.position).__name__} acts on the input, not in a layer: give it to the "
                "decoder as position="
            )


class BlockWeights(NamedTuple):
    """The attention weights of one block: (B, H, N, N) and, with cross-attention, (B, H, N, M)."""

    own: Tensor
    cross: Tensor | None


class Residual(nn.Module):
    r"""A residual connection around a sublayer f, in two steps, with its norms.

    $x' = \operatorname{leave}(x, f(\operatorname{enter}(x)))$; `pre_norm`, `post_norm`,
    `sandwich_norm` and `deep_norm` are the same in one.
    """

    def __init__(self, architecture: Architecture, *, alpha: float) -> None:
        super().__init__()
        self.placement, self.alpha = architecture.placement, alpha
        self.norm = architecture.new_norm()
        self.norm_out = architecture.new_norm() if self.placement == "sandwich" else None

    def enter(self, x: Tensor) -> Tensor:
        """What the sublayer gets."""
        normed: Tensor = self.norm(x) if self.placement in ("pre", "sandwich") else x
        return normed

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        """The stream after the sublayer's output y is added."""
        if self.placement == "pre":
            return x + y
        normed: Tensor
        if self.norm_out is not None:
            normed = self.norm_out(y)
            return x + normed
        normed = self.norm(self.alpha * x + y)
        return normed


class Block(FixedSizes):
    """Self-attention, cross-attention if wanted, feed-forward; a residual around each.

    decoder_layers: for DeepNorm, that the block is part of an encoder before a decoder so deep.
    """

    fixed = ("d",)

    def __init__(
        self,
        architecture: Architecture,
        *,
        seed: Seed,
        cross: bool = False,
        decoder_layers: int | None = None,
    ) -> None:
        super().__init__()
        check_architecture(architecture)
        check_flag("cross", cross)
        a = architecture
        rng = stream_of(seed, "Block")
        alpha, gain = residual_constants(a, cross, decoder_layers)
        self.d = a.d
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
        x: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        window: int | None = None,
        position: PositionalScheme | PlacedScheme | None = None,
        positions: Tensor | None = None,
        memory: Tensor | KeyValueCache | None = None,
        memory_mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, BlockWeights]:
        """x (B, N, d), memory (B, M, d) → (B, N, d), with `return_weights` also the weights.

        mask, causal, window, positions: as in `MultiHeadAttention`. memory: vectors, or their keys
        and values as `cross_attention.remember` gives.
        """
        check_stream(x, self.d)
        y = self.attention(
            self.attention_residual.enter(x),
            mask=mask,
            causal=causal,
            window=window,
            position=position,
            positions=positions,
            return_weights=return_weights,
        )
        y, own = y if return_weights else (y, None)
        x = self.attention_residual.leave(x, y)
        x, cross = self._look_at_memory(x, memory, memory_mask, return_weights)
        x = self._feed_forward(x)
        return x if own is None else (x, BlockWeights(own, cross))

    def extend(
        self,
        x: Tensor,
        cache: KeyValueCache,
        *,
        mask: Tensor | None = None,
        position: PositionalScheme | PlacedScheme | None = None,
        positions: Tensor | None = None,
        window: int | None = None,
        memory: Tensor | KeyValueCache | None = None,
        memory_mask: Tensor | None = None,
    ) -> tuple[Tensor, KeyValueCache]:
        """The block for new positions x (B, N, d), causal, with the cache of the earlier ones.

        mask, positions, window: as in `MultiHeadAttention.extend`.
        """
        check_stream(x, self.d)
        y, longer = self.attention.extend(
            self.attention_residual.enter(x),
            cache,
            mask=mask,
            position=position,
            positions=positions,
            window=window,
        )
        x = self.attention_residual.leave(x, y)
        x, _ = self._look_at_memory(x, memory, memory_mask, return_weights=False)
        return self._feed_forward(x), longer

    def _feed_forward(self, x: Tensor) -> Tensor:
        residual = self.feed_forward_residual
        return residual.leave(x, self.feed_forward(residual.enter(x)))

    def _look_at_memory(
        self,
        x: Tensor,
        memory: Tensor | KeyValueCache | None,
        memory_mask: Tensor | None,
        return_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        if self.cross_attention is None or self.cross_residual is None:
            if memory is not None or memory_mask is not None:
                raise ValueError("this block has no cross-attention: build it with cross=True")
            return x, None
        if memory is None:
            raise ValueError("a block with cross-attention needs memory, the encoder's output")
        y = self.cross_attention(
            self.cross_residual.enter(x), memory, mask=memory_mask, return_weights=return_weights
        )
        y, weights = y if return_weights else (y, None)
        return self.cross_residual.leave(x, y), weights


class _Stack(FixedSizes):
    """Token embedding times √d, the scheme's embedding, the blocks, a last norm where needed."""

    fixed = ("architecture", "cross", "layers")
    patterns: tuple[LayerPattern, ...]
    causal = False

    def __init__(
        self,
        vocabulary: int,
        architecture: Architecture,
        position: PositionalScheme | None,
        seed: np.random.Generator,
        cross: bool,
        layers: Sequence[LayerPattern] | None = None,
        decoder_layers: int | None = None,
    ) -> None:
        super().__init__()
        check_count("vocabulary", vocabulary)
        check_architecture(architecture)
        a = architecture
        self.architecture, self.cross = a, cross
        self.layers = None if layers is None else layer_list(layers)
        self.embedding = Embedding(vocabulary, a.d, seed=seed, deviation=1 / math.sqrt(a.d))
        self.position = PositionalScheme() if position is None else position
        given = self.layers or ()
        schemes = {id(p.position): p.position for p in given if p.position is not None}
        self.layer_schemes = nn.ModuleList(schemes.values())
        self.blocks = nn.ModuleList(
            Block(a, seed=seed, cross=cross, decoder_layers=decoder_layers) for _ in range(a.layers)
        )
        # Post-norm and DeepNorm end normalised; the others leave a stream that grows with depth.
        self.norm = a.new_norm() if a.placement in ("pre", "sandwich") else nn.Identity()

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a new `position` reaches every layer, and is checked as the first."""
        if name != "position":
            return super().__setattr__(name, value)
        check_scheme(value)
        scheme = PositionalScheme() if value is None else value
        patterns = layer_patterns(self.layers, scheme, self.architecture.layers)
        super().__setattr__(name, scheme)
        super().__setattr__("patterns", patterns)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens (B, N) → vectors (B, N, d) with the position, if the scheme acts there."""
        check_tokens(tokens)
        check_sequence_positions(positions, *tokens.shape, device=tokens.device)
        a = self.architecture
        x = self.embedding(tokens) * (a.embedding_scale or math.sqrt(a.d))
        return self.position.embed(x, positions)

    def run(
        self,
        tokens: Tensor,
        mask: Tensor | None,
        positions: Tensor | None,
        memory: Tensor | Sequence[KeyValueCache] | None,
        memory_mask: Tensor | None,
        return_weights: bool,
    ) -> tuple[Tensor, list[BlockWeights]]:
        """All blocks over the whole sequence, each with its window and scheme."""
        every = torch.arange(tokens.shape[-1], device=tokens.device)
        every = every if positions is None else positions
        x = self.embed(tokens, every)
        weights: list[BlockWeights] = []
        for block, pattern, position, held in zip(
            self.blocks,
            self.patterns,
            self.placed(every, x.dtype, start=0),
            self.one_per_block(memory),
            strict=True,
        ):
            x = block(
                x,
                mask=mask,
                causal=self.causal,
                window=pattern.window,
                position=position,
                positions=positions,
                memory=held,
                memory_mask=memory_mask,
                return_weights=return_weights,
            )
            if return_weights:
                x, seen = x
                weights.append(seen)
        return self.norm(x), weights

    def placed(self, positions: Tensor, dtype: torch.dtype, *, start: int) -> list[PlacedScheme]:
        """The scheme of every layer at these positions; layers that share one share its table."""
        schemes = [pattern.position for pattern in self.patterns]
        # The compiler of torch 2.11 knows no id(None).
        different = {0 if s is None else id(s): s for s in schemes}
        once = {key: place(s, positions, dtype, start=start) for key, s in different.items()}
        for each in once.values():
            check_bias_heads(each, self.architecture.heads)
        return [once[0 if s is None else id(s)] for s in schemes]

    def one_per_block(
        self, memory: Tensor | Sequence[KeyValueCache] | None
    ) -> Sequence[Tensor | KeyValueCache | None]:
        """The memory for every block: the same vectors, or the keys and values of each."""
        if memory is None or isinstance(memory, Tensor):
            return [memory] * len(self.blocks)
        if not isinstance(memory, Sequence) or len(memory) != len(self.blocks):
            raise TypeError(
                "memory must be a tensor (B, M, d) or what Decoder.remember gives, one "
                f"KeyValueCache per block; got {type(memory).__name__}"
            )
        return memory


class Encoder(_Stack):
    """Every position sees every other. Tokens (B, N) → vectors (B, N, d).

    `position` is the positional scheme: `Sinusoidal()`, `Rotary(...)`, … or None for none.
    decoder_layers: the depth of the decoder behind it, which DeepNorm's constants depend on.
    """

    def __init__(
        self,
        vocabulary: int,
        architecture: Architecture,
        *,
        seed: Seed,
        position: PositionalScheme | None = None,
        decoder_layers: int | None = None,
    ) -> None:
        rng = stream_of(seed, "Encoder")
        super().__init__(
            vocabulary, architecture, position, rng, cross=False, decoder_layers=decoder_layers
        )

    def forward(
        self,
        tokens: Tensor,
        *,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, list[BlockWeights]]:
        """Tokens (B, N), mask such as `padding_mask` → (B, N, d)"""
        check_tokens(tokens)
        x, weights = self.run(tokens, mask, positions, None, None, return_weights)
        return (x, weights) if return_weights else x


class Decoder(_Stack):
    """Every position sees itself and earlier ones. Tokens (B, N) → logits (B, N, vocabulary).

    With `cross=True` every block also looks at `memory`, an encoder's output.

    `position` is one scheme for all layers. `layers` gives each layer its own window and scheme
    instead, a list of `LayerPattern` that is repeated until every layer has one: five local layers
    and a global one, a NoPE layer among rotary ones, two bases. Beside it, `position` may hold a
    scheme that acts on the input. `tied`: the embedding, transposed, is the head as well.
    """

    causal = True

    def __init__(
        self,
        vocabulary: int,
        architecture: Architecture,
        *,
        seed: Seed,
        position: PositionalScheme | None = None,
        cross: bool = False,
        layers: Sequence[LayerPattern] | None = None,
        tied: bool = False,
    ) -> None:
        check_flag("tied", tied)
        rng = stream_of(seed, "Decoder")
        super().__init__(vocabulary, architecture, position, rng, cross, layers)
        self.head = None if tied else Linear(architecture.d, vocabulary, bias=False, seed=rng)

    def logits(self, x: Tensor) -> Tensor:
        """The last vectors (B, N, d) → (B, N, vocabulary), by the head or the embedding."""
        return x @ self.embedding.rows.mT if self.head is None else self.head(x)

    def forward(
        self,
        tokens: Tensor,
        *,
        memory: Tensor | Sequence[KeyValueCache] | None = None,
        memory_mask: Tensor | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, list[BlockWeights]]:
        """The logits of the next token at every position. `mask` restricts the causal mask more."""
        check_tokens(tokens)
        x, weights = self.run(tokens, mask, positions, memory, memory_mask, return_weights)
        logits = self.logits(x)
        return (logits, weights) if return_weights else logits

    @property
    def depends_on_length(self) -> bool:
        """Whether some layer's scheme treats positions by the length of the whole sequence."""
        schemes = (pattern.position for pattern in self.patterns)
        return any(scheme is not None and scheme.depends_on_length for scheme in schemes)

    def changes(self, before: int, after: int) -> bool:
        """Whether what was computed at one length is no longer true at the other.

        A scheme that changes with the length changes the outputs of earlier positions too, and with
        them the keys of the next layer: caches of several layers have to be made anew.
        """
        schemes = (pattern.position for pattern in self.patterns)
        return any(scheme is not None and scheme.changes(before, after) for scheme in schemes)

    def empty_caches(self, *, capacity: int = 0) -> list[KeyValueCache]:
        """One empty cache per block, to begin with; with room for `capacity` positions."""
        return [KeyValueCache(capacity=capacity) for _ in self.blocks]

    def remember(self, memory: Tensor) -> list[KeyValueCache]:
        """The cross keys and values of every block, computed once for many steps."""
        if not self.cross:
            raise ValueError("this decoder has no cross-attention: build it with cross=True")
        check_stream(memory, self.architecture.d, name="memory")
        remembered = []
        for block in self.blocks:
            assert isinstance(block, Block)  # a ModuleList forgets the type of what it holds
            assert block.cross_attention is not None
            remembered.append(block.cross_attention.remember(memory))
        return remembered

    def extend(
        self,
        tokens: Tensor,
        caches: Sequence[KeyValueCache],
        *,
        memory: Tensor | Sequence[KeyValueCache] | None = None,
        memory_mask: Tensor | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> tuple[Tensor, list[KeyValueCache]]:
        """The logits of new tokens (B, N) after those in the caches, and the longer caches.

        mask, positions: over the cached and the new, as in `MultiHeadAttention.extend`.
        """
        check_tokens(tokens)
        start = self._cached_length(caches)
        length = start + tokens.shape[1]
        every = torch.arange(length, device=tokens.device) if positions is None else positions
        check_sequence_positions(every, tokens.shape[0], length, device=tokens.device)
        x = self.embed(tokens, every[..., start:])
        longer = []
        for block, cache, pattern, position, held in zip(
            self.blocks,
            caches,
            self.patterns,
            self.placed(every, x.dtype, start=start),
            self.one_per_block(memory),
            strict=True,
        ):
            assert isinstance(block, Block)  # a ModuleList forgets the type of what it holds
            x, cache = block.extend(
                x,
                cache,
                mask=mask,
                position=position,
                positions=positions,
                window=pattern.window,
                memory=held,
                memory_mask=memory_mask,
            )
            longer.append(cache)
        return self.logits(self.norm(x)), longer

    def _cached_length(self, caches: Sequence[KeyValueCache]) -> int:
        if not isinstance(caches, Sequence) or len(caches) != len(self.blocks):
            arrived = len(caches) if isinstance(caches, Sequence) else type(caches).__name__
            raise ValueError(f"caches must be one per block, {len(self.blocks)}; got {arrived}")
        for i, cache in enumerate(caches):
            check_cache(f"caches[{i}]", cache)
        lengths = {cache.length for cache in caches}
        if len(lengths) > 1:
            raise ValueError(
                f"caches must hold the same positions, got lengths {[c.length for c in caches]}"
            )
        return caches[0].length


class EncoderDecoder(nn.Module):
    """An encoder reads the source; a decoder with cross-attention writes the target."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        if not isinstance(encoder, Encoder) or not isinstance(decoder, Decoder):
            raise TypeError(
                f"expected an Encoder and a Decoder, got {type(encoder).__name__} and "
                f"{type(decoder).__name__}"
            )
        if encoder.architecture.d != decoder.architecture.d:
            raise ValueError(
                f"encoder and decoder must have the same d, got {encoder.architecture.d} and "
                f"{decoder.architecture.d}"
            )
        if not decoder.cross:
            raise ValueError("the decoder must be built with cross=True to see the encoder")
        self.encoder = encoder
        self.decoder = decoder

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        *,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
    ) -> Tensor:
        """source (B, M), target (B, N) → logits (B, N, vocabulary); `source_mask` (B, 1, M)."""
        check_source_mask(source_mask, source)
        memory = self.encoder(source, mask=source_mask)
        logits: Tensor = self.decoder(
            target, memory=memory, memory_mask=source_mask, mask=target_mask
        )
        return logits


def residual_constants(
    architecture: Architecture, cross: bool, decoder_layers: int | None
) -> DeepNormConstants:
    """The weight of the residual and the gain of the weights: DeepNorm's, or 1 and 1."""
    if decoder_layers is not None:
        check_count("decoder_layers", decoder_layers)
    if architecture.placement != "deep":
        return DeepNormConstants(1.0, 1.0)
    layers = architecture.layers
    if cross:  # the decoder's constants depend on its own depth alone
        return deepnorm_pair(layers, layers).decoder
    if decoder_layers is not None:
        return deepnorm_pair(layers, decoder_layers).encoder
    return deepnorm_constants(layers)


def layer_list(layers: Sequence[LayerPattern]) -> tuple[LayerPattern, ...]:
    """The patterns as they are; raise unless they are a list of them."""
    if not isinstance(layers, Sequence) or not all(isinstance(p, LayerPattern) for p in layers):
        raise TypeError(f"layers must be a list of LayerPattern, got {layers!r}")
    return tuple(layers)


def layer_patterns(
    layers: Sequence[LayerPattern] | None, position: PositionalScheme, count: int
) -> tuple[LayerPattern, ...]:
    """The pattern of each of `count` layers: those given, repeated, or the same for all."""
    if layers is None:
        scheme = position if acts_on_scores(position) else None
        return (LayerPattern(position=scheme),) * count
    if not 1 <= len(layers) <= count:
        raise ValueError(f"layers must hold 1 to {count} patterns, got {len(layers)}")
    if type(position) is not PositionalScheme and acts_on_scores(position):
        raise ValueError(
            f"{type(position).__name__} acts in the layers: with layers=, give it to each "
            "LayerPattern(position=...) that is to use it"
        )
    return tuple(layers[i % len(layers)] for i in range(count))


def check_architecture(architecture: Architecture) -> None:
    """Raise unless `architecture` is one."""
    if not isinstance(architecture, Architecture):
        raise TypeError(f"architecture must be an Architecture, got {type(architecture).__name__}")


def check_tokens(tokens: Tensor, *, name: str = "tokens") -> None:
    """Raise unless `tokens` is an integer tensor (B, N) with N ≥ 1."""
    check_integer_type(name, tokens)
    if tokens.ndim != 2 or tokens.shape[1] == 0:
        raise ValueError(f"{name} must have shape (B, N) with N ≥ 1, got {tuple(tokens.shape)}")


def check_stream(x: Tensor, d: int, *, name: str = "x") -> None:
    """Raise unless x is (B, N, d)."""
    check_float(name, x)
    if x.ndim != 3 or x.shape[-1] != d or x.shape[1] == 0:
        raise ValueError(f"{name} must have shape (B, N, d={d}) with N ≥ 1, got {tuple(x.shape)}")


def check_source_mask(mask: Tensor | None, source: Tensor) -> None:
    """Raise unless `mask` says which source tokens may be seen, by encoder and decoder alike."""
    check_tokens(source, name="source")
    if mask is None:
        return
    check_mask_type(mask, name="source_mask")
    batch, length = source.shape
    if tuple(mask.shape) not in ((batch, 1, length), (1, 1, length), (1, length)):
        raise ValueError(
            f"source_mask must have shape ({batch}, 1, {length}) as padding_mask gives: encoder "
            f"and decoder both use it; got {tuple(mask.shape)}. For a mask with a row per query "
            "call encoder and decoder yourself"
        )

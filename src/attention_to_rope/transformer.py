"""Encoder, decoder and encoder–decoder, with any positional scheme as one argument.

Tokens (b, n) become vectors (b, n, d), pass through the blocks, and end as vectors (encoder) or as
logits (b, n, vocabulary) of the next token (decoder). Encoder and decoder differ in one thing: in a
decoder, a token sees only itself and earlier ones.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from attention_to_rope.block import Architecture, Block, BlockWeights, Mask, NewLayer
from attention_to_rope.key_value_cache import Cache, KeyValueCache, StaticCache
from attention_to_rope.layers import Embedding, Linear, Seed, stream_of
from attention_to_rope.positions import ALL, Encoding, PositionalScheme

Memory = Float[Tensor, "b m d"] | Sequence[KeyValueCache] | None


class LayerPattern(NamedTuple):
    """What may differ from layer to layer of a decoder.

    window: how many of the nearest positions a query sees, itself included; None: all earlier ones.
    scheme: that of this layer's scores, such as `Rotary` with a base of its own; None: none (NoPE).
    attention, feed_forward: make other layers than the architecture's, as in `Block`.

    >>> LayerPattern(window=512).window
    512
    """

    window: int | None = None
    scheme: PositionalScheme | None = None
    attention: NewLayer | None = None
    feed_forward: NewLayer | None = None


class _Stack(nn.Module):
    """Token embedding times √d, the scheme's embedding, the blocks, a last norm where needed."""

    causal = False

    def __init__(
        self,
        vocabulary: int,
        architecture: Architecture,
        *,
        rng: np.random.Generator,
        scheme: PositionalScheme | None,
        cross: bool = False,
        layers: Sequence[LayerPattern] | None = None,
        decoder_layers: int | None = None,
    ) -> None:
        super().__init__()
        if layers is not None and scheme is not None and not scheme.acts_on_input:
            raise ValueError("with layers=, give each LayerPattern the scheme that acts there")
        # Rows of the embedding have a length near 1; `embed` multiplies them by √d, so that each of
        # the d numbers has a variance near 1, like the position code that may be added.
        d = architecture.d
        self.architecture = architecture
        self.cross = cross
        self.embedding = Embedding(vocabulary, d, seed=rng, deviation=1 / math.sqrt(d))
        self.scheme = PositionalScheme() if scheme is None else scheme
        self.layers = None if layers is None else tuple(layers)
        # Modules, so that a model that moves to a GPU takes the schemes of its layers along.
        self.layer_schemes = nn.ModuleList()
        for pattern in layers or ():
            if pattern.scheme is not None and pattern.scheme not in self.layer_schemes:
                self.layer_schemes.append(pattern.scheme)
        self.blocks = nn.ModuleList()
        for pattern in self.patterns():
            block = Block(
                architecture,
                seed=rng,
                cross=cross,
                decoder_layers=decoder_layers,
                attention=pattern.attention,
                feed_forward=pattern.feed_forward,
            )
            self.blocks.append(block)
        # Post-norm and DeepNorm end normalized; the others leave a stream that grows with depth.
        self.norm: nn.Module = nn.Identity()
        if architecture.placement in ("pre", "sandwich"):
            self.norm = architecture.new_norm()

    def patterns(self) -> list[LayerPattern]:
        """What every layer has: the patterns given, repeated, or the same for all."""
        scheme = None if self.scheme.acts_on_input else self.scheme
        given = self.layers or (LayerPattern(scheme=scheme),)
        return [given[i % len(given)] for i in range(self.architecture.layers)]

    def embed(
        self, tokens: Integer[Tensor, "b n"], positions: Integer[Tensor, "*b n"]
    ) -> Float[Tensor, "b n d"]:
        """The vectors of tokens, with their positions if the scheme acts there."""
        # Only a scheme that acts on the input, such as `Sinusoidal`, changes x in the last line.
        # RoPE and the biases act on the scores of every layer.
        scale = self.architecture.embedding_scale
        if scale is None:
            scale = math.sqrt(self.architecture.d)
        x = self.embedding(tokens) * scale  # (b, n, d)
        return self.scheme.embed(x, positions)

    def run(
        self,
        tokens: Integer[Tensor, "b n"],
        *,
        caches: Sequence[Cache] | None = None,
        memory: Memory = None,
        memory_mask: Mask = None,
        mask: Mask = None,
        positions: Integer[Tensor, "*b m"] | None = None,
        return_weights: bool = False,
    ) -> tuple[Float[Tensor, "b n d"], list[Cache], list[BlockWeights]]:
        """All blocks over new tokens, after those in the caches if there are any."""
        # n new tokens follow those in the caches; positions count all of them, m in number.
        n = tokens.shape[1]
        slots = caches[0].slots(n) if caches else ALL  # of the new tokens among all m
        total = caches[0].total(n) if caches else n  # m
        if positions is None:
            positions = torch.arange(total, device=tokens.device)
        if positions.shape[-1] != total:
            raise ValueError(f"positions must be given for all {total}, got {positions.shape[-1]}")
        if caches is not None and return_weights:
            raise ValueError("attention weights are returned by a call without a cache only")
        # From here on, x is the stream to which every block adds.
        x = self.embed(tokens, positions[..., slots])  # (b, n, d)
        encodings: dict[PositionalScheme, Encoding] = {}  # layers with one scheme share one
        new_caches: list[Cache] = []
        weights: list[BlockWeights] = []
        for i, (block, pattern) in enumerate(zip(self.blocks, self.patterns(), strict=True)):
            # The table of RoPE, or the bias, is computed once and used by all layers that share it.
            scheme = pattern.scheme
            if scheme is not None and scheme not in encodings:
                encodings[scheme] = scheme.at(positions, x.dtype, slots)
            options: dict[str, Any] = {
                "mask": mask,
                "window": pattern.window,
                "scheme": None if scheme is None else encodings[scheme],
                "memory": memory if memory is None or isinstance(memory, Tensor) else memory[i],
                "memory_mask": memory_mask,
            }
            # With a cache the block computes the new tokens only; without one, the whole text.
            if caches is not None:
                assert isinstance(block, Block)  # a ModuleList forgets the type of what it holds
                x, cache = block.extend(x, caches[i], **options)  # (b, n, d)
                new_caches.append(cache)
            elif return_weights:
                x, of_block = block(x, causal=self.causal, return_weights=True, **options)
                weights.append(of_block)
            else:
                x = block(x, causal=self.causal, **options)  # (b, n, d)
        return self.norm(x), new_caches, weights


class Encoder(_Stack):
    """Every position sees every other. Tokens → vectors.

    `scheme` is the positional scheme: `Sinusoidal()`, `Rotary(...)`, … or None for none.
    decoder_layers: the depth of the decoder behind it, which DeepNorm's constants depend on.

    >>> Encoder(5, Architecture(d=8, heads=2, layers=1), seed=0)(torch.tensor([[1, 4]])).shape
    torch.Size([1, 2, 8])
    """

    def __init__(
        self,
        vocabulary: int,
        architecture: Architecture,
        *,
        seed: Seed,
        scheme: PositionalScheme | None = None,
        decoder_layers: int | None = None,
    ) -> None:
        rng = stream_of(seed, "Encoder")
        super().__init__(
            vocabulary, architecture, rng=rng, scheme=scheme, decoder_layers=decoder_layers
        )

    def forward(
        self,
        tokens: Integer[Tensor, "b n"],
        *,
        mask: Mask = None,
        positions: Integer[Tensor, "*b n"] | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "b n d"] | tuple[Float[Tensor, "b n d"], list[BlockWeights]]:
        """The vectors of all tokens; mask such as `padding_mask` gives."""
        x, _, weights = self.run(
            tokens, mask=mask, positions=positions, return_weights=return_weights
        )
        return (x, weights) if return_weights else x


class Decoder(_Stack):
    """Every position sees itself and earlier ones. Tokens → logits of the next token.

    With `cross=True` every block also attends to `memory`, an encoder's output.

    `scheme` is that of all layers. `layers` gives each layer its own window and scheme
    instead, a list of `LayerPattern` that is repeated until every layer has one: five local layers
    and a global one, a NoPE layer among rotary ones, two bases. `tied`: the embedding, transposed,
    is the head as well. The head computes `eq-logits`, and `eq-loss` is what training minimizes.

    >>> Decoder(5, Architecture(d=8, heads=2, layers=1), seed=0)(torch.tensor([[1, 4]])).shape
    torch.Size([1, 2, 5])
    """

    causal = True

    def __init__(
        self,
        vocabulary: int,
        architecture: Architecture,
        *,
        seed: Seed,
        scheme: PositionalScheme | None = None,
        cross: bool = False,
        layers: Sequence[LayerPattern] | None = None,
        tied: bool = False,
    ) -> None:
        rng = stream_of(seed, "Decoder")
        super().__init__(
            vocabulary, architecture, rng=rng, scheme=scheme, cross=cross, layers=layers
        )
        self.head = None if tied else Linear(architecture.d, vocabulary, bias=False, seed=rng)

    def logits(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n vocabulary"]:
        """The last vectors, by the head or the embedding."""
        if self.head is None:
            return x @ self.embedding.rows.mT  # (b, n, d) @ (d, vocabulary)
        logits: Tensor = self.head(x)
        return logits

    def forward(
        self,
        tokens: Integer[Tensor, "b n"],
        *,
        memory: Memory = None,
        memory_mask: Mask = None,
        mask: Mask = None,
        positions: Integer[Tensor, "*b n"] | None = None,
        return_weights: bool = False,
    ) -> (
        Float[Tensor, "b n vocabulary"] | tuple[Float[Tensor, "b n vocabulary"], list[BlockWeights]]
    ):
        """The logits at every position. `mask` restricts the causal mask further."""
        x, _, weights = self.run(
            tokens,
            memory=memory,
            memory_mask=memory_mask,
            mask=mask,
            positions=positions,
            return_weights=return_weights,
        )
        return (self.logits(x), weights) if return_weights else self.logits(x)

    def extend(
        self, tokens: Integer[Tensor, "b n"], caches: Sequence[Cache], **options: Any
    ) -> tuple[Float[Tensor, "b n vocabulary"], list[Cache]]:
        """The logits of new tokens after those in the caches, and the caches that hold them too.

        Options as in `forward`; mask and positions are those of the cached and the new tokens, or
        of all slots of static caches. With these, `torch.compile(decoder.extend, fullgraph=True)`
        compiles one graph for all steps.
        """
        x, new_caches, _ = self.run(tokens, caches=caches, **options)
        return self.logits(x), new_caches

    def empty_caches(self, *, capacity: int = 0) -> list[KeyValueCache]:
        """One empty cache per block, to begin with; with room for `capacity` positions."""
        return [KeyValueCache(capacity=capacity) for _ in self.blocks]

    def static_caches(self, batch: int, *, capacity: int) -> list[StaticCache]:
        """One empty cache of fixed size per block, for `batch` texts of at most this length."""
        caches = []
        for block in self.blocks:
            attention: Any = block.attention
            caches.append(attention.static_cache(batch, capacity=capacity))
        return caches

    def remember(self, memory: Float[Tensor, "b m d"]) -> list[KeyValueCache]:
        """The cross keys and values of every block, computed once for many steps."""
        caches = []
        for block in self.blocks:
            cross_attention: Any = block.cross_attention
            caches.append(cross_attention.remember(memory))
        return caches


class EncoderDecoder(nn.Module):
    """An encoder reads the source; a decoder with cross-attention writes the target.

    See `eq-encoder-block` and `eq-decoder-block`.

    >>> small = Architecture(d=8, heads=2, layers=1)
    >>> model = EncoderDecoder(Encoder(5, small, seed=0), Decoder(5, small, seed=0, cross=True))
    >>> source = torch.tensor([[1, 4, 2]])
    >>> model(source, source[:, :2]).shape
    torch.Size([1, 2, 5])
    """

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(
        self,
        source: Integer[Tensor, "b m"],
        target: Integer[Tensor, "b n"],
        *,
        source_mask: Mask = None,
        target_mask: Mask = None,
    ) -> Float[Tensor, "b n vocabulary"]:
        """The logits of the target; `source_mask` (b, 1, m), used by encoder and decoder."""
        memory = self.encoder(source, mask=source_mask)  # (b, m, d)
        logits: Tensor = self.decoder(
            target, memory=memory, memory_mask=source_mask, mask=target_mask
        )  # (b, n, vocabulary)
        return logits

"""Block, encoder, decoder and encoder–decoder, with any positional scheme as one argument."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attention_to_rope.activations import FeedForward
from attention_to_rope.checks import (
    check_choice,
    check_count,
    check_heads,
    check_integers,
    check_positive,
)
from attention_to_rope.heads import MultiHeadAttention
from attention_to_rope.key_value_cache import KeyValueCache
from attention_to_rope.layers import Embedding, Linear, Seed, generator
from attention_to_rope.masks import causal_mask
from attention_to_rope.norms import (
    LayerNorm,
    RMSNorm,
    Sublayer,
    deep_norm,
    deepnorm_constants,
    post_norm,
    pre_norm,
    sandwich_norm,
)
from attention_to_rope.positions import PositionalScheme
from attention_to_rope.scaled_dot_product import softmax

PLACEMENTS = ("pre", "post", "sandwich", "deep")
NORMS = ("layer", "rms")


@dataclass(frozen=True)
class Architecture:
    """The shape of a Transformer: everything but vocabulary, positions and seed.

    placement: where the norm stands, `pre`, `post`, `sandwich` or `deep` (DeepNorm, with its α and
    its β). norm: `layer` or `rms`. activation: as in `FeedForward`. eps: of all norms.
    """

    d: int
    heads: int
    layers: int
    kv_heads: int | None = None
    hidden: int | None = None
    activation: str = "relu"
    norm: str = "layer"
    placement: str = "pre"
    bias: bool = True
    eps: float = 1e-5

    def __post_init__(self) -> None:
        check_heads(self.d, self.heads)
        check_count("layers", self.layers)
        check_choice("norm", self.norm, NORMS)
        check_choice("placement", self.placement, PLACEMENTS)
        check_positive("eps", self.eps)

    def new_norm(self) -> nn.Module:
        """A fresh norm of this architecture."""
        kind = LayerNorm if self.norm == "layer" else RMSNorm
        return kind(self.d, eps=self.eps)


class BlockWeights(NamedTuple):
    """The attention weights of one block: (B, H, N, N) and, with cross-attention, (B, H, N, M)."""

    own: Tensor
    cross: Tensor | None


class Residual(nn.Module):
    """A residual connection with its norm or norms, at the place the architecture says."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.placement = architecture.placement
        self.alpha = deepnorm_constants(architecture.layers).alpha
        self.norm = architecture.new_norm()
        self.norm_out = architecture.new_norm() if self.placement == "sandwich" else None

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """(B, N, d) → (B, N, d)"""
        if self.norm_out is not None:
            return sandwich_norm(x, sublayer, self.norm, self.norm_out)
        if self.placement == "deep":
            return deep_norm(x, sublayer, self.norm, alpha=self.alpha)
        place = pre_norm if self.placement == "pre" else post_norm
        return place(x, sublayer, self.norm)


class Block(nn.Module):
    """Self-attention, cross-attention if wanted, feed-forward; a residual around each."""

    def __init__(self, architecture: Architecture, *, seed: Seed, cross: bool = False) -> None:
        super().__init__()
        a = architecture
        rng = generator(seed)
        gain = deepnorm_constants(a.layers).beta if a.placement == "deep" else 1.0

        def attend() -> MultiHeadAttention:
            return MultiHeadAttention(
                a.d, a.heads, kv_heads=a.kv_heads, bias=a.bias, gain=gain, seed=rng
            )

        self.attention = attend()
        self.attention_residual = Residual(a)
        self.cross_attention = attend() if cross else None
        self.cross_residual = Residual(a) if cross else None
        self.feed_forward = FeedForward(
            a.d, a.hidden, activation=a.activation, bias=a.bias, gain=gain, seed=rng
        )
        self.feed_forward_residual = Residual(a)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        position: PositionalScheme | None = None,
        positions: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, BlockWeights]:
        """x (B, N, d), memory (B, M, d) → (B, N, d), with `return_weights` also the weights."""
        seen: list[Tensor] = []

        def attend(y: Tensor) -> Tensor:
            output: Tensor
            output, weights = self.attention(
                y, mask=mask, position=position, positions=positions, return_weights=True
            )
            seen.append(weights)
            return output

        x = self.attention_residual(x, attend)
        x, cross = self._look_at_memory(x, memory, memory_mask)
        x = self.feed_forward_residual(x, self.feed_forward)
        return (x, BlockWeights(seen[0], cross)) if return_weights else x

    def extend(
        self,
        x: Tensor,
        cache: KeyValueCache,
        *,
        position: PositionalScheme | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> tuple[Tensor, KeyValueCache]:
        """The block for new positions x (B, N, d), causal, with the cache of the earlier ones."""
        caches: list[KeyValueCache] = []

        def attend(y: Tensor) -> Tensor:
            output, longer = self.attention.extend(y, cache, position=position)
            caches.append(longer)
            return output

        x = self.attention_residual(x, attend)
        x, _ = self._look_at_memory(x, memory, memory_mask)
        x = self.feed_forward_residual(x, self.feed_forward)
        return x, caches[0]

    def _look_at_memory(
        self, x: Tensor, memory: Tensor | None, memory_mask: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        cross_attention = self.cross_attention
        if cross_attention is None or self.cross_residual is None:
            if memory is not None:
                raise ValueError("this block has no cross-attention: build it with cross=True")
            return x, None
        if memory is None:
            raise ValueError("a block with cross-attention needs memory, the encoder's output")
        seen: list[Tensor] = []

        def attend(y: Tensor) -> Tensor:
            output: Tensor
            output, weights = cross_attention(y, memory, mask=memory_mask, return_weights=True)
            seen.append(weights)
            return output

        x = self.cross_residual(x, attend)
        return x, seen[0]


class _Stack(nn.Module):
    """Token embedding times √d, the scheme's embedding, the blocks, a last norm where needed."""

    def __init__(
        self,
        vocabulary: int,
        architecture: Architecture,
        position: PositionalScheme | None,
        seed: np.random.Generator,
        cross: bool,
    ) -> None:
        super().__init__()
        a = architecture
        self.architecture, self.cross = a, cross
        self.embedding = Embedding(vocabulary, a.d, seed=seed, deviation=1 / math.sqrt(a.d))
        self.position = PositionalScheme() if position is None else position
        self.blocks = nn.ModuleList(Block(a, seed=seed, cross=cross) for _ in range(a.layers))
        # Post-norm and DeepNorm end normalised; the others leave a stream that grows with depth.
        self.norm = a.new_norm() if a.placement in ("pre", "sandwich") else nn.Identity()

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens (B, N) → vectors (B, N, d) with the position, if the scheme acts there."""
        if tokens.ndim != 2 or tokens.shape[1] == 0:
            raise ValueError(f"tokens must have shape (B, N) with N ≥ 1, got {tuple(tokens.shape)}")
        x = self.embedding(tokens) * math.sqrt(self.architecture.d)
        return self.position.embed(x, positions)

    def run(
        self,
        tokens: Tensor,
        mask: Tensor | None,
        positions: Tensor | None,
        memory: Tensor | None,
        memory_mask: Tensor | None,
    ) -> tuple[Tensor, list[BlockWeights]]:
        """All blocks over the whole sequence."""
        if positions is None:
            positions = torch.arange(tokens.shape[-1], device=tokens.device)
        x = self.embed(tokens, positions)
        weights = []
        for block in self.blocks:
            x, seen = block(
                x,
                mask=mask,
                position=self.position,
                positions=positions,
                memory=memory,
                memory_mask=memory_mask,
                return_weights=True,
            )
            weights.append(seen)
        return self.norm(x), weights


class Encoder(_Stack):
    """Every position sees every other. Tokens (B, N) → vectors (B, N, d).

    `position` is the positional scheme: `Sinusoidal()`, `Rotary(...)`, … or None for none.
    """

    def __init__(
        self,
        vocabulary: int,
        architecture: Architecture,
        *,
        seed: Seed,
        position: PositionalScheme | None = None,
    ) -> None:
        super().__init__(vocabulary, architecture, position, generator(seed), cross=False)

    def forward(
        self,
        tokens: Tensor,
        *,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, list[BlockWeights]]:
        """Tokens (B, N), mask such as `padding_mask` → (B, N, d)"""
        x, weights = self.run(tokens, mask, positions, None, None)
        return (x, weights) if return_weights else x


class Decoder(_Stack):
    """Every position sees itself and earlier ones. Tokens (B, N) → logits (B, N, vocabulary).

    With `cross=True` every block also looks at `memory`, an encoder's output.
    """

    def __init__(
        self,
        vocabulary: int,
        architecture: Architecture,
        *,
        seed: Seed,
        position: PositionalScheme | None = None,
        cross: bool = False,
    ) -> None:
        rng = generator(seed)
        super().__init__(vocabulary, architecture, position, rng, cross)
        self.head = Linear(architecture.d, vocabulary, bias=False, seed=rng)

    def forward(
        self,
        tokens: Tensor,
        *,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, list[BlockWeights]]:
        """The logits of the next token at every position. `mask` restricts the causal mask more."""
        causal = causal_mask(tokens.shape[-1], device=tokens.device) if tokens.shape[-1] else None
        if mask is not None and causal is not None:
            causal = causal & mask
        x, weights = self.run(tokens, causal, positions, memory, memory_mask)
        logits = self.head(x)
        return (logits, weights) if return_weights else logits

    def empty_caches(self) -> list[KeyValueCache]:
        """One empty cache per block, to begin with."""
        return [KeyValueCache() for _ in self.blocks]

    def extend(
        self,
        tokens: Tensor,
        caches: list[KeyValueCache],
        *,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> tuple[Tensor, list[KeyValueCache]]:
        """The logits of new tokens (B, N) after those in the caches, and the longer caches."""
        if len(caches) != len(self.blocks):
            raise ValueError(f"caches must be one per block, {len(self.blocks)}; got {len(caches)}")
        start = caches[0].length
        positions = torch.arange(start, start + tokens.shape[-1], device=tokens.device)
        x = self.embed(tokens, positions)
        longer = []
        for block, cache in zip(self.blocks, caches, strict=True):
            assert isinstance(block, Block)  # a ModuleList forgets the type of what it holds
            x, cache = block.extend(
                x, cache, position=self.position, memory=memory, memory_mask=memory_mask
            )
            longer.append(cache)
        return self.head(self.norm(x)), longer


class EncoderDecoder(nn.Module):
    """An encoder reads the source; a decoder with cross-attention writes the target."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
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
        memory = self.encoder(source, mask=source_mask)
        logits: Tensor = self.decoder(
            target, memory=memory, memory_mask=source_mask, mask=target_mask
        )
        return logits


def sample_token(logits: Tensor, temperature: float, rng: np.random.Generator) -> Tensor:
    """Draw one token per row with weights softmax(logits / temperature). (B, V) → (B,)

    One uniform number per row, by NumPy, finds the token where the summed weights pass it.
    """
    check_positive("temperature", temperature)
    summed = softmax(logits.double() / temperature).cumsum(-1)
    uniform = torch.from_numpy(rng.random((logits.shape[0], 1))).to(logits.device)
    # Scaled by the last sum, which rounding leaves a little off 1: no token past the end.
    return torch.searchsorted(summed, uniform * summed[:, -1:], right=True).squeeze(-1)


@torch.no_grad()
def generate(
    decoder: Decoder,
    prompt: Tensor,
    steps: int,
    *,
    temperature: float | None = None,
    seed: Seed | None = None,
    memory: Tensor | None = None,
    memory_mask: Tensor | None = None,
    use_cache: bool = True,
) -> Tensor:
    """Continue prompt (B, N) by `steps` tokens → (B, N + steps).

    Greedy without `temperature`; with it, tokens are sampled and `seed` is needed. With or without
    the cache the result is the same; with it each step costs one position instead of all.
    """
    check_count("steps", steps, at_least=0)
    check_integers("prompt", prompt, 0, decoder.embedding.rows.shape[0] - 1)
    if temperature is not None:
        check_positive("temperature", temperature)
    if (temperature is None) != (seed is None):
        raise ValueError(
            f"sampling needs both temperature and seed, greedy generation neither; got "
            f"temperature={temperature} and seed={seed}"
        )
    rng = None if seed is None else generator(seed)
    tokens, new, caches = prompt, prompt, decoder.empty_caches()
    for _ in range(steps):
        if use_cache:
            logits, caches = decoder.extend(new, caches, memory=memory, memory_mask=memory_mask)
        else:
            logits = decoder(tokens, memory=memory, memory_mask=memory_mask)
        if temperature is None or rng is None:
            new = logits[:, -1].argmax(-1, keepdim=True)
        else:
            new = sample_token(logits[:, -1], temperature, rng).unsqueeze(-1)
        tokens = torch.cat((tokens, new), dim=1)
    return tokens

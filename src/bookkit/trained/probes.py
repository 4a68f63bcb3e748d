"""Look inside the book's model: scores, weights, the residual stream, single heads and units.

    found = trace(model, held_out(512))   # scores, weights, residual stream … of every layer

The control of every measurement is the same model before training, other heads or other units.
"""

import copy
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import silu

from bookkit.trained.text import START
from one_file.llama import Attention, Block, Model, rotate

Head = tuple[int, int]  # its layer, and its number there


class Trace(NamedTuple):
    """What a forward pass computes on the way: L layers, B texts, h heads, N tokens."""

    scores: Tensor  # (L, B, h, N, N), scaled, before the mask
    weights: Tensor  # (L, B, h, N, N), after the mask and the softmax
    stream: Tensor  # (L + 1, B, N, d), before each block and after the last
    hidden: Tensor  # (L, B, N, intermediate_size), units of the feed-forward layer
    pairs: Tensor  # (L, B, h, N, d_k/2), lengths of the pairs of a query times those of its key
    logits: Tensor  # (B, N, V)


def projections(attention: Attention, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values before the rotation, a key and a value for each query head."""
    q = attention.q_proj(x).unflatten(-1, (-1, attention.d_k)).transpose(1, 2)  # (B, h, N, d_k)
    k = attention.k_proj(x).unflatten(-1, (-1, attention.d_k)).transpose(1, 2)  # (B, g, N, d_k)
    v = attention.v_proj(x).unflatten(-1, (-1, attention.d_k)).transpose(1, 2)  # (B, g, N, d_k)
    group = q.shape[1] // k.shape[1]  # query heads that share one key head
    return q, k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)


def pair_lengths(x: Tensor) -> Tensor:
    """The length of each pair of dimensions (i, i + d_k/2), (..., d_k) to (..., d_k/2)."""
    first, second = x.chunk(2, dim=-1)
    return torch.hypot(first, second)


@torch.no_grad()
def trace(model: Model, tokens: Tensor, positions: Tensor | None = None) -> Trace:
    """Run the model as its own forward does and keep everything; positions default to 0, 1, …"""
    if positions is None:
        positions = torch.arange(tokens.shape[1])
    table = model.table(positions)
    causal = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).tril()
    x = model.embed_tokens(tokens)
    stream = [x]
    scores_of_layers = []
    weights_of_layers = []
    hidden_of_layers = []
    pairs_of_layers = []
    for block in model.layers:
        assert isinstance(block, Block)  # a ModuleList forgets the type of what it holds
        q, k, v = projections(block.self_attn, block.input_layernorm(x))
        scores = rotate(q, table) @ rotate(k, table).mT / math.sqrt(block.self_attn.d_k)
        weights = scores.masked_fill(~causal, -math.inf).softmax(-1)
        x = x + block.self_attn.o_proj((weights @ v).transpose(1, 2).flatten(-2))
        normed = block.post_attention_layernorm(x)
        hidden = silu(block.mlp.gate_proj(normed)) * block.mlp.up_proj(normed)
        x = x + block.mlp.down_proj(hidden)
        stream.append(x)
        scores_of_layers.append(scores)
        weights_of_layers.append(weights)
        hidden_of_layers.append(hidden)
        pairs_of_layers.append(pair_lengths(q) * pair_lengths(k))
    return Trace(
        scores=torch.stack(scores_of_layers),
        weights=torch.stack(weights_of_layers),
        stream=torch.stack(stream),
        hidden=torch.stack(hidden_of_layers),
        pairs=torch.stack(pairs_of_layers),
        logits=model.lm_head(model.norm(x)),
    )


def score_spread(found: Trace) -> Tensor:
    """The standard deviation of the scores that the mask leaves, by layer and head: (L, h)."""
    causal = torch.ones(found.scores.shape[-2:], dtype=torch.bool).tril()
    return found.scores[..., causal].transpose(1, 2).flatten(2).std(-1)


def stream_size(found: Trace) -> Tensor:
    """The residual stream's root mean square before each block and after the last: (L + 1,)."""
    return found.stream.square().mean((1, 2, 3)).sqrt()


def weight_on_previous(found: Trace) -> Tensor:
    """The mean weight that a token gives to the one before it, for each layer and head: (L, h)."""
    return found.weights.diagonal(-1, dim1=-2, dim2=-1).mean((1, 3))


def weight_on_first(found: Trace) -> Tensor:
    """The mean weight on the first token, from the second half of the text: (L, h)."""
    return found.weights[..., found.weights.shape[-1] // 2 :, 0].mean((1, 3))


def weight_on_copy(found: Trace) -> Tensor:
    """In a `repeated` text: the mean weight on what followed the same byte before: (L, h)."""
    period = found.weights.shape[-1] // 2
    return found.weights.diagonal(1 - period, dim1=-2, dim2=-1)[..., 1:].mean((1, 3))


def frequency_share(found: Trace) -> Tensor:
    """The share of each pair of dimensions in |q||k|, by layer and head: (L, h, d_k/2)."""
    mean = found.pairs.mean((1, 3))
    return mean / mean.sum(-1, keepdim=True)


def repeated(length: int = 128, seed: int = 0) -> Tensor:
    """A start token and random lower-case letters, then the same letters again: (1, 2·length)."""
    draw = torch.Generator().manual_seed(seed)
    letters = torch.randint(ord("a"), ord("z") + 1, (length,), generator=draw).tolist()
    return torch.tensor([[START, *letters[1:], letters[0], *letters[1:]]])


def without(model: Model, heads: Sequence[Head]) -> Model:
    """A copy of the model in which nothing reads the outputs of some heads."""
    other = copy.deepcopy(model)
    d_k = model.config.head_dim
    for layer, head in heads:
        block = other.layers[layer]
        assert isinstance(block, Block)
        block.self_attn.o_proj.weight.data[:, head * d_k : (head + 1) * d_k] = 0
    return other


def largest(values: Tensor, count: int) -> list[Head]:
    """The heads with the largest values of an (L, h) table."""
    best = values.flatten().topk(count).indices.tolist()
    return [divmod(one, values.shape[1]) for one in best]

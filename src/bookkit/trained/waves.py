"""How the scores of the book's model depend on distance, as chapter 12 shows it."""

import torch
from torch import Tensor

from bookkit.trained.probes import trace
from one_file.llama import Block, Model


@torch.no_grad()
def by_distance(model: Model, tokens: Tensor, distances: Tensor) -> tuple[Tensor, Tensor]:
    """Mean score by distance, and what the mean query and key of a head give: (L, h, R) each."""
    found, d_k = trace(model, tokens), model.config.head_dim
    diagonals = [found.scores.diagonal(-int(r), dim1=-2, dim2=-1) for r in distances]
    turns = torch.exp(1j * distances[:, None] * model.frequencies)  # (R, d_k/2)
    from_means = []
    for block, x in zip(model.layers, found.stream, strict=False):
        assert isinstance(block, Block)
        x, attention = block.input_layernorm(x), block.self_attn
        means = (y.mean((0, 1)).double() for y in (attention.q_proj(x), attention.k_proj(x)))
        z, w = (torch.complex(*y.unflatten(0, (-1, d_k)).chunk(2, -1)) for y in means)
        w = w.repeat_interleave(len(z) // len(w), 0)  # key heads are shared
        from_means.append(((z * w.conj()) @ turns.T).real / d_k**0.5)
    measured = torch.stack([one.mean((1, 3)) for one in diagonals], -1)
    return measured.double(), torch.stack(from_means)


def explained(measured: Tensor, predicted: Tensor) -> Tensor:
    """The share of a curve's variance that another one explains, apart from a constant: (...)."""
    return 1 - (measured - predicted).var(-1) / measured.var(-1)

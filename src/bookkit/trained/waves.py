"""How the scores of the book's model depend on distance, as what-rope-encodes shows it."""

import math

import torch
from torch import Tensor

from bookkit.trained.probes import trace
from one_file.llama import Block, Model


@torch.no_grad()
def by_distance(model: Model, tokens: Tensor, distances: Tensor) -> tuple[Tensor, Tensor]:
    """Mean score by distance, and what the mean query and key of a head give: (L, h, R) each."""
    found = trace(model, tokens)
    means_of_diagonals = []
    for distance in distances:
        diagonal = found.scores.diagonal(-int(distance), dim1=-2, dim2=-1)  # (L, B, h, N - r)
        means_of_diagonals.append(diagonal.mean((1, 3)))
    measured = torch.stack(means_of_diagonals, dim=-1)  # (L, h, R)

    d_k = model.config.head_dim
    rotations = torch.exp(1j * distances[:, None] * model.frequencies)  # (R, d_k/2)
    from_means = []
    # The stream has one more entry than there are blocks: the output of the last one.
    for block, x in zip(model.layers, found.stream[:-1], strict=True):
        assert isinstance(block, Block)
        normed = block.input_layernorm(x)
        query = _mean_as_complex(block.self_attn.q_proj(normed), d_k)  # (h, d_k/2)
        key = _mean_as_complex(block.self_attn.k_proj(normed), d_k)  # (g, d_k/2)
        key = key.repeat_interleave(len(query) // len(key), dim=0)  # key heads are shared
        scores = (query * key.conj()) @ rotations.T  # (h, R)
        from_means.append(scores.real / math.sqrt(d_k))
    return measured.double(), torch.stack(from_means)


def _mean_as_complex(projected: Tensor, d_k: int) -> Tensor:
    """The mean vector of each head, its pairs (i, i + d_k/2) as complex numbers: (heads, d_k/2)."""
    mean = projected.mean((0, 1)).double()  # (heads · d_k,)
    first, second = mean.view(-1, d_k).chunk(2, dim=-1)
    return torch.complex(first, second)


def explained(measured: Tensor, predicted: Tensor) -> Tensor:
    """The share of a curve's variance that another one explains, apart from a constant: (...)."""
    return 1 - (measured - predicted).var(-1) / measured.var(-1)

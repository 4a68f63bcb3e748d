r"""A bias on the scores that depends on the distance and on the query.

A head has a few learned profiles, each a number for every distance, and every query mixes them by
features that are computed from it: $b_{mn} = \sum_f (q_m U)_f\, P_{f,\,m-n}$. Beyond the reach of
the profiles the bias is 0.
"""

from typing import Any

import torch
from torch import Tensor, nn

from attention_to_rope import Decoder, MultiHeadAttention
from attention_to_rope.layers import Seed, drawn_parameter, stream_of, wide
from attention_to_rope.positions import DEVIATION

FEATURES = 16  # of each query
REACH = 128  # distances 0 to 127 have a bias, as far as T5's buckets tell distances apart


def query_bias(features: Tensor, profiles: Tensor, keys: int) -> Tensor:
    """The bias of the last n of `keys` positions: (b, h, n, keys).

    features: (b, h, n, f); profiles: (h, f, reach), by distance.
    """
    queries = features.shape[2]
    reach = profiles.shape[2]
    by_distance = wide(features @ profiles)  # (b, h, n, reach)
    key = torch.arange(keys, device=features.device)
    query = key[keys - queries :]
    distance = query[:, None] - key  # (n, keys)
    index = distance.clamp(0, reach - 1)
    index = index.expand(*features.shape[:2], queries, keys)
    bias = by_distance.gather(-1, index)  # (b, h, n, keys)
    near = (distance >= 0) & (distance < reach)
    return bias.where(near, 0.0)


class QueryBiasAttention(MultiHeadAttention):
    """Attention whose scores get `query_bias`, with profiles and mixture of each head's own."""

    def __init__(
        self,
        d: int,
        heads: int,
        *,
        seed: Seed,
        features: int = FEATURES,
        reach: int = REACH,
        **options: Any,
    ) -> None:
        super().__init__(d, heads, seed=seed, **options)
        rng = stream_of(seed, "QueryBiasAttention")
        self.mixture: nn.Parameter = drawn_parameter(
            (heads, self.d_k, features), lambda shape: rng.standard_normal(shape) / self.d_k**0.5
        )
        self.profiles: nn.Parameter = drawn_parameter(
            (heads, features, reach), lambda shape: rng.standard_normal(shape) * DEVIATION
        )

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        is_causal: bool,
        bias: Tensor | None,
        return_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """The attention of every head with the bias of its queries."""
        if bias is not None:
            raise ValueError("the scores have a bias of the queries; leave out scheme=")
        features = q @ self.mixture  # (b, h, n, f)
        of_queries = query_bias(features, self.profiles, k.shape[2])  # (b, h, n, m)
        return super().attend(
            q,
            k,
            v,
            mask=mask,
            is_causal=is_causal,
            bias=of_queries,
            return_weights=return_weights,
        )


def with_query_bias(model: Decoder, seed: int) -> Decoder:
    """The model, whose layers now have a bias of their queries; all other weights stay."""
    for number, block in enumerate(model.blocks):
        old = block.attention
        assert isinstance(old, MultiHeadAttention)
        rng = stream_of(seed, f"query bias of layer {number}")
        new = QueryBiasAttention(old.d, old.heads, seed=rng)
        new.load_state_dict(old.state_dict(), strict=False)
        block.attention = new
    return model

"""Multi-head latent attention (DeepSeek): one short row per token replaces all keys and values.

The row, the latent $c_j$, is cached instead of keys and values; every head makes its own keys
$c_j W^{UK}_h$ and values $c_j W^{UV}_h$ from it. The two matrices can be absorbed into the query
and the output, so that decoding reads the latents alone. A rotation between them would prevent
this, so positions are encoded in a few separate dimensions, with one rotated key for all heads.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_to_rope.layers import Linear, RMSNorm, Seed, stream_of
from attention_to_rope.masks import causal_mask
from attention_to_rope.positions import PositionalScheme
from attention_to_rope.scaled_dot_product import attention

Form = Literal["naive", "absorbed"]


def attend_to_latents(
    q_content: Float[Tensor, "b h n d_h"],
    q_rotary: Float[Tensor, "b h n d_r"],
    latents: Float[Tensor, "b m d_c"],
    k_rotary: Float[Tensor, "b m d_r"],
    W_UK: Float[Tensor, "h d_c d_h"],
    W_UV: Float[Tensor, "h d_c d_v"],
    *,
    form: Form,
    mask: Bool[Tensor, "..."] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "b h n d_v"]:
    r"""Attention to keys and values that each head makes from shared latents.

    naive: $\operatorname{softmax}(z (q^C (c W^{UK})^\top + q^R (k^R)^\top))\, (c W^{UV})$;
    absorbed:
    $(\operatorname{softmax}(z (q^C (W^{UK})^\top c^\top + q^R (k^R)^\top))\, c)\, W^{UV}$. The
    same numbers; the absorbed form never makes a key or a value. The scale z is
    $1 / \sqrt{d_h + d_r}$ if not given. `q_rotary` and `k_rotary` come rotated.

    >>> q = torch.zeros(1, 1, 1, 2)
    >>> c = torch.ones(1, 3, 2)
    >>> W = torch.eye(2)[None]
    >>> attend_to_latents(q, q, c, c, W, W, form="absorbed")
    tensor([[[[1., 1.]]]])
    """
    if scale is None:
        scale = (q_content.shape[-1] + q_rotary.shape[-1]) ** -0.5
    heads = W_UK.shape[0]
    c = latents.unsqueeze(1)  # (b, 1, m, d_c)
    shared = k_rotary.unsqueeze(1).expand(-1, heads, -1, -1)  # (b, h, m, d_r)
    if form == "naive":
        k_content = c @ W_UK  # (b, h, m, d_h)
        v = c @ W_UV  # (b, h, m, d_v)
        q = torch.cat((q_content, q_rotary), dim=-1)  # (b, h, n, d_h + d_r)
        k = torch.cat((k_content, shared), dim=-1)  # (b, h, m, d_h + d_r)
        return attention(q, k, v, mask=mask, scale=scale)  # (b, h, n, d_v)
    if form == "absorbed":  # one key and value per latent, the same for all heads
        c = c.expand(-1, heads, -1, -1)  # (b, h, m, d_c)
        q_absorbed = q_content @ W_UK.mT  # (b, h, n, d_c)
        q = torch.cat((q_absorbed, q_rotary), dim=-1)  # (b, h, n, d_c + d_r)
        k = torch.cat((c, shared), dim=-1)  # (b, h, m, d_c + d_r)
        mixed = attention(q, k, c, mask=mask, scale=scale)  # (b, h, n, d_c)
        return mixed @ W_UV  # (b, h, n, d_v)
    raise ValueError(f"form must be 'naive' or 'absorbed', got {form!r}")


class LatentCache(NamedTuple):
    """What the positions seen so far leave."""

    latents: Float[Tensor, "b m d_c"]
    rotary_keys: Float[Tensor, "b m d_r"]


class LatentAttention(nn.Module):
    r"""Multi-head latent attention with decoupled RoPE, the norms on the latents included.

    What is cached: $c_m = \operatorname{norm}(x_m W^{DKV})$ and $k^R_m = (x_m W^{KR}) R_m$. A query
    is $q^C_m = c^Q_m W^{UQ}$ and $q^R_m = (c^Q_m W^{QR}) R_m$, where $c^Q$ is x, or with
    `query_latent_dim` $\operatorname{norm}(x W^{DQ})$. Then `attend_to_latents` and $W^O$.

    head_dim d_h: of content, query and value; rotary_dim d_r: of the rotated part;
    latent_dim d_c: of what is cached. DeepSeek-V3: 128 heads, 128, 64, 512, queries 1536.

    >>> layer = LatentAttention(8, 2, head_dim=4, rotary_dim=2, latent_dim=3, seed=0)
    >>> layer(torch.zeros(1, 5, 8))[1].latents.shape
    torch.Size([1, 5, 3])
    """

    def __init__(
        self,
        d: int,
        heads: int,
        *,
        head_dim: int,
        rotary_dim: int,
        latent_dim: int,
        seed: Seed,
        query_latent_dim: int | None = None,
    ) -> None:
        super().__init__()
        rng = stream_of(seed, "LatentAttention")
        self.heads = heads
        self.head_dim = head_dim
        self.rotary_dim = rotary_dim

        def linear(d_in: int, d_out: int) -> Linear:
            return Linear(d_in, d_out, bias=False, seed=rng)

        self.query_down: nn.Module = nn.Identity()
        self.query_norm: nn.Module = nn.Identity()
        d_q = d
        if query_latent_dim is not None:
            d_q = query_latent_dim
            self.query_down = linear(d, d_q)
            self.query_norm = RMSNorm(d_q)
        self.query_up = linear(d_q, heads * (head_dim + rotary_dim))
        self.latent_down = linear(d, latent_dim)
        self.latent_norm = RMSNorm(latent_dim)
        self.rotary_key = linear(d, rotary_dim)
        self.key_up = linear(latent_dim, heads * head_dim)
        self.value_up = linear(latent_dim, heads * head_dim)
        self.output = linear(heads * head_dim, d)

    def forward(
        self,
        x: Float[Tensor, "b n d"],
        cache: LatentCache | None = None,
        *,
        form: Form = "naive",
        scheme: PositionalScheme | None = None,
    ) -> tuple[Float[Tensor, "b n d"], LatentCache]:
        """Causal attention of new positions x to the cache and to themselves; both forms are equal.

        scheme: rotates the d_r rotary dimensions, such as `Rotary(rotary_frequencies(d_r), …)`.
        """
        start = 0 if cache is None else cache.latents.shape[1]
        n = x.shape[1]
        m = start + n

        q = self.query_up(self.query_norm(self.query_down(x)))  # (b, n, h · (d_h + d_r))
        q = q.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (b, h, n, d_h + d_r)
        q_content, q_rotary = q.split((self.head_dim, self.rotary_dim), dim=-1)
        k_rotary = self.rotary_key(x).unsqueeze(1)  # (b, 1, n, d_r)
        if scheme is not None:
            encoding = scheme.at(torch.arange(m, device=x.device), x.dtype, slice(start, m))
            if encoding.bias is not None:
                raise ValueError(f"scheme must rotate, got a {type(scheme).__name__}")
            q_rotary = scheme.rotate(q_rotary, encoding.angles)
            k_rotary = scheme.rotate(k_rotary, encoding.angles)

        latents = self.latent_norm(self.latent_down(x))  # (b, n, d_c)
        rotary_keys = k_rotary.squeeze(1)  # (b, n, d_r)
        if cache is not None:
            latents = torch.cat((cache.latents, latents), dim=1)  # (b, m, d_c)
            rotary_keys = torch.cat((cache.rotary_keys, rotary_keys), dim=1)  # (b, m, d_r)
        mixed = attend_to_latents(
            q_content,
            q_rotary,
            latents,
            rotary_keys,
            self._per_head(self.key_up),
            self._per_head(self.value_up),
            form=form,
            mask=causal_mask(n, m, device=x.device),
        )  # (b, h, n, d_h)
        mixed = mixed.transpose(1, 2).flatten(2)  # (b, n, h · d_h)
        output: Tensor = self.output(mixed)  # (b, n, d)
        return output, LatentCache(latents, rotary_keys)

    def _per_head(self, layer: Linear) -> Float[Tensor, "h d_c d_h"]:
        """The matrix of a layer, cut into those of its heads."""
        W = layer.W.reshape(-1, self.heads, self.head_dim)  # (d_c, h, d_h)
        return W.transpose(0, 1)

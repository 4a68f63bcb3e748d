"""Multi-head latent attention (DeepSeek): one short row per token replaces all keys and values.

The row, the latent $c_j$, is cached instead of keys and values; every head makes its own keys
$c_j W^{UK}_h$ and values $c_j W^{UV}_h$ from it (`eq-latent`). The two matrices can be absorbed
into the query and the output, so that decoding reads the latents alone. A rotation between them
would prevent this (`eq-blocked`), so positions are encoded in a few separate dimensions, with one
rotated key for all heads. The whole layer is `eq-mla`.

Shapes: b sequences, n queries, m keys, h heads, $d_h$ numbers of content and $d_r$ rotated ones per
head, $d_c$ numbers in a latent.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from attention_to_rope.heads import Scheme, encoding_at, visible
from attention_to_rope.key_value_cache import Cache, StaticCache
from attention_to_rope.layers import RMS_NORM_EPS, Linear, RMSNorm, Seed, stream_of
from attention_to_rope.masks import causal_mask
from attention_to_rope.positions import ALL, Encoding
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
    return_weights: bool = False,
) -> Float[Tensor, "b h n d_v"] | tuple[Float[Tensor, "b h n d_v"], Float[Tensor, "b h n m"]]:
    r"""Attention to keys and values that each head makes from shared latents.

    naive: $\operatorname{softmax}(z (q^C (c W^{UK})^\top + q^R (k^R)^\top))\, (c W^{UV})$;
    absorbed:
    $(\operatorname{softmax}(z (q^C (W^{UK})^\top c^\top + q^R (k^R)^\top))\, c)\, W^{UV}$. The
    same numbers (`eq-absorbed`); the absorbed form never makes a key or a value. The scale z is
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
        output, weights = attention(q, k, v, mask=mask, scale=scale, return_weights=True)
    elif form == "absorbed":  # one key and value per latent, the same for all heads
        c = c.expand(-1, heads, -1, -1)  # (b, h, m, d_c)
        q_absorbed = q_content @ W_UK.mT  # (b, h, n, d_c)
        q = torch.cat((q_absorbed, q_rotary), dim=-1)  # (b, h, n, d_c + d_r)
        k = torch.cat((c, shared), dim=-1)  # (b, h, m, d_c + d_r)
        mixed, weights = attention(q, k, c, mask=mask, scale=scale, return_weights=True)
        output = mixed @ W_UV  # (b, h, n, d_v)
    else:
        raise ValueError(f"form must be 'naive' or 'absorbed', got {form!r}")
    return (output, weights) if return_weights else output


class LatentAttention(nn.Module):
    r"""Multi-head latent attention with decoupled RoPE, the norms on the latents included.

    What is cached: $c_m = \operatorname{norm}(x_m W^{DKV})$ and $k^R_m = (x_m W^{KR}) R_m$, as the
    value and the key of one head. A query is $q^C_m = c^Q_m W^{UQ}$ and
    $q^R_m = (c^Q_m W^{QR}) R_m$, where $c^Q$ is x, or with `query_latent_dim`
    $\operatorname{norm}(x W^{DQ})$. Then `attend_to_latents` and $W^O$. It is called as
    `MultiHeadAttention` is, and can replace it in a `Decoder`: see `LayerPattern`.

    head_dim d_h: of content, query and value; rotary_dim d_r: of the rotated part;
    latent_dim d_c: of what is cached. DeepSeek-V3: 128 heads, 128, 64, 512, queries 1536.
    scale: of the scores, $1/\sqrt{d_h + d_r}$ if not given; YaRN multiplies it by the
    `score_factor` of `rotary_settings`. form: as in `attend_to_latents`; the one that takes fewer
    operations if not given.

    >>> layer = LatentAttention(8, 2, head_dim=4, rotary_dim=2, latent_dim=3, seed=0)
    >>> layer(torch.zeros(1, 5, 8), causal=True).shape
    torch.Size([1, 5, 8])
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
        scale: float | None = None,
        eps: float = RMS_NORM_EPS,
        form: Form | None = None,
    ) -> None:
        super().__init__()
        rng = stream_of(seed, "LatentAttention")
        self.heads = heads
        self.head_dim = head_dim
        self.rotary_dim = rotary_dim
        self.latent_dim = latent_dim
        self.scale = scale
        self.form = form

        def linear(d_in: int, d_out: int) -> Linear:
            return Linear(d_in, d_out, bias=False, seed=rng)

        self.query_down: nn.Module = nn.Identity()
        self.query_norm: nn.Module = nn.Identity()
        d_q = d
        if query_latent_dim is not None:
            d_q = query_latent_dim
            self.query_down = linear(d, d_q)
            self.query_norm = RMSNorm(d_q, eps=eps)
        # Down to the latent, which is cached, and up again to the keys and values of all heads.
        self.query_up = linear(d_q, heads * (head_dim + rotary_dim))
        self.latent_down = linear(d, latent_dim)
        self.latent_norm = RMSNorm(latent_dim, eps=eps)
        self.rotary_key = linear(d, rotary_dim)
        self.key_up = linear(latent_dim, heads * head_dim)
        self.value_up = linear(latent_dim, heads * head_dim)
        self.output = linear(heads * head_dim, d)

    def forward(
        self,
        x: Float[Tensor, "b n d"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        causal: bool = False,
        window: int | None = None,
        scheme: Scheme = None,
        positions: Integer[Tensor, "*b n"] | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "b n d"] | tuple[Float[Tensor, "b n d"], Float[Tensor, "b h n n"]]:
        """Attention of x to itself; options as in `MultiHeadAttention`.

        scheme: rotates the d_r rotary dimensions, such as `Rotary(rotary_frequencies(d_r), …)`.
        """
        n = x.shape[1]
        encoding = self._rotation(encoding_at(x, scheme, positions, total=n, slots=ALL))
        rotary_keys, latents = self._rows(x, encoding)  # (b, 1, n, d_r) and (b, 1, n, d_c)
        seen, is_causal = visible(x, n, mask, causal=causal, window=window)
        if is_causal:
            seen = causal_mask(n, device=x.device)  # (n, n)
        output, weights = self._attend(x, encoding, rotary_keys, latents, seen)
        return (output, weights) if return_weights else output

    def extend(
        self,
        x: Float[Tensor, "b n d"],
        cache: Cache,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        scheme: Scheme = None,
        positions: Integer[Tensor, "*b m"] | None = None,
        window: int | None = None,
    ) -> tuple[Float[Tensor, "b n d"], Cache]:
        """Causal attention of new positions x to the cache and to themselves.

        Gives the output for them and the cache that holds them too; options as in
        `MultiHeadAttention`.
        """
        n = x.shape[1]
        slots = cache.slots(n)  # of the new positions among all m
        total = cache.total(n)  # m
        encoding = self._rotation(encoding_at(x, scheme, positions, total=total, slots=slots))
        # The cache holds one rotated key and one latent per token, not one for each head.
        cache = cache.append(*self._rows(x, encoding))
        seen, is_causal = visible(x, total, mask, causal=True, window=window, slots=slots)
        if is_causal:
            seen = causal_mask(n, device=x.device)  # (n, n)
        output, _ = self._attend(x, encoding, cache.keys, cache.values, seen)
        return output, cache

    def static_cache(self, batch: int, *, capacity: int) -> StaticCache:
        """An empty cache of fixed size for this layer, in the dtype and on the device of W^DKV."""
        W = self.latent_down.weight
        return StaticCache(
            batch,
            1,
            capacity=capacity,
            d_k=self.rotary_dim,
            d_v=self.latent_dim,
            dtype=W.dtype,
            device=W.device,
        )

    def _rotation(self, encoding: Encoding | None) -> Encoding | None:
        """The encoding, if it rotates; a bias has no place here."""
        if encoding is not None and encoding.bias is not None:
            raise ValueError(f"scheme must rotate, got a {type(encoding.scheme).__name__}")
        return encoding

    def _rows(self, x: Tensor, encoding: Encoding | None) -> tuple[Tensor, Tensor]:
        """What is cached of x: the rotated keys (b, 1, n, d_r) and the latents (b, 1, n, d_c)."""
        k_rotary = self.rotary_key(x).unsqueeze(1)  # (b, 1, n, d_r)
        if encoding is not None:
            k_rotary = encoding.scheme.rotate(k_rotary, encoding.angles)  # (b, 1, n, d_r)
        latents = self.latent_norm(self.latent_down(x))  # (b, n, d_c)
        return k_rotary, latents.unsqueeze(1)

    def _attend(
        self,
        x: Tensor,
        encoding: Encoding | None,
        rotary_keys: Tensor,
        latents: Tensor,
        mask: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """The output of queries x to what is cached, and the weights."""
        q = self.query_up(self.query_norm(self.query_down(x)))  # (b, n, h · (d_h + d_r))
        q = q.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (b, h, n, d_h + d_r)
        q_content, q_rotary = q.split((self.head_dim, self.rotary_dim), dim=-1)
        if encoding is not None:
            q_rotary = encoding.scheme.rotate(q_rotary, encoding.angles)  # (b, h, n, d_r)
        mixed, weights = attend_to_latents(
            q_content,
            q_rotary,
            latents.squeeze(1),  # (b, m, d_c)
            rotary_keys.squeeze(1),  # (b, m, d_r)
            self._per_head(self.key_up),
            self._per_head(self.value_up),
            form=self._cheaper_form(x.shape[1]) if self.form is None else self.form,
            mask=mask,
            scale=self.scale,
            return_weights=True,
        )  # (b, h, n, d_h) and (b, h, n, m)
        mixed = mixed.transpose(1, 2).flatten(2)  # (b, n, h · d_h)
        return self.output(mixed), weights

    def _cheaper_form(self, n: int) -> Form:
        """The form that takes fewer operations per key and head for n queries.

        For one new token, the absorbed one. For a whole prompt, a key is made once and used by n
        queries, which is cheaper than the longer dot products of the absorbed form.
        """
        naive = (self.latent_dim + n) * self.head_dim  # make key and value, then use them
        absorbed = n * self.latent_dim  # use the latent as both
        return "naive" if naive < absorbed else "absorbed"

    def _per_head(self, layer: Linear) -> Float[Tensor, "h d_c d_h"]:
        """The matrix of a layer, cut into those of its heads."""
        W = layer.W.reshape(-1, self.heads, self.head_dim)  # (d_c, h, d_h)
        return W.transpose(0, 1)  # (h, d_c, d_h)

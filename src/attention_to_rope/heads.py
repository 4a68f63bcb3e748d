"""Attention in many heads, each with its own keys and values or sharing them in groups.

Shapes: b sequences, n queries, m keys, width d, h query heads, g key-value heads, $d_k$ numbers per
head. All heads are computed in one product: a matrix $W^Q$ of the shape (d, h · d_k) holds those of
all heads side by side, and a reshape cuts its result into heads.
"""

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.nn import functional

from attention_to_rope.key_value_cache import Cache, KeyValueCache, StaticCache
from attention_to_rope.layers import RMS_NORM_EPS, Linear, RMSNorm, Seed, stream_of
from attention_to_rope.masks import causal_mask, causal_mask_at, sliding_window_mask
from attention_to_rope.positions import ALL, Encoding, PositionalScheme
from attention_to_rope.scaled_dot_product import attention

Scheme = PositionalScheme | Encoding | None
Slots = slice | Integer[Tensor, " n"]  # where the queries are among the keys


class MultiHeadAttention(nn.Module):
    r"""Attention in `heads` subspaces of dimension $d_k = d / h$, combined by $W^O$.

    $\sum_j \operatorname{attention}(x W^Q_j, c W^K_j, c W^V_j)\, W^O_j$ with the context c, which
    is x itself in self-attention; `eq-mha`, and as this sum `eq-sum-of-heads`.

    `kv_heads` < `heads` shares keys and values among groups of queries (grouped-query attention,
    `eq-grouped-head`); `kv_heads=1` is multi-query attention. head_dim: another $d_k$ than d /
    heads. scale: of the scores, $1/\sqrt{d_k}$ if not given. qk_norm: RMSNorm of queries and keys,
    per head, before they are rotated. soft_cap c: scores become $c \tanh(s / c)$. sink: a learned
    score per head that takes weight and contributes nothing. gate: the heads' outputs are
    multiplied by $\sigma(x W^G)$ before $W^O$.

    >>> layer = MultiHeadAttention(8, 2, seed=0)
    >>> layer(torch.zeros(1, 3, 8), causal=True).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        d: int,
        heads: int,
        *,
        seed: Seed,
        kv_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = True,
        gain: float = 1.0,
        scale: float | None = None,
        qk_norm: bool = False,
        soft_cap: float | None = None,
        sink: bool = False,
        gate: bool = False,
        eps: float = RMS_NORM_EPS,
    ) -> None:
        super().__init__()
        if kv_heads is None:
            kv_heads = heads
        if kv_heads < 1 or heads % kv_heads or (head_dim is None and d % heads):
            raise ValueError(
                f"heads must divide d and kv_heads must divide heads, got d={d}, heads={heads} and "
                f"kv_heads={kv_heads}"
            )
        self.d = d
        self.heads = heads
        self.kv_heads = kv_heads
        self.d_k = d // heads if head_dim is None else head_dim
        self.scale = scale
        self.soft_cap = soft_cap
        # The heads of a projection are side by side. Keys and values have g heads in place of h,
        # so a cache with them is h / g times smaller.
        rng = stream_of(seed, "MultiHeadAttention")
        q_width = heads * self.d_k  # h · d_k
        kv_width = kv_heads * self.d_k  # g · d_k
        self.query = Linear(d, q_width, bias=bias, seed=rng)
        self.key = Linear(d, kv_width, bias=bias, seed=rng)
        self.value = Linear(d, kv_width, bias=bias, seed=rng, gain=gain)
        self.output = Linear(q_width, d, bias=bias, seed=rng, gain=gain)
        self.query_norm = RMSNorm(self.d_k, eps=eps) if qk_norm else None
        self.key_norm = RMSNorm(self.d_k, eps=eps) if qk_norm else None
        self.sink = nn.Parameter(torch.zeros(heads)) if sink else None
        self.gate = Linear(d, q_width, bias=bias, seed=rng) if gate else None

    def forward(
        self,
        x: Float[Tensor, "b n d"],
        context: Float[Tensor, "b m d"] | KeyValueCache | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        causal: bool = False,
        window: int | None = None,
        scheme: Scheme = None,
        positions: Integer[Tensor, "*b n"] | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "b n d"] | tuple[Float[Tensor, "b n d"], Float[Tensor, "b h n m"]]:
        """Attention of x to itself, or to a context: vectors, or what `remember` made of them.

        mask: (b, n, m) or (b, h, n, m), with 1 where it repeats; causal and window see as
        `causal_mask` and `sliding_window_mask` do. scheme: encodes the positions, 0…n−1 if not
        given; or the encoding that its `at` gave for them. What the mask hides must be finite.
        """
        encoding = encoding_at(x, scheme, positions, total=x.shape[1], slots=ALL)
        # Queries always come from x; keys and values come from x, or from the context.
        q = self._queries(x, encoding)  # (b, h, n, d_k)
        if context is None:
            k, v = self._keys_and_values(x, encoding)  # (b, g, m, d_k) each
        else:
            if scheme is not None or causal or window is not None:
                raise ValueError("scheme, causal and window compare positions of one sequence")
            known = context if isinstance(context, KeyValueCache) else self.remember(context)
            k = known.keys  # (b, g, m, d_k)
            v = known.values  # (b, g, m, d_k)
            if k.shape[0] != x.shape[0]:  # a context of one would be repeated for all
                raise ValueError(
                    f"x has {x.shape[0]} sequences and the context {k.shape[0]}: give each its "
                    "own, such as context.expand(b, -1, -1)"
                )
        # One attention for all heads, which are an axis of the batch to it.
        seen, is_causal = visible(x, k.shape[2], mask, causal=causal, window=window)
        joined, weights = self.attend(
            q,
            k,
            v,
            mask=seen,
            is_causal=is_causal,
            bias=None if encoding is None else encoding.bias,
            return_weights=return_weights,
        )  # (b, h, n, d_k)
        output = self._combine(x, joined)  # (b, n, d)
        return output if weights is None else (output, weights)

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
        """Causal self-attention of new positions x to the cache and to themselves.

        Gives the output for the new positions and the cache that holds them too. Equal to the last
        n rows of `forward` with `causal=True` over the whole sequence; mask and positions are those
        of all m positions, the cached and the new, or of all slots of a `StaticCache`.
        """
        # A new token's position is the number of tokens before it, so positions count on from
        # those in the cache. Starting at 0 again would be a mistake without an error.
        slots = cache.slots(x.shape[1])  # of the new positions among all m
        total = cache.total(x.shape[1])  # m
        encoding = encoding_at(x, scheme, positions, total=total, slots=slots)
        q = self._queries(x, encoding)  # (b, h, n, d_k)
        # Only the n new keys and values are computed. They are kept after their rotation: a key's
        # angle depends on its own position alone, so it never changes.
        k, v = self._keys_and_values(x, encoding)  # (b, g, n, d_k) each
        cache = cache.append(k, v)
        seen, is_causal = visible(x, total, mask, causal=True, window=window, slots=slots)
        joined, _ = self.attend(
            q,
            cache.keys,  # (b, g, m, d_k)
            cache.values,  # (b, g, m, d_k)
            mask=seen,
            is_causal=is_causal,
            bias=None if encoding is None else encoding.bias,
            return_weights=False,
        )  # (b, h, n, d_k)
        return self._combine(x, joined), cache

    def remember(self, context: Float[Tensor, "b m d"]) -> KeyValueCache:
        """The keys and values of a context, for many calls with the same one."""
        k, v = self._keys_and_values(context, encoding=None)  # (b, g, m, d_k) each
        return KeyValueCache(k, v)

    def static_cache(self, batch: int, *, capacity: int) -> StaticCache:
        """An empty cache of fixed size for this layer, in the dtype and on the device of W^K."""
        W = self.key.weight
        return StaticCache(
            batch,
            self.kv_heads,
            capacity=capacity,
            d_k=self.d_k,
            d_v=self.d_k,
            dtype=W.dtype,
            device=W.device,
        )

    def attend(
        self,
        q: Float[Tensor, "b h n d_k"],
        k: Float[Tensor, "b g m d_k"],
        v: Float[Tensor, "b g m d_k"],
        mask: Bool[Tensor, "..."] | None,
        is_causal: bool,
        bias: Float[Tensor, "*#batch #n m"] | None,
        return_weights: bool,
    ) -> tuple[Float[Tensor, "b h n d_k"], Float[Tensor, "b h n m"] | None]:
        """The attention of every head, and its weights; a variant overrides this function.

        Without weights, bias, cap and sink it is PyTorch's kernel, which stores no scores. There,
        for second derivatives choose `torch.nn.attention.sdpa_kernel(SDPBackend.MATH)`; and a NaN
        that `attention` hides behind the mask can enter the output: pad with finite numbers. A
        query that may see nothing gets 0 on every device.
        """
        if not return_weights and bias is None and self.soft_cap is None and self.sink is None:
            blind = None
            if mask is not None:
                # Some kernels of a GPU give NaN to a query without keys. It sees all of them here,
                # and its output becomes 0 afterwards.
                blind = ~mask.any(-1, keepdim=True)  # (b, h, n, 1), with 1 where it repeats
                mask = mask | blind
            joined = functional.scaled_dot_product_attention(
                q,
                k,
                v,
                attn_mask=mask,
                is_causal=is_causal,
                scale=self.scale,
                enable_gqa=self.heads > self.kv_heads,
            )
            if blind is not None:
                joined = joined.masked_fill(blind, 0.0)
            return joined, None
        group = self.heads // self.kv_heads  # 3 for h = 6, g = 2: keys of heads 0 0 0 1 1 1
        if is_causal:
            mask = causal_mask(q.shape[2], device=q.device)  # (n, n)
        if bias is not None:
            shape = (self.heads, q.shape[2], k.shape[2])
            if bias.shape[-3:] != shape:  # the bias of one head would be repeated for all
                raise ValueError(
                    f"the bias of the scheme must end with {shape}, for the heads, queries and "
                    f"keys of this layer; got {tuple(bias.shape)}"
                )
            if bias.ndim != 4:
                bias = bias.unsqueeze(0)  # (1, h, n, m)
        joined, weights = attention(
            q,
            k.repeat_interleave(group, dim=1),  # (b, h, m, d_k)
            v.repeat_interleave(group, dim=1),  # (b, h, m, d_k)
            mask=mask,
            bias=bias,
            scale=self.scale,
            soft_cap=self.soft_cap,
            sink=None if self.sink is None else self.sink.view(1, -1, 1, 1),
            return_weights=True,
        )
        return joined, weights if return_weights else None

    def _queries(self, x: Tensor, encoding: Encoding | None) -> Tensor:
        """The queries of all heads, normalized and rotated."""
        q = _split(self.query(x), self.heads)  # (b, h, n, d_k)
        if self.query_norm is not None:
            q = self.query_norm(q)  # (b, h, n, d_k)
        if encoding is not None:
            q = encoding.scheme.rotate(q, encoding.angles)  # (b, h, n, d_k)
        return q

    def _keys_and_values(self, x: Tensor, encoding: Encoding | None) -> tuple[Tensor, Tensor]:
        """The keys of all heads, normalized and rotated, and the values as they are."""
        k = _split(self.key(x), self.kv_heads)  # (b, g, n, d_k)
        v = _split(self.value(x), self.kv_heads)  # (b, g, n, d_k)
        if self.key_norm is not None:
            k = self.key_norm(k)  # (b, g, n, d_k)
        if encoding is not None:
            k = encoding.scheme.rotate(k, encoding.angles)  # (b, g, n, d_k)
        return k, v

    def _combine(self, x: Tensor, joined: Tensor) -> Tensor:
        """The heads side by side, through the gate (`eq-output-gate`) and W^O."""
        joined = joined.transpose(1, 2)  # (b, n, h, d_k)
        joined = joined.flatten(2)  # (b, n, h · d_k)
        if self.gate is not None:
            joined = joined * torch.sigmoid(self.gate(x))  # (b, n, h · d_k)
        output: Tensor = self.output(joined)  # (b, n, d)
        return output


def _split(x: Float[Tensor, "b n hd_k"], heads: int) -> Float[Tensor, "b {heads} n d_k"]:
    """One vector per token and head: (b, n, h · d_k) to (b, h, n, d_k).

    Head 0 has the first $d_k$ numbers of each token, head 1 the next. The heads go to the front,
    where axes are computed side by side.
    """
    b, n, width = x.shape
    return x.reshape(b, n, heads, width // heads).transpose(1, 2)


def encoding_at(
    x: Float[Tensor, "b n d"],
    scheme: Scheme,
    positions: Integer[Tensor, "*b m"] | None,
    *,
    total: int,
    slots: Slots,
) -> Encoding | None:
    """What the scheme computes for queries in these slots and keys in all of m = `total`."""
    if positions is not None and not isinstance(scheme, PositionalScheme):
        raise ValueError(f"positions are read by a scheme such as Rotary(), got {scheme=}")
    if scheme is None or isinstance(scheme, Encoding):
        return scheme
    if positions is None:
        positions = torch.arange(total, device=x.device)
    if positions.shape not in ((total,), (x.shape[0], total)):
        raise ValueError(
            f"positions must be ({total},) or ({x.shape[0]}, {total}), for the cached and the new "
            f"ones; got {tuple(positions.shape)}"
        )
    return scheme.at(positions, x.dtype, slots)


def visible(
    x: Float[Tensor, "b n d"],
    m: int,
    mask: Bool[Tensor, "..."] | None,
    *,
    causal: bool,
    window: int | None,
    slots: Slots = ALL,
) -> tuple[Bool[Tensor, "..."] | None, bool]:
    """What mask, causality and window allow together: a mask, or None and `is_causal`.

    The queries are the last of the m keys, or, in a `StaticCache`, those in the slots given.
    """
    n = x.shape[1]
    order = None
    if isinstance(slots, Tensor):
        order = causal_mask_at(slots, m, window=window)  # (n, m)
    elif mask is None and window is None and n == m:
        return None, causal  # `n > 1` would be a symbol where a compiler traces for all lengths
    elif mask is None and window is None and n == 1:
        return None, False
    elif window is not None:
        order = sliding_window_mask(n, m, window=window, causal=causal, device=x.device)
    elif causal and n > 1:
        order = causal_mask(n, m, device=x.device)  # (n, m)
    if mask is None:
        return order, False
    if mask.dtype != torch.bool or mask.ndim not in (3, 4) or mask.shape[-1] != m:
        raise ValueError(
            f"mask must be boolean, (b, n, m) or (b, h, n, m) with m = {m} keys, got "
            f"{tuple(mask.shape)} of {mask.dtype}; of two axes, pass mask[None] for a row per "
            "query, mask[:, None] for a row per sequence"
        )
    if mask.ndim == 3:
        mask = mask.unsqueeze(1)  # (b, 1, n, m)
    if order is not None:
        mask = mask & order
    return mask, False

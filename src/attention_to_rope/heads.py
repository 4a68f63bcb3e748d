"""Attention in many heads, each with its own keys and values or sharing them in groups."""

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.nn import functional

from attention_to_rope.key_value_cache import KeyValueCache
from attention_to_rope.layers import RMS_NORM_EPS, Linear, RMSNorm, Seed, stream_of
from attention_to_rope.masks import causal_mask, sliding_window_mask
from attention_to_rope.positions import NO_ENCODING, Encoding, PositionalScheme
from attention_to_rope.scaled_dot_product import attention

Scheme = PositionalScheme | Encoding | None


class MultiHeadAttention(nn.Module):
    r"""Attention in `heads` subspaces of dimension $d_k = d / h$, combined by $W^O$.

    $\sum_j \operatorname{attention}(x W^Q_j, c W^K_j, c W^V_j)\, W^O_j$ with the context c, which
    is x itself in self-attention.

    `kv_heads` < `heads` shares keys and values among groups of queries (grouped-query attention);
    `kv_heads=1` is multi-query attention. head_dim: another $d_k$ than d / heads. scale: of the
    scores, $1/\sqrt{d_k}$ if not given. qk_norm: RMSNorm of queries and keys, per head, before they
    are rotated. soft_cap c: scores become $c \tanh(s / c)$. sink: a learned score per head that
    takes weight and contributes nothing. gate: the heads' outputs are multiplied by
    $\sigma(x W^G)$ before $W^O$.

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
        self.d, self.heads, self.kv_heads = d, heads, heads if kv_heads is None else kv_heads
        if (head_dim is None and d % heads) or self.kv_heads < 1 or heads % self.kv_heads:
            raise ValueError(
                f"heads must divide d and kv_heads must divide heads, got d={d}, heads={heads} and "
                f"kv_heads={self.kv_heads}"
            )
        self.d_k = d // heads if head_dim is None else head_dim
        self.scale, self.soft_cap = scale, soft_cap
        rng = stream_of(seed, "MultiHeadAttention")
        wide, narrow = heads * self.d_k, self.kv_heads * self.d_k
        self.query = Linear(d, wide, bias=bias, seed=rng)
        self.key = Linear(d, narrow, bias=bias, seed=rng)
        self.value = Linear(d, narrow, bias=bias, seed=rng, gain=gain)
        self.output = Linear(wide, d, bias=bias, seed=rng, gain=gain)
        self.query_norm = RMSNorm(self.d_k, eps=eps) if qk_norm else None
        self.key_norm = RMSNorm(self.d_k, eps=eps) if qk_norm else None
        self.sink = nn.Parameter(torch.zeros(heads)) if sink else None
        self.gate = Linear(d, wide, bias=bias, seed=rng) if gate else None

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
        encoding = self._encoding(x, 0, scheme, positions)
        q = self._queries(x, encoding)
        if context is None:
            k, v = self._keys_and_values(x, encoding)
        else:
            if scheme is not None or causal or window is not None:
                raise ValueError("scheme, causal and window compare positions of one sequence")
            known = context if isinstance(context, KeyValueCache) else self.remember(context)
            k, v = known.keys, known.values
        seen, is_causal = self._mask(x, k.shape[2], mask, causal, window)
        joined, weights = self.attend(q, k, v, seen, is_causal, encoding.bias, return_weights)
        output = self._combine(x, joined)
        return output if weights is None else (output, weights)

    def extend(
        self,
        x: Float[Tensor, "b n d"],
        cache: KeyValueCache,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        scheme: Scheme = None,
        positions: Integer[Tensor, "*b m"] | None = None,
        window: int | None = None,
    ) -> tuple[Float[Tensor, "b n d"], KeyValueCache]:
        """Causal self-attention of new positions x to the cache and to themselves.

        Gives the output for the new positions and the cache that holds them too. Equal to the last
        n rows of `forward` with `causal=True` over the whole sequence; mask and positions are those
        of all m positions, the cached and the new.
        """
        encoding = self._encoding(x, cache.length, scheme, positions)
        q = self._queries(x, encoding)
        cache = cache.append(*self._keys_and_values(x, encoding))
        seen, is_causal = self._mask(x, cache.length, mask, True, window)
        joined, _ = self.attend(q, cache.keys, cache.values, seen, is_causal, encoding.bias, False)
        return self._combine(x, joined), cache

    def remember(self, context: Float[Tensor, "b m d"]) -> KeyValueCache:
        """The keys and values of a context, for many calls with the same one."""
        return KeyValueCache(*self._keys_and_values(context, NO_ENCODING))

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
        query that may see nothing gets 0 from `attention`, but not from every kernel of a GPU,
        which may also give it a gradient of NaN: let padding see itself.
        """
        if not return_weights and bias is None and self.soft_cap is None and self.sink is None:
            shared = self.heads > self.kv_heads
            joined = functional.scaled_dot_product_attention(
                q, k, v, mask, is_causal=is_causal, scale=self.scale, enable_gqa=shared
            )
            return joined, None
        group = self.heads // self.kv_heads
        output, weights = attention(
            q,
            k.repeat_interleave(group, dim=1),
            v.repeat_interleave(group, dim=1),
            mask=causal_mask(q.shape[2], device=q.device) if is_causal else mask,
            bias=bias if bias is None or bias.ndim == 4 else bias.unsqueeze(0),
            scale=self.scale,
            soft_cap=self.soft_cap,
            sink=None if self.sink is None else self.sink.view(1, -1, 1, 1),
            return_weights=True,
        )
        return output, weights if return_weights else None

    def _mask(
        self, x: Tensor, m: int, mask: Tensor | None, causal: bool, window: int | None
    ) -> tuple[Tensor | None, bool]:
        """What mask, causality and window allow together: a mask, or None and `is_causal`."""
        n, order = x.shape[1], None
        if mask is None and window is None and n in (1, m):
            return None, causal and n > 1
        if window is not None:
            order = sliding_window_mask(n, m, window=window, causal=causal, device=x.device)
        elif causal and n > 1:
            order = causal_mask(n, m, device=x.device)
        if mask is None:
            return order, False
        if mask.dtype != torch.bool or mask.ndim not in (3, 4) or mask.shape[-1] != m:
            raise ValueError(
                f"mask must be boolean, (b, n, m) or (b, h, n, m) with m = {m} keys, got "
                f"{tuple(mask.shape)} of {mask.dtype}; of two axes, pass mask[None] for a row per "
                "query, mask[:, None] for a row per sequence"
            )
        mask = mask if mask.ndim == 4 else mask.unsqueeze(1)
        return mask if order is None else mask & order, False

    def _encoding(
        self, x: Tensor, start: int, scheme: Scheme, positions: Tensor | None
    ) -> Encoding:
        """What the scheme computes for the positions of this call."""
        if positions is not None and not isinstance(scheme, PositionalScheme):
            raise ValueError(f"positions are read by a scheme such as Rotary(), got {scheme=}")
        if scheme is None:
            return NO_ENCODING
        if isinstance(scheme, Encoding):
            return scheme
        if positions is None:
            positions = torch.arange(start + x.shape[1], device=x.device)
        return scheme.at(positions, x.dtype, start)

    def _queries(self, x: Tensor, encoding: Encoding) -> Tensor:
        q = _split(self.query(x), self.heads)
        return encoding.rotate(q if self.query_norm is None else self.query_norm(q))

    def _keys_and_values(self, x: Tensor, encoding: Encoding) -> tuple[Tensor, Tensor]:
        k, v = _split(self.key(x), self.kv_heads), _split(self.value(x), self.kv_heads)
        return encoding.rotate(k if self.key_norm is None else self.key_norm(k)), v

    def _combine(self, x: Tensor, joined: Tensor) -> Tensor:
        """The heads side by side, through the gate and W^O."""
        joined = joined.transpose(1, 2).flatten(2)
        joined = joined if self.gate is None else joined * torch.sigmoid(self.gate(x))
        output: Tensor = self.output(joined)
        return output


def _split(x: Float[Tensor, "b n hd_k"], heads: int) -> Float[Tensor, "b {heads} n d_k"]:
    b, n, _ = x.shape
    return x.reshape(b, n, heads, -1).transpose(1, 2)

r"""Attention in many heads, each with its own keys and values or sharing them in groups.

Why several heads? Attention gives each query one set of weights, and so one average. A token often
needs several things at once, such as the word before it and the subject of its sentence, and one
average would mix them. With h heads it gets h averages: each head has queries, keys and values of
its own, and so weights of its own. A head has only $d_k = d / h$ numbers per token, so h heads cost
about as much as one head of the full width d.

One product computes the queries of all heads: a matrix $W^Q$ of the shape (d, h · d_k) holds those
of all heads side by side, and a reshape cuts its result into heads. The same holds for keys and
values. At the end, the outputs of the heads are put side by side again and multiplied by $W^O$.

Without options, the whole layer is these lines, here for h = 2 and $d_k$ = 4:

>>> x = torch.ones(1, 3, 8)  # (b, n, d): three tokens
>>> W_Q = W_K = W_V = W_O = torch.eye(8)  # (d, h · d_k)
>>> q, k, v = (split_heads(x @ W, heads=2) for W in (W_Q, W_K, W_V))  # (b, h, n, d_k) each
>>> scores = q @ k.mT / 4**0.5  # (b, h, n, n): one table of scores per head
>>> weights = scores.softmax(-1)  # (b, h, n, n)
>>> output = join_heads(weights @ v) @ W_O  # (b, n, d)
>>> weights.shape, output.shape
(torch.Size([1, 2, 3, 3]), torch.Size([1, 3, 8]))

Shapes: b sequences, n queries, m keys, width d, h query heads, g key-value heads, $d_k$ numbers per
head.
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

# ------------------------------------------------ cut into heads, and join them


def split_heads(x: Float[Tensor, "b n hd_k"], heads: int) -> Float[Tensor, "b {heads} n d_k"]:
    """One vector per token and head: (b, n, h · d_k) to (b, h, n, d_k).

    Head 0 has the first $d_k$ numbers of each token, head 1 the next. The axis of the heads moves
    to the front, beside the batch, because attention computes all axes in front side by side.

    >>> split_heads(torch.arange(6.0).reshape(1, 1, 6), heads=2)
    tensor([[[[0., 1., 2.]],
    <BLANKLINE>
             [[3., 4., 5.]]]])
    """
    b, n, width = x.shape
    return x.reshape(b, n, heads, width // heads).transpose(1, 2)


def join_heads(x: Float[Tensor, "b h n d_k"]) -> Float[Tensor, "b n hd_k"]:
    r"""The outputs of all heads side by side in one vector per token: the inverse of `split_heads`.

    Multiplied by $W^O$, this row $[H_0, \dots, H_{h-1}]$ becomes a sum over the heads. Cut $W^O$
    into blocks $U_j$ of $d_k$ rows: the numbers of head j meet the rows of block j and no others,
    so the product is $\sum_j H_j U_j$ (`eq-sum-of-heads`). Each head adds its part to the output.
    """
    return x.transpose(1, 2).flatten(2)  # (b, n, h, d_k), then (b, n, h · d_k)


# ------------------------------------------------ the layer


class MultiHeadAttention(nn.Module):
    r"""Attention in `heads` subspaces of dimension $d_k = d / h$, combined by $W^O$.

    $\operatorname{concat}(H_0, \dots, H_{h-1})\, W^O$ with
    $H_j = \operatorname{attention}(x W^Q_j, c W^K_j, c W^V_j)$ (`eq-mha`). The context c is x
    itself in self-attention.

    d: the width of x; heads: how many. All other options may be left out:

    - kv_heads: fewer heads for keys and values than for queries. Each is shared by a group of
      queries (grouped-query attention, `eq-grouped-head`), or by all of them for `kv_heads=1`
      (multi-query attention).
    - head_dim: another $d_k$ than d / heads.
    - bias: whether the projections add a bias.
    - gain: a factor on the initial weights of $W^V$ and $W^O$, for very deep models.
    - scale: the factor on the dot products, $1/\sqrt{d_k}$ if not given.
    - qk_norm: RMSNorm of queries and keys, per head, before they are rotated; eps is the small
      number in its root.
    - soft_cap c: scores become $c \tanh(s / c)$.
    - sink: a learned score per head that takes weight and contributes nothing.
    - gate: the heads' outputs are multiplied by $\sigma(x W^G)$ before $W^O$.

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
        _check_heads(d, heads, kv_heads, head_dim)
        self.d = d
        self.heads = heads
        self.kv_heads = kv_heads
        self.d_k = d // heads if head_dim is None else head_dim
        # The four matrices W^Q, W^K, W^V and W^O. In W^K and W^V there are g heads in place of h,
        # so a cache with their results is h / g times smaller.
        rng = stream_of(seed, "MultiHeadAttention")
        q_width = heads * self.d_k  # h · d_k
        kv_width = kv_heads * self.d_k  # g · d_k
        self.query = Linear(d, q_width, bias=bias, seed=rng)
        self.key = Linear(d, kv_width, bias=bias, seed=rng)
        self.value = Linear(d, kv_width, bias=bias, seed=rng, gain=gain)
        self.output = Linear(q_width, d, bias=bias, seed=rng, gain=gain)
        # What some models have in addition.
        self.scale = scale
        self.soft_cap = soft_cap
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
        """Let each token of x attend to the tokens of x, or to a context.

        There are three steps: project and cut into heads, attend in every head, join the heads.
        The lines about positions and masks serve all heads at once, and without options they do
        nothing. The options:

        - context: vectors to attend to in place of x, or the keys and values that `remember` made
          of them.
        - mask: (b, n, m) or (b, h, n, m), with 1 where it repeats. The keys and values that it
          hides must be finite: PyTorch's kernel multiplies them by 0, and 0 · NaN is NaN.
        - causal and window see as `causal_mask` and `sliding_window_mask` do.
        - scheme: how positions are encoded, such as RoPE, or the encoding that its method `at` has
          already computed.
        - positions: 0…n−1 if not given.
        """
        # What the scheme computes from the positions, for all heads.
        encoding = encoding_at(x, scheme, positions, total=x.shape[1], slots=ALL)
        # First step: project, and cut into heads. Queries come from x; keys and values come from x
        # as well (self-attention) or from the context (cross-attention).
        q = self._queries(x, encoding)  # (b, h, n, d_k)
        if context is None:
            k, v = self._keys_and_values(x, encoding)  # (b, g, m, d_k) each
        else:
            if scheme is not None or causal or window is not None:
                raise ValueError("scheme, causal and window compare positions of one sequence")
            k, v = self._of_context(x, context)  # (b, g, m, d_k) each
        # Second step: each head attends on its own, and all are computed at once. Which keys a
        # query may see is the same for every head, unless the mask has an axis for them.
        seen, is_causal = visible(x, k.shape[2], mask, causal=causal, window=window)
        bias = None if encoding is None else encoding.bias
        heads, weights = self.attend(q, k, v, seen, is_causal, bias, return_weights)
        # Third step: join the heads, and combine them by W^O.
        output = self._combine(x, heads)  # (b, n, d)
        return output if weights is None else (output, weights)

    def _queries(self, x: Tensor, encoding: Encoding | None) -> Tensor:
        """The queries of all heads; with the options, normalized and rotated by their positions."""
        q = split_heads(self.query(x), self.heads)  # (b, h, n, d_k)
        if self.query_norm is not None:
            q = self.query_norm(q)  # (b, h, n, d_k)
        if encoding is not None:
            q = encoding.scheme.rotate(q, encoding.angles)  # (b, h, n, d_k)
        return q

    def _keys_and_values(self, x: Tensor, encoding: Encoding | None) -> tuple[Tensor, Tensor]:
        """The keys of all heads, normalized and rotated like queries, and the values as they are.

        Positions decide which keys are found, so they change keys and queries. What is handed over
        does not depend on them.
        """
        k = split_heads(self.key(x), self.kv_heads)  # (b, g, n, d_k)
        v = split_heads(self.value(x), self.kv_heads)  # (b, g, n, d_k)
        if self.key_norm is not None:
            k = self.key_norm(k)  # (b, g, n, d_k)
        if encoding is not None:
            k = encoding.scheme.rotate(k, encoding.angles)  # (b, g, n, d_k)
        return k, v

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

        Where nobody asks for weights and the scores have no bias, cap or sink, PyTorch's kernel
        computes the same and stores no scores. For second derivatives through it choose
        `torch.nn.attention.sdpa_kernel(SDPBackend.MATH)`. A query that may see nothing gets 0.
        """
        plain = bias is None and self.soft_cap is None and self.sink is None
        if plain and not return_weights:
            return self._attend_in_kernel(q, k, v, mask, is_causal), None
        # Scores, softmax and average are in `attention`, for which heads are one more axis in
        # front. The queries of a group share a head of keys: with h = 6 and g = 2, the six heads
        # use keys 0 0 0 1 1 1.
        group = self.heads // self.kv_heads
        joined, weights = attention(
            q,
            k.repeat_interleave(group, dim=1),  # (b, h, m, d_k)
            v.repeat_interleave(group, dim=1),  # (b, h, m, d_k)
            mask=causal_mask(q.shape[2], device=q.device) if is_causal else mask,
            bias=None if bias is None else self._checked_bias(bias, q, k),
            scale=self.scale,
            soft_cap=self.soft_cap,
            sink=None if self.sink is None else self.sink.view(1, -1, 1, 1),
            return_weights=True,
        )
        return joined, weights if return_weights else None

    def _combine(self, x: Tensor, heads: Tensor) -> Tensor:
        """The heads side by side, through the gate (`eq-output-gate`) if there is one, and W^O."""
        joined = join_heads(heads)  # (b, n, h · d_k)
        if self.gate is not None:
            joined = joined * torch.sigmoid(self.gate(x))  # (b, n, h · d_k)
        output: Tensor = self.output(joined)  # (b, n, d)
        return output

    # ------------------------------------------------ generate text, with a cache
    #
    # A model writes one token after the other. The keys and values of earlier tokens do not change,
    # so they are kept in a cache, and each step computes those of the new token only.

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
        """Let new tokens x attend to the cached tokens and, causally, to themselves.

        Gives the output for the new tokens and the cache that holds them too. Equal to the last n
        rows of `forward` with `causal=True` over the whole sequence. mask and positions are those
        of all m tokens, the cached and the new, or of all slots of a `StaticCache`.
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
        # From here on as in `forward`, but with the keys and values of the cache.
        seen, is_causal = visible(x, total, mask, causal=True, window=window, slots=slots)
        bias = None if encoding is None else encoding.bias
        heads, _ = self.attend(q, cache.keys, cache.values, seen, is_causal, bias, False)
        return self._combine(x, heads), cache

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

    # ------------------------------------------------ attend to another sequence

    def remember(self, context: Float[Tensor, "b m d"]) -> KeyValueCache:
        """The keys and values of a context, computed once for many calls with the same one."""
        k, v = self._keys_and_values(context, encoding=None)  # (b, g, m, d_k) each
        return KeyValueCache(k, v)

    def _of_context(self, x: Tensor, context: Tensor | KeyValueCache) -> tuple[Tensor, Tensor]:
        """The keys and values of a context, which must have as many sequences as x."""
        known = context if isinstance(context, KeyValueCache) else self.remember(context)
        k = known.keys  # (b, g, m, d_k)
        if k.shape[0] != x.shape[0]:  # a context of one would be repeated for all
            raise ValueError(
                f"x has {x.shape[0]} sequences and the context {k.shape[0]}: give each its "
                "own, such as context.expand(b, -1, -1)"
            )
        return k, known.values

    # ------------------------------------------------ PyTorch's kernel, and what it needs

    def _attend_in_kernel(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """The attention of every head in PyTorch's own function, which is faster.

        Some of its kernels on a GPU give NaN to a query that may see no key. Here such a query
        first sees all keys, and its output is set to 0 afterwards.
        """
        blind = None
        if mask is not None:
            blind = ~mask.any(-1, keepdim=True)  # (b, h, n, 1), with 1 where it repeats
            mask = mask | blind
        output = functional.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask,
            is_causal=is_causal,
            scale=self.scale,
            enable_gqa=self.heads > self.kv_heads,
        )
        return output if blind is None else output.masked_fill(blind, 0.0)

    def _checked_bias(self, bias: Tensor, q: Tensor, k: Tensor) -> Tensor:
        """The bias with the axes of the scores; one for a single head would be repeated unseen."""
        shape = (self.heads, q.shape[2], k.shape[2])
        if bias.shape[-3:] != shape:
            raise ValueError(
                f"the bias of the scheme must end with {shape}, for the heads, queries and "
                f"keys of this layer; got {tuple(bias.shape)}"
            )
        return bias if bias.ndim == 4 else bias.unsqueeze(0)  # (1, h, n, m)


# ------------------------------------------------ positions and masks of one call
#
# Nothing here is about heads: these functions prepare what every head of a call is given.


def encoding_at(
    x: Float[Tensor, "b n d"],
    scheme: Scheme,
    positions: Integer[Tensor, "*b m"] | None,
    *,
    total: int,
    slots: Slots,
) -> Encoding | None:
    """What a positional scheme computes for one call: the rotations and the bias of these tokens.

    There are `total` = m keys, and `slots` says which of these tokens the queries are: all of them
    without a cache, and the new ones with a cache. An encoding that was computed before, once for
    all layers, is used as it is.
    """
    if positions is not None and not isinstance(scheme, PositionalScheme):
        raise ValueError(f"positions are read by a scheme such as Rotary(), got {scheme=}")
    if scheme is None or isinstance(scheme, Encoding):
        return scheme
    # Tokens are numbered from 0 if nobody says otherwise.
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
    """Which keys each query may see: what mask, causality and window allow together.

    The result is a mask, or None, and whether attention is causal without a mask. The queries are
    the last n of the m keys, or, in a `StaticCache`, those in the slots given.
    """
    n = x.shape[1]
    order = None
    # In a static cache, the new tokens are somewhere among slots that are not filled yet.
    if isinstance(slots, Tensor):
        order = causal_mask_at(slots, m, window=window)  # (n, m)
    # As many queries as keys, and nothing but causality: the kernel has an option for it and needs
    # no mask. `causal` is passed on without a look at n: a compiled model serves all lengths only
    # if no branch here depends on the length.
    elif mask is None and window is None and n == m:
        return None, causal
    # A single query behind a cache is the last token, and sees all keys; in a context it does too.
    elif mask is None and window is None and n == 1:
        return None, False
    # Otherwise a mask says what each query sees: the keys in its window, or the earlier ones. If
    # neither is asked for, it sees all.
    elif window is not None:
        order = sliding_window_mask(n, m, window=window, causal=causal, device=x.device)
    elif causal and n > 1:
        order = causal_mask(n, m, device=x.device)  # (n, m)
    if mask is None:
        return order, False
    # A mask of the caller, such as one for padding, hides more keys.
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


def _check_heads(d: int, heads: int, kv_heads: int, head_dim: int | None) -> None:
    if kv_heads < 1 or heads % kv_heads or (head_dim is None and d % heads):
        raise ValueError(
            f"heads must divide d and kv_heads must divide heads, got d={d}, heads={heads} and "
            f"kv_heads={kv_heads}"
        )

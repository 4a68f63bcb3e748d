"""Multi-head latent attention (DeepSeek): one short row per token stands for all keys and values.

The row, the latent $c_j$, is cached instead of keys and values; every head makes its own keys
$c_j W^{UK}_h$ and values $c_j W^{UV}_h$ from it. The two matrices can be folded into the query and
the output, so that decoding reads the latents alone. A rotation between them would block the
folding; so position travels in a few dimensions of its own, with one rotated key for all heads.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attention_to_rope.checks import check_choice, check_count, check_float, check_same_kind
from attention_to_rope.heads import attend_at_any_length, check_scheme
from attention_to_rope.layers import Linear, Seed, stream_of
from attention_to_rope.norms import RMSNorm
from attention_to_rope.positions import PositionalScheme

FORMS = ("naive", "absorbed")


def attend_to_latents(
    q_content: Tensor,
    q_rotary: Tensor,
    latents: Tensor,
    k_rotary: Tensor,
    W_UK: Tensor,
    W_UV: Tensor,
    *,
    form: str,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    r"""Attention to keys and values that each head makes from shared latents.

    naive: $\operatorname{softmax}(z (q^C (c W^{UK})^\top + q^R (k^R)^\top))\, (c W^{UV})$;
    absorbed:
    $(\operatorname{softmax}(z (q^C (W^{UK})^\top c^\top + q^R (k^R)^\top))\, c)\, W^{UV}$. The
    same numbers; the absorbed form never makes a key or a value. The scale z is
    $1 / \sqrt{d_h + d_r}$ if not given.

    q_content (B, H, N_q, d_h), q_rotary (B, H, N_q, d_r), latents (B, N_k, d_c),
    k_rotary (B, N_k, d_r), W_UK (H, d_c, d_h), W_UV (H, d_c, d_v) → (B, H, N_q, d_v).
    `q_rotary` and `k_rotary` come rotated. mask, causal: as in `attend_at_any_length`.
    """
    check_choice("form", form, FORMS)
    _check_shapes(q_content, q_rotary, latents, k_rotary, W_UK, W_UV)
    if scale is None:
        scale = 1 / math.sqrt(q_content.shape[-1] + q_rotary.shape[-1])
    c, shared = latents.unsqueeze(1), k_rotary.unsqueeze(1)  # (B, 1, N_k, d_c) and (…, d_r)
    if form == "naive":
        q, k, v = q_content, c @ W_UK, c @ W_UV
        shared = shared.expand(-1, W_UK.shape[0], -1, -1)
    else:  # one head of keys and values, shared by all queries
        q, k, v = q_content @ W_UK.transpose(-2, -1), c, c
    q, k = torch.cat((q, q_rotary), dim=-1), torch.cat((k, shared), dim=-1)
    mixed = attend_at_any_length(q, k, v, mask=mask, causal=causal, scale=scale)
    return mixed if form == "naive" else mixed @ W_UV


def _check_shapes(
    q_content: Tensor,
    q_rotary: Tensor,
    latents: Tensor,
    k_rotary: Tensor,
    W_UK: Tensor,
    W_UV: Tensor,
) -> None:
    axes = {
        "q_content": (q_content, ("B", "H", "N_q", "d_h")),
        "q_rotary": (q_rotary, ("B", "H", "N_q", "d_r")),
        "latents": (latents, ("B", "N_k", "d_c")),
        "k_rotary": (k_rotary, ("B", "N_k", "d_r")),
        "W_UK": (W_UK, ("H", "d_c", "d_h")),
        "W_UV": (W_UV, ("H", "d_c", "d_v")),
    }
    sizes: dict[str, tuple[int, str]] = {}
    for name, (tensor, letters) in axes.items():
        check_float(name, tensor)
        check_same_kind("q_content", q_content, name, tensor)
        if tensor.ndim != len(letters):
            raise ValueError(
                f"{name} must have shape ({', '.join(letters)}), got {tuple(tensor.shape)}"
            )
        for letter, size in zip(letters, tensor.shape, strict=True):
            expected, source = sizes.setdefault(letter, (size, name))
            if size != expected:
                raise ValueError(
                    f"{letter} is {expected} in {source} but {size} in {name}, whose shape "
                    f"({', '.join(letters)}) is {tuple(tensor.shape)}"
                )


def _check_rotation(position: PositionalScheme) -> None:
    """Only a scheme that turns, by angles that stay, fits one rotated key for all heads."""
    check_scheme(position)
    own, plain = type(position), PositionalScheme
    if (own.rotate is plain.rotate and own is not plain) or position.depends_on_length:
        raise ValueError(
            f"position must be a Rotary of the rotary_dim, or None; got {own.__name__}, which adds "
            "to input or scores, or turns anew with every length"
        )


@dataclass(frozen=True)
class LatentCache:
    """What the positions seen so far leave: latents (B, N, d_c), rotated keys (B, N, d_r).

    None at the start. A cache is never changed: `append` gives a new one.
    """

    latents: Tensor | None = None
    rotary_keys: Tensor | None = None

    def __post_init__(self) -> None:
        if (self.latents is None) != (self.rotary_keys is None):
            raise ValueError("latents and rotary_keys come together: give both or neither")

    @property
    def length(self) -> int:
        """The number of positions held."""
        return 0 if self.latents is None else self.latents.shape[-2]

    def append(self, latents: Tensor, rotary_keys: Tensor) -> "LatentCache":
        """The cache that holds these positions after its own."""
        for name, tensor in (("latents", latents), ("rotary_keys", rotary_keys)):
            check_float(name, tensor)
            if tensor.ndim != 3 or tensor.shape[:2] != latents.shape[:2]:
                raise ValueError(
                    "latents and rotary_keys must have shapes (B, N, d_c) and (B, N, d_r), got "
                    f"{tuple(latents.shape)} and {tuple(rotary_keys.shape)}"
                )
        if self.latents is None or self.rotary_keys is None:
            return LatentCache(latents, rotary_keys)
        for held, new in ((self.latents, latents), (self.rotary_keys, rotary_keys)):
            check_same_kind("what is cached", held, "what is new", new)
            if held.shape[0] != new.shape[0] or held.shape[-1] != new.shape[-1]:
                raise ValueError(
                    f"what is new must agree with the cache but for the length, got "
                    f"{tuple(new.shape)} after {tuple(held.shape)}"
                )
        return LatentCache(
            torch.cat((self.latents, latents), dim=-2),
            torch.cat((self.rotary_keys, rotary_keys), dim=-2),
        )


def cache_numbers_per_token(*held: Tensor, length: int) -> float:
    r"""How many numbers a cache keeps per token of a sequence, counted from its tensors.

    Give every tensor that is kept, of all layers, each with the batch axis first, and the `length`
    N of the sequence:
    $2 H_{kv} d_k$ per layer for keys and values (H_kv = H: many heads, 1: multi-query),
    $d_c + d_r$ for a `LatentCache`, and $W/N$ of it for a layer that keeps a window of W of the N.

    >>> keys = values = torch.zeros(1, 8, 100, 128)
    >>> cache_numbers_per_token(keys, values, length=100)
    2048.0
    >>> cache_numbers_per_token(torch.zeros(1, 100, 512), torch.zeros(1, 100, 64), length=100)
    576.0
    """
    check_count("length", length)
    if not held:
        raise ValueError("cache_numbers_per_token needs at least one tensor that the cache holds")
    for tensor in held:
        check_float("each tensor held", tensor)
        if tensor.ndim < 3 or tensor.shape[0] == 0:
            raise ValueError(
                "each tensor held must have shape (B, ..., N, d) with B ≥ 1, got "
                f"{tuple(tensor.shape)}"
            )
        if tensor.shape[-2] > length:
            raise ValueError(
                f"a tensor holds {tensor.shape[-2]} tokens, more than the length {length} of the "
                "sequence; length counts all tokens seen, not the window"
            )
    return sum(tensor[0].numel() for tensor in held) / length


class LatentAttention(nn.Module):
    r"""Multi-head latent attention with decoupled RoPE, the norms on the latents included.

    What is cached: $c_m = \operatorname{norm}(x_m W^{DKV})$ and $k^R_m = (x_m W^{KR}) R_m$. A query
    is $q^C_m = c^Q_m W^{UQ}$ and $q^R_m = (c^Q_m W^{QR}) R_m$, where $c^Q$ is x, or with
    `query_latent_dim` $\operatorname{norm}(x W^{DQ})$. Then `attend_to_latents` and $W^O$.

    head_dim d_h: of content, query and value; rotary_dim d_r: of the rotated part;
    latent_dim d_c: of what is cached. DeepSeek-V3: 128 heads, 128, 64, 512, queries 1536.
    `position`, given at the call, rotates d_r dimensions: `Rotary(rotary_frequencies(d_r), ...)`.
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
        counts = {
            "d": d,
            "heads": heads,
            "head_dim": head_dim,
            "rotary_dim": rotary_dim,
            "latent_dim": latent_dim,
            "query_latent_dim": d if query_latent_dim is None else query_latent_dim,
        }
        for name, value in counts.items():
            check_count(name, value)
        rng = stream_of(seed, "LatentAttention")
        self.d, self.heads, self.head_dim, self.rotary_dim = d, heads, head_dim, rotary_dim
        self.query_down = (
            None if query_latent_dim is None else Linear(d, query_latent_dim, bias=False, seed=rng)
        )
        self.query_norm = None if query_latent_dim is None else RMSNorm(query_latent_dim)
        d_q = d if query_latent_dim is None else query_latent_dim
        self.query_up = Linear(d_q, heads * (head_dim + rotary_dim), bias=False, seed=rng)
        self.latent_down = Linear(d, latent_dim, bias=False, seed=rng)
        self.latent_norm = RMSNorm(latent_dim)
        self.rotary_key = Linear(d, rotary_dim, bias=False, seed=rng)
        self.key_up = Linear(latent_dim, heads * head_dim, bias=False, seed=rng)
        self.value_up = Linear(latent_dim, heads * head_dim, bias=False, seed=rng)
        self.output = Linear(heads * head_dim, d, bias=False, seed=rng)

    def forward(
        self,
        x: Tensor,
        cache: LatentCache | None = None,
        *,
        form: str = "naive",
        position: PositionalScheme | None = None,
    ) -> tuple[Tensor, LatentCache]:
        """Causal attention of new positions x (B, N, d) to the cache and to themselves.

        Gives (B, N, d) and the cache that holds the new positions too. Both forms give the same.
        """
        check_float("x", x)
        if x.ndim != 3 or x.shape[-1] != self.d or x.shape[1] == 0:
            raise ValueError(
                f"x must have shape (B, N, d={self.d}) with N ≥ 1, got {tuple(x.shape)}"
            )
        cache = LatentCache() if cache is None else cache
        if not isinstance(cache, LatentCache):
            raise TypeError(f"cache must be a LatentCache or None, got {type(cache).__name__}")
        position = PositionalScheme() if position is None else position
        _check_rotation(position)
        positions = torch.arange(cache.length, cache.length + x.shape[1], device=x.device)
        q_content, q_rotary = self._queries(x)
        rotary_key = position.rotate(self.rotary_key(x).unsqueeze(1), positions).squeeze(1)
        cache = cache.append(self.latent_norm(self.latent_down(x)), rotary_key)
        assert cache.latents is not None
        assert cache.rotary_keys is not None
        mixed = attend_to_latents(
            q_content,
            position.rotate(q_rotary, positions),
            cache.latents,
            cache.rotary_keys,
            self._per_head(self.key_up),
            self._per_head(self.value_up),
            form=form,
            causal=True,
        )
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return output, cache

    def _queries(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(B, N, d) → (B, H, N, d_h) and (B, H, N, d_r), not yet rotated."""
        if self.query_down is not None and self.query_norm is not None:
            x = self.query_norm(self.query_down(x))
        q = self.query_up(x).reshape(*x.shape[:-1], self.heads, -1).transpose(1, 2)
        content, rotary = q.split((self.head_dim, self.rotary_dim), dim=-1)
        return content, rotary

    def _per_head(self, layer: Linear) -> Tensor:
        """W (d_c, H · d_h) → (H, d_c, d_h)"""
        return layer.W.reshape(layer.W.shape[0], self.heads, self.head_dim).transpose(0, 1)

"""Attention in many heads, with keys and values of its own for each or shared among groups."""

import torch
from torch import Tensor, nn

from attention_to_rope.checks import check_count, check_float, check_heads
from attention_to_rope.key_value_cache import KeyValueCache
from attention_to_rope.layers import Linear, Seed, generator
from attention_to_rope.positions import PositionalScheme
from attention_to_rope.scaled_dot_product import attention


class MultiHeadAttention(nn.Module):
    r"""Attention in `heads` subspaces of dimension $d_k = d / h$, summed by $W^O$.

    $\operatorname{concat}_h \operatorname{attention}(x W^Q_h, c W^K_h, c W^V_h)\, W^O$

    `kv_heads` < `heads` shares keys and values among groups of queries (grouped-query attention);
    `kv_heads=1` is multi-query attention. Keys and values come from `context` (cross-attention) or,
    without it, from x. `position` is the positional scheme of the scores, given at the call.
    """

    def __init__(
        self,
        d: int,
        heads: int,
        *,
        seed: Seed,
        kv_heads: int | None = None,
        bias: bool = False,
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        check_heads(d, heads)
        kv_heads = heads if kv_heads is None else kv_heads
        check_count("kv_heads", kv_heads)
        if heads % kv_heads:
            raise ValueError(
                f"kv_heads must divide heads, got heads={heads} and kv_heads={kv_heads}"
            )
        rng = generator(seed)
        self.d, self.heads, self.kv_heads, self.d_k = d, heads, kv_heads, d // heads
        self.query = Linear(d, d, bias=bias, seed=rng)
        self.key = Linear(d, kv_heads * self.d_k, bias=bias, seed=rng)
        self.value = Linear(d, kv_heads * self.d_k, bias=bias, seed=rng, gain=gain)
        self.output = Linear(d, d, bias=bias, seed=rng, gain=gain)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        position: PositionalScheme | None = None,
        positions: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """x (B, N_q, d), context (B, N_k, d) → (B, N_q, d); weights (B, H, N_q, N_k).

        mask: (N_q, N_k), (B, 1 or N_q, N_k) or with the head axis. `positions` (N,) or (B, N),
        0…N−1 if not given.
        """
        if context is not None and position is not None:
            raise ValueError(
                "position= belongs to self-attention: the positions of two sequences cannot be "
                "compared. Leave out context or position"
            )
        self._check_input("x", x)
        source = x if context is None else context
        self._check_input("context", source)
        if source.shape[0] != x.shape[0]:
            raise ValueError(
                f"x and context must have the same batch size, got {x.shape[0]} and "
                f"{source.shape[0]}"
            )
        position = PositionalScheme() if position is None else position
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)
        q, k, v = self._project(x, source, position, positions)
        bias = position.bias(positions, positions)
        output, weights = self._attend(q, k, v, mask, bias)
        return (output, weights) if return_weights else output

    def extend(
        self,
        x: Tensor,
        cache: KeyValueCache,
        *,
        mask: Tensor | None = None,
        position: PositionalScheme | None = None,
    ) -> tuple[Tensor, KeyValueCache]:
        """Causal self-attention of new positions x (B, N, d) to the cache and to themselves.

        Gives the output for the new positions and the cache that holds them too. Equal to the last
        N rows of `forward` with a causal mask over the whole sequence. mask: further restriction
        (N, cache.length + N), or with a batch axis.
        """
        self._check_input("x", x)
        position = PositionalScheme() if position is None else position
        length = cache.length + x.shape[1]
        every = torch.arange(length, device=x.device)
        new = every[cache.length :]
        q, k, v = self._project(x, x, position, new)
        longer = cache.append(k, v)
        causal = every <= new.unsqueeze(-1)
        mask = causal if mask is None else causal & mask
        assert longer.keys is not None
        assert longer.values is not None
        output, _ = self._attend(q, longer.keys, longer.values, mask, position.bias(new, every))
        return output, longer

    def _check_input(self, name: str, x: Tensor) -> None:
        check_float(name, x)
        if x.ndim != 3 or x.shape[-1] != self.d:
            raise ValueError(f"{name} must have shape (B, N, d={self.d}), got {tuple(x.shape)}")
        if x.shape[1] == 0:
            raise ValueError(f"{name} must hold at least one position, got shape {tuple(x.shape)}")

    def _project(
        self, x: Tensor, source: Tensor, position: PositionalScheme, positions: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        q = _split_heads(self.query(x), self.heads)  # (B, H, N_q, d_k)
        k = _split_heads(self.key(source), self.kv_heads)  # (B, H_kv, N_k, d_k)
        v = _split_heads(self.value(source), self.kv_heads)
        return position.rotate(q, positions), position.rotate(k, positions), v

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        group = self.heads // self.kv_heads
        if bias is not None:
            bias = bias.to(q.dtype)
            bias = bias.unsqueeze(0) if bias.ndim == 3 else bias
        per_head, weights = attention(
            q,
            repeat_heads(k, group),
            repeat_heads(v, group),
            mask=mask.unsqueeze(1) if mask is not None and mask.ndim == 3 else mask,
            bias=bias,
            return_weights=True,
        )
        joined = per_head.transpose(1, 2).flatten(2)  # (B, N_q, d)
        output: Tensor = self.output(joined)
        return output, weights


def repeat_heads(x: Tensor, times: int) -> Tensor:
    """Give every head `times` copies next to each other, for grouped-query attention.

    (..., H, N, d) → (..., H · times, N, d)
    """
    check_count("times", times)
    if x.ndim < 3:
        raise ValueError(f"x must have shape (..., H, N, d), got {tuple(x.shape)}")
    return x.repeat_interleave(times, dim=-3)


def _split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, N, H · d_k) → (B, H, N, d_k)."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).transpose(1, 2)

"""What attention keeps of the positions it has seen, so that a new token costs one position.

In a causal model, the keys and values of earlier tokens do not depend on later ones
(`eq-prefix-output`). So they are computed once and kept. Queries are not kept: each is used once.
How many bytes this takes is `eq-cache-bytes`.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from attention_to_rope.layers import check_at_least


@dataclass
class _Memory:
    """Tensors with room for later positions, which a cache shares with those that continue it."""

    keys: Tensor
    values: Tensor
    kind: tuple[object, ...]  # batch and heads, dtype and inference mode of keys that fit
    size: int  # the number of positions that fit
    filled: int  # the number of positions written


class KeyValueCache:
    """The keys and values of the positions seen so far, (B, H_kv, N, d_k) each.

    A cache never changes: `append` gives a new one, so it can be kept and continued twice. Without
    gradients, `append` writes into memory that has room for `capacity` positions or more, and
    copies nothing until this room is full or a cache is continued a second time.

    >>> new = torch.zeros(1, 2, 3, 4)
    >>> KeyValueCache().append(new, new).length
    3
    """

    def __init__(
        self,
        keys: Float[Tensor, "b h n d_k"] | None = None,
        values: Float[Tensor, "b h n d_v"] | None = None,
        *,
        capacity: int = 0,
    ) -> None:
        if keys is not None and values is not None:
            _check_pair(keys, values)
        elif keys is not None or values is not None:
            raise ValueError("keys and values come together: give both, or none for an empty cache")
        self._keys = keys
        self._values = values
        self._capacity = capacity
        self.length = 0 if keys is None else keys.shape[-2]  # the number of positions
        self._memory: _Memory | None = None

    @property
    def keys(self) -> Float[Tensor, "b h n d_k"]:
        """The keys of all positions."""
        assert self._keys is not None, "the cache is empty"
        return self._keys

    @property
    def values(self) -> Float[Tensor, "b h n d_v"]:
        """The values of all positions."""
        assert self._values is not None, "the cache is empty"
        return self._values

    def slots(self, n: int) -> slice:
        """Where the next n positions are among all: at the end."""
        return slice(self.length, self.length + n)

    def total(self, n: int) -> int:
        """How many keys the next n positions meet, themselves included."""
        return self.length + n

    def append(
        self, keys: Float[Tensor, "b h n d_k"], values: Float[Tensor, "b h n d_v"]
    ) -> "KeyValueCache":
        """The cache that holds these positions after its own."""
        _check_pair(keys, values)
        # For gradients, nothing may be overwritten, so everything is copied at each step.
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            held_keys = [] if self._keys is None else [self._keys]
            held_values = [] if self._values is None else [self._values]
            all_keys = torch.cat([*held_keys, keys], dim=-2)  # (b, h, held + n, d_k)
            all_values = torch.cat([*held_values, values], dim=-2)  # (b, h, held + n, d_v)
            return KeyValueCache(all_keys, all_values, capacity=self._capacity)
        # Else the new positions are written behind the old ones. The memory can be used if nobody
        # else has written there and there is room; otherwise it is copied once into a larger one.
        start = self.length
        stop = start + keys.shape[2]
        memory = self._memory
        kind = (keys.shape[:2], keys.dtype, torch.is_inference_mode_enabled())
        if memory is None or memory.filled != start or memory.size < stop or memory.kind != kind:
            memory = self._copied(stop, keys, values, kind)
        memory.keys[:, :, start:stop] = keys
        memory.values[:, :, start:stop] = values
        memory.filled = stop
        # A view of what is filled, not a copy.
        longer = KeyValueCache(
            memory.keys[:, :, :stop], memory.values[:, :, :stop], capacity=self._capacity
        )
        longer._memory = memory
        return longer

    def reorder(self, rows: Integer[Tensor, " rows"]) -> "KeyValueCache":
        """The cache that holds these rows of the batch, as beam search needs it."""
        if not self.length:
            return self
        return KeyValueCache(self.keys[rows], self.values[rows], capacity=self._capacity)

    def _copied(self, stop: int, keys: Tensor, values: Tensor, kind: tuple[object, ...]) -> _Memory:
        """New memory for so many positions, with those of this cache in it."""
        held = self._keys
        if held is not None and (held.shape[:2] != keys.shape[:2] or held.dtype != keys.dtype):
            raise ValueError(
                f"new keys {tuple(keys.shape)} of {keys.dtype} do not continue a cache "
                f"{tuple(held.shape)} of {held.dtype}"
            )
        # Twice as large as needed: N appended positions then cost at most 2N copies, not N²/2.
        size = self._capacity if stop <= self._capacity else 2 * stop
        batch, heads, _, d_k = keys.shape
        d_v = values.shape[3]
        memory = _Memory(
            keys=keys.new_empty(batch, heads, size, d_k),
            values=values.new_empty(batch, heads, size, d_v),
            kind=kind,
            size=size,
            filled=self.length,
        )
        if held is not None:
            memory.keys[:, :, : self.length] = self.keys
            memory.values[:, :, : self.length] = self.values
        return memory


def _check_pair(keys: Tensor, values: Tensor) -> None:
    """Raise if values would be repeated or left over: there is one for each key."""
    if keys.shape[:3] != values.shape[:3]:
        raise ValueError(
            "keys and values must be of the same sequences, heads and positions, got "
            f"{tuple(keys.shape)} and {tuple(values.shape)}"
        )


class StaticCache:
    """Keys and values of at most `capacity` positions, in tensors that keep their size.

    The number of positions so far, `length`, is a tensor too. So a step of decoding is the same
    computation at every position, and `torch.compile` makes one graph for all of them. The price:
    each step reads the whole capacity, and a mask hides the slots that are not written yet.
    kind: dtype and device. `append` changes the cache itself. `length.zero_()` begins a new text.

    >>> cache = StaticCache(1, 2, capacity=8, d_k=4, d_v=4)
    >>> new = torch.ones(1, 2, 3, 4)
    >>> cache.append(new, new).slots(2)
    tensor([3, 4])
    """

    def __init__(
        self,
        batch: int,
        heads: int,
        *,
        capacity: int,
        d_k: int,
        d_v: int,
        **kind: Any,
    ) -> None:
        self.capacity = capacity
        # Zeros: a mask gives unwritten slots the weight 0, and 0 · NaN would be NaN.
        self.keys = torch.zeros(batch, heads, capacity, d_k, **kind)
        self.values = torch.zeros(batch, heads, capacity, d_v, **kind)
        self.length = torch.zeros((), dtype=torch.int64, device=self.keys.device)

    def slots(self, n: int) -> Integer[Tensor, " n"]:
        """Where the next n positions go: the offset plus 0 … n − 1."""
        _check_room(self, n)
        return self.length + torch.arange(n, device=self.length.device)

    def append(
        self, keys: Float[Tensor, "b h n d_k"], values: Float[Tensor, "b h n d_v"]
    ) -> "StaticCache":
        """Write these positions after those so far."""
        if torch.is_grad_enabled() and keys.requires_grad:
            raise ValueError("a StaticCache keeps no gradients: decode under torch.no_grad()")
        # The place to write is a tensor, not a Python number, so a compiled graph stays the same.
        n = keys.shape[2]
        slots = self.slots(n)  # (n,)
        self.keys.index_copy_(2, slots, keys)
        self.values.index_copy_(2, slots, values)
        self.length.add_(n)
        return self

    def total(self, n: int) -> int:
        """How many keys the next n positions meet: always the capacity."""
        return self.capacity


def _check_room(cache: StaticCache, n: int) -> None:
    """Raise if n more positions do not fit, where this is known without waiting for a GPU.

    On a GPU the length is not read, and under a compiler it has no value. There PyTorch refuses to
    write into a slot that does not exist, in less clear words.
    """
    is_known = cache.length.device.type == "cpu" and not torch.compiler.is_compiling()
    held = int(cache.length) if is_known else 0
    if held + n > cache.capacity:
        raise ValueError(
            f"a cache of capacity {cache.capacity} has no room for {n} positions after {held}: "
            "make it larger"
        )


Cache = KeyValueCache | StaticCache


def cache_numbers_per_token(*held: Float[Tensor, "b ..."], length: int) -> float:
    r"""How many numbers a cache keeps per token of a sequence, counted from its tensors.

    Give every tensor that is kept, of all layers, each with the batch axis first, and the `length`
    N of the sequence: $2 H_{kv} d_k$ per layer for keys and values (H_kv = H: many heads, 1:
    multi-query), $d_c + d_r$ for `LatentAttention`, and $W/N$ of it for a layer that keeps a window
    of W of the N.

    >>> keys = values = torch.zeros(1, 8, 100, 128)
    >>> cache_numbers_per_token(keys, values, length=100)
    2048.0
    """
    check_at_least("length", length, 1)
    return sum(tensor[0].numel() for tensor in held) / length

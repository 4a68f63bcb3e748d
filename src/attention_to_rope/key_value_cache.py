"""What attention keeps of the positions it has seen, so that a new token costs one position."""

import torch
from jaxtyping import Float, Integer
from torch import Tensor


class KeyValueCache:
    """The keys and values of the positions seen so far, (B, H_kv, N, d_k) each; None at the start.

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
        self._keys, self._values, self._capacity = keys, values, capacity
        self._room: tuple[Tensor, Tensor, list[int]] | None = None  # the list holds what is filled

    @property
    def keys(self) -> Float[Tensor, "b h n d_k"] | None:
        """The keys of all positions."""
        return self._keys

    @property
    def values(self) -> Float[Tensor, "b h n d_v"] | None:
        """The values of all positions."""
        return self._values

    @property
    def length(self) -> int:
        """The number of positions."""
        return 0 if self._keys is None else self._keys.shape[-2]

    def append(
        self, keys: Float[Tensor, "b h n d_k"], values: Float[Tensor, "b h n d_v"]
    ) -> "KeyValueCache":
        """The cache that holds these positions after its own."""
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            both = _joined(self._keys, keys), _joined(self._values, values)
            return KeyValueCache(*both, capacity=self._capacity)
        start, stop = self.length, self.length + keys.shape[-2]
        room = self._room_until(stop, keys, values)
        room[0][:, :, start:stop], room[1][:, :, start:stop], room[2][0] = keys, values, stop
        longer = KeyValueCache(room[0][:, :, :stop], room[1][:, :, :stop], capacity=self._capacity)
        longer._room = room
        return longer

    def reorder(self, rows: Integer[Tensor, " rows"]) -> "KeyValueCache":
        """The cache that holds these rows of the batch, as beam search needs it."""
        if self._keys is None or self._values is None:
            return self
        return KeyValueCache(self._keys[rows], self._values[rows], capacity=self._capacity)

    def _room_until(
        self, stop: int, keys: Tensor, values: Tensor
    ) -> tuple[Tensor, Tensor, list[int]]:
        """Memory for so many positions, with those of this cache in it: its own, or a copy."""
        held = self._keys
        if held is not None and (held.shape[:2], held.dtype) != (keys.shape[:2], keys.dtype):
            raise ValueError(
                f"new keys {tuple(keys.shape)} of {keys.dtype} do not continue a cache "
                f"{tuple(held.shape)} of {held.dtype}"
            )
        room = self._room
        if (
            room is not None
            and room[2][0] == self.length
            and stop <= room[0].shape[-2]
            and room[0].is_inference() == torch.is_inference_mode_enabled()
        ):
            return room
        size = max(self._capacity, 2 * stop)
        larger = [x.new_empty(*x.shape[:2], size, x.shape[-1]) for x in (keys, values)]
        for memory, held in zip(larger, (self._keys, self._values), strict=True):
            if held is not None:
                memory[..., : self.length, :] = held
        return larger[0], larger[1], [self.length]


def _joined(held: Tensor | None, new: Tensor) -> Tensor:
    return torch.cat((new,) if held is None else (held, new), dim=-2)


def cache_numbers_per_token(*held: Float[Tensor, "b ..."], length: int) -> float:
    r"""How many numbers a cache keeps per token of a sequence, counted from its tensors.

    Give every tensor that is kept, of all layers, each with the batch axis first, and the `length`
    N of the sequence: $2 H_{kv} d_k$ per layer for keys and values (H_kv = H: many heads, 1:
    multi-query), $d_c + d_r$ for a `LatentCache`, and $W/N$ of it for a layer that keeps a window
    of W of the N.

    >>> keys = values = torch.zeros(1, 8, 100, 128)
    >>> cache_numbers_per_token(keys, values, length=100)
    2048.0
    """
    return sum(tensor[0].numel() for tensor in held) / length

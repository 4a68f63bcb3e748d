"""What attention keeps of the positions it has seen, so that a new token costs one position."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from attention_to_rope.checks import check_count, check_float, check_same_kind


@dataclass
class Room:
    """Memory for keys and values that caches grown out of each other share; `filled` slots used."""

    keys: Tensor
    values: Tensor
    filled: int


@dataclass(frozen=True, eq=False)
class KeyValueCache:
    """The keys and values of the positions seen so far, (B, H_kv, N, d_k) each; None at the start.

    A cache never changes: `append` gives a new one, so it can be kept, copied and branched. Behind
    it stands room for `capacity` positions; the newest of the caches that share it writes there,
    and nothing is copied until the room is full or a cache is continued a second time.
    """

    keys: Tensor | None = None
    values: Tensor | None = None
    capacity: int = field(default=0, repr=False)
    room: Room | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_count("capacity", self.capacity, at_least=0)
        if (self.keys is None) != (self.values is None):
            raise ValueError("keys and values come together: give both or neither")
        if self.keys is not None and self.values is not None:
            _check_pair(self.keys, self.values)

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same keys and values, bit for bit."""
        if not isinstance(other, KeyValueCache):
            return NotImplemented
        return _same(self.keys, other.keys) and _same(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]  # equal caches may hold different tensors

    @property
    def length(self) -> int:
        """The number of positions held."""
        return 0 if self.keys is None else self.keys.shape[-2]

    def append(self, keys: Tensor, values: Tensor) -> "KeyValueCache":
        """The cache that holds these positions after its own."""
        _check_pair(keys, values)
        if self.keys is not None and self.values is not None:
            _check_continues("keys", self.keys, keys)
            _check_continues("values", self.values, values)
        if _must_not_write(keys, values) or (self.keys is None and not self.capacity):
            return KeyValueCache(_join(self.keys, keys), _join(self.values, values), self.capacity)
        length = self.length + keys.shape[-2]
        room = self._room_for(length, keys, values)
        room.keys[..., self.length : length, :] = keys
        room.values[..., self.length : length, :] = values
        room.filled = length
        return KeyValueCache(
            room.keys[..., :length, :], room.values[..., :length, :], self.capacity, room
        )

    def _room_for(self, length: int, keys: Tensor, values: Tensor) -> Room:
        """The room this cache stands in, if the next slots are free, or a larger copy."""
        room = self.room
        if room is not None and room.filled == self.length and length <= room.keys.shape[-2]:
            return room
        size = max(self.capacity, 2 * length)
        larger = Room(_with_slots(keys, size), _with_slots(values, size), self.length)
        if self.keys is not None and self.values is not None:
            larger.keys[..., : self.length, :] = self.keys
            larger.values[..., : self.length, :] = self.values
        return larger


def _must_not_write(keys: Tensor, values: Tensor) -> bool:
    """Whether writing in place would spoil a gradient, or what a tracer records."""
    if torch.compiler.is_compiling() or type(keys) is not Tensor or keys.is_inference():
        return True
    return torch.is_grad_enabled() and (keys.requires_grad or values.requires_grad)


def _with_slots(x: Tensor, slots: int) -> Tensor:
    """Empty memory like x, with so many positions."""
    return x.new_empty((*x.shape[:-2], slots, x.shape[-1]))


def _join(held: Tensor | None, new: Tensor) -> Tensor:
    return new if held is None else torch.cat((held, new), dim=-2)


def _same(a: Tensor | None, b: Tensor | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.device == b.device and torch.equal(a, b)


def _check_pair(keys: Tensor, values: Tensor) -> None:
    check_float("keys", keys)
    check_float("values", values)
    check_same_kind("keys", keys, "values", values)
    if keys.ndim != 4 or keys.shape[:-1] != values.shape[:-1]:
        raise ValueError(
            f"keys and values must agree but for the last axis, (B, H, N, d), got "
            f"{tuple(keys.shape)} and {tuple(values.shape)}"
        )


def _check_continues(name: str, held: Tensor, new: Tensor) -> None:
    check_same_kind(f"cached {name}", held, f"new {name}", new)
    if held.shape[:-2] != new.shape[:-2] or held.shape[-1] != new.shape[-1]:
        raise ValueError(
            f"new {name} must agree with the cache but for the length, got {tuple(new.shape)} "
            f"after {tuple(held.shape)}"
        )

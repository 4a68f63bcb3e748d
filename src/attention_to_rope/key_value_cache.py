"""What attention keeps of the positions it has seen, so that a new token costs one position."""

from dataclasses import dataclass

import torch
from torch import Tensor

from attention_to_rope.checks import check_same_kind


@dataclass(frozen=True)
class KeyValueCache:
    """The keys and values of the positions seen so far, (B, H_kv, N, d_k) each; None at the start.

    A cache is never changed: `append` gives a new one, so it can be kept, copied and branched.
    """

    keys: Tensor | None = None
    values: Tensor | None = None

    @property
    def length(self) -> int:
        """The number of positions held."""
        return 0 if self.keys is None else self.keys.shape[-2]

    def append(self, keys: Tensor, values: Tensor) -> "KeyValueCache":
        """The cache that holds these positions after its own."""
        if keys.shape[:-1] != values.shape[:-1]:
            raise ValueError(
                f"keys and values must agree but for the last axis, got {tuple(keys.shape)} and "
                f"{tuple(values.shape)}"
            )
        return KeyValueCache(
            _append("keys", self.keys, keys), _append("values", self.values, values)
        )


def _append(name: str, held: Tensor | None, new: Tensor) -> Tensor:
    if held is None:
        return new
    check_same_kind(f"cached {name}", held, f"new {name}", new)
    if held.shape[:-2] != new.shape[:-2] or held.shape[-1] != new.shape[-1]:
        raise ValueError(
            f"new {name} must agree with the cache but for the length, got {tuple(new.shape)} "
            f"after {tuple(held.shape)}"
        )
    return torch.cat((held, new), dim=-2)

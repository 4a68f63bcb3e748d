"""Another processor, imitated.

Matrix products and exponentials come out one unit in the last place higher or lower. Which of the
two is a hash of the number and the salt, so equal inputs still give equal outputs. Zeros, whole
numbers and what is not finite stay: those are exact on every processor.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

# What libraries of linear algebra and of elementary functions compute, each in its own order.
ROUNDED = {"mm", "bmm", "addmm", "baddbmm", "dot", "mv", "exp", "tanh", "_softmax"}
WHOLE = {torch.float32: torch.int32, torch.float64: torch.int64}
# Two odd constants with mixed bits; the salt picks one function out of many.
MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)
STEP = 0x5851F42D4C957F2D


def one_unit_off(exact: Tensor, salt: int) -> Tensor:
    """The neighbour above or below each number, by a hash of its bits."""
    bits = exact.contiguous().view(WHOLE[exact.dtype]).long()
    up = ((bits + salt * STEP) * MULTIPLIER) < 0
    limit = torch.where(up, torch.inf, -torch.inf).to(exact.dtype)
    stays = (exact == exact.round()) | ~exact.isfinite()
    return torch.where(stays, exact, torch.nextafter(exact, limit))


# torch gives its modes no types.
class AnotherProcessor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Every operation as it is, but for the last bit of those in `ROUNDED`."""

    salt = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Inside this method the mode is off, so `one_unit_off` itself computes exactly."""
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")
        if name in ROUNDED and isinstance(result, Tensor) and result.dtype in WHOLE:
            return one_unit_off(result, self.salt)
        return result


def imitate(salt: int) -> None:
    """Be another processor from here to the end of this process."""
    kind: Any = AnotherProcessor
    mode = kind()
    mode.salt = salt
    mode.__enter__()

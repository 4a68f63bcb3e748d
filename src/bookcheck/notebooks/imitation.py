"""Another processor, imitated.

Matrix products and exponentials come out one unit in the last place higher or lower. Which of the
two is a hash of the number and the salt, so equal inputs still give equal outputs. Zeros, whole
numbers and what is not finite stay: those are exact on every processor.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

# What libraries of linear algebra and of elementary functions compute, each in its own order.
# Each is there a second time, for a result that has its place already, and that one stays exact.
ROUNDED = ("mm", "bmm", "addmm", "baddbmm", "exp", "tanh", "_softmax")
# NumPy does the arithmetic of bits, for small tensors in half the time.
WHOLE: dict[torch.dtype, Any] = {torch.float32: np.int32, torch.float64: np.int64}
# Two odd constants with mixed bits; the salt picks one function out of many.
MULTIPLIER = {np.int32: 0x9E3779B1 - (1 << 32), np.int64: 0x9E3779B97F4A7C15 - (1 << 64)}
STEP = 0x51F42D4C957F2D
HELD: list[Any] = []  # one that is dropped takes its operations along


def one_unit_off(exact: Tensor, salt: int) -> Tensor:
    """The neighbour above or below each number, by a hash of its bits."""
    whole = WHOLE[exact.dtype]
    limit = np.iinfo(whole)
    numbers = exact.contiguous().numpy()
    bits = numbers.view(whole)
    step = np.empty_like(bits)  # one number must stay an array, whose products wrap in silence
    np.add(bits, whole(salt * STEP % limit.max), out=step)
    step *= whole(MULTIPLIER[whole])
    step >>= limit.bits - 1
    step |= 1  # −1 where the hash is negative, else 1
    # The bits of a float's neighbours are the whole numbers beside its own; beside those of NaN may
    # be 0. Infinity is round.
    step *= numbers != np.rint(numbers)
    step *= ~np.isnan(numbers)
    step += bits
    return torch.from_numpy(step).view(exact.dtype)


def imitate(salt: int) -> None:
    """Be another processor from here to the end of this process."""
    # In place of torch's own: all other operations run as they are, at their speed.
    made: Any = torch.library.Library  # torch gives it no types
    library = made("aten", "IMPL")
    HELD.append(library)

    def off(exact: Tensor) -> Tensor:
        return one_unit_off(exact, salt) if exact.dtype in WHOLE else exact

    def rounded(name: str) -> Callable[..., Tensor]:
        into = getattr(torch.ops.aten, name).out

        def operation(*arguments: Any, **options: Any) -> Tensor:
            first: Tensor = arguments[0]
            to_real = name in ("exp", "tanh") and not first.dtype.is_floating_point
            kind = torch.get_default_dtype() if to_real and not first.is_complex() else first.dtype
            return off(into(*arguments, **options, out=first.new_empty(0, dtype=kind)))

        return operation

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*[Oo]verrid", UserWarning)  # which is the purpose
        for name in ROUNDED:
            library.impl(name, rounded(name), "CPU")
        # These two are products of matrices with one row or column.
        library.impl("mv", lambda m, v: torch.mm(m, v[:, None])[:, 0], "CPU")
        library.impl("dot", lambda v, w: torch.mm(v[None], w[:, None])[0, 0], "CPU")

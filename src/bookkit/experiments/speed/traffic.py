"""Counting bytes moved and floating-point operations: costs that need no clock."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry


def distinct_bytes(tensor: Tensor) -> int:
    """The bytes a tensor stands for in memory: a repeated axis (stride 0) counts once."""
    numbers = 1
    for size, step in zip(tensor.shape, tensor.stride(), strict=True):
        numbers *= size if step else min(size, 1)
    return numbers * tensor.element_size()


_aten = torch.ops.aten
# Neither views by their signature nor movers of bytes.
_STILL = (_aten.empty.memory_format, _aten.detach.default, _aten._unsafe_view.default)


class Traffic(TorchDispatchMode):
    """Inside `with Traffic() as moved:` operations add the bytes of arguments and results.

    Each argument is read once and each result written once, in full: what a perfect cache would
    leave. Views move nothing. Operations inside a compiled or fused kernel are not seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read = 0
        self.written = 0
        self.operations: list[str] = []

    @property
    def total(self) -> int:
        """Bytes read and written."""
        return self.read + self.written

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func.is_view or func in _STILL:
            return result
        arguments = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        only_written = kwargs.get("out")
        self.read += sum(
            distinct_bytes(tensor) for tensor in arguments if tensor is not only_written
        )
        self.written += sum(
            distinct_bytes(leaf) for leaf in tree_leaves(result) if isinstance(leaf, Tensor)
        )
        self.operations.append(func.overloadpacket.__name__)
        return result


class _Operations(TorchDispatchMode):
    """As PyTorch's `FlopCounterMode`, with its formulas, but without loading the compiler."""

    total = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # skipping means importing it, which takes longer than most pages

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket in flop_registry:
            formula = flop_registry[func.overloadpacket]
            self.total += formula(*args, **(kwargs or {}), out_val=result)
        return result


def flops(compute: Callable[[], object]) -> int:
    """The multiplications and additions in the matrix products of `compute()`."""
    counted = _Operations()
    with sdpa_kernel(SDPBackend.MATH), counted:  # a fused kernel would hide its products
        compute()
    return counted.total

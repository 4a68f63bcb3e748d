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
        self.total = 0  # bytes read and written
        self.flops = 0  # multiplications and additions in products, by PyTorch's own formulas
        self.operations: list[str] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # skipping means importing it, which takes longer than most pages

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func.is_view or func in _STILL:
            return result
        only_written = kwargs.get("out")
        read = [leaf for leaf in tree_leaves((args, kwargs)) if leaf is not only_written]
        for leaf in (*read, *tree_leaves(result)):
            if isinstance(leaf, Tensor):
                self.total += distinct_bytes(leaf)
        if func.overloadpacket in flop_registry:
            self.flops += flop_registry[func.overloadpacket](*args, **kwargs, out_val=result)
        self.operations.append(func.overloadpacket.__name__)
        return result


def flops(compute: Callable[[], object]) -> int:
    """The multiplications and additions in the matrix products of `compute()`."""
    counted = Traffic()
    with sdpa_kernel(SDPBackend.MATH), counted:  # a fused kernel would hide its products
        compute()
    return counted.flops

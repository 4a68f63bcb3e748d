"""Counting the bytes that operations read and write: a cost that needs no clock."""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


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

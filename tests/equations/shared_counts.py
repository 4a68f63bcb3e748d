"""What running code moves and computes, counted while it runs."""

from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

# Operations for each number of the result.
ARITHMETIC = {"mul": 1, "mul_": 1, "add": 1, "add_": 1, "sub": 1, "addcmul": 2, "addcmul_": 2}
STILL = {"empty_like", "empty", "clone", "copy_", "detach", "cat", "_to_copy"}


class Memory:
    """A slow memory: the bytes that a program loads from it and stores into it."""

    def __init__(self):
        self.bytes = 0

    def load(self, tensor):
        """A tensor on the chip."""
        self.bytes += tensor.nbytes
        return tensor.clone()

    def store(self, place, values):
        """Values from the chip, written to their place."""
        self.bytes += place.nbytes
        place.copy_(values)


class Arithmetic(TorchDispatchMode):
    """Inside `with Arithmetic() as counted:` elementwise operations add the numbers they make."""

    def __init__(self):
        super().__init__()
        self.total = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in ARITHMETIC:
            self.total += ARITHMETIC[name] * result.numel()
        elif not (func.is_view or name in STILL):
            raise NotImplementedError(f"{name}: how many operations does it do for each number?")
        return result


def elementwise_operations(program):
    """The sums and products that a program does, number by number."""
    with Arithmetic() as counted, torch.no_grad():
        program()
    return counted.total


def matrix_operations(program):
    """The operations of the matrix products of a program, by PyTorch's counter."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counted:
        program()
    return counted.get_total_flops()


def layer_operations(layer, N, d):
    """The matrix operations of a layer on one sequence of N tokens."""
    return matrix_operations(lambda: layer(torch.ones(1, N, d)))

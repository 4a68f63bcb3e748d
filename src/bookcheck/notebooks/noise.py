"""Random rounding noise in a notebook's kernel: `pytest chapters --noise SEED`, `make test-noise`.

Processors agree on the sum or product of two numbers, but not on the last bit of a matrix product,
a long sum or an exponential. With this noise, such results move up or down by one unit in the last
place, at random. So do sums of Python's own numbers, which it rounds otherwise from 3.12 on. A cell
whose output then differs makes a claim that rests on rounding.

The noise comes from a generator with a seed, not from a hash of the number, so a product that is
computed twice may differ. Libraries allow that: it happens when arrays lie at other addresses or
rows in other blocks. Zeros, whole numbers and infinities stay; they are exact everywhere.
"""

import ast
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

TORCH = {
    "mm", "bmm", "addmm", "baddbmm", "mv", "dot", "sum", "mean", "pow.Scalar", "exp", "sin", "cos",
    "tanh", "sigmoid", "silu", "gelu", "erf", "_softmax", "_log_softmax",
    "_scaled_dot_product_flash_attention_for_cpu",
}  # fmt: skip
NUMPY = ("exp", "sin", "cos", "tanh", "einsum")
WHOLE: dict[Any, Any] = {np.dtype(np.float32): np.int32, np.dtype(np.float64): np.int64}


def move(numbers: Any, rng: np.random.Generator) -> None:
    """Move each number of an array one unit in the last place up or down, in place."""
    if numbers.dtype in WHOLE:
        step = 2 * rng.integers(0, 2, numbers.shape, np.int8) - 1
        step *= (numbers != np.rint(numbers)) & (numbers == numbers)
        bits = numbers.view(WHOLE[numbers.dtype])  # neighbouring floats have neighbouring bits
        bits += step


@cache
def inexact(operation: Any) -> bool:
    """Whether an operation of PyTorch may give other last bits on another processor."""
    return bool(TORCH & {operation.overloadpacket.__name__, str(operation).removeprefix("aten.")})


class Noise(TorchDispatchMode):
    """While it is on, PyTorch's inexact operations round differently."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self.rng = rng

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Let torch.compile work while the mode is on."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, and move the numbers of the result."""
        result = func(*args, **(kwargs or {}))
        if inexact(func):
            first = result[0] if isinstance(result, tuple) else result
            if first.dtype in (torch.float32, torch.float64) and first.device.type == "cpu":
                move(first.numpy(), self.rng)
        return result


class Products(ast.NodeTransformer):
    """Write `a @ b` as `_product(a, b)`: the operator of NumPy's arrays cannot be replaced."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """One operation, with what is inside."""
        self.generic_visit(node)
        call = ast.Call(ast.Name("_product", ast.Load()), [node.left, node.right], [])
        product = ast.fix_missing_locations(ast.copy_location(call, node))
        return product if isinstance(node.op, ast.MatMult) else node


def add_noise(seed: int, shell: Any) -> None:
    """Let this process round differently from here to its end; the shell is IPython's."""
    rng = np.random.default_rng(seed)

    def noisy(function: Any) -> Any:
        def operation(*arguments: Any, **options: Any) -> Any:
            result = np.array(function(*arguments, **options))
            move(result, rng)
            return result[()]

        return operation

    Noise(rng).__enter__()
    for name in NUMPY:
        setattr(np, name, noisy(getattr(np, name)))
    rounded = noisy(float)

    def add(*arguments: Any, **options: Any) -> Any:
        result = sum(*arguments, **options)
        return float(rounded(result)) if type(result) is float else result

    shell.user_ns["sum"] = add
    product = noisy(np.matmul)
    shell.user_ns["_product"] = lambda a, b: product(a, b) if isinstance(a, np.ndarray) else a @ b
    shell.ast_transformers.append(Products())

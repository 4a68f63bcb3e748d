"""Random rounding noise in a notebook's kernel: `pytest chapters --noise SEED`, `make test-noise`.

Processors agree on the sum or product of two numbers, but not on the last bit of a matrix product,
a long sum or an exponential. With this noise, such results move up or down by one unit in the last
place, at random. A cell whose output then differs makes a claim that rests on rounding.

The noise comes from a generator with a seed, not from a hash of the number, so a product that is
computed twice may differ. Libraries allow that: it happens when arrays lie at other addresses or
rows in other blocks. Zeros, whole numbers and infinities stay; they are exact everywhere.
"""

import ast
from functools import partial
from typing import Any

import numpy as np
import torch

# Each operation of PyTorch has a second form, which writes into a given tensor and stays exact.
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")
FUNCTIONS = ("exp", "sin", "cos", "tanh", "sigmoid", "silu", "gelu", "erf", "_softmax")
TORCH = dict.fromkeys((*PRODUCTS, *FUNCTIONS, "_log_softmax", "mean.dim"), "out")
TORCH |= {"sum.dim_IntList": "IntList_out", "pow.Scalar": "Scalar_out"}
NUMPY = ("exp", "sin", "cos", "tanh", "einsum")
WHOLE: dict[Any, Any] = {np.dtype(np.float32): np.int32, np.dtype(np.float64): np.int64}


def move(numbers: Any, rng: np.random.Generator) -> None:
    """Move each number of an array one unit in the last place up or down, in place."""
    if numbers.dtype in WHOLE:
        step = 2 * rng.integers(0, 2, numbers.shape, np.int8) - 1
        step *= (numbers != np.rint(numbers)) & (numbers == numbers)
        bits = numbers.view(WHOLE[numbers.dtype])  # neighbouring floats have neighbouring bits
        bits += step


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
    rng, library = np.random.default_rng(seed), torch.library.Library("aten", "IMPL")

    def noisy(function: Any) -> Any:
        def operation(*arguments: Any, **options: Any) -> Any:
            result = function(*arguments, **options)
            if not isinstance(result, torch.Tensor):
                result = np.array(result)
                move(result, rng)
                return result[()]
            if result.dtype in (torch.float32, torch.float64) and result.device.type == "cpu":
                move(result.detach().numpy(), rng)
            return result

        return operation

    def exact(name: str, *arguments: Any, **options: Any) -> Any:
        first = next(a for a in arguments if isinstance(a, torch.Tensor))
        kind = options.get("dtype") or first.dtype
        if not kind.is_floating_point and not kind.is_complex and name not in PRODUCTS:
            kind = torch.int64 if name.startswith("sum") else torch.get_default_dtype()
        into = getattr(getattr(torch.ops.aten, name.partition(".")[0]), TORCH[name])
        return into(*arguments, **options, out=first.new_empty(0, dtype=kind))

    for name in TORCH:
        library.impl(name, noisy(partial(exact, name)), "CPU")
    library.impl("mv", lambda m, v: torch.mm(m, v[:, None])[:, 0], "CPU")
    library.impl("dot", lambda v, w: torch.mm(v[None], w[:, None])[0, 0], "CPU")
    fused = (torch.nn.functional, "scaled_dot_product_attention")
    for module, name in (*((np, name) for name in NUMPY), fused):
        setattr(module, name, noisy(getattr(module, name)))
    product = noisy(np.matmul)
    shell.user_ns["_library"] = library  # without it, PyTorch would drop the replacements
    shell.user_ns["_product"] = lambda a, b: product(a, b) if isinstance(a, np.ndarray) else a @ b
    shell.ast_transformers.append(Products())

"""Do the chapters hold when results are rounded differently? `make test-noise SEEDS=8`

Processors agree on the sum or product of two numbers, but not on the last bit of a matrix product,
a long sum or an exponential. This program runs every chapter with such results moved up or down by
one unit in the last place, at random, and compares outputs and values in prose with the stored
ones exactly as `make test` does. A cell that differs makes a claim that rests on rounding.

The noise comes from a generator with a seed, not from a hash of the number, so a product that is
computed twice may differ. Libraries allow that: it happens when arrays lie at other addresses or
rows in other blocks. Zeros, whole numbers and infinities stay; they are exact everywhere.
"""

import argparse
import ast
import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from nbformat.v4 import new_code_cell

from bookcheck.notebooks.execute import chosen_pages, client_of
from bookcheck.notebooks.files import cell_places, read
from bookcheck.notebooks.kernel_values import computed_of, faults, request
from bookcheck.notebooks.outputs import difference
from bookcheck.notebooks.rules import tolerance
from bookcheck.notebooks.values import values_of_cell

# Each operation of PyTorch has a second form, which writes into a given tensor and stays exact.
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")
FUNCTIONS = ("exp", "sin", "cos", "tanh", "sigmoid", "silu", "gelu", "erf", "_softmax")
TORCH = dict.fromkeys((*PRODUCTS, *FUNCTIONS, "_log_softmax", "mean.dim"), "out")
TORCH |= {"sum.dim_IntList": "IntList_out", "pow.Scalar": "Scalar_out"}
NUMPY = ("exp", "sin", "cos", "tanh", "einsum")
WHOLE: dict[Any, Any] = {np.dtype(np.float32): np.int32, np.dtype(np.float64): np.int64}
START = "from bookcheck.notebooks.noise import add_noise; add_noise({}, get_ipython())"


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


async def differences(path: Path, seed: int) -> list[str]:
    """Run one chapter with noise; one line for each cell that differs from what is stored."""
    notebook, found = read(path), []
    places = cell_places(cell.cell_type for cell in notebook.cells)
    notebook.cells.insert(0, new_code_cell(START.format(seed)))
    client = client_of(notebook, path.parent)
    async with client.async_setup_kernel():
        await client.async_execute_cell(notebook.cells[0], 0)
        client.allow_errors = True  # an error differs from what is stored
        for number, (place, cell) in enumerate(zip(places, notebook.cells[1:], strict=True), 1):
            if cell.cell_type == "code":
                stored = cell.outputs
                await client.async_execute_cell(cell, number)
                wrong = difference(stored, cell.outputs, tolerance(cell))
                found += [f"{place}: {wrong}"] * bool(wrong)
            if values := values_of_cell(cell):
                reply = await client.kc.execute(**request(values), reply=True, timeout=600)
                wrongs = faults(values, computed_of(reply, values))
                found += [f"{place}: {wrong}" for wrong in wrongs]
    return found


async def run_all(paths: list[Path], seeds: int) -> int:
    """Run every chapter with every seed, one for each processor at a time; how many differ."""
    free = asyncio.Semaphore(os.cpu_count() or 1)

    async def run(path: Path, seed: int) -> bool:
        async with free:
            found = await differences(path, seed)
        verdict = "\n  ".join(["DIFFERS", *found]) if found else "holds"
        print(f"{path.parent.name}/{path.stem}, seed {seed}: {verdict}", flush=True)
        return bool(found)

    every = [run(path, seed) for seed in range(1, seeds + 1) for path in paths]
    differing = sum(await asyncio.gather(*every))
    print(f"{len(every) - differing} of {len(every)} runs hold")
    return differing


def main(arguments: list[str] | None = None) -> int:
    """Run the named chapters, or all; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "notebook", nargs="*", help="a page: 01, 01-attention, deeper/01-edge-cases"
    )
    parser.add_argument("--seeds", type=int, default=8, help="runs of each chapter (default 8)")
    given = parser.parse_args(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in the tests
    return min(1, asyncio.run(run_all(chosen_pages(given.notebook), given.seeds)))


if __name__ == "__main__":
    sys.exit(main())

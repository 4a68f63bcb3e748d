"""A listing in each dtype and situation in which a reader may use it.

In a dtype, its result is compared with the same listing in float64 that gets the same rounded
inputs and weights. One rounding moves a number by at most half of the spacing between numbers, on
average by less than 0.3 of it, and independent ones add up like a root. Where two results of the
same dtype must agree, both are rounded, so twice as many roundings are between them.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from laboratory.precision.found import Found, worst_of
from laboratory.precision.listings import Inputs, Names, Use, listing

HALF = (torch.bfloat16, torch.float16)
DTYPES = (torch.float32, *HALF)
ROUNDING = 0.3  # in units of the spacing between two numbers
FLOAT32_SUMS = 4e-6  # what sums over hundreds of float32 numbers lose


def cast(inputs: Inputs, dtype: torch.dtype, device: str = "cpu") -> Inputs:
    """Inputs in a dtype; whole numbers stay."""
    return tuple(x.to(device, dtype if x.is_floating_point() else x.dtype) for x in inputs)


def made_in(use: Use, names: Names, dtype: torch.dtype, device: str = "cpu") -> Any:
    """The listing's module in a dtype, or its function."""
    made = use.make(names)
    if isinstance(made, nn.Module) != use.has_weights:
        raise TypeError(f"has_weights={use.has_weights} of a {type(made).__name__}")
    return made.to(device, dtype).eval() if use.has_weights else made


def results(use: Use, made: Any, inputs: Inputs) -> Inputs:
    """What a call returns, always as a tuple."""
    with torch.no_grad():
        found = use.call(made, *inputs)
    return found if isinstance(found, tuple) else (found,)


def compared(found: Tensor, exact: Tensor, roundings: float) -> Found:
    """The error of the whole result as a share of its length; infinite if it is not finite."""
    exact = exact.double().cpu()
    found = found.cpu()
    spacing = torch.finfo(found.dtype).eps
    if found.dtype == torch.float64:
        spacing = torch.finfo(torch.float32).eps
    allowed = ROUNDING * roundings**0.5 * spacing + FLOAT32_SUMS
    if not torch.isfinite(found).all():
        return Found(float("inf"), allowed)
    error = (found.double() - exact).norm() / exact.norm()
    return Found(float(error), allowed)


def in_dtype(use: Use, dtype: torch.dtype, device: str = "cpu", *, compiler: str = "") -> Found:
    """The error of a listing in a dtype against itself in float64.

    A compiler is a backend of torch.compile. "aot_eager" makes the graph and runs it without
    generated code, in a fiftieth of the time on a CPU.
    """
    names = listing(use)
    inputs = cast(use.inputs(), dtype, device)
    made = made_in(use, names, dtype, device)
    exact_made = copy.deepcopy(made).to("cpu", torch.float64) if use.has_weights else made
    exact = results(use, exact_made, cast(inputs, torch.float64))
    if compiler:
        torch.compiler.reset()

        def call(*given: Tensor) -> Tensor | Inputs:
            return use.call(made, *given)

        compiled = torch.compile(call, fullgraph=True, backend=compiler)
        with torch.no_grad():
            got = compiled(*inputs)
        found = got if isinstance(got, tuple) else (got,)
    else:
        found = results(use, made, inputs)
    if use.keeps_dtype and any(one.dtype != dtype for one in found):
        raise TypeError(f"{[one.dtype for one in found]} came out of {dtype}")
    pairs = zip(found, exact, strict=True)
    return worst_of([compared(one, other, use.roundings) for one, other in pairs])


def in_batches(use: Use, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Found:
    """The difference of a batch and its members, each alone."""
    made = made_in(use, listing(use), dtype, device)
    inputs = cast(use.inputs(), dtype, device)
    whole = results(use, made, inputs)
    differences = []
    for row in range(len(inputs[0])):
        alone = results(use, made, tuple(x[row : row + 1] for x in inputs))
        for one, other in zip(alone, whole, strict=True):
            differences.append(compared(one[0], other[row], 2 * use.roundings))
    return worst_of(differences)


def from_meta(use: Use, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Found:
    """The difference of a module and its copy that was built without memory and then loaded."""
    names = listing(use)
    made = made_in(use, names, dtype, device)
    inputs = cast(use.inputs(), dtype, device)
    with torch.device("meta"):
        empty = use.make(names)
    empty = empty.to(dtype).to_empty(device=device).eval()
    empty.load_state_dict(made.state_dict())
    pairs = zip(results(use, empty, inputs), results(use, made, inputs), strict=True)
    return worst_of([compared(one, other, 2 * use.roundings) for one, other in pairs])


def agreement(
    use: Use, which: str, dtype: torch.dtype = torch.float32, device: str = "cpu"
) -> Found:
    """The difference of the two results of a situation, "padded" or "grouped"."""
    made = made_in(use, listing(use), dtype, device)
    situation = getattr(use, which)
    with torch.no_grad():
        one, other = situation(made, cast(use.inputs(), dtype, device))
    return compared(one, other, 2 * use.roundings)


Measure = Callable[[], Found]


def situations(
    use: Use, dtype: torch.dtype, device: str = "cpu", *, compiler: str = ""
) -> dict[str, Measure]:
    """All situations that apply to a listing in a dtype; compiled ones if a compiler is named."""
    found: dict[str, Measure] = {"alone": partial(in_dtype, use, dtype, device)}
    if compiler:
        found["compiled"] = partial(in_dtype, use, dtype, device, compiler=compiler)
    if use.padded is not None:
        found["padded"] = partial(agreement, use, "padded", dtype, device)
    if use.grouped is not None:
        found["grouped"] = partial(agreement, use, "grouped", dtype, device)
    if use.batched:
        found["batched"] = partial(in_batches, use, dtype, device)
    if use.has_weights:
        found["from meta"] = partial(from_meta, use, dtype, device)
    return found

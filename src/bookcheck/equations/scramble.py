"""Is a check's `library=` decoration? Scramble what the function returns; the check must then fail.

    python -m bookcheck.equations.scramble [01-attention ...]

A function is replaced wherever a module names it; of a class, the methods that return something.
What comes out keeps its kind and shape, so a check cannot fail for another reason than its numbers;
no two calls are changed alike, so a formula with the function on both sides does not hold by luck.
A call also does one multiplication of matrices more, for checks that count operations. A formula
that counts what the library makes (parameters, shapes, bytes) says `sizes=True`: then arrays and
parameters come out twice as long.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import inspect
import itertools
import math
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from bookcheck.equations.checks import Check, load_checks, run
from bookcheck.equations.scan import Equation, collect


def changed_inside(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value whose numbers and arrays are changed, inside tuples, lists, dictionaries, records."""
    if isinstance(value, (tuple, list)):
        parts = [changed_inside(one, change) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: changed_inside(one, change) for key, one in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value)]
        changes = {name: changed_inside(getattr(value, name), change) for name in fields}
        return dataclasses.replace(value, **changes)
    return change(value)


def other_numbers(value: Any, number: int) -> Any:
    """The same kind, shape and signs with other numbers: none stays, none keeps its ratio to
    another. Signs are kept, lest a logarithm of nothing fails where the number was not needed."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, np.integer)):
        return value + 3
    if isinstance(value, (float, complex, np.inexact)):
        return value * (1.37 + 0.41 * math.sin(number)) or 0.29
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bool:
            return ~value
        if not (value.is_floating_point() or value.is_complex()):
            return value + 3
        place = torch.arange(value.numel(), device=value.device).reshape(value.shape)
        scaled = value * (1.37 + 0.41 * torch.sin(place + 1.0 * number))
        return torch.where(value == 0, 0.29, scaled)
    if isinstance(value, np.ndarray):
        if value.dtype == bool:
            return ~value
        if not np.issubdtype(value.dtype, np.inexact):
            return value + 3
        where = np.arange(value.size).reshape(value.shape)
        return np.where(value == 0, 0.29, value * (1.37 + 0.41 * np.sin(where + 1.0 * number)))
    return value


def twice_as_long(value: Any) -> Any:
    """An array beside itself; other values as they are."""
    if isinstance(value, torch.Tensor) and value.ndim:
        return torch.cat([value, value])
    if isinstance(value, np.ndarray) and value.ndim:
        return np.concatenate([value, value])
    return value


def scrambling(function: Callable[..., Any], sizes: bool) -> Callable[..., Any]:
    """The function with a scrambled result, and with one multiplication of matrices more."""
    numbers = itertools.count(1)

    @functools.wraps(function)
    def changed(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options)
        _ = torch.ones(3, 5) @ torch.ones(5, 7)
        if sizes:
            return changed_inside(result, twice_as_long)
        return changed_inside(result, lambda value: other_numbers(value, next(numbers)))

    return changed


def growing(start: Callable[..., None]) -> Callable[..., None]:
    """The start of a module whose parameters come out twice as long, and one more of its own."""

    @functools.wraps(start)
    def changed(self: Any, *arguments: Any, **options: Any) -> None:
        start(self, *arguments, **options)
        if isinstance(self, torch.nn.Module):
            for parameter in self.parameters():
                parameter.data = twice_as_long(parameter.data)
            self.register_parameter("one_more", torch.nn.Parameter(torch.ones(7)))

    return changed


def modules_near(function: Any) -> list[Any]:
    """The function's own package, and all modules that are neither Python's nor installed.

    Those are thousands; to look through them for every check takes longer than the checks.
    """
    package = function.__module__.partition(".")[0]
    folders = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    return [
        module
        for name, module in sys.modules.items()
        if name.partition(".")[0] == package
        or not str(getattr(module, "__dict__", {}).get("__file__") or folders[0]).startswith(
            folders
        )
    ]


def holders_of(function: Any) -> Iterator[tuple[Any, str]]:
    """The modules, and the classes of the function's module, that name it."""
    own_module = vars(sys.modules[function.__module__])
    classes = [thing for thing in own_module.values() if inspect.isclass(thing)]
    for holder in [*modules_near(function), *classes]:
        for name, thing in list(getattr(holder, "__dict__", {}).items()):
            if thing is function:
                yield holder, name


@contextlib.contextmanager
def replaced(function: Any, sizes: bool) -> Iterator[None]:
    """Scramble a function, or the methods of a class, while the block runs."""
    before: list[tuple[Any, str, Any]] = []
    if inspect.isclass(function):
        methods = [name for name, one in vars(function).items() if inspect.isfunction(one)]
        holders = [(function, name) for name in methods if sizes or name != "__init__"]
    else:
        holders = list(holders_of(function))
        if not holders:
            raise LookupError(f"no module or class names {function!r}")
    try:
        for holder, name in holders:
            original = vars(holder)[name]
            before.append((holder, name, original))
            change = growing(original) if name == "__init__" else scrambling(original, sizes)
            setattr(holder, name, change)
        yield
    finally:
        for holder, name, original in before:
            setattr(holder, name, original)


def survives(check: Check, text: str, function: Any) -> bool:
    """Whether a check passes although the function it names returns other numbers."""
    with replaced(function, check.sizes):
        try:
            run(check, text)
        except Exception:
            return False
    return True


def survivors(checks: Sequence[Check], printed: dict[str, Equation]) -> list[str]:
    """One line for each function whose result a check does not depend on."""
    return [
        f"{check.label} ({check.file.name}, line {check.line}): does not depend on "
        f"{function.__name__}; bind it to a symbol, or name what the formula is compared with"
        for check in checks
        if check.label in printed
        for function in check.library
        if survives(check, printed[check.label].text, function)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Scramble the functions of the named chapters, or of all; say which checks do not notice."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("chapters", nargs="*", help="names of pages, such as 01-attention")
    chosen = parser.parse_args(arguments).chapters
    printed = {
        item.label: item for item in collect() if item.label and (not chosen or item.page in chosen)
    }
    found = survivors(load_checks(), printed)
    print("\n".join([*found, f"{len(found)} checks do not depend on their library"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

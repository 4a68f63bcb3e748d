"""One case of a check: what a reader's function gave, against what was expected, in words."""

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import torch

TOLERANCE = 1e-5  # relative to the largest number of a result
ANY = object()  # what a case expects that looks at the result itself

# A check yields cases: words, arguments and what is expected, which is a dict by their names for a
# result of several parts. It receives the result of each case.
Cases = Generator[tuple[str, tuple[Any, ...], Any], Any, None]


class Wrong(Exception):  # noqa: N818 - it is no error of the book's
    """What is wrong with a reader's function, in words."""


def try_all(cases: Cases, function: Callable[..., Any]) -> None:
    """Call the reader's function for each case and compare what it gives."""
    result = None
    while True:
        try:
            case, arguments, expected = cases.send(result)
        except StopIteration:
            return
        result = result_of(case, function, *arguments)
        if expected is not ANY:
            expect(case, result, expected)


def result_of(case: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the reader's function; if it raises, say for which case."""
    try:
        return function(*arguments)
    except Exception as error:
        raise Wrong(f"{case}, it raised {type(error).__name__}: {error}") from error


def expect(case: str, result: Any, expected: Any) -> None:
    """Compare words and truth values, or numbers: their shape and each value.

    >>> expect("With b = 1", torch.tensor([1.0, 2.5]), [1.0, 2.0])
    Traceback (most recent call last):
        ...
    bookkit.exercises.comparing.Wrong: With b = 1, expected 2 at [1], got 2.5.
    """
    if result is None:
        raise Wrong(f"{case}, it gave None: does it end with `return`?")
    if isinstance(expected, dict):
        for part, one in zip(expected, parts_of(case, result, len(expected)), strict=True):
            expect(f"{case}, {part}", one, expected[part])
        return
    if isinstance(expected, (str, bool)):
        if result != expected:
            raise Wrong(f"{case}, expected {expected!r}, got {result!r}.")
        return
    wanted = as_array(expected)
    try:
        found = as_array(result)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = type(result).__name__
        raise Wrong(f"{case}, expected numbers of shape {wanted.shape}, got {kind}.") from error
    if found.shape != wanted.shape:
        raise Wrong(f"{case}, expected shape {wanted.shape}, got {found.shape}.")
    largest = float(np.abs(wanted).max(initial=0.0)) or 1.0
    far = ~np.isclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE * largest)
    if far.any():
        place = tuple(int(index) for index in np.argwhere(far)[0])
        at = f" at {list(place)}" if place else ""
        raise Wrong(f"{case}, expected {wanted[place]:.6g}{at}, got {found[place]:.6g}.")


def parts_of(case: str, result: Any, count: int) -> tuple[Any, ...]:
    """The parts of a result that must be a tuple of `count` things."""
    if not isinstance(result, (tuple, list)) or len(result) != count:
        raise Wrong(f"{case}, expected {count} things in a tuple, got {type(result).__name__}.")
    return tuple(result)


def as_array(numbers: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Numbers of PyTorch, NumPy or Python as a NumPy array of floats."""
    if isinstance(numbers, torch.Tensor):
        numbers = numbers.detach().cpu().numpy()
    return np.asarray(numbers, dtype=float)

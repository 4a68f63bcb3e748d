"""One case of a check: what a reader's function gave, and which property it lacks, in words."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bookkit.saying import said

TOLERANCE = 1e-5  # relative to the largest number of a result
ANY = object()  # what a case expects that looks at the result itself

# A check yields cases: words, arguments and what is expected. It receives the result of each case,
# and demands what must hold of it.
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


def demand(case: str, holds: Any, words: str) -> None:
    """A property that the result of a case must have; `words` say what is the case instead."""
    if not bool(holds):
        raise Wrong(sentence(case, words))


def sentence(case: str, words: str) -> str:
    """A case and what is wrong with it as one sentence."""
    return f"{said(case)}{said(', ')}{said(words)}{said('.')}"


def expect(case: str, result: Any, expected: Any) -> None:
    """Compare numbers with those that are expected: their shape, and what distinguishes them.

    >>> expect("With b = 1", torch.tensor([2.0, 4.0]), [1.0, 2.0])
    Traceback (most recent call last):
        ...
    bookkit.exercises.comparing.Wrong: With b = 1, each number is 2 times what it must be.
    """
    wanted = tensor_of(expected)
    found = numbers_of(case, result, wanted.shape)
    demand(case, close(found, wanted), difference_in_words(found, wanted))


def close(found: Tensor, wanted: Tensor | float) -> bool:
    """Whether two results agree up to rounding."""
    other = torch.as_tensor(wanted, dtype=torch.float64)
    largest = float(other.abs().amax()) if other.numel() else 0.0
    rounding = TOLERANCE * (largest or 1.0)
    return torch.allclose(found.double(), other, rtol=TOLERANCE, atol=rounding)


def difference_in_words(found: Tensor, wanted: Tensor) -> str:
    """How numbers differ from those that are wanted: all in one way, by their order, or some.

    >>> difference_in_words(torch.tensor([1.0, 5.0]), torch.tensor([1.0, 2.0]))
    'the number at [1] is too large, while others are right'
    """
    found = found.double()
    subject = "each number is" if wanted.numel() > 1 else "the result is"
    if not found.isfinite().all():
        return "the result contains NaN or infinity"
    if close(found, -wanted):
        return f"{subject} right in size, but has the wrong sign"
    if close(found.flatten().sort().values, wanted.flatten().sort().values):
        return "the numbers are right, but their order is wrong"
    nonzero = wanted.abs() > TOLERANCE * wanted.abs().amax()
    if nonzero.any():
        ratio = (found[nonzero] / wanted[nonzero]).median()
        if ratio.abs() > TOLERANCE and close(found, ratio * wanted):
            return f"{subject} {ratio:.3g} times what it must be"
    shift = (found - wanted).median()
    if close(found, wanted + shift):
        return f"{subject} too {'large' if shift > 0 else 'small'}, by {abs(shift):.3g}"
    largest = wanted.abs().amax()
    far = (found - wanted).abs() > TOLERANCE * (wanted.abs() + largest)
    place = far.nonzero()[0].tolist()
    size = "large" if found[tuple(place)] > wanted[tuple(place)] else "small"
    others = "none is right" if far.all() else "while others are right"
    return f"the number at {place} is too {size}, {others}"


def numbers_of(case: str, result: Any, shape: Sequence[int], meaning: str = "") -> Tensor:
    """The numbers of a result that must have this shape; `meaning` says what they are."""
    what = f" ({meaning})" if meaning else ""
    demand(case, result is not None, "it gave None, as if `return` were missing")
    try:
        found = tensor_of(result)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = type(result).__name__
        words = f"the result must be numbers of shape {tuple(shape)}{what}, and it is a {kind}"
        raise Wrong(sentence(case, words)) from error
    words = f"the result must have the shape {tuple(shape)}{what}, and it has {tuple(found.shape)}"
    demand(case, tuple(found.shape) == tuple(shape), words)
    return found


def parts_of(case: str, result: Any, count: int) -> tuple[Any, ...]:
    """The parts of a result that must be a tuple of `count` things."""
    whole = isinstance(result, (tuple, list)) and len(result) == count
    words = f"the result must be a tuple of {count} things, and it is a {type(result).__name__}"
    demand(case, whole, words)
    return tuple(result)


def tensor_of(numbers: Any) -> Tensor:
    """Numbers of PyTorch, NumPy or Python as a tensor of float64."""
    if isinstance(numbers, Tensor):
        return numbers.detach().cpu().double()
    return torch.from_numpy(np.array(numbers, dtype=float))

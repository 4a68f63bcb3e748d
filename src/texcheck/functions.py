"""Do declared functions depend on their arguments? One that does not allows any argument.

``q`` declared as ``lambda m: x`` makes ``q_m = q_{m+1}`` true, and a function of two arguments that
may be exchanged makes a misprint true that exchanges them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from texcheck.values import Value, is_number

# What is added to a number to see whether the function depends on it; to a whole one the first.
WHOLE_STEPS = (1, -1, 2)
STEPS = (0.37, -0.61, 1.0)
# Results are the same up to rounding.
SAME = 1e-9

Calls = Sequence[list[Any]]


def indifference(functions: Sequence[tuple[Any, Calls]]) -> str:
    """To which argument a function is indifferent wherever it was called; else empty.

    Each input has a function of its own, with the arguments of some of its calls. Arguments that it
    refuses tell nothing.
    """
    counts = {len(arguments) for _, calls in functions for arguments in calls}
    for number in range(max(counts, default=0)):
        if all_same(functions, functools.partial(moved, number)):
            which = "its argument" if counts == {1} else f"argument {number + 1}"
            return (
                f"gives the same for any value of {which}, so that another one could be printed; "
                "declare a function that depends on it"
            )
    if counts == {2} and all_same(functions, exchanged):
        return (
            "gives the same for exchanged arguments, so that they could be printed the other way "
            "round; declare a function that tells them apart"
        )
    return ""


def all_same(
    functions: Sequence[tuple[Any, Calls]], others: Callable[[list[Any]], list[list[Any]]]
) -> bool:
    """Whether other arguments were accepted somewhere and gave the same wherever they were."""
    tried = False
    for function, calls in functions:
        for arguments in calls:
            for changed in others(arguments):
                verdict = same_answer(function, arguments, changed)
                if verdict is False:
                    return False
                tried = tried or verdict is True
    return tried


def moved(number: int, arguments: list[Any]) -> list[list[Any]]:
    """The arguments with one of them changed, where it is a number."""
    if number >= len(arguments) or not is_number(arguments[number]):
        return []
    value = arguments[number]
    steps = WHOLE_STEPS if isinstance(value, int) else STEPS
    return [[*arguments[:number], value + step, *arguments[number + 1 :]] for step in steps]


def exchanged(arguments: list[Any]) -> list[list[Any]]:
    """Two arguments in the other order, where they differ."""
    first, second = arguments
    return [] if agree(first, second) else [[second, first]]


def same_answer(function: Any, arguments: list[Any], others: list[Any]) -> bool | None:
    """Whether a function answers both alike; None where it refuses the other arguments."""
    try:
        return agree(function(*arguments), function(*others))
    except Exception:  # whatever a function that somebody declared may raise
        return None


def agree(first: Value, second: Value) -> bool:
    """Whether two values are the same up to rounding."""
    one, other = np.asarray(first), np.asarray(second)
    if one.shape != other.shape:
        return False
    return bool(np.allclose(one, other, rtol=SAME, atol=SAME, equal_nan=True))

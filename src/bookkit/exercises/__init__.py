"""Checks of the exercises that ask for code: `check("attend_with_sink")` says what is wrong.

comparing   one case of a check: what arrived, against what was expected, in words
attention   checks on attention, heads, caches, norms, feed-forward layers and masks
positions   checks on positions, RoPE, long contexts and speed

Every public function of the last two is a check and has the name of the function that it tries. It
yields cases; the verdict tells one, what came and what was expected there, and never how to do it.
"""

import inspect
from collections.abc import Callable
from typing import Any

from bookkit.exercises import attention, positions
from bookkit.exercises.comparing import Cases, Wrong, try_all

CHECKS: dict[str, Callable[[], Cases]] = {
    name: function
    for module in (attention, positions)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
}


def check(name: str) -> None:
    """Print whether the function of this name, from a cell above, does what its exercise asks.

    It prints and never raises, so a notebook with exercises still to do runs to its end.
    """
    frame = inspect.currentframe()
    names = frame.f_back.f_globals if frame is not None and frame.f_back is not None else {}
    print(verdict(name, names.get(name)))


def verdict(name: str, function: Any) -> str:
    """What `check` prints: the function is missing, is wrong in this way, or is right.

    >>> verdict("lead_for", None)
    'lead_for: not there yet. Write it in a cell above and run that cell, then this one.'
    >>> verdict("lead_for", 3)
    'lead_for: not right yet. It must be a function, got int.'
    """
    if name not in CHECKS:
        raise ValueError(
            f"no exercise asks for {name!r}; there are {', '.join(sorted(CHECKS))}. "
            "The check of a new exercise is a function of its name in src/bookkit/exercises"
        )
    if function is None:
        return f"{name}: not there yet. Write it in a cell above and run that cell, then this one."
    if not callable(function):
        return f"{name}: not right yet. It must be a function, got {type(function).__name__}."
    try:
        try_all(CHECKS[name](), function)
    except Wrong as problem:
        return f"{name}: not right yet. {problem}"
    return f"{name}: right."

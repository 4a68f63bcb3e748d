"""Checks of the exercises that ask for code: `check("attend_with_sink")` says what is wrong.

comparing   one case of a check: which property a result lacks, in words
attention   checks on attention, heads, caches, norms and feed-forward layers
masks       checks on masks
positions   checks on positions, RoPE, long contexts and speed

Every public function of the last three is a check and has the name of the function that it tries.
It yields cases and demands properties of their results; the verdict tells the first one that fails
("the largest score is now 1.3, not the threshold"), and never how to do it.
"""

import inspect
from collections.abc import Callable
from typing import Any

from bookkit.exercises import attention, masks, positions
from bookkit.exercises.comparing import Cases, Wrong, try_all
from bookkit.saying import said

CHECKS: dict[str, Callable[[], Cases]] = {
    name: function
    for module in (attention, masks, positions)
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
        advice = "Write it in a cell above and run that cell, then this one."
        return said(f"{name}: not there yet. {advice}")
    if not callable(function):
        problem = f"It must be a function, got {type(function).__name__}."
        return said(f"{name}: not right yet. {problem}")
    try:
        try_all(CHECKS[name](), function)
    except Wrong as wrong:
        return said(f"{name}: not right yet. {wrong}")
    return said(f"{name}: right.")

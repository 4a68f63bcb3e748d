"""Checks and hints in a notebook: they look at the functions that its cells define."""

import inspect
from types import FrameType

from bookkit.workshop.checking import check_step, report
from bookkit.workshop.checking import hint as hint_text
from bookkit.workshop.probes import Names, functions_of

SOLUTION = "bookkit.workshop.solution"


def names_of(frame: FrameType | None, step: int) -> Names:
    """What the caller's cells define; the book's functions do not count as theirs in this step."""
    caller = frame.f_back if frame is not None else None
    names = dict(caller.f_globals) if caller is not None else {}
    for function in functions_of(step):
        if getattr(names.get(function), "__module__", "") == SOLUTION:
            del names[function]
    return names


def check(step: int) -> None:
    """Print what is right in a step, and which mistake a function makes.

    It prints and never raises, so a notebook with steps still to do runs to its end.
    """
    names = names_of(inspect.currentframe(), step)
    print("\n".join(report(step, check_step(step, names))))


def hint(step: int, stage: int = 1) -> None:
    """Print a hint: which property fails (1), which chapter explains it (2), where to look (3)."""
    print(hint_text(step, stage, names_of(inspect.currentframe(), step)))

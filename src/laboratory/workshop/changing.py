"""A mistake of the workshop is a small change of the solution; this applies it."""

import ast
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from bookkit.workshop import solution
from bookkit.workshop.playground import without_comments


class Mistake(NamedTuple):
    """A change of one function of the solution: each text on the left is replaced once."""

    function: str
    says: str  # what readers are told, behind the name of the function
    look: str  # the third hint: where to look
    changes: tuple[tuple[str, str], ...]


def names_with(*mistakes: Mistake) -> dict[str, Any]:
    """All names of the solution, with some functions replaced by mistaken ones.

    Two mistakes in one function are applied one after the other.
    """
    whole = without_comments(inspect.getsource(solution))  # a changed comment changes no mistake
    for mistake in mistakes:
        start, end = place_of(whole, mistake.function)
        source = whole[start:end]
        for old, new in mistake.changes:
            if source.count(old) != 1:
                raise ValueError(
                    f"{mistake.function}: expected {old!r} once in its source, found it "
                    f"{source.count(old)} times"
                )
            source = source.replace(old, new)
        whole = whole[:start] + source + whole[end:]
    names: dict[str, Any] = {"__name__": "mistaken"}
    exec(compile(whole, "mistaken.py", "exec"), names)
    return names


def place_of(whole: str, function: str) -> tuple[int, int]:
    """Where the source of a function begins and ends, in characters."""
    lines = whole.splitlines(keepends=True)
    for part in ast.parse(whole).body:
        if isinstance(part, ast.FunctionDef) and part.name == function:
            start = sum(len(line) for line in lines[: part.lineno - 1])
            end = sum(len(line) for line in lines[: part.end_lineno])
            return start, end
    raise ValueError(f"{function}: expected a function of the solution")


def adder(mistakes: list[Mistake]) -> Callable[..., None]:
    """A function that puts a mistake on this list."""

    def add(function: str, says: str, look: str, *changes: tuple[str, str]) -> None:
        mistakes.append(Mistake(function, says, look, changes))

    return add

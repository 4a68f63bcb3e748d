r"""texcheck "c^2 = a^2 + b^2" --with "a = 3, b = 4, c = 5": evaluate what is printed."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from texcheck.check import check, evaluate, read_display
from texcheck.errors import LatexError
from texcheck.parser import symbol_table
from texcheck.values import declared_values


def bound_values(text: str) -> dict[str, Any]:
    """The symbols of ``x = [1, 2], d_k = 4, n = range(3)`` with their values."""
    pieces: list[str] = []
    depth = 0
    for letter in text:
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter in ",;" and depth == 0:
            pieces.append("")
        else:
            pieces[-1:] = [(pieces or [""])[-1] + letter]
    values: dict[str, Any] = {}
    for piece in filter(str.strip, pieces):
        name, equals, value = piece.partition("=")
        if not equals:
            raise ValueError(f"write symbol = value, not {piece.strip()!r}")
        values[name.strip()] = value_of(value.strip())
    return values


def value_of(text: str) -> Any:
    """A number, a list of numbers, or ``range(3)``."""
    if text.startswith("range"):
        return range(*np.atleast_1d(ast.literal_eval(text.removeprefix("range"))))
    value = ast.literal_eval(text)
    return np.array(value, dtype=float) if isinstance(value, (list, tuple)) else value


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate a printed formula: 0 where it holds, 1 where it does not, 2 where it is refused."""
    parser = argparse.ArgumentParser(prog="texcheck", description=main.__doc__)
    parser.add_argument("formula", help="LaTeX without dollar signs")
    parser.add_argument("--with", dest="values", default="", help='"a = 3, x = [1, 2]"')
    parser.add_argument("--vectors", choices=("row", "column"), default="row")
    parser.add_argument("--first-index", type=int, default=1)
    options = parser.parse_args(arguments)
    reading = {"vectors": options.vectors, "first_index": options.first_index}
    try:
        values = bound_values(options.values)
        if not states_something(options.formula, values):
            print(evaluate(options.formula, values, **reading))
            return 0
        found = check(options.formula, values, **reading)
    except (LatexError, ValueError, TypeError, SyntaxError) as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    for relation in found:
        print(relation)
    return 0 if all(relation.holds for relation in found) else 1


def states_something(text: str, values: dict[str, Any]) -> bool:
    """Whether a formula has a relation; else it is an expression with a value."""
    try:
        read_display(text, symbol_table(declared_values(values)))
    except LatexError as error:
        return "states nothing" not in error.message
    return True


if __name__ == "__main__":
    sys.exit(main())

r"""texcheck "c^2 = a^2 + b^2" --with "a = 3" "b = 4" "c = 5": evaluate what is printed."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from lark import Tree

from texcheck.check import check, evaluate
from texcheck.errors import LatexError
from texcheck.parser import parse


def bound_values(texts: Sequence[str]) -> dict[str, Any]:
    """The symbols of ``x = [1, 2]``, ``d_k = 4`` and ``n = range(3)`` with their values."""
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"write symbol = value, not {text.strip()!r}")
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
    parser.add_argument("--with", dest="values", nargs="+", default=[], help='"a = 3" "x = [1, 2]"')
    parser.add_argument("--vectors", choices=("row", "column"), default="row")
    parser.add_argument("--first-index", type=int, default=1)
    options = parser.parse_args(arguments)
    reading = {"vectors": options.vectors, "first_index": options.first_index}
    try:
        values = bound_values(options.values)
        chains = [chain for chain in parse(options.formula).children if isinstance(chain, Tree)]
        if all(len(chain.children) == 1 for chain in chains):
            print(evaluate(options.formula, values, **reading))
            return 0
        found = check(options.formula, values, **reading)
    except (LatexError, ValueError, TypeError, SyntaxError) as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    for relation in found:
        print(relation)
    return 0 if all(relation.holds for relation in found) else 1


if __name__ == "__main__":
    sys.exit(main())

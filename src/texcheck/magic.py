r"""A Jupyter magic: ``%load_ext texcheck.magic``, then a cell with a formula and its values.

::

    %%texcheck a = 3, b = 4, c = 5
    c^2 = a^2 + b^2

Values are those of the line, else the notebook's variables of the same names.
"""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from texcheck.approximation import shares_of
from texcheck.check import CONVENTIONS, DEFAULT_CONVENTION, check
from texcheck.errors import LatexError
from texcheck.guess import guessed_symbols


def texcheck(line: str, cell: str | None = None, variables: dict[str, Any] | None = None) -> str:
    """What is said about the formula of a cell."""
    parser = argparse.ArgumentParser(prog="%%texcheck", exit_on_error=False)
    parser.add_argument("--vectors", choices=CONVENTIONS, default=DEFAULT_CONVENTION)
    parser.add_argument("--first-index", type=int, default=1)
    parser.add_argument("--approx", action="append", default=[])
    options, words = parser.parse_known_args(shlex.split(line, posix=False))
    known = dict(variables or {})
    try:
        given = eval(f"dict({' '.join(words)})", {}, known)
        text = (cell or "").strip()
        names = guessed_symbols(text, {name: callable(value) for name, value in given.items()})
        values = {name: known[key_of(name)] for name in names if key_of(name) in known}
        found = check(
            text,
            {**values, **given},
            vectors=options.vectors,
            first_index=options.first_index,
            approx=shares_of(options.approx),
        )
    except (LatexError, SyntaxError, NameError, TypeError, ValueError) as error:
        return f"refused: {error}"
    return "\n".join(str(relation) for relation in found)


def key_of(name: str) -> str:
    r"""The Python name of a symbol: ``alpha`` for ``\alpha``, ``x`` for ``\mathbf{x}``."""
    bare = name.rpartition("{")[2].rstrip("}") if "{" in name else name
    return bare.removeprefix("\\")


def load_ipython_extension(shell: Any) -> None:
    """Register the magic."""

    def magic(line: str, cell: str | None = None) -> None:
        print(texcheck(line, cell, shell.user_ns))

    shell.register_magic_function(magic, magic_kind="cell", magic_name="texcheck")

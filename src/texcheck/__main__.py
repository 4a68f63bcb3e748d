r"""The command: a formula on values, the formulas of a file, the symbols that they need."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lark import Tree

import texcheck
from texcheck.approximation import shares_of
from texcheck.check import CONVENTIONS, DEFAULT_CONVENTION, check, evaluate
from texcheck.errors import LatexError
from texcheck.files import checked_alone, checked_with, skeleton_of, symbols_said
from texcheck.parser import parse
from texcheck.sources import KINDS

COMMANDS = ("check", "symbols")
SHARE_HELP = "by which share the sides of a relation with \\approx may differ: 1=0.005"


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


def formula_parser() -> argparse.ArgumentParser:
    """What follows ``texcheck``, where it is no command."""
    parser = argparse.ArgumentParser(
        prog="texcheck",
        description="Evaluate a printed formula: 0 where it holds, 1 where it does not, 2 where it "
        "is refused. Or: texcheck check FILE [CHECKS.py], texcheck symbols FILE [--write FILE.py]",
    )
    parser.add_argument("formula", help="LaTeX without dollar signs")
    parser.add_argument("--with", dest="values", nargs="+", default=[], help='"a = 3" "x = [1, 2]"')
    parser.add_argument("--vectors", choices=CONVENTIONS, default=DEFAULT_CONVENTION)
    parser.add_argument("--first-index", type=int, default=1)
    parser.add_argument("--approx", nargs="+", default=[], help=SHARE_HELP)
    parser.add_argument("--version", action="version", version=f"texcheck {texcheck.__version__}")
    return parser


def command_parser(command: str) -> argparse.ArgumentParser:
    """What follows ``texcheck check`` or ``texcheck symbols``."""
    about = {
        "check": "Check the displays of a file: with a file of checks their tests, else whether "
        "each is read; 0 where nothing fails, 1 where a formula does, 2 where a file is not read",
        "symbols": "List the symbols that the displays of a file need, with guessed kinds",
    }
    parser = argparse.ArgumentParser(prog=f"texcheck {command}", description=about[command])
    parser.add_argument("file", type=Path, help=f"a file of one of the kinds {', '.join(KINDS)}")
    if command == "check":
        parser.add_argument("checks", type=Path, nargs="?", help="a file of checks, in Python")
        parser.add_argument("--record", type=Path, help="write which formulas held, for Sphinx")
    else:
        parser.add_argument("--write", type=Path, help="write the skeleton of a file of checks")
        parser.add_argument("--vectors", choices=CONVENTIONS, default=DEFAULT_CONVENTION)
    return parser


def formula_verdict(arguments: Sequence[str] | None) -> int:
    """Evaluate one formula on values."""
    options = formula_parser().parse_args(arguments)
    if Path(options.formula).suffix in KINDS and Path(options.formula).exists():
        print(f"a file is checked by: texcheck check {options.formula}", file=sys.stderr)
        return 2
    reading = {"vectors": options.vectors, "first_index": options.first_index}
    values = bound_values(options.values)
    chains = [chain for chain in parse(options.formula).children if isinstance(chain, Tree)]
    if all(len(chain.children) == 1 for chain in chains):
        print(evaluate(options.formula, values, **reading))
        return 0
    found = check(options.formula, values, approx=shares_of(options.approx), **reading)
    for relation in found:
        print(relation)
    return 0 if all(relation.holds for relation in found) else 1


def tests_in(file: Path) -> list[Callable[[], None]]:
    """The tests of a file of checks that ``Formulas`` made."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return [one for one in vars(module).values() if getattr(one, "formula", None) is not None]


def file_verdict(file: Path, checks: Path | None, record: Path | None) -> int:
    """Check the displays of a file."""
    # Checks of a text that is not theirs to pass on find it by this variable.
    os.environ.setdefault("TEXTS", str(file.parent))
    if checks is None:
        found = list(checked_alone(file))
    else:
        try:
            tests = tests_in(checks)
        except (OSError, ValueError):
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"{checks.name} cannot be run: {reason}") from None
        found = list(checked_with(file, tests))
    for said in found:
        print(said)
    counts = Counter(said.word for said in found)
    print(f"{file.name}: " + (", ".join(f"{n} {word}" for word, n in counts.items()) or "nothing"))
    if record is not None:
        held = [str(said.text) for said in found if said.word == "holds" and said.text]
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps({"held": held}, indent=1), encoding="utf-8")
    if not found:
        return 2
    return 1 if any(counts[word] for word in ("fails", "refused", "missing")) else 0


def symbols_of_file(file: Path, write: Path | None, vectors: str) -> int:
    """List the unknown symbols of a file, and write the skeleton of its checks."""
    for line in symbols_said(file):
        print(line)
    if write is None:
        return 0
    if write.exists():
        raise ValueError(f"{write} is there already, and is kept")
    write.write_text(skeleton_of(file, write.name, vectors), encoding="utf-8")
    print(f"written: {write}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; what cannot be read is a message and no traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if not words or words[0] not in COMMANDS:
            return formula_verdict(words)
        options = command_parser(words[0]).parse_args(words[1:])
        if words[0] == "check":
            return file_verdict(options.file, options.checks, options.record)
        return symbols_of_file(options.file, options.write, options.vectors)
    except OSError as error:
        print(f"refused: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
    except (LatexError, ValueError, TypeError, SyntaxError) as error:
        print(f"refused: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())

"""The command: `rope-doctor`, or `python -m rope_doctor`."""

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from rope_doctor.families import FAMILIES, write_vectors
from rope_doctor.report import DTYPES, examine

ABOUT = """Why does my RoPE not match? Examine any function that rotates, and say what it does.

    rope-doctor package.module:function
    rope-doctor package.module:function --family "Llama 3.1"
    rope-doctor --vectors DIRECTORY

The function takes vectors as f(x, positions), f(q, k, positions), f(q, k, cos, sin),
f(q, k, freqs_cis), f(x, offset) or f(x), in either order of heads and positions; the names of its
parameters tell which. Anything else needs an adapter: `def adapter(x, positions): ...` with x
(b, h, n, d) and positions (n,)."""


def load(name: str) -> Callable[..., Any]:
    """The function named `package.module:function`; attributes may follow with dots."""
    module, colon, path = name.partition(":")
    if not colon or not module or not path:
        raise ValueError(f"name the function as package.module:function, got {name!r}")
    sys.path.insert(0, os.getcwd())
    function: Any = importlib.import_module(module)
    for part in path.split("."):
        function = getattr(function, part)
    if not callable(function):
        raise TypeError(f"{name} is no function but of type {type(function).__name__}")
    found: Callable[..., Any] = function
    return found


def main(arguments: list[str] | None = None) -> int:
    """0: sound; 1: a fault, or a difference to the family; 2: it could not be examined."""
    parser = argparse.ArgumentParser(
        prog="rope-doctor",
        description=ABOUT,
        epilog="Exit code: 0 sound, 1 a fault or a difference to the family, 2 not examined.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("function", nargs="?", help="package.module:function")
    parser.add_argument("--head-dim", type=int, default=128, help="length of a vector (128)")
    parser.add_argument("--dtype", choices=DTYPES, default="float32", help="to measure errors in")
    parser.add_argument("--family", choices=FAMILIES, help="compare with this model family")
    parser.add_argument("--vectors", metavar="DIRECTORY", help="write test vectors as JSON")
    options = parser.parse_args(arguments)
    if options.vectors:
        print(f"{len(write_vectors(options.vectors))} files in {options.vectors}")
        return 0
    if not options.function:
        parser.print_usage()
        return 2
    try:
        report = examine(
            load(options.function),
            head_dim=options.head_dim,
            dtype=DTYPES[options.dtype],
            family=options.family,
        )
    except Exception as error:  # whatever somebody else's module or function raises
        print(f"not examined: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(report)
    return 0 if report.sound else 1


if __name__ == "__main__":
    sys.exit(main())

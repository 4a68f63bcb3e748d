"""The command: `rope-doctor`, or `python -m rope_doctor`."""

import argparse
import importlib
import os
import sys
import textwrap
from typing import Any

from rope_doctor.families import FAMILIES, write_vectors
from rope_doctor.report import DTYPES, WIDTH, examine

ABOUT = """Why does my RoPE not match? Examine any function that rotates, and say what it does.

    rope-doctor package.module:function
    rope-doctor package.module:function --family "Llama 3.1"
    rope-doctor --vectors DIRECTORY

The function takes vectors as f(x, positions), f(q, k, positions), f(q, k, cos, sin),
f(q, k, freqs_cis), f(x, offset) or f(x), in either order of heads and positions; the names of its
parameters tell which. Anything else needs an adapter: `def adapter(x, positions): ...` with x
(b, h, n, d) and positions (n,)."""


def load(name: str) -> Any:
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
    return function


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
    given = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):  # a console without Greek letters must not end in one
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    try:
        if given.vectors:
            print(f"{len(write_vectors(given.vectors))} files in {given.vectors}")
            return 0
        options = {"head_dim": given.head_dim, "dtype": DTYPES[given.dtype], "family": given.family}
        report = examine(load(given.function or ""), **options)
    except Exception as error:  # whatever somebody else's module or function raises
        lines = f"not examined: {type(error).__name__}: {error}".splitlines()
        print("\n".join(textwrap.fill(line, WIDTH) for line in lines), file=sys.stderr)
        return 2
    print(report)
    return 0 if report.sound else 1


if __name__ == "__main__":
    sys.exit(main())

"""The command: `rope-doctor`, or `python -m rope_doctor`."""

import argparse
import importlib
import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

from rope_doctor import adapters
from rope_doctor.configuration import Reading, load_config, read_config
from rope_doctor.examination import DTYPES, examine
from rope_doctor.families import write_vectors
from rope_doctor.report import WIDTH, Report

ABOUT = """Why does my RoPE not match? Examine any function that rotates, and say what it does.

    rope-doctor --model FOLDER
    rope-doctor --config config.json
    rope-doctor package.module:function
    rope-doctor package.module:function --config config.json
    rope-doctor package.module:function --family "Llama 3.1"
    rope-doctor --vectors DIRECTORY

The function takes vectors as f(x, positions), f(q, k, positions), f(positions, query, key),
f(q, k, cos, sin), f(q, k, freqs_cis), f(x, offset) or f(x), in any usual order of axes; the names
of its parameters tell which. Anything else needs an adapter: `def adapter(x, positions): ...` with
x (b, h, n, d) and positions (n,)."""
CODES = "Exit code: 0 sound, 1 a fault, a difference, or nothing is proved, 2 not examined."


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


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    found = argparse.ArgumentParser(
        prog="rope-doctor",
        description=ABOUT,
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument(
        "function", nargs="?", help="package.module:function, or a module's instance"
    )
    found.add_argument("--model", metavar="FOLDER", help="a model folder of transformers")
    found.add_argument("--config", metavar="FILE", help="config.json to read, or to compare with")
    found.add_argument("--layer-type", help="which kind of layer of the configuration")
    found.add_argument("--head-dim", type=int, help="length of a vector (128)")
    found.add_argument("--dtype", choices=DTYPES, default="float32", help="to measure errors in")
    found.add_argument("--family", metavar="NAME", help="compare with this family or model")
    found.add_argument("--json", action="store_true", help="print the report as JSON")
    found.add_argument("--vectors", metavar="DIRECTORY", help="write test vectors as JSON")
    return found


def show(report: Report, *, as_json: bool) -> int:
    """Print a report; the exit code."""
    print(json.dumps(report.as_dict(), ensure_ascii=False) if as_json else report)
    return 0 if report.sound else 1


def show_config(reading: Reading, *, as_json: bool) -> int:
    """Print what a configuration says; the exit code."""
    if as_json:
        rows = []
        for wanted in reading.wanted:
            settings = wanted.settings._asdict() | {
                "frequencies": wanted.settings.frequencies.tolist()
            }
            rows.append({"layers": wanted.name, **settings})
        text = {"rotations": rows, "faults": reading.faults, "notes": reading.notes}
        print(json.dumps(text, ensure_ascii=False))
    else:
        lines = str(reading).splitlines()
        print("\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in lines))
    return 1 if reading.faults else 0


def examine_folder(folder: str, layer_type: str | None, *, as_json: bool) -> int:
    """Examine the rotary class of a model folder against its configuration; the exit code."""
    config = load_config(folder)
    rotary = adapters.rotary_of_folder(folder)
    if rotary is None:
        show_config(read_config(config, layer_type=layer_type), as_json=as_json)
        print(
            "nothing is proved: transformers is not installed, so its code was not examined",
            file=sys.stderr,
        )
        return 1
    kinds = [layer_type] if layer_type else adapters.kinds_of_layers(rotary)
    codes = []
    for kind in kinds or [None]:
        codes.append(show(examine(rotary, layer_type=kind), as_json=as_json))
    return max(codes)


def run(given: argparse.Namespace) -> int:
    """Do what the arguments ask for; the exit code."""
    if given.vectors:
        print(f"{len(write_vectors(given.vectors))} files in {given.vectors}")
        return 0
    if given.model:
        return examine_folder(given.model, given.layer_type, as_json=given.json)
    config = load_config(Path(given.config)) if given.config else None
    if config is not None and not given.function:
        reading = read_config(config, layer_type=given.layer_type)
        return show_config(reading, as_json=given.json)
    report = examine(
        load(given.function or ""),
        head_dim=given.head_dim,
        dtype=DTYPES[given.dtype],
        family=given.family,
        config=config,
        layer_type=given.layer_type,
    )
    return show(report, as_json=given.json)


def main(arguments: list[str] | None = None) -> int:
    """0: sound; 1: a fault, a difference, or nothing is proved; 2: it could not be examined."""
    given = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):  # a console without Greek letters must not end in one
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    try:
        return run(given)
    except Exception as error:  # whatever somebody else's module or function raises
        lines = f"not examined: {type(error).__name__}: {error}".splitlines()
        print("\n".join(textwrap.fill(line, WIDTH) for line in lines), file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

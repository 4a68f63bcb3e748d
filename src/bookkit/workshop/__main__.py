"""The workshop in a terminal: python -m bookkit.workshop

It makes my_model.py, with twelve steps as empty functions, and never changes it afterwards.

    python -m bookkit.workshop               begin, or see how far you are
    python -m bookkit.workshop check         check the next step
    python -m bookkit.workshop check 7       check step 7
    python -m bookkit.workshop hint 7        a hint for step 7 (then: hint 7 2, hint 7 3)
    python -m bookkit.workshop solution 7    one way to write step 7
    python -m bookkit.workshop write "def"   let your model continue a text, after step 11
"""

import argparse
import ast
import linecache
import sys
from pathlib import Path

import numpy as np

from bookkit.workshop.checking import check_step, hint, is_done, progress, report
from bookkit.workshop.probes import REAL_CONFIG, STEPS, Names, functions_of, real_data
from bookkit.workshop.steps import LAST

COMMAND = "python -m bookkit.workshop"
HERE = Path(__file__).parent


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog=COMMAND, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--file", type=Path, default=Path("my_model.py"), help="your file")
    commands = parser.add_subparsers(dest="command", metavar="command")
    for name, words in (
        ("check", "check a step"),
        ("hint", "a hint for a step"),
        ("solution", "one way to write a step"),
    ):
        command = commands.add_parser(name, help=words)
        steps = range(1, LAST + 1)
        optional = name == "check"
        command.add_argument(
            "step", type=int, choices=steps, metavar="step", nargs="?" if optional else None
        )
        if name == "hint":
            command.add_argument("stage", type=int, choices=(1, 2, 3), nargs="?", default=1)
    write = commands.add_parser("write", help="let your model continue a text")
    write.add_argument("text")
    write.add_argument("--count", type=int, default=200, help="how many bytes")
    write.add_argument("--temperature", type=float, default=0.7)
    return parser.parse_args()


def names_of(file: Path) -> Names:
    """What the reader's file defines."""
    source = file.read_text(encoding="utf-8")
    linecache.checkcache(str(file))
    names: Names = {"__name__": "my_model", "__file__": str(file)}
    exec(compile(source, str(file), "exec"), names)
    return names


def begin(file: Path) -> None:
    """Make the reader's file, unless it is there."""
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write((HERE / "skeleton.py").read_text(encoding="utf-8"))
    except FileExistsError:
        return
    print(f"{file} is made: twelve steps as empty functions. Open it in your editor.")
    print(f"Write softmax, the first one, then type: {COMMAND} check 1")


def show_progress(names: Names) -> None:
    """Which steps are done, and what comes next."""
    done = progress(names)
    for step, (title, _) in enumerate(STEPS, 1):
        print(f"  {'✓' if done[step - 1] else '·'} {step:2} {title}")
    print(f"{sum(done)} of {LAST} steps are done.")
    say_next(done)


def say_next(done: list[bool]) -> None:
    """The next step, or what to do after the last one."""
    if all(done):
        print(f'Your model is complete. Let it write: {COMMAND} write "def mean("')
        return
    step = done.index(False) + 1
    asked = ", ".join(functions_of(step))
    print(f"Next: step {step}, {STEPS[step - 1][0]} ({asked}). Then: {COMMAND} check {step}")


def check(step: int | None, names: Names) -> bool:
    """Check a step, or the first one that is not done; say what comes next."""
    if step is None:
        done = progress(names)
        step = done.index(False) + 1 if not all(done) else LAST
    verdicts = check_step(step, names)
    print("\n".join(report(step, verdicts)))
    if is_done(step, verdicts):
        say_next(progress(names))
        return True
    print(f"A hint: {COMMAND} hint {step}")
    return False


def print_hint(step: int, stage: int, names: Names) -> None:
    """Print a hint and say how to get the next one."""
    print(hint(step, stage, names))
    if stage < 3:
        print(f"The next hint: {COMMAND} hint {step} {stage + 1}")
    else:
        print(f"One way to write it: {COMMAND} solution {step}")


def solution_of(step: int) -> str:
    """The functions of a step in the solution."""
    source = (HERE / "solution.py").read_text(encoding="utf-8")
    wanted = functions_of(step)
    parts = [
        ast.get_source_segment(source, part) or ""
        for part in ast.parse(source).body
        if isinstance(part, ast.FunctionDef) and part.name in wanted
    ]
    return "\n\n\n".join(parts)


def write(names: Names, text: str, count: int, temperature: float) -> None:
    """Continue a text with the reader's functions, byte by byte."""
    weights = names["read_weights"](real_data())
    rope = (names["rope_frequencies"](32), 1.0)
    random = np.random.default_rng()
    tokens = names["encode"](text)
    settings = {"temperature": temperature, "top_p": 0.95}
    print(text, end="", flush=True)
    for token in names["generate"](tokens, count, weights, REAL_CONFIG, rope, random, **settings):
        sys.stdout.buffer.write(bytes([token] if token < 256 else []))
        sys.stdout.flush()
    print()


def main() -> None:
    """Do what the command line says."""
    asked = arguments()
    if asked.command == "solution":
        print(solution_of(asked.step))
        return
    begin(asked.file)
    try:
        names = names_of(asked.file)
    except SyntaxError as error:
        sys.exit(f"{asked.file}, line {error.lineno}: {error.msg}")
    if asked.command is None:
        show_progress(names)
    elif asked.command == "check":
        sys.exit(0 if check(asked.step, names) else 1)
    elif asked.command == "hint":
        print_hint(asked.step, asked.stage, names)
    else:
        try:
            write(names, asked.text, asked.count, asked.temperature)
        except NotImplementedError as error:
            sys.exit(f"Your model cannot write yet. Still empty: {error}")


if __name__ == "__main__":
    main()

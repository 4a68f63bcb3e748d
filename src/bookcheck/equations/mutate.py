r"""Mutation test of the mathematics: would a misprint in a formula be noticed?

Each executed equation is changed in one place (a flipped sign, sin for cos, a dropped factor,
another index, a bound off by one, a transpose more or less, a fraction upside down), and its check
runs on the changed text. A change that still passes has survived. Survivors that are truly
equivalent (or true as well) stand with their reason in a file for each chapter,
``tests/equations/equivalent/01-attention.json``: ``{label: {change: reason}}``. Any other survivor
shows a check that is not sharp.

    python -m bookcheck.equations.mutate                 every mutant
    python -m bookcheck.equations.mutate --sample 200    some; --seed N for others
    python -m bookcheck.equations.mutate 01-attention    one chapter

Equations are shared out to two processes (``--jobs``). A sample is the same on every machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lark import Token, Tree

from bookcheck.equations.checks import Check, inputs_of, load_checks
from bookcheck.equations.scan import Equation, collect
from bookcheck.latex import LatexError, check
from bookcheck.latex.lexer import Lexer
from bookcheck.latex.parser import parse, tokens_of
from bookcheck.latex.reader import INDICATORS, LOOSE_FUNCTIONS, REDUCTIONS, canonical_name
from bookcheck.paths import CHECKS

EQUIVALENT = CHECKS / "equivalent"
BAR = 0.98
SAMPLED_EACH = 4
JOBS = 2
SWAPS = {
    "\\sin": "\\cos",
    "\\cos": "\\sin",
    "\\max": "\\min",
    "\\min": "\\max",
    "\\sum": "\\prod",
    "\\prod": "\\sum",
    "\\Re": "\\Im",
    "\\operatorname{Re}": "\\operatorname{Im}",
    "\\le": "\\ge",
    "\\leq": "\\geq",
    "\\ge": "\\le",
    "\\geq": "\\leq",
    "<": ">",
    ">": "<",
}
TRANSPOSES = ("\\top", "\\mathsf{T}", "\\intercal")


@dataclass(frozen=True)
class Mutant:
    """A formula changed in one place."""

    change: str
    text: str


def mutants(text: str, matrices: Sequence[str] = ()) -> list[Mutant]:
    """All mutants of a formula; ``matrices`` are the symbols that stand for matrices."""
    found: dict[str, Mutant] = {}
    for start, end, new, kind in changes(text, set(matrices)):
        changed = text[:start] + new + text[end:]
        if changed != text and changed not in found:
            old = " ".join(text[start:end].split())
            found[changed] = Mutant(
                f"{kind} at {start}: {old or '∅'} → {new.strip() or '∅'}", changed
            )
    return list(found.values())


def changes(text: str, matrices: set[str]) -> Iterator[tuple[int, int, str, str]]:
    """Every single change: from, to, the new text, its kind."""
    lexer = Lexer(text)
    lexer.run()
    tokens = lexer.tokens
    yield from token_changes(text, tokens)
    tree = parse(text)
    indices = index_symbols(tree)
    for factor in tree.find_data("factor"):
        yield from script_changes(text, factor, indices, matrices)
    for term in tree.find_data("term"):
        yield from dropped_factors(text, term)
    for fraction in tree.find_data("fraction"):
        yield from turned_fraction(text, fraction)


def span(tree: Tree[Token] | Token) -> tuple[int, int]:
    tokens = list(tokens_of(tree))
    return tokens[0].start_pos or 0, tokens[-1].end_pos or 0


def token_changes(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int, str, str]]:
    for token in tokens:
        start, end = token.start_pos or 0, token.end_pos or 0
        printed = text[start:end]
        if token.type == "ADDOP":
            yield start, end, "-" if token.value == "+" else "+", "flip sign"
        elif token.type == "NUMBER" and printed.isdigit():
            yield start, end, braced(str(int(printed) + 1)), "off by one"
        elif printed in SWAPS and token.type in ("SYMBOL", "REL"):
            yield start, end, SWAPS[printed] + " " * SWAPS[printed][-1].isalpha(), "swap"


def braced(number: str) -> str:
    """A number of several digits must not fall apart after ``^`` or ``\\frac``."""
    return number if len(number) == 1 else f"{{{number}}}"


def index_symbols(tree: Tree[Token]) -> list[str]:
    """The letters used inside subscripts, in order."""
    found: dict[str, None] = {}
    for sub in tree.find_data("sub"):
        for token in tokens_of(sub):
            if token.type == "SYMBOL" and len(token.value) == 1:
                found[token.value] = None
    return list(found)


def script_changes(
    text: str, factor: Tree[Token], indices: Sequence[str], matrices: set[str]
) -> Iterator[tuple[int, int, str, str]]:
    base = factor.children[0]
    scripts = [child for child in factor.children[1:] if isinstance(child, Tree)]
    if isinstance(base, Token) and base.type == "SYMBOL" and base.value in REDUCTIONS:
        for script in scripts:
            if script.data == "sup":
                start, end = span(script.children[1])
                inner = text[start:end].strip()
                inner = inner[1:-1] if inner.startswith("{") else inner
                yield start, end, f"{{{inner}+1}}", "bound off by one"
        return
    for script in scripts:
        start, end = span(script)
        content = text[start + 1 : end].strip().strip("{}").strip()
        if script.data == "sup" and content in (*TRANSPOSES, "*", "\\ast", "\\dagger"):
            yield start, end, "", "drop transpose"
        if script.data == "sub":
            for token in tokens_of(script):
                if token.type != "SYMBOL" or token.value not in indices:
                    continue
                others = [name for name in indices if name != token.value]
                if others:
                    other = others[indices.index(token.value) % len(others)]
                    place = (token.start_pos or 0, token.end_pos or 0)
                    yield *place, other, "another index"
    if not scripts and isinstance(base, Token) and base.value in matrices:
        _, end = span(base)
        yield end, end, "^\\top ", "add transpose"
    if isinstance(base, Tree) and base.data == "root" and len(base.children) == 2:
        start, end = span(base)
        inner_start, inner_end = span(base.children[1])
        yield start, end, text[inner_start:inner_end], "drop root"


def dropped_factors(text: str, term: Tree[Token]) -> Iterator[tuple[int, int, str, str]]:
    """Leave out one factor of a product, with the operator beside it."""
    children = term.children
    previous_takes = False
    for place, child in enumerate(children):
        if isinstance(child, Token):
            previous_takes = False
            continue
        base = child.children[0]
        bracket = isinstance(base, Tree) and base.data == "bracket"
        takes = isinstance(base, Token) and (
            base.value in LOOSE_FUNCTIONS
            or base.value in REDUCTIONS
            or base.value in INDICATORS
            or base.value.startswith(("\\operatorname", "\\mathbb", "\\int", "\\partial", "\\Pr"))
        )
        one = isinstance(base, Token) and base == "1" and len(child.children) == 1
        droppable = not (takes or one or (previous_takes and bracket) or base == "d")
        after_name = place > 0 and not isinstance(children[place - 1], Token)
        if droppable and len(children) > 1 and not (bracket and after_name):
            start, end = span(child)
            if place > 0 and isinstance(children[place - 1], Token):
                start = span(children[place - 1])[0]
            elif place + 1 < len(children) and isinstance(children[place + 1], Token):
                end = span(children[place + 1])[1]
            division = isinstance(children[min(place + 1, len(children) - 1)], Token) and (
                place + 1 < len(children) and children[place + 1] == "/"
            )
            if not division:
                yield start, end, " ", "drop factor"
        previous_takes = takes


def turned_fraction(text: str, fraction: Tree[Token]) -> Iterator[tuple[int, int, str, str]]:
    top, bottom = fraction.children[1], fraction.children[2]
    if any(token.value in ("\\partial", "\\mathrm{d}") for token in tokens_of(fraction)):
        return
    start, _ = span(top)
    _, end = span(bottom)
    upper, lower = (text[slice(*span(part))].strip() for part in (top, bottom))
    pieces = [part if part.startswith("{") else f"{{{part}}}" for part in (lower, upper)]
    yield start, end, "".join(pieces), "turn fraction"


@dataclass
class Verdict:
    """What happened to one mutant."""

    label: str
    mutant: Mutant
    caught: bool
    by_error: bool


def matrix_symbols(values: Mapping[str, Any]) -> list[str]:
    return [name for name, value in values.items() if getattr(value, "ndim", 0) == 2]


def survives(text: str, item: Check, inputs: Sequence[Mapping[str, Any]]) -> tuple[bool, bool]:
    """Whether a mutated text passes its check, and whether an error (not a value) caught it."""
    for values in inputs:
        try:
            entries = check(text, values, **item.options)
        except LatexError:
            return False, True
        if not all(entry.holds for entry in entries):
            return False, False
    return True, False


def verdicts_of(
    item: Check, printed_equation: Equation, chosen: Callable[[list[Mutant]], list[Mutant]]
) -> list[Verdict]:
    """Try the chosen mutants of one equation."""
    inputs = list(inputs_of(item))
    names = [name for name in matrix_symbols(inputs[0]) if canonical_name(name) == name]
    found = []
    for mutant in chosen(mutants(printed_equation.text, names)):
        survived, by_error = survives(mutant.text, item, inputs)
        found.append(Verdict(item.label, mutant, not survived, by_error))
    return found


def chooser(label: str, seed: int | None) -> Callable[[list[Mutant]], list[Mutant]]:
    """All mutants of an equation, or the few that a sample takes; the same in every process."""
    if seed is None:
        return lambda tried: tried
    choose = random.Random(f"{seed} {label}")
    return lambda tried: choose.sample(tried, min(len(tried), SAMPLED_EACH))


def verdicts(
    checks: Sequence[Check],
    printed: Mapping[str, Equation],
    sample: int | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> list[Verdict]:
    """Try the mutants of all executed equations, or a sample of them.

    A sample takes equations in random order and a few mutants of each, so that a small sample
    reaches many equations without drawing the inputs of all.
    """
    items = {item.label: item for item in checks if item.reason is None and item.label in printed}
    labels = list(items)
    if sample is not None:
        random.Random(seed).shuffle(labels)
    tasks = [(label, None if sample is None else seed) for label in labels]
    found: list[Verdict] = []
    with contextlib.ExitStack() as stack:
        if jobs > 1:
            # Not a fork: PyTorch's threads do not survive one.
            context = multiprocessing.get_context("spawn")
            pool = stack.enter_context(context.Pool(jobs, start_worker))
            results: Iterable[list[Verdict]] = pool.imap(try_label, tasks)
        else:
            results = (verdicts_of(items[t[0]], printed[t[0]], chooser(*t)) for t in tasks)
        for done, result in enumerate(results, start=1):
            found += result
            say_progress(done, len(tasks), found)
            if sample is not None and len(found) >= sample:
                return found[:sample]
    return found


WORKER: dict[str, tuple[Check, Equation]] = {}


def start_worker() -> None:
    """Read the book and its checks once in each process, with one thread for each."""
    import torch

    torch.set_num_threads(1)
    printed = {item.label: item for item in collect() if item.label}
    WORKER.update({c.label: (c, printed[c.label]) for c in load_checks() if c.label in printed})


def try_label(task: tuple[str, int | None]) -> list[Verdict]:
    item, printed_equation = WORKER[task[0]]
    return verdicts_of(item, printed_equation, chooser(*task))


def say_progress(done: int, total: int, found: Sequence[Verdict]) -> None:
    if done % 20 == 0:
        survivors = sum(not verdict.caught for verdict in found)
        line = f"{done} of {total} equations, {len(found)} mutants, {survivors} survived"
        print(line, file=sys.stderr, flush=True)


def read_reasons(folder: Path = EQUIVALENT) -> dict[str, dict[str, str]]:
    """Why some mutants may survive: from one file for each chapter."""
    reasons: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*.json")):
        reasons |= json.loads(path.read_text(encoding="utf-8"))
    return reasons


def report(
    found: Sequence[Verdict],
    reasons: Mapping[str, Mapping[str, str]],
    complete: bool,
    seconds: float = 0.0,
) -> tuple[str, bool]:
    """The summary, and whether the bar is reached and every reason still has its survivor."""
    survivors = [verdict for verdict in found if not verdict.caught]
    explained = [v for v in survivors if v.mutant.change in reasons.get(v.label, {})]
    open_ones = [v for v in survivors if v.mutant.change not in reasons.get(v.label, {})]
    counted = len(found) - len(explained)
    caught = len(found) - len(survivors)
    rate = caught / counted if counted else 1.0
    by_error = sum(verdict.by_error for verdict in found)
    lines = [f"survived: {v.label}: {v.mutant.change}" for v in open_ones]
    lines += [
        f"equivalent: {v.label}: {v.mutant.change}: {reasons[v.label][v.mutant.change]}"
        for v in explained
    ]
    stale = []
    if complete:
        alive = {(v.label, v.mutant.change) for v in survivors}
        stale = [
            f"{label}: {change}"
            for label, changes_of in reasons.items()
            for change in changes_of
            if (label, change) not in alive
        ]
        lines += [f"no longer a survivor, remove its reason: {s}" for s in stale]
    raw = caught / len(found) if found else 1.0
    lines.append(
        f"{len(found)} mutants of {len({v.label for v in found})} equations in {seconds:.0f} s: "
        f"{caught} caught ({by_error} of them refused as not meaningful), "
        f"{len(explained)} equivalent, {len(open_ones)} survived; "
        f"caught of all {100 * raw:.2f} %, of those that are not equivalent {100 * rate:.2f} % "
        f"(at least {100 * BAR:.0f} % needed)"
    )
    return "\n".join(lines), rate >= BAR and not stale


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant misprints in the printed formulas and count those that the checks notice."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("chapters", nargs="*", help="names of chapters, such as 01-attention")
    parser.add_argument("--sample", type=int, help="try only this many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument(
        "--jobs", type=int, default=min(JOBS, os.cpu_count() or 1), help="how many processes"
    )
    options = parser.parse_args(arguments)
    printed = {
        item.label: item
        for item in collect()
        if item.label and (not options.chapters or item.page in options.chapters)
    }
    if not printed:
        print(f"no equations in {options.chapters or 'chapters/'}", file=sys.stderr)
        return 1
    started = time.monotonic()
    found = verdicts(load_checks(), printed, options.sample, options.seed, options.jobs)
    reasons = read_reasons()
    if options.chapters:
        reasons = {label: given for label, given in reasons.items() if label in printed}
    complete = options.sample is None
    text, passed = report(found, reasons, complete, time.monotonic() - started)
    print(text)
    return 0 if passed else 1


if __name__ == "__main__":
    # The worker processes import this module by its name; run that one.
    from bookcheck.equations.mutate import main as run_main

    sys.exit(run_main())

r"""Plant misprints in the formulas of the pages: the checks must notice them.

python -m bookcheck.equations.mutate                 of all pages, in two processes
python -m bookcheck.equations.mutate attention    of one page
python -m bookcheck.equations.mutate --everywhere attention
                                                  those alone in all places of a display at once,
                                                  and the texts of other labels of its page
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bookcheck.equations.checks import load_file, printed
from bookcheck.equations.sentences import Page
from bookformat.formulas import inline_formulas
from bookformat.paths import CHECKS
from texcheck.formulas import Check
from texcheck.mutate import report, verdicts


def formulas_of(path: str) -> Iterator[tuple[Check, str]]:
    """The executed formulas that a file of checks binds, in a process with one thread."""
    import torch

    torch.set_num_threads(1)
    for item in load_file(Path(path)):
        if isinstance(item, Page):
            for formula, check in item.checks(item.stated(inline_formulas()[item.name])):
                yield check, formula.text
        elif item.name in printed():
            yield item, printed()[item.name].text


def displays_of(path: str) -> Iterator[tuple[Check, str]]:
    """The displays alone that a file of checks binds."""
    for check, text in formulas_of(path):
        if check.name in printed():
            yield check, text


def other_texts(check: Check) -> dict[str, str]:
    """The texts of the other displays of the same page, by their labels."""
    known = printed()
    page = known[check.name].page
    return {
        label: other.text
        for label, other in known.items()
        if other.page == page and label != check.name
    }


def files_of(pages: Sequence[str]) -> list[Path]:
    """The files that check some pages, or all of them, the largest first."""
    stems = [page.replace("/", "_").replace("-", "_") for page in pages] or [""]
    found = {path for stem in stems for path in CHECKS.glob(f"test_{stem}*.py")}
    # A display of a page may be checked beside those of another one.
    labels = [f'"{label}"' for label, item in printed().items() if item.page in pages]
    for path in CHECKS.glob("test_*.py"):
        checks = path.read_text(encoding="utf-8")
        if any(label in checks for label in labels):
            found.add(path)
    return sorted(found, key=lambda path: (-path.stat().st_size, path))


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant misprints in the printed formulas and count those that the checks notice."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="*", help="names of pages, such as attention")
    parser.add_argument(
        "--jobs", type=int, default=min(2, os.cpu_count() or 1), help="how many processes"
    )
    parser.add_argument(
        "--everywhere",
        action="store_true",
        help="plant only those that are made in all places of a symbol of a display at once, and "
        "the texts of other labels of its page",
    )
    options = parser.parse_args(arguments)
    started = time.monotonic()
    paths = [str(path) for path in files_of(options.pages)]
    found = [] if options.everywhere else verdicts(formulas_of, paths, options.jobs)
    found += verdicts(displays_of, paths, options.jobs, everywhere=True, others=other_texts)
    if not found and not options.pages:
        print("no formula has a check", file=sys.stderr)
        return 1
    text, passed = report(found, seconds=time.monotonic() - started)
    print(text)
    return 0 if passed else 1


if __name__ == "__main__":
    # The worker processes import this module by its name; run that one.
    from bookcheck.equations.mutate import main as run_main

    sys.exit(run_main())

r"""Plant misprints in the formulas of the pages: the checks must notice them.

python -m bookcheck.equations.mutate                 of all pages, in two processes
python -m bookcheck.equations.mutate 01-attention    of one page
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from bookcheck.equations.checks import ByHand, load_all, printed
from bookcheck.equations.scan import inline_relations
from bookcheck.equations.sentences import Page
from texcheck.formulas import Check
from texcheck.mutate import Bound, report, verdicts
from texcheck.trial import Fate

# The pages whose sentences are mutated as well; the others follow as they are rewritten.
SENTENCES = ("02-why-sqrt-d", "10-deriving-rope")


def bound_formulas() -> Bound:
    """All executed formulas with their checks, in a process with one thread."""
    import torch

    torch.set_num_threads(1)
    found: dict[str, tuple[Check, str]] = {}
    for item in load_all():
        if isinstance(item, Page):
            if item.name in SENTENCES:
                relations = inline_relations()[item.name]
                pairs = item.checks(relations)
                found |= {check.name: (check, formula.text) for formula, check in pairs}
        elif item.name in printed() and not isinstance(item, ByHand):
            found[item.name] = (item, printed()[item.name].text)
    return found


def page_of(name: str) -> str:
    """The page on which a formula stands."""
    return printed()[name].page if name in printed() else name.partition(":")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant misprints in the printed formulas and count those that the checks notice."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="*", help="names of pages, such as 01-attention")
    parser.add_argument(
        "--jobs", type=int, default=min(2, os.cpu_count() or 1), help="how many processes"
    )
    options = parser.parse_args(arguments)
    bound = bound_formulas()
    names = [name for name in bound if not options.pages or page_of(name) in options.pages]
    if not names:
        print(f"no formulas in {options.pages or 'chapters/'}", file=sys.stderr)
        return 1
    started = time.monotonic()
    found = verdicts(bound_formulas, names, options.jobs)
    reasons = {name: bound[name][0].equivalent for name in names}
    text, passed = report(found, reasons, time.monotonic() - started)
    print(text)
    # The bar is one of the whole book; the run of a page lists what its checks do not notice.
    broken = any(verdict.fate is Fate.INTERNAL for verdict in found)
    return 0 if passed or (options.pages and not broken) else 1


if __name__ == "__main__":
    # The worker processes import this module by its name; run that one.
    from bookcheck.equations.mutate import main as run_main

    sys.exit(run_main())

"""Run the checks whose formula, check or code changed: `python -m bookcheck.equations`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bookcheck.cache import write_whole
from bookcheck.equations.records import (
    PASSED,
    all_hold,
    read_inline,
    read_records,
    state_of,
    write_inline,
)
from bookcheck.equations.scan import collect, inline_relations
from bookcheck.paths import CHAPTERS, CHECKS, RECORDS


def main(
    arguments: Sequence[str] | None = None,
    chapters: Path = CHAPTERS,
    checks: Path = CHECKS,
    records: Path = RECORDS,
) -> int:
    """Run the checks that are not on record; say what fails; 0 when everything holds."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--all", action="store_true", help="run every check again")
    options = parser.parse_args(arguments)
    equations = collect(chapters)
    inline = inline_relations(chapters)
    fresh = len(equations)
    problems: list[str] = []
    if options.all or not all_hold(equations, inline, checks, records):
        # Seconds of imports (torch, SciPy) that an unchanged book does not need.
        from bookcheck.equations.checks import check_again
        from bookcheck.equations.inline import check_inline, load_inline

        (records / PASSED).unlink(missing_ok=True)
        problems, fresh = check_again(equations, checks, records, everything=options.all)
        wrong, counted = check_inline(inline, load_inline(checks))
        problems += wrong
        write_inline(counted, records)
    for problem in problems:
        print(problem, file=sys.stderr)
    total = sum(item.label is not None for item in equations)
    if problems:
        print(f"{len(problems)} problems in {total} displayed equations", file=sys.stderr)
        return 1
    records.mkdir(parents=True, exist_ok=True)
    write_whole(records / PASSED, state_of(equations, inline, checks))
    executed = sum(outcome.executed for outcome in read_records(records).values())
    print(
        f"{total} displayed equations: {executed} executed, {total - executed} by hand, "
        f"{fresh} unchanged since their last check"
    )
    counts = read_inline(records, chapters)
    print(
        f"{counts.relations} relations in sentences: {counts.executed} executed, "
        f"{counts.definitions} definitions"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

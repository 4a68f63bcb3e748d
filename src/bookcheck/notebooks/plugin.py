"""Pytest plugin: nbval with the book's comparison, and a report of seconds per notebook."""

import os
from collections import defaultdict
from typing import Any

import nbval.plugin
import pytest

from bookcheck.notebooks.outputs import difference
from bookcheck.notebooks.rules import tolerance

# Two workers with two threads each would fight over two cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def compare_outputs(cell: Any, test: Any, ref: Any, skip_compare: Any = None) -> bool:
    """Compare a cell's outputs as the book does, in place of nbval's exact comparison."""
    problem = difference(ref, test, tolerance(cell.cell))
    cell.comparison_traceback = [problem] if problem else []
    return problem is None


# nbval has no hook for this, and its cell class cannot be subclassed from outside.
nbval.plugin.IPyNbCell.compare_outputs = compare_outputs


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the seconds each notebook took, slowest first."""
    seconds: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.location[0].endswith(".ipynb"):
                seconds[report.location[0]] += report.duration
    if seconds:
        terminalreporter.section("seconds per notebook")
        for name, duration in sorted(seconds.items(), key=lambda item: -item[1]):
            terminalreporter.write_line(f"{duration:7.1f}  {name}")

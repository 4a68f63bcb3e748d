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


class ChapterCell(nbval.plugin.IPyNbCell):
    """A notebook cell whose outputs are compared by `bookcheck.notebooks.outputs`."""

    def compare_outputs(self, test: Any, ref: Any, skip_compare: Any = None) -> bool:
        problem = difference(ref, test, tolerance(self.cell))
        self.comparison_traceback = [problem] if problem else []
        return problem is None


# nbval offers no hook for the class of its cells; it looks the name up when it collects.
nbval.plugin.IPyNbCell = ChapterCell


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the seconds each notebook took, slowest first."""
    seconds: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and ".ipynb::" in report.nodeid:
                seconds[report.nodeid.split("::")[0]] += report.duration
    if seconds:
        terminalreporter.section("seconds per notebook")
        for name, duration in sorted(seconds.items(), key=lambda item: -item[1]):
            terminalreporter.write_line(f"{duration:7.1f}  {name}")

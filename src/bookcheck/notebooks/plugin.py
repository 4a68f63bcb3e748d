"""Pytest plugin: nbval with the book's comparison and the values of its prose, and a report of
seconds per notebook."""

import gc
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import nbval.kernel
import nbval.plugin
import pytest
from jupyter_client.manager import KernelManager

from bookcheck import warm
from bookcheck.notebooks.files import cell_places
from bookcheck.notebooks.forked import use_forked_kernels
from bookcheck.notebooks.kernel_values import computed_of, faults, request
from bookcheck.notebooks.outputs import difference
from bookcheck.notebooks.rules import tolerance
from bookcheck.notebooks.sockets import own_sockets
from bookcheck.notebooks.values import Value, values_of_cell
from bookcheck.paths import ROOT

# Two workers with two threads each would fight over two cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def compare_outputs(cell: Any, test: Any, ref: Any, skip_compare: Any = None) -> bool:
    """Compare a cell's outputs as the book does, in place of nbval's exact comparison."""
    problem = difference(ref, test, tolerance(cell.cell))
    cell.comparison_traceback = [problem] if problem else []
    return problem is None


class WrongValueError(Exception):
    """Values of a cell's prose that are not what its notebook computes."""


class Values(pytest.Item):
    """The values of one cell, evaluated after the code above it."""

    def __init__(self, *, place: str, values: Sequence[Value], **others: Any) -> None:
        super().__init__(**others)
        self.place = place
        self.values = values

    def runtest(self) -> None:
        """Evaluate the expressions in the notebook's kernel and compare."""
        found = faults(self.values, self.evaluate())
        if found:
            raise WrongValueError("\n".join(found))

    def evaluate(self) -> list[Any]:
        """The values of prose, computed in the notebook's kernel."""
        notebook: Any = self.parent
        client = notebook.kernel.kc
        message = client.execute(**request(self.values))
        while True:
            reply = client.get_shell_msg(timeout=self.config.option.nbval_cell_timeout)
            if reply["parent_header"].get("msg_id") == message:
                return computed_of(reply, self.values)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Name the cell; the traceback of a comparison tells nothing."""
        if isinstance(excinfo.value, WrongValueError):
            return f"{self.place}:\n{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int, str]:
        """Where the values stand."""
        return self.path, 0, self.name


collect_cells = nbval.plugin.IPyNbFile.collect


def collect_cells_and_values(notebook: Any) -> Iterator[pytest.Item]:
    """The code cells in order, and after each the values that its notebook prints there."""
    code_cells = list(collect_cells(notebook))
    places = cell_places(cell.cell_type for cell in notebook.nb.cells)
    for place, cell in zip(places, notebook.nb.cells, strict=True):
        if cell.cell_type == "code":
            item = code_cells.pop(0)
            # nbval counts code cells from 0, Jupyter from 1.
            yield nbval.plugin.IPyNbCell.from_parent(
                notebook,
                name=place,
                cell_num=item.cell_num + 1,
                cell=item.cell,
                options=item.options,
            )
        values = values_of_cell(cell)
        if values:
            yield Values.from_parent(
                notebook, name=f"values of {place}", place=place, values=values
            )


# nbval has no hook for these, and its classes cannot be subclassed from outside.
nbval.plugin.IPyNbCell.compare_outputs = compare_outputs
nbval.plugin.IPyNbFile.collect = collect_cells_and_values
nbval.kernel.KernelManager = lambda **options: KernelManager(config=own_sockets(), **options)
if warm.possible():
    use_forked_kernels()


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Load nbval, whose options the settings name."""
    pluginmanager.register(nbval.plugin, "nbval")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of files that take long."""
    config.addinivalue_line("markers", "long: many seconds in one piece; begun before the others")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what runs longest in one piece first, or one worker ends alone with it."""
    tests = ROOT / "tests"
    quick_rooms = (tests / "attention_to_rope", tests / "equations")

    def place(item: pytest.Item) -> int:
        if item.path.suffix == ".ipynb":
            return 0
        if item.get_closest_marker("long"):
            return 1
        return 3 if any(map(item.path.is_relative_to, quick_rooms)) else 2

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Torch and six thousand tests are a million objects that live to the end: looking through
    them for garbage over and over takes a tenth of the run."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


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

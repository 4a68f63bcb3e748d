"""Pytest plugin: nbval with the book's comparison of outputs and the values of its prose."""

import gc
import os
from collections.abc import Iterator, Sequence
from typing import Any

import nbval.plugin
import pytest

from bookcheck.notebooks.files import cell_places, repeat_command
from bookcheck.notebooks.outputs import difference
from bookcheck.notebooks.rules import tolerance
from bookcheck.notebooks.values import Value, computed_of, faults, request, values_of_cell

# Two workers with two threads each would compete for two cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
NOISE = "from bookcheck.notebooks.noise import add_noise; add_noise({}, get_ipython())"


class Notebook(nbval.plugin.IPyNbFile):
    """A notebook: its code cells in order, and after each the values that its prose states."""

    def setup(self) -> None:
        """Start a kernel, and let it round differently where the option says so."""
        try:
            super().setup()
        except RuntimeError:
            # The kernel died. Jupyter chooses free ports before the kernel starts, and once in
            # some hundred starts another program takes one of them in between.
            super().setup()
        seed = self.config.getoption("--noise")
        if seed is not None:
            self.ask(code=NOISE.format(seed))

    def ask(self, **request: Any) -> Any:
        """Send the kernel a request beside the cells' own, and return its reply."""
        timeout = self.config.option.nbval_cell_timeout
        reply = self.kernel.kc.execute(**request, store_history=False, reply=True, timeout=timeout)
        if reply["content"]["status"] != "ok":
            raise RuntimeError(f"the kernel answers {reply['content']}")
        return reply

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each code cell, and one for each cell whose prose or caption has values."""
        code_cells = list(super().collect())
        places = cell_places(cell.cell_type for cell in self.nb.cells)
        for place, cell in zip(places, self.nb.cells, strict=True):
            if cell.cell_type == "code":
                item = code_cells.pop(0)
                settings = {"cell": cell, "cell_num": item.cell_num, "options": item.options}
                yield CodeCell.from_parent(self, name=place, **settings)
            if values := values_of_cell(cell):
                yield Values.from_parent(self, name=f"values of {place}", values=values)


class CodeCell(nbval.plugin.IPyNbCell):
    """A code cell, whose outputs are compared as the book does."""

    def compare_outputs(self, test: Any, ref: Any, skip_compare: Any = None) -> bool:
        """Compare words exactly and numbers nearly; nbval would compare all exactly."""
        problem = difference(ref, test, tolerance(self.cell))
        self.comparison_traceback = [problem] if problem else []
        return problem is None

    def repr_failure(self, excinfo: Any, style: Any = None) -> str:
        """Name the file and the cell, and say what to do."""
        error = excinfo.value
        if not isinstance(error, nbval.plugin.NbCellError):
            return str(super().repr_failure(excinfo))
        advice = f"If this output is right, store it: {repeat_command(self.path)}"
        lines = [f"{self.path.name}, {self.name}: {error}", self.cell.source]
        lines += [error.inner_traceback or "", advice if self.comparison_traceback else ""]
        return "\n\n".join(filter(None, lines))

    comparison_traceback: Sequence[str] = ()

    def reportinfo(self) -> tuple[Any, int, str]:
        """The file and the name of the cell."""
        return self.path, 0, self.name


class WrongValueError(Exception):
    """Values in prose that are not what the notebook computes."""


class Values(pytest.Item):
    """The values in one cell's prose or caption, evaluated after the code above it."""

    def __init__(self, *, values: Sequence[Value], **others: Any) -> None:
        super().__init__(**others)
        self.values = values

    def runtest(self) -> None:
        """Evaluate the expressions in the notebook's kernel and compare."""
        notebook: Any = self.parent
        found = faults(self.values, computed_of(notebook.ask(**request(self.values))))
        if found:
            raise WrongValueError("\n".join(found))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Name the cell; the traceback of a comparison says nothing more."""
        if isinstance(excinfo.value, WrongValueError):
            return f"{self.path.name}, {self.name}:\n{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int, str]:
        """The file and the name of the cell."""
        return self.path, 0, self.name


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Load nbval, whose options the settings name."""
    pluginmanager.register(nbval.plugin, "nbval")
    parser.addoption(
        "--noise", type=int, metavar="SEED", help="run notebooks with random rounding noise"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of files that take long."""
    config.addinivalue_line("markers", "long: takes many seconds, so it starts before the others")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Any, parent: Any) -> Any:
    """Collect with the classes above what nbval would collect with its own."""
    found = yield
    return [
        Notebook.from_parent(parent, path=file_path)
        if isinstance(one, nbval.plugin.IPyNbFile)
        else one
        for one in found
    ]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with what takes long, so that no worker is left alone with it at the end."""
    items.sort(
        key=lambda item: not (item.path.suffix == ".ipynb" or item.get_closest_marker("long"))
    )


def pytest_collection_finish() -> None:
    """Leave what collecting has loaded out of garbage collection, which takes a tenth of a run."""
    gc.freeze()

"""Pytest plugin: nbval with the book's comparison of outputs and the values of its prose.

With `--store`, outputs that differ are stored instead; those that are the same within the tolerance
keep their digits, so a run on another machine changes nothing that did not change. A file with a
cell that fails is left as it was.
"""

import gc
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import nbval.plugin
import pytest

from bookcheck.notebooks.kernel import Kernel
from bookcheck.notebooks.outputs import difference
from bookcheck.notebooks.rules import tolerance
from bookformat.contents import page_name
from bookformat.notebooks import cell_places, read, repeat_command, stored_form
from bookformat.paths import CHAPTERS, RECORDS
from bookformat.records import VALUES, Record, write_record
from bookformat.values import (
    Value,
    complete,
    faults,
    line_of,
    result_of,
    values_of_answer,
    values_of_cell,
)

NOISE = "from bookcheck.notebooks.noise import add_noise; add_noise({}, get_ipython())"

# Whether calls of the library are checked against their signatures (see shapes.py).
CHECKS = "__import__('jaxtyping').config.update('jaxtyping_disable', {})"


class Notebook(nbval.plugin.IPyNbFile):
    """A notebook: its code cells in order, and after each the values that its prose states."""

    # The first cell that did not run to its end. What misses its names below is skipped: one
    # message says more than that one and a dozen that follow from it.
    broken: str | None = None

    def setup(self) -> None:
        """Start a kernel, and let it round differently where the option says so."""
        self.kernel = Kernel(self.path.parent, self.config.option.nbval_cell_timeout)
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
        """A test for each code cell, and one for the values of its caption or the prose below."""
        count = 0
        self.notebook = read(self.path)
        cells = self.notebook.cells
        # What is above all code tells of the code that follows it, and the answer of all of it.
        opening = answer = None
        pairs = zip(cell_places(cell.cell_type for cell in cells), cells, strict=True)
        # Of tests with the same name, pytest-xdist runs only one.
        for place, group in groupby(pairs, itemgetter(0)):
            cell, *others = (cell for _, cell in group)
            if cell.cell_type == "code":
                count += 1
                if self.config.getoption("--store"):
                    cell.execution_count = count
                # No tag and no comment of a cell switches its check off.
                settings = {"cell": cell, "options": defaultdict(bool, check=True)}
                yield CodeCell.from_parent(self, name=place, cell_num=count, **settings)
            elif opening:
                yield opening
                opening = None
            values = [v for one in (cell, *others) for v in values_of_cell(one)]
            if cell.cell_type != "code" and not count:
                summed_up = values_of_answer("\n\n".join(one.source for one in (cell, *others)))
                answer = self.values_of("the answer", summed_up)
                opening = self.values_of(place, [v for v in values if v not in summed_up])
            elif found := self.values_of(place, values):
                yield found
        yield from filter(None, (opening, answer))
        self.not_run = count

    def values_of(self, place: str, values: Sequence[Value]) -> pytest.Item | None:
        """The test of some values; None where there are none."""
        if not values:
            return None
        found: pytest.Item = Values.from_parent(self, name=f"values of {place}", values=values)
        return found

    def teardown(self) -> None:
        """End the kernel, and store the outputs where all cells gave theirs."""
        super().teardown()
        if self.config.getoption("--store") and self.not_run == 0:
            self.path.write_text(stored_form(self.notebook), encoding="utf-8")


class CodeCell(nbval.plugin.IPyNbCell):
    """A code cell, whose outputs are compared as the book does."""

    def runtest(self) -> None:
        """Run the cell, without checks of shapes where its metadata give a reason for it."""
        reason = self.cell.metadata.get("bookcheck", {}).get("unchecked")
        if reason:
            self.parent.ask(code=CHECKS.format(True))
        not_run = self.parent.not_run
        try:
            super().runtest()
        except nbval.plugin.NbCellError as error:
            if self.parent.broken and "NameError" in error.inner_traceback:
                pytest.skip(f"{self.parent.broken} did not run to its end")
            if self.parent.not_run == not_run and not self.parent.broken:
                self.parent.broken = self.name
            raise
        finally:
            if reason:
                self.parent.ask(code=CHECKS.format(False))

    def compare_outputs(self, test: Any, ref: Any, skip_compare: Any = None) -> bool:
        """Compare words exactly and numbers nearly; nbval would compare all exactly."""
        problem = difference(ref, test, tolerance(self.cell))
        self.parent.not_run -= 1
        if problem and self.config.getoption("--store"):
            self.cell.outputs = test
            problem = None
        if self.config.getoption("--noise") is None:
            advice = f"If the new output is right, store it: {repeat_command(self.path)}"
        else:
            advice = "If it holds without --noise, it rests on rounding: print fewer digits."
        self.comparison_traceback = [problem, advice] if problem else []
        return problem is None


class Values(pytest.Item):
    """The values in one cell's prose or caption, evaluated after the code above it.

    Those of the prose above all code are evaluated after the code that follows it, and those of the
    answer at the end of the page.
    """

    def __init__(self, *, values: Sequence[Value], **others: Any) -> None:
        super().__init__(**others)
        self.values = values

    def runtest(self) -> None:
        """Evaluate the expressions in the notebook's kernel and compare."""
        notebook: Any = self.parent
        asked = {str(n): complete(value.expression) for n, value in enumerate(self.values)}
        reply = notebook.ask(code="", user_expressions=asked)
        found = faults(self.values, map(result_of, reply["content"]["user_expressions"].values()))
        if found and notebook.broken:
            found = [fault for fault in found if "NameError" not in fault]
            if not found:
                pytest.skip(f"{notebook.broken} did not run to its end")
        if found:
            pytest.fail("\n".join([f"{self.path.name}, {self.name}:", *found]), pytrace=False)
        if self.path.is_relative_to(CHAPTERS):
            name = re.sub(r"\W+", "-", f"{page_name(self.path)} {self.name}")
            text = "\n".join(map(line_of, self.values))
            write_record(Record(f"{VALUES}{name}", text), RECORDS)

    def reportinfo(self) -> tuple[Any, int, str]:
        """The file and the name of the cell."""
        return self.path, 0, self.name


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Load nbval, whose options the settings name."""
    pluginmanager.register(nbval.plugin, "nbval")
    gc.disable()  # until all tests are collected: nothing of them is garbage
    # Two workers with two threads each would compete for two cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser.addoption("--store", action="store_true", help="store what notebooks give")
    parser.addoption(
        "--noise", type=int, metavar="SEED", help="run notebooks with random rounding noise"
    )
    parser.addini("slow_notebooks", type="paths", help="notebooks that are marked slow", default=[])


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


def left_out(config: pytest.Config) -> set[Path]:
    """The slow notebooks, but those that are asked for: by name, to be stored, or with noise."""
    if config.getoption("--store") or config.getoption("--noise") is not None:
        return set()
    here = config.invocation_params.dir
    named = {(here / argument.partition("::")[0]).resolve() for argument in config.args}
    return {path.resolve() for path in config.getini("slow_notebooks")} - named


@pytest.hookimpl(tryfirst=True)  # before pytest itself leaves out what is marked slow
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start with what takes long, so that no worker is left alone with it at the end."""
    slow = left_out(config)
    for one in items:
        if one.path.suffix == ".ipynb" and one.path.resolve() in slow:
            one.add_marker("slow")
    items.sort(key=lambda one: not (one.path.suffix == ".ipynb" or one.get_closest_marker("long")))


def pytest_collection_finish() -> None:
    """Leave what collecting has loaded out of garbage collection, which takes a tenth of a run."""
    gc.freeze()
    gc.enable()

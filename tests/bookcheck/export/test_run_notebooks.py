"""Readers' notebooks run with what the library asks for, and with nothing else."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from bookcheck.export.run_notebooks import run_notebook
from bookcheck.notebooks.reach import refused_modules


@pytest.fixture
def run(tmp_path):
    def run(*sources):
        cells = [new_markdown_cell("# One"), *map(new_code_cell, sources)]
        path = tmp_path / "one.ipynb"
        nbformat.write(new_notebook(cells=cells), path)
        return run_notebook(path, refused_modules())

    return run


def test_the_library_matplotlib_and_what_they_need_are_there(run):
    assert not run(
        "import torch, numpy\nfrom attention_to_rope import softmax\n"
        "from bookkit.figures import figure, show\nfrom bookkit.exercises import check",
        "drawing, axes = figure()\naxes.plot([0, 1])\n"
        "show(drawing, alt='A line that rises from zero to one.')",
        "import inspect\ndef own():\n    return 1\nassert 'return 1' in inspect.getsource(own)",
    )


@pytest.mark.parametrize("package", ["lark", "nbformat", "bookcheck"])
def test_another_package_is_out_of_reach(run, package):
    told = run("x = 1", f"import {package}")
    assert 'File "cell [2]"' in told
    assert f"No module named {package!r}" in told


def test_a_cell_that_fails_is_named(run):
    told = run("x = 0", "1 / x")
    assert 'File "cell [2]"' in told
    assert "ZeroDivisionError" in told

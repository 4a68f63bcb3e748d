"""A chapter reaches what the library's installation brings along, and nothing else."""

import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from bookcheck import warm
from bookcheck.notebooks.elsewhere import run
from bookcheck.notebooks.reach import needed_packages, refused_modules


def test_the_needed_packages_are_those_of_the_wheel():
    needed = needed_packages()
    assert {"attention-to-rope", "torch", "numpy", "matplotlib", "ipython", "scipy"} <= needed
    assert not needed & {"sphinx", "jupyterlab", "nbformat"}
    refused = refused_modules()
    assert {"sphinx", "yaml", "bookcheck", "ipykernel"} <= refused
    assert "ipykernel" not in refused_modules("ipykernel")


@pytest.mark.skipif(not warm.possible(), reason="kernels are started the plain way here")
def test_a_chapter_that_leans_on_the_books_own_packages_is_caught(tmp_path):
    path = tmp_path / "chapter.ipynb"
    sources = ["import torch, scipy, bookkit.figures, ipykernel"]
    sources += [f"import {package}" for package in ("bookcheck", "lark", "nbval")]
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    (result,) = run([path], salt=1)
    assert (result.passed, result.failed) == (1, ["Cell 1", "Cell 2", "Cell 3"])
    assert "bookcheck" in sys.modules

"""The package as a whole: names, doctests, sizes, what importing it costs."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import attention_to_rope as book

FOLDER = Path(book.__file__).parent
MODULES = sorted(one.name for one in pkgutil.walk_packages(book.__path__, "attention_to_rope."))
EXPORTED = {
    alias.name: node.module
    for node in ast.parse(Path(book.__file__).read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}


def test_public_names_are_few_documented_and_in_the_packages_text():
    assert len(EXPORTED) <= 80
    text = book.__doc__.replace(",", " ").replace(";", " ").split()
    for name in EXPORTED:
        assert inspect.getdoc(getattr(book, name)), name
        assert name in text, name


def test_help_fits_on_two_screens():
    assert len(pydoc.plain(pydoc.render_doc(book)).splitlines()) <= 100


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    module = importlib.import_module(name)
    found = doctest.DocTestFinder().find(module, extraglobs={"torch": sys.modules["torch"]})
    for test in found:
        assert doctest.DocTestRunner().run(test).failed == 0, test.name


def test_the_library_stays_readable():
    def lines(path):
        return len(path.read_text(encoding="utf-8").splitlines())

    # A complete decoder in one file stands alone, and is counted by its own test.
    taught = [path for path in FOLDER.glob("*.py") if path.name != "model.py"]
    assert len(taught) <= 19  # with __init__.py
    assert max(map(lines, taught)) <= 300
    assert sum(map(lines, taught)) <= 3200
    assert sum(map(lines, (FOLDER / "fast").glob("*.py"))) <= 900
    assert sum(map(lines, (FOLDER / "checkpoints").glob("*.py"))) <= 500


def test_importing_brings_neither_the_compiler_nor_a_type_checker():
    code = (
        "import sys, torch; before = set(sys.modules); import attention_to_rope; "
        "print(sorted({'matplotlib', 'scipy', 'beartype', 'bookcheck', 'torch._dynamo'} "
        "& (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

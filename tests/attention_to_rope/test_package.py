"""The package as a whole: names, doctests, what importing it costs."""

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import attention_to_rope as book

MODULES = sorted(module.name for module in pkgutil.iter_modules(book.__path__))


def test_public_names_are_listed_once_and_documented() -> None:
    assert len(set(book.__all__)) == len(book.__all__)
    for name in book.__all__:
        thing = getattr(book, name)
        assert thing.__module__.startswith("attention_to_rope."), name
        assert thing.__doc__, name
    with open(book.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    imported = {
        alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported == set(book.__all__)


def test_map_of_modules_names_them() -> None:
    assert book.__doc__
    listed = {line.split()[0] for line in book.__doc__.splitlines()[2:] if line.strip()}
    for module in ("scaled_dot_product", "masks", "rope", "reference", "transformer"):
        assert module in listed
    assert listed <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    module = importlib.import_module(f"attention_to_rope.{name}")
    results = doctest.testmod(module)
    assert results.failed == 0


def test_import_brings_nothing_heavy_but_torch() -> None:
    code = (
        "import sys, torch; before = set(sys.modules); import attention_to_rope; "
        "print(sorted({'matplotlib', 'scipy', 'IPython', 'bookcheck', 'hypothesis'} "
        "& {name.partition('.')[0] for name in sys.modules} "
        "| {'torch._dynamo'} & (set(sys.modules) - before)))"  # the compiler
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"

"""The library is read from its files: names, signatures and sources as Python itself sees them."""

import importlib
import inspect

import pytest

import attention_to_rope as book
from bookcheck.site.library import PACKAGE, Library, library

ENTRIES = {entry.full_name: entry for entry in library().entries()}
MADE = '''"""A package.

first   what comes first
"""

from made.first import exported
'''
FIRST = '''"""The first module."""

from typing import NamedTuple


class Base:
    """A base."""

    def __init__(self, size: int, *, name: str = "a") -> None:
        self.size = size


class Child(Base):
    """A child."""

    def method(self, x: int) -> int:
        """Add one."""
        return x + 1

    def silent(self):
        return 1


class Pair(NamedTuple):
    """Two numbers."""

    left: float
    right: float = 0.0


@print
def exported(x, y=2, *rest, flag=True, **more):
    """Exported."""


def _private():
    """Private."""
'''


@pytest.fixture
def made(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "__init__.py").write_text(MADE, encoding="utf-8")
    (folder / "first.py").write_text(FIRST, encoding="utf-8")
    (folder / "second.py").write_text('"""the second."""\n\ndef two(): ...\n', encoding="utf-8")
    return Library(folder)


def test_modules_come_in_the_package_s_order(made):
    assert made.descriptions() == {"first": "What comes first.", "second": "The second."}


def test_what_is_exported_hides_the_rest_of_its_module(made):
    names = [entry.full_name for entry in made.entries()]
    assert names == [f"{PACKAGE}.exported", f"{PACKAGE}.second.two"]


def test_a_header_says_how_to_call(made):
    known = made.definitions("first")
    exported = "def exported(x, y=2, *rest, flag=True, **more):"
    assert made.header("first", known["exported"]) == exported
    assert made.header("first", known["Base"]) == (
        'class Base:\n    def __init__(self, size: int, *, name: str = "a") -> None:'
    )
    pair = "class Pair(NamedTuple):\n    left: float\n    right: float = 0.0"
    assert made.header("first", known["Pair"]) == pair
    (method,) = made.methods(known["Child"])
    assert made.header("first", method) == "def method(self, x: int) -> int:"
    assert made.header("second", made.definitions("second")["two"]) == "def two(): ..."


def test_a_source_has_its_decorators(made):
    assert made.source("first", "exported").startswith("@print\ndef exported(")


def test_every_exported_name_is_there_with_a_docstring():
    exported = [e.name for e in ENTRIES.values() if e.full_name == f"{PACKAGE}.{e.name}"]
    assert sorted(exported) == sorted(book.__all__)


@pytest.mark.parametrize("name", ENTRIES)
def test_names_and_sources_are_what_python_imports(name):
    entry = ENTRIES[name]
    thing = getattr(importlib.import_module(f"{PACKAGE}.{entry.module}"), entry.name)
    assert inspect.getdoc(thing), "it has no docstring"
    text = inspect.getsource(inspect.unwrap(thing)).rstrip()
    assert library().source(entry.module, entry.name) == text
    written = library().header(entry.module, entry.node)
    protocol = getattr(thing, "_is_protocol", False)
    own = inspect.isfunction(thing) or ("__init__" in vars(thing) and not protocol)
    assert not own or all(parameter in written for parameter in inspect.signature(thing).parameters)

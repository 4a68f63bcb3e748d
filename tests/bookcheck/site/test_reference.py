"""The reference names what Python imports, and cells lead to what they are first to use."""

import importlib
import inspect
import re

import pytest

import attention_to_rope as book
from bookcheck.site.reference import (
    PACKAGE,
    entries,
    header,
    index_markdown,
    library,
    modules,
    modules_markdown,
    names_to_link,
    source_of,
)

ENTRIES = {entry.path: entry for module in modules() for entry in entries(module)}
IMPORT = f"from {PACKAGE} import softmax"


def test_every_exported_name_is_there():
    exported = {name for name, one in vars(book).items() if callable(one)}
    assert exported <= {entry.name for entry in ENTRIES.values()}


@pytest.mark.parametrize("path", ENTRIES)
def test_a_name_is_described_as_python_sees_it(path):
    entry = ENTRIES[path]
    thing = getattr(importlib.import_module(entry.parent.path), entry.name)
    assert inspect.getdoc(thing), "it has no docstring"
    own = inspect.isfunction(thing) or "__init__" in vars(thing)
    if own and not getattr(thing, "_is_protocol", False):
        written = header(entry)
        assert all(parameter in written for parameter in inspect.signature(thing).parameters)
    _, first, last = source_of(None, entry.parent.path)[1][entry.name]
    assert first <= entry.lineno <= entry.endlineno <= last + 1


def test_the_pages_hold_every_entry_and_its_examples_are_fenced():
    index, text = index_markdown(), modules_markdown(modules())
    for path, entry in ENTRIES.items():
        assert f"<{path}>`" in index
        assert re.search(rf"^`````{{py:\w+}} {entry.name}$", text, re.MULTILINE), path
    assert not re.search(r"^>>>", re.sub(r"```pycon\n.*?\n```", "", text, flags=re.S), re.M)


@pytest.mark.parametrize(
    ("cells", "linked"),
    [
        ([(IMPORT, True), ("p = softmax(x)", True), ("softmax(y)", True)], ["", "softmax", ""]),
        ([(f"{IMPORT}\nsoftmax(x)", False), ("softmax(x)", True)], ["", "softmax"]),
        ([(f"{IMPORT} as weights\nweights(x)", True)], ["weights"]),
        ([("from other import softmax\nsoftmax(x)", True), ("%time x", True)], ["", ""]),
        ([("softmax = abs\nsoftmax(1)", True)], [""]),
    ],
)
def test_the_first_visible_use_of_a_name_leads_to_it(cells, linked):
    found = names_to_link(cells)
    assert [" ".join(names) for names in found] == linked
    path = library()["softmax"].canonical_path
    assert all(target == path for names in found for target in names.values())

"""The reference names what Python imports."""

import importlib
import inspect
import re

import pytest

import attention_to_rope as book
from bookformat.paths import CHAPTERS
from booksite import reference

ENTRIES = {one.path: one for part in reference.modules() for one in reference.entries(part)}


def test_a_build_without_torch_has_it_with_its_sources(good_site):
    page = (good_site / "chapters" / "api.html").read_text(encoding="utf-8")
    assert 'id="attention_to_rope.rope_axes.axial_table"' in page
    assert 'href="../_modules/attention_to_rope/rope_axes.html#axial_table"' in page
    assert (
        b"/rope_axes.py" in (good_site / "../.doctrees/environment.pickle").read_bytes()
    )  # watched


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
        written = reference.header(entry)
        names = list(inspect.signature(thing).parameters)
        assert all(name in written for name in names)
        if len(names) > 1 and max(map(len, written.splitlines())) > reference.WIDTH:
            assert all(re.search(rf"^ +\**{name}\b", written, re.M) for name in names)
    _, first, last = reference.source_of(None, entry.parent.path)[1][entry.name]
    assert first <= entry.lineno <= entry.endlineno <= last + 1


def test_the_pages_hold_every_entry_and_its_examples_are_fenced():
    index, text = reference.index_markdown(), reference.modules_markdown(reference.modules())
    for path, entry in ENTRIES.items():
        assert f"<{path}>`" in index
        assert re.search(rf"^`````{{py:\w+}} {entry.name}$", text, re.MULTILINE), path
    assert not re.search(r"^>>>", re.sub(r"```pycon\n.*?\n```", "", text, flags=re.S), re.M)


def test_letters_of_a_docstring_are_set_as_mathematics():
    said = "The angle m θ_i of W^DKV: (B, h, d_k / 2) to (d_in, n · 2), 8 · 2^k, s^−1."
    assert reference.markdown_of(said) == (
        r"The angle m $θ_{i}$ of $W^{DKV}$: $(B, h, d_{k} / 2)$ to $(d_\text{in}, n \cdot  2)$, "
        "8 · $2^{k}$, $s^{-1}$."
    )
    as_it_is = "`d_k`, $d_k$, 37_000, 10^-8, rope_axes, (see there), (1, 2), [W^Q](page_k.html)."
    assert reference.markdown_of(as_it_is) == as_it_is


def test_every_module_with_entries_is_on_a_page():
    named = set()
    for page in CHAPTERS.glob("api-*.md"):
        for modules in re.findall(r"```\{api\}\n(.+)\n```", page.read_text(encoding="utf-8")):
            named |= set(modules.split())
    wanted = {reference.short(part) for part in reference.modules() if reference.entries(part)}
    assert wanted == named, "name these modules in the `api` of a page, chapters/api-*.md"

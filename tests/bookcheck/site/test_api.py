"""The reference of the library: made from docstrings, with links to uses and tests."""

import ast
import re

import nbformat
import pytest

import attention_to_rope as book
from bookcheck.notebooks.files import chapter_notebooks
from bookcheck.prose.headings import headings_of
from bookcheck.site import api


def test_every_exported_name_has_one_entry_a_docstring_and_a_test():
    entries = api.public_entries()
    names = [entry.name for entry in entries if entry.full_name == f"{api.PACKAGE}.{entry.name}"]
    assert sorted(names) == sorted(book.__all__)
    for entry in entries:
        assert entry.doc, entry.full_name
    functions = [e for e in entries if e.name in names and e.kind == "function"]
    assert [entry.name for entry in functions if not api.tests_of(entry)] == []


def test_the_page_holds_every_entry_and_a_link_to_it():
    first = [path for path in chapter_notebooks() if path.name.startswith("01-")]
    text = api.reference_markdown(first, {"attention_to_rope.rope.rotate": ["eq-x"]})
    for entry in api.public_entries():
        assert f"<{entry.full_name}>`" in text
        assert re.search(rf"^`````{{py:\w+}} {entry.name}\(", text, re.MULTILINE), entry.name
    assert "Compared with the printed formulas {eq}`eq-x`." in text
    assert "Used in chapter [1, " in text
    outside_fences = re.sub(r"```pycon\n.*?\n```", "", text, flags=re.DOTALL)
    assert not re.search(r"^>>>", outside_fences, re.MULTILINE)


def test_a_name_counts_where_it_is_used_not_where_it_is_imported():
    def used(source):
        tree = ast.parse(source)
        return api.names_used(tree, api.imports_of(tree))

    assert used("from attention_to_rope import rotate") == {}
    assert used("from attention_to_rope import rotate as turn\n\nturn(x)") == {
        "attention_to_rope.rotate": 3
    }
    assert used("from attention_to_rope.rope import rotate\nf = rotate") == {
        "attention_to_rope.rope.rotate": 2
    }
    assert "attention_to_rope.softmax" in used("import attention_to_rope as a\na.softmax(x)")
    assert used("from other import rotate\nrotate(x)") == {}


def test_a_use_is_found_in_its_section(tmp_path):
    cells = [
        nbformat.v4.new_markdown_cell("# Title\n\n## First"),
        nbformat.v4.new_code_cell("from attention_to_rope import rotate, softmax"),
        nbformat.v4.new_code_cell("softmax(x)"),
        nbformat.v4.new_markdown_cell("## Second $a$"),
        nbformat.v4.new_code_cell("rotate(softmax(x))"),
    ]
    path = tmp_path / "01-one.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    found = api.chapter_uses(path)
    assert found["attention_to_rope.softmax"].slug == "first"
    assert found["attention_to_rope.rotate"].slug == "second-"
    assert found["attention_to_rope.rotate"].heading == "Second $a$"


def test_a_cell_that_is_not_python_is_named(tmp_path):
    path = tmp_path / "01-one.ipynb"
    cells = [nbformat.v4.new_markdown_cell("# One"), nbformat.v4.new_code_cell("%magic")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    with pytest.raises(ValueError, match=r"01-one\.ipynb: a cell is not plain Python"):
        api.chapter_uses(path)


def test_examples_are_fenced():
    text = "Adds.\n\n>>> 1 + 1\n2\n\nMore.\n\n>>> 3\n3"
    fenced = api.docstring_as_markdown(text)
    assert fenced.count("```pycon") == 2
    assert fenced.count("```") == 4
    assert fenced.index("2\n```") < fenced.index("More.")


def test_signatures_name_types_shortly():
    assert api.signature(book.softmax) == "(logits: Tensor, dim: int = -1) -> Tensor"
    assert 'layout: Literal["half", "interleaved"]' in api.signature(book.rotate)
    assert api.signature(book.ALiBi) == "(heads: int)"
    assert api.signature(book.KeyValueCache.append).startswith("(keys: Tensor")


def test_headings_have_the_names_of_the_site():
    text = (
        "# A title\n\n## Is it $d_k$ or $d$?\n\n## See it\n\n```\n# no heading\n```\n\n## See it\n"
    )
    slugs = [heading.slug for heading in headings_of(text)]
    assert slugs == ["a-title", "is-it--or-", "see-it", "see-it-1"]

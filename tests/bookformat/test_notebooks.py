"""Which pages the book has, what they are called, and in which order they stand."""

import json

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from bookformat.notebooks import chapter_notebooks, main_line, page_name, stored_form
from bookformat.paths import book_pages


def test_a_page_of_depth_stands_after_its_chapter(tmp_path):
    (tmp_path / "deeper").mkdir()
    for name in ("02-b", "01-m", "deeper/01-a", "errata"):
        (tmp_path / f"{name}.ipynb").touch()
    (tmp_path / "notation.md").touch()
    (tmp_path / "references.bib").touch()
    names = [page_name(path, tmp_path) for path in book_pages(tmp_path)]
    assert names == ["01-m", "deeper/01-a", "02-b", "errata", "notation"]
    assert [page_name(p, tmp_path) for p in chapter_notebooks(tmp_path)] == names[:-1]
    assert [page_name(p, tmp_path) for p in main_line(tmp_path)] == ["01-m", "02-b"]


def test_code_that_the_site_folds_is_folded_by_other_programs_too():
    cells = [
        new_code_cell("draw()", metadata={"tags": ["hide-input"]}),
        new_code_cell("idea()", metadata={"jupyter": {"source_hidden": True}, "editor": 1}),
        new_markdown_cell("Words.", metadata={"tags": ["hide-input"]}),
    ]
    folded, plain, words = json.loads(stored_form(new_notebook(cells=cells)))["cells"]
    assert folded["metadata"]["jupyter"] == {"source_hidden": True}
    assert folded["metadata"]["cellView"] == "form"
    assert plain["metadata"] == {}
    assert words["metadata"] == {"tags": ["hide-input"]}

"""Which pages the book has, what they are called, and in which order they stand."""

import json

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from bookformat.contents import book_entries, book_pages, chapter_of, main_line, page_name
from bookformat.notebooks import chapter_notebooks, stored_form
from bookformat.paths import CHAPTERS

OPENING = """\
- caption: Opening
  chapters:
  - file: chapters/road
"""
NUMBERED = """\
- caption: Part
  numbered: 2
  chapters:
  - file: chapters/much
    sections:
    - file: chapters/deeper/aside
  - file: chapters/before
"""
REFERENCE = """\
- caption: Reference
  chapters:
  - file: chapters/errata
  - file: chapters/notation
"""


def write_contents(book, *parts):
    """Write contents of some parts and an empty file for each page; return the chapters' folder."""
    (book / "_toc.yml").write_text("parts:\n" + "".join(parts), encoding="utf-8")
    folder = book / "chapters"
    (folder / "deeper").mkdir(parents=True)
    for entry in book_entries(folder):
        suffix = ".md" if entry.page == "notation" else ".ipynb"
        (folder / f"{entry.page}{suffix}").touch()
    return folder


def test_a_page_of_depth_stands_after_its_chapter(tmp_path):
    folder = write_contents(tmp_path, OPENING, NUMBERED, REFERENCE)
    names = [page_name(path, folder) for path in book_pages(folder)]
    assert names == ["road", "much", "deeper/aside", "before", "errata", "notation"]
    assert [page_name(p, folder) for p in chapter_notebooks(folder)] == names[:-1]
    assert [page_name(p, folder) for p in main_line(folder)] == ["road", "much", "before"]


def test_chapters_are_numbered_by_the_contents(tmp_path):
    folder = write_contents(tmp_path, OPENING, NUMBERED, REFERENCE)
    numbers = {entry.page: entry.chapter for entry in book_entries(folder)}
    assert numbers == {
        "road": 0, "much": 1, "deeper/aside": 1, "before": 2, "errata": None, "notation": None,
    }  # fmt: skip
    assert chapter_of("deeper/aside", folder) == 1
    assert chapter_of("notation", folder) is None
    assert chapter_of("gone", folder) is None


def test_numbers_go_on_through_all_parts(tmp_path):
    again = NUMBERED.replace("much", "more").replace("aside", "beside").replace("before", "last")
    folder = write_contents(tmp_path, NUMBERED, again)
    assert [entry.chapter for entry in book_entries(folder)] == [1, 1, 2, 3, 3, 4]


def test_a_listed_page_without_a_file_is_an_error_that_names_it(tmp_path):
    folder = write_contents(tmp_path, NUMBERED)
    (folder / "before.ipynb").unlink()
    with pytest.raises(FileNotFoundError, match=r"_toc\.yml lists before, but .* has no such"):
        book_pages(folder)


def test_pages_without_contents_are_in_the_order_of_their_names(tmp_path):
    folder = write_contents(tmp_path, NUMBERED)
    (tmp_path / "_toc.yml").unlink()
    assert [page_name(path, folder) for path in book_pages(folder)] == [
        "before", "deeper/aside", "much",
    ]  # fmt: skip
    assert main_line(folder) == []


def test_every_page_of_the_folder_is_in_the_contents():
    files = {page_name(path) for path in CHAPTERS.rglob("*") if path.suffix in (".md", ".ipynb")}
    listed = {entry.page for entry in book_entries()}
    assert files == listed, "write these pages into _toc.yml, or delete them"


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

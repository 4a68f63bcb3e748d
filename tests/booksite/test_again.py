"""After a change, a build writes what changed, and everything that shows it."""

import nbformat
import pytest

from bookformat.records import Record, write_record

pytestmark = [pytest.mark.long, pytest.mark.slow]

FIRST = "# First\n\nA sentence.\n\n$$\na = b\n$$ (eq-first)\n"
CONTENTS = "  - file: chapters/first\n  - file: chapters/second\n  - file: chapters/api\n"
CONTENTS += "  - file: chapters/ledger\n"
PAGES = {
    "first": "chapters/first.html",
    "second": "chapters/second.html",
    "first's notebook": "notebooks/01-first.ipynb",
    "second's notebook": "notebooks/02-second.ipynb",
    "source": "_modules/attention_to_rope/rope_axes.html",
}
ALL = set(PAGES)


@pytest.fixture(scope="module")
def book(write_book, build, tmp_path_factory):
    """A book that has been built once."""
    folder = tmp_path_factory.mktemp("again")
    text = [nbformat.v4.new_markdown_cell(FIRST)]
    other = [nbformat.v4.new_markdown_cell("# Second\n\nBy {eq}`eq-first`.\n")]
    write_book(folder, {"first": text, "second": other}, contents=CONTENTS)
    (folder / "chapters" / "api.md").write_text("# Names\n\n```{api}\nrope_axes\n```\n", "utf-8")
    (folder / "chapters" / "ledger.md").write_text("# L\n\n```{equation-ledger}\n```\n", "utf-8")
    done = build(folder)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.fixture
def written_after(book, build):
    """Change the book, build it again, and say which of the files have been written."""

    def run(change):
        made = {name: book / "_build" / "html" / path for name, path in PAGES.items()}
        before = {name: path.stat().st_mtime_ns for name, path in made.items()}
        change()
        done = build(book)
        assert done.returncode == 0, done.stderr[-4000:]
        return {name for name, path in made.items() if path.stat().st_mtime_ns != before[name]}

    return run


def replace(path, old, new):
    """Replace words of a page."""
    notebook = nbformat.read(path, as_version=4)
    (cell,) = notebook.cells
    assert old in cell.source
    cell.source = cell.source.replace(old, new)
    nbformat.write(notebook, path)


def test_after_a_sentence_one_page_and_its_notebook_are_written(book, written_after):
    first = book / "chapters" / "first.ipynb"
    written = written_after(lambda: replace(first, "A sentence.", "Another sentence."))
    assert written == {"first", "first's notebook"}
    page = (book / "_build" / "html" / "chapters" / "first.html").read_text(encoding="utf-8")
    assert "Another sentence." in page


def test_after_a_title_all_are_written(book, written_after):
    first = book / "chapters" / "first.ipynb"
    assert written_after(lambda: replace(first, "# First", "# New name")) == ALL
    page = (book / "_build" / "html" / "chapters" / "second.html").read_text(encoding="utf-8")
    assert "New name" in page


def test_after_a_number_all_are_written(book, written_after):
    first = book / "chapters" / "first.ipynb"
    more = "$$\nz = y\n$$ (eq-zero)\n\n$$\na = b"
    assert written_after(lambda: replace(first, "$$\na = b", more)) == ALL
    page = (book / "_build" / "html" / "chapters" / "second.html").read_text(encoding="utf-8")
    assert "(1.2)</a>" in page


def test_after_a_style_sheet_all_are_written(book, written_after):
    style = book / "_static" / "book.css"
    assert written_after(lambda: style.write_text("body { color: red }", "utf-8")) == ALL


def test_a_record_of_the_tests_reaches_the_page(book, written_after):
    records = book / "_build" / "equations"
    assert written_after(lambda: write_record(Record("eq-first", "a = b"), records)) == ALL
    page = (book / "_build" / "html" / "chapters" / "first.html").read_text(encoding="utf-8")
    assert "equation-mark" in page


def test_after_an_error_all_are_written(book, build, written_after):
    first = book / "chapters" / "first.ipynb"
    replace(first, "Another sentence.", r"$\wrong$")
    assert build(book).returncode != 0
    assert written_after(lambda: replace(first, r"$\wrong$", "Right.")) == ALL


def test_a_warning_is_repeated_until_it_is_heeded(book, build, written_after):
    second = book / "chapters" / "second.ipynb"
    replace(second, "{eq}`eq-first`", "{eq}`eq-nowhere`")
    for _ in range(2):
        assert "eq-nowhere" in build(book).stderr
    assert written_after(lambda: replace(second, "eq-nowhere", "eq-first")) == ALL

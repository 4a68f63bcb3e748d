"""A build after a change gives the same pages as a clean one, and never loses a warning."""

import json
import os
import re
import shutil
from pathlib import Path

import nbformat
import pytest

from bookcheck import warm
from bookcheck.equations.records import Record, write_record
from bookcheck.paths import SOURCES

pytestmark = pytest.mark.long

ONE = "# First\n\nA sentence.\n\n## A part\n\n$$\na = b\n$$ (eq-score)\n"
TWO = (
    "# Second\n\nSee {eq}`eq-score`, {ref}`sum`, [a part](01-one.ipynb#a-part) and "
    "[](01-one.ipynb).\n\n```{exercise} Sum\n:label: sum\nAdd.\n```\n\n$$\nb = c\n$$ (eq-two)\n"
)
NOTATION = (
    "# Notation\n\n| Symbol | Meaning | In code | Chapters |\n|---|---|---|---|\n"
    "| $a$ | a number | `a` | all |\n"
)
USE = "from attention_to_rope import softmax\n\nsoftmax(x)"
# Whoever publishes the book may have both addresses set.
ADDRESSES = {"BOOK_REPOSITORY_URL": "", "BOOK_SITE_URL": ""}
ENVIRONMENT = os.environ | {"PYTHONPATH": str(SOURCES)} | ADDRESSES
COMMAND = Path(__file__).parents[1] / "jupyter_book_command.py"
STRICT = ("-n", "-W", "--keep-going", "-q")
GATHERING = {
    "notation": NOTATION,
    "ledger": "# Ledger\n\n```{equation-ledger}\n```\n",
    "api": "# Reference\n\n```{api}\n```\n",
}


class Book:
    """A book of two chapters, and of pages that gather from others."""

    def __init__(self, folder, write_book, *gathering):
        self.folder = write_book(folder, {}, pages=("01-one", "02-two", *gathering))
        self.write("01-one", ONE, USE)
        self.write("02-two", TWO, "1 + 1")
        for name in gathering:
            text = GATHERING[name]
            (folder / "chapters" / f"{name}.md").write_text(text, encoding="utf-8")
        self.record("eq-score", "a = b")
        done = self.build()
        assert done.returncode == 0, done.stderr

    def write(self, name, text, code):
        """Write a chapter of one Markdown cell and one code cell."""
        cells = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell(code)]
        for number, cell in enumerate(cells):
            cell["id"] = f"cell-{number}"
        cells[1]["execution_count"] = 1
        kernel = {"name": "python3", "display_name": "Python 3"}
        language = {"name": "python", "pygments_lexer": "ipython3"}
        notebook = nbformat.v4.new_notebook(
            cells=cells, metadata={"kernelspec": kernel, "language_info": language}
        )
        (self.folder / "chapters" / f"{name}.ipynb").write_text(
            json.dumps(notebook), encoding="utf-8"
        )

    def record(self, label, text):
        """Write what a check of an equation left behind."""
        write_record(Record(label, text), self.folder / "_build" / "equations")

    def build(self, *options):
        return warm.run(COMMAND, "build", self.folder, *STRICT, *options, environment=ENVIRONMENT)

    def pages(self):
        """All files of the site; the build's own note of its settings has no fixed content."""
        site = self.folder / "_build" / "html"
        files = (path for path in site.rglob("*") if path.is_file() and path.name != ".buildinfo")
        return {path.relative_to(site).as_posix(): path.read_bytes() for path in files}

    def times(self):
        site = self.folder / "_build" / "html"
        return {p.relative_to(site).as_posix(): p.stat().st_mtime_ns for p in site.rglob("*.html")}


@pytest.fixture(scope="module")
def built(write_book, tmp_path_factory):
    return Book(tmp_path_factory.mktemp("book"), write_book, *GATHERING)


@pytest.fixture
def book(built, tmp_path):
    """Lend a built book, and put it back as it was: its environment knows its place."""
    saved = tmp_path / "saved"
    shutil.copytree(built.folder, saved)
    yield built
    shutil.rmtree(built.folder)
    shutil.copytree(saved, built.folder)


def built_again(book):
    done = book.build()
    assert done.returncode == 0, done.stderr
    return {n: text.decode() for n, text in book.pages().items() if n.endswith((".html", ".js"))}


def differences_from_clean(book):
    """The files that a clean build of the book writes otherwise."""
    after_changes = book.pages()
    done = book.build("--all")
    assert done.returncode == 0, done.stderr
    clean = book.pages()
    names = {*clean, *after_changes}
    return sorted(name for name in names if clean.get(name) != after_changes.get(name))


def test_names_words_and_records_reach_the_pages_that_show_them(book):
    old = {name: text.decode() for name, text in book.pages().items() if name.endswith(".html")}
    assert "Used in chapter" in old["chapters/api.html"]
    assert "sy1" not in old["chapters/02-two.html"]
    new = "A sentence.\n\n$$\nz = z\n$$ (eq-average)"
    renamed = ONE.replace("# First", "# Renamed").replace("A sentence.", new)
    book.write("01-one", renamed, "1 + 1")
    book.record("eq-average", "z = z")
    notation = NOTATION + "| $c$ | another | `c` | 2 |\n"
    (book.folder / "chapters" / "notation.md").write_text(notation, encoding="utf-8")
    pages = built_again(book)
    for name in ("chapters/02-two", "chapters/api", "chapters/ledger", "_modules/index", "404"):
        assert "Renamed" in pages[f"{name}.html"], name
    assert "(1.2)" in pages["chapters/02-two.html"]
    assert "sy1" in pages["chapters/02-two.html"]
    assert "2 of them were executed" in pages["chapters/ledger.html"]
    assert pages["chapters/01-one.html"].count('class="equation-mark"') == 2
    assert "Used in chapter" not in pages["chapters/api.html"]

    before = book.times()
    book.write("01-one", renamed.replace("A sentence.", "Another sentence."), "1 + 1")
    pages = built_again(book)
    after = book.times()
    written = {name for name in after if after[name] != before[name]}
    assert "Another sentence." in pages["chapters/01-one.html"]
    assert not written & {"chapters/02-two.html", "chapters/api.html", "chapters/ledger.html"}

    book.record("eq-score", "a = -b")
    pages = built_again(book)
    assert "1 of them were executed" in pages["chapters/ledger.html"]
    assert pages["chapters/01-one.html"].count('class="equation-mark"') == 1
    assert '"softmax() (in module attention_to_rope)"' in pages["_static/search-data.js"]
    assert differences_from_clean(book) == []


def test_a_reference_that_another_chapter_breaks_stops_every_build(book):
    book.write("01-one", ONE.replace("(eq-score)", "(eq-other)"), USE)
    for _ in range(2):
        done = book.build()
        assert done.returncode == 1
        assert "02-two.ipynb" in done.stderr
        assert "eq-score" in done.stderr


def test_a_change_of_style_reaches_all_pages(book):
    address = re.compile(r"book\.css\?v=\w+")
    before = address.search(book.pages()["chapters/02-two.html"].decode())[0]
    (book.folder / "_static" / "book.css").write_text("p { margin: 0 }\n", encoding="utf-8")
    pages = built_again(book)
    for name in ("chapters/02-two", "_modules/attention_to_rope/rope"):
        assert address.search(pages[f"{name}.html"])[0] != before, name
